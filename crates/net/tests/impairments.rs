//! Impairments of a link: drops are counted by their cause and audited.
//! This holds for every queue, and with elided events.

use crate::host::{Datagram, HostLog};
use sojourn_aqm::{AqmConfig, Link, QueueController, REGISTRY};
use sojourn_link::kinds::{corruption, jitter, loss, reorder};
use sojourn_link::{ImpairmentConfig, Impairments, Per, Place};
use sojourn_net::{Audit, Delivered, Delivery, DropCause, ImpairmentStats, LinkConfig, NetworkBuilder, Sink, Window};
use sojourn_spec::link::Link as PlannedLink;
use sojourn_units::{Amount, Duration, Rate, Stream, Time};
use std::collections::BTreeSet;

/// The results of a run.
#[derive(Debug, PartialEq)]
struct Outcome {
    /// Packets dropped for each cause, and those delivered, in order of time.
    impaired: u64,
    corrupted: u64,
    queue: u64,
    delivered: Vec<(Time, Datagram)>,
    audit: Audit,
    arrived: u64,
    /// The statistics of each impairment, in the order of configuration.
    stats: Vec<ImpairmentStats>,
    link: String,
}

impl Outcome {
    fn sum(&self, count: fn(&ImpairmentStats) -> u64) -> u64 {
        self.stats.iter().map(count).sum()
    }
}

fn loss(place: Place, probability: f64) -> ImpairmentConfig {
    ImpairmentConfig { place, ..loss::Params::of(probability).into() }
}

/// Two flows with two links each, for 100 s at 1.25 times the rate.
/// They share a link with impairments and one behind it.
fn run(aqm: &str, impairments: &[ImpairmentConfig], all_events: bool) -> Outcome {
    let until = Time::ZERO + Duration::from_secs(101);
    let (rate, delay) = (Rate::from_bps(800_000).unwrap(), Duration::from_millis(10));
    let config: AqmConfig = (REGISTRY.iter().find(|entry| entry.name == aqm).unwrap().default)();
    let mut builder = NetworkBuilder::new(Window { from: Time::ZERO, until });
    builder.all_events(all_events);
    let mut link = |name: &str, impairments: &[ImpairmentConfig]| {
        let aqm = config.build(&Link { rate, delay, mean_packet: 1000, limit_packets: 20 }).unwrap();
        builder.add_link(LinkConfig {
            link: PlannedLink { name: name.into(), rate: Some(rate), delay, ..PlannedLink::default() },
            controller: QueueController::new(aqm, Amount::Packets(20), false, Stream::named(1, "aqm")),
            classes: Vec::new(),
            impairments: Impairments::new(impairments, 1, name),
            seed: 1,
        })
    };
    let path = [link("impaired", impairments), link("plain", &[])];
    let routes = [0; 2].map(|_| builder.add_route(&path, Delivery::Immediate, false).unwrap());
    let (mut network, mut log) = (builder.build(), HostLog::default());
    for number in 0..SENT {
        let now = Time::ZERO + Duration::from_millis(8 * number);
        network.advance(now, &mut log);
        let flow = (number % 2) as u32;
        if let Some(Delivered { at, packet }) = network.send(now, routes[flow as usize], datagram(flow, number), &mut log) {
            log.on_deliver(at, packet);
        }
    }
    network.advance(until, &mut log);
    log.delivered.sort_unstable();
    let audit = network.finish(until).unwrap();
    let stats = network.impairments().iter().map(|impairment| *impairment.stats()).collect();
    assert!(network.impairments().iter().all(|impairment| impairment.link() == 0));
    assert!(log.dropped.iter().all(|dropped| dropped.cause != DropCause::Corruption || dropped.link == 1));
    let dropped = |of: fn(DropCause) -> bool| log.dropped.iter().filter(|dropped| of(dropped.cause)).count() as u64;
    let link = network.links()[0].stats();
    Outcome {
        impaired: dropped(|cause| cause == DropCause::Impairment),
        corrupted: dropped(|cause| cause == DropCause::Corruption),
        queue: dropped(|cause| matches!(cause, DropCause::Queue(_))),
        delivered: log.delivered,
        audit,
        arrived: link.counters.arrived,
        stats,
        link: format!("{link:?}"),
    }
}

fn datagram(flow: u32, number: u64) -> Datagram {
    Datagram { flow, number, size: 1000, ..Datagram::default() }
}

const SENT: u64 = 12_500;

