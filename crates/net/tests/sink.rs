//! A host that only receives reports.
//! Every packet is delivered or dropped, and deliveries are in the order of time.

use crate::host::{Datagram, HostLog};
use sojourn_aqm::{AqmConfig, Link, QueueController, REGISTRY};
use sojourn_net::{Audit, Delivery, LinkConfig, Network, NetworkBuilder, RouteId, UnknownLink, Window};
use sojourn_spec::link::{Link as PlannedLink, Measure};
use sojourn_units::{Amount, Duration, Rate, Stream, Time};

/// The number of the shared link: it is added after the access links.
const SHARED: u32 = 2;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn link(name: &str, aqm: &str, rate: u64, limit: u32) -> LinkConfig {
    let rate = Rate::from_bps(rate).unwrap();
    let config: AqmConfig = (REGISTRY.iter().find(|entry| entry.name == aqm).unwrap().default)();
    let aqm = config.build(&Link { rate, delay: ms(5), mean_packet: 1000, limit_packets: limit }).unwrap();
    LinkConfig::new(
        PlannedLink {
            name: name.into(),
            rate: Some(rate),
            delay: ms(5),
            measure: if name == "shared" { Measure::All } else { Measure::Counts },
            ..PlannedLink::default()
        },
        QueueController::new(aqm, Amount::Packets(limit), true, Stream::named(1, name)),
    )
}

/// Two flows with their own access links to a shared link.
/// `all_events` makes each hop and departure an event.
fn network(aqm: &str, all_events: bool, until: Time) -> (Network<Datagram>, [RouteId; 2]) {
    let mut builder = NetworkBuilder::new(Window { from: Time::ZERO, until });
    builder.all_events(all_events);
    for (name, limit) in [("access/0", 100), ("access/1", 3)] {
        builder.add_link(link(name, "droptail", 10_000_000, limit));
    }
    assert_eq!(builder.add_link(link("shared", aqm, 2_000_000, 50)), SHARED);
    assert_eq!(builder.add_route(&[0, 7], Delivery::Deferred, false), Err(UnknownLink(7)));
    let routes = [0, 1].map(|access| builder.add_route(&[access, SHARED], Delivery::Deferred, false).unwrap());
    (builder.build(), routes)
}

/// Sends bursts of ten packets of each flow every 20 ms for 5 s.
/// This is twice the capacity of the shared link.
fn run(aqm: &str) -> (HostLog, Audit, u64) {
    let until = Time::ZERO + Duration::from_secs(10);
    let (mut network, routes) = network(aqm, false, until);
    let mut log = HostLog::default();
    let mut number = 0;
    for burst in 0..250 {
        let now = Time::ZERO + ms(20 * burst);
        network.advance(now, &mut log);
        for flow in (0..2).flat_map(|flow| [flow; 10]) {
            let packet = Datagram { flow, number, size: 500, can_mark: flow == 0, marked: false };
            assert!(network.send(now, routes[flow as usize], packet, &mut log).is_none());
            number += 1;
        }
        assert!(network.next_event().is_some_and(|next| next >= now));
    }
    network.advance(until, &mut log);
    assert_eq!(network.next_event(), None, "five seconds empty the network");
    let audit = network.finish(until).unwrap();
    let marked = network.links()[0].counters().marked;
    (log, audit, marked)
}

#[test]
fn every_packet_comes_back_and_deliveries_are_in_the_order_of_time() {
    for aqm in ["droptail", "red", "codel", "fq-codel"] {
        let (log, audit, marked) = run(aqm);
        assert_eq!((audit.sent, audit.in_flight), (5_000, 0), "{aqm}");
        assert_eq!((log.delivered.len() as u64, log.dropped.len() as u64), (audit.delivered, audit.dropped), "{aqm}");
        assert!(log.delivered.is_sorted_by_key(|(at, _)| *at), "{aqm}");
        let mut numbers: Vec<u64> = log.delivered.iter().map(|(_, packet)| packet.number).collect();
        numbers.extend(log.dropped.iter().map(|dropped| dropped.packet.number));
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..5_000), "{aqm}: each packet comes back once");
        for link in [1, SHARED] {
            assert!(log.dropped.iter().any(|dropped| dropped.link == link), "{aqm}: link {link} drops");
        }
        let delivered_marked = log.delivered.iter().filter(|(_, packet)| packet.marked).count() as u64;
        assert!(delivered_marked <= marked, "{aqm}");
        assert_eq!((log.marks.len() as u64, marked > 0), (marked, aqm != "droptail"), "{aqm}");
        assert!(log.marks.iter().all(|&mark| mark == (SHARED, 0)), "{aqm}: only flow 0 can be marked");
    }
}

#[test]
fn a_host_has_been_told_of_all_drops_and_marks_by_any_time_though_departures_are_decided_ahead() {
    let until = Time::ZERO + Duration::from_secs(3);
    let told_by_steps = |all_events: bool| {
        let (mut network, routes) = network("codel", all_events, until);
        let mut steps = Vec::new();
        for step in 0..3_000 {
            let (now, mut log) = (Time::ZERO + ms(step), HostLog::default());
            network.advance(now, &mut log);
            for flow in [0, 1].into_iter().filter(|_| step % 4 == 0) {
                let packet = Datagram { flow, number: step, size: 700, can_mark: flow == 0, marked: false };
                assert!(network.send(now, routes[flow as usize], packet, &mut log).is_none());
            }
            steps.push(log);
        }
        network.advance(until, &mut HostLog::default());
        (steps, network.finish(until))
    };
    let (ahead, by_events) = (told_by_steps(false), told_by_steps(true));
    let signals = |step: &HostLog| step.dropped.len() + step.marks.len();
    assert!(ahead.0.iter().map(signals).sum::<usize>() > 20, "signals");
    let differs = ahead.0.iter().zip(&by_events.0).position(|(ahead, by_events)| ahead != by_events);
    assert_eq!((differs, ahead.1), (None, by_events.1), "the step that differs, and the audit");
}

#[test]
fn the_next_event_may_be_the_end_of_a_transmission() {
    let until = Time::ZERO + Duration::from_secs(1);
    for all_events in [false, true] {
        let (mut network, routes) = network("fq-codel", all_events, until);
        let packet = Datagram { flow: 0, number: 0, size: 500, can_mark: false, marked: false };
        assert!(network.send(Time::ZERO, routes[0], packet, &mut HostLog::default()).is_none());
        let mut events = Vec::new();
        while let Some(at) = network.next_event() {
            events.push(at.as_nanos() / 1_000);
            network.advance(at, &mut HostLog::default());
        }
        // 400 us at 10 Mbit/s and 5 ms, 2 ms at 2 Mbit/s, and 5 ms.
        assert!(events.ends_with(&[5_400, 7_400, 12_400]), "{events:?}");
    }
}