#[test]
fn losses_are_counted_by_their_cause_and_audited() {
    for aqm in ["droptail", "red", "codel"] {
        let none = run(aqm, &[], false);
        assert_eq!((none.impaired, none.stats.len()), (0, 0));
        let before = run(aqm, &[loss(Place::BeforeQueue, 0.1)], false);
        let after = run(aqm, &[loss(Place::AfterQueue, 0.1)], false);
        for found in [&before, &after] {
            assert_eq!(found.impaired, found.sum(|stats| stats.dropped), "{aqm}");
            assert_eq!(found.audit.dropped, found.impaired + found.queue, "{aqm}");
            assert_eq!(found.audit.delivered, found.delivered.len() as u64, "{aqm}");
            assert_eq!((found.audit.sent, found.audit.in_flight), (SENT, 0), "{aqm}");
        }
        // A packet lost before the queue never arrives there; one lost after it counts as sent.
        assert_eq!(before.arrived + before.impaired, SENT, "{aqm}");
        assert!((1_100..1_400).contains(&before.impaired), "{aqm}: {}", before.impaired);
        assert_eq!(after.arrived, SENT, "{aqm}");
        let sent = after.stats[0].met;
        assert!((sent / 12..sent / 8).contains(&after.impaired), "{aqm}: {} of {sent}", after.impaired);
    }
}

#[test]
fn every_impairment_is_audited_at_every_place_and_an_event_at_every_hop_changes_nothing() {
    for entry in sojourn_link::REGISTRY {
        for place in [Place::BeforeQueue, Place::AfterQueue] {
            for aqm in ["droptail", "red", "codel"] {
                let what = format!("{} {place:?} {aqm}", entry.name);
                let config = ImpairmentConfig { place, ..(entry.example)().into() };
                let impairments = [config.clone(), loss(place, 0.05), config];
                let found = run(aqm, &impairments, false);
                let Audit { sent, duplicated, delivered, dropped, in_flight } = found.audit;
                assert_eq!((sent, duplicated), (SENT, found.sum(|stats| stats.duplicated)), "{what}");
                assert_eq!((delivered, in_flight), (found.delivered.len() as u64, 0), "{what}");
                assert_eq!(dropped, found.queue + found.impaired + found.corrupted, "{what}");
                assert_eq!(found.impaired, found.sum(|stats| stats.dropped), "{what}");
                let [first, loss, last] = found.stats[..] else { panic!("{what}") };
                assert_eq!(loss.met, first.met - first.dropped + first.duplicated, "{what}");
                assert_eq!(last.met, loss.met - loss.dropped, "{what}");
                assert_eq!(found, run(aqm, &impairments, true), "{what}");
            }
        }
    }
}

#[test]
fn a_packet_with_bit_errors_takes_its_room_and_its_time_and_is_discarded_at_the_end() {
    for place in [Place::BeforeQueue, Place::AfterQueue] {
        let corruption = corruption::Params { probability: 0.3, per: Per::Packet };
        let found = run("droptail", &[ImpairmentConfig { place, ..corruption.into() }], false);
        let none = run("droptail", &[], false);
        assert_eq!((found.queue, &found.link), (none.queue, &none.link), "links see no difference");
        assert_eq!(found.delivered.len() as u64 + found.corrupted, none.delivered.len() as u64);
        let all: BTreeSet<_> = none.delivered.iter().collect();
        assert!(found.delivered.iter().all(|packet| all.contains(packet)));
        assert!((0.28..0.32).contains(&(found.corrupted as f64 / none.delivered.len() as f64)));
    }
}

#[test]
fn packets_that_are_delayed_are_overtaken_by_those_that_come_meanwhile() {
    let by = Duration::from_millis(25);
    let reorder = reorder::Params { by, probability: 1.0, gap: 100 };
    let found = run("droptail", &[ImpairmentConfig { place: Place::BeforeQueue, ..reorder.into() }], false);
    // Packets are 8 ms apart: three pass the one that is delayed by 25 ms. Drops of the full queue do not count.
    let numbers: Vec<u64> = found.delivered.iter().map(|(_, packet)| packet.number).take(500).collect();
    for delayed in (99..500).step_by(100).filter(|number| numbers.contains(number)) {
        let at = numbers.iter().position(|&number| number == delayed).unwrap();
        let passed = numbers[..at].iter().filter(|&&number| number > delayed).count();
        assert!((1..=3).contains(&passed), "{passed} passed {delayed}");
    }
    assert_eq!(found.sum(|stats| stats.delayed), SENT / 100);
}

#[test]
fn jitter_keeps_the_order() {
    let delay = jitter::Distribution::Uniform([Duration::ZERO, Duration::from_millis(100)]);
    for place in [Place::BeforeQueue, Place::AfterQueue] {
        let found = run("codel", &[ImpairmentConfig { place, ..jitter::Params { delay: delay.clone() }.into() }], false);
        assert!(found.delivered.is_sorted_by_key(|(_, packet)| packet.number));
        assert_eq!(found.sum(|stats| stats.delayed), found.sum(|stats| stats.met));
    }
}
