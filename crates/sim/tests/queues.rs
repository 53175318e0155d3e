//! Links with buffered queues compared with precomputed queues, and the hints of queues.
//! Hints come from senders or from headers.

use crate::watch::Watch;
use sojourn_aqm::{Amount, AnyAqm, Aqm, AqmConfig, ArrivalVerdict, Backlog, DepartureVerdict, Link, Needs, PacketView, QueueController};
use sojourn_sim::tcp::{Ecn, Handshake, Recovery, RttHint, TcpOptions};
use sojourn_sim::{BuildError, LinkConfig, Observer, Packet, World, WorldConfig};
use sojourn_spec::flow::Flow;
use sojourn_spec::link::{DelayChange, Link as PlannedLink, Measure};
use sojourn_spec::queue::{Hints, Queue, QueueOptions};
use sojourn_traffic::{Traffic, kinds::cbr};
use sojourn_units::{Bytes, Duration, Rate, Stream, Time};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

/// An algorithm that passes everything, with any needs, and records its inputs.
#[derive(Clone, Default)]
pub(crate) struct Idle {
    pub(crate) needs: Needs,
    pub(crate) seen: Arc<Mutex<Log>>,
}

#[derive(Clone, Default, Debug)]
pub(crate) struct Log {
    /// Hints at arrival and at departure, and the waiting packets at each arrival.
    pub(crate) hints: Vec<(u32, u16)>,
    waited: Vec<u32>,
    departed: Vec<(u32, u16, Duration)>,
    flows: Vec<(Time, u32)>,
    updates: Vec<(Time, u32)>,
}

impl Aqm for Idle {
    fn on_enqueue(&mut self, arrival: &PacketView, backlog: &Backlog, _: &mut Stream) -> ArrivalVerdict {
        let mut seen = self.seen.lock().unwrap();
        seen.hints.push((arrival.flow, arrival.rtt_hint_ms));
        seen.waited.push(backlog.packets);
        ArrivalVerdict::Pass
    }
    fn on_dequeue(&mut self, departure: &PacketView, sojourn: Duration, _: &Backlog, _: &mut Stream) -> DepartureVerdict {
        self.seen.lock().unwrap().departed.push((departure.flow, departure.rtt_hint_ms, sojourn));
        DepartureVerdict::Pass
    }
    fn on_flows(&mut self, now: Time, active: u32) {
        self.seen.lock().unwrap().flows.push((now, active));
    }
    fn update_interval(&self) -> Option<Duration> {
        Some(Duration::from_millis(10))
    }
    fn on_update(&mut self, now: Time, backlog: &Backlog) {
        self.seen.lock().unwrap().updates.push((now, backlog.packets));
    }
    fn needs(&self) -> Needs {
        self.needs
    }
}

const RATE: u64 = 10_000_000;

pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn link(name: &str, delay: Duration, aqm: AnyAqm, limit: Amount) -> LinkConfig {
    let controller = QueueController::new(aqm, limit, true, Stream::named(1, name));
    let rate = Rate::from_bps(if name.starts_with("access") { 10 * RATE } else { RATE });
    LinkConfig::new(PlannedLink { name: name.into(), rate, delay, ..PlannedLink::default() }, controller)
}

pub(crate) fn config(aqm: AnyAqm, limit: Amount, flows: u32, params: TcpOptions) -> WorldConfig<'static> {
    let at = |s: f64| Time::from_secs_f64(s);
    let drop_tail = || AnyAqm::DropTail(sojourn_aqm::algorithms::drop_tail::DropTail);
    let flow = |i: u32| Flow {
        name: format!("f/{i}"),
        group: 0,
        forward: vec![2 + i, 0],
        back: vec![1],
        paths: None,
        stack: Some(0),
        traffic: Traffic::default(),
        host: None,
        start: at(0.1 * f64::from(i)),
        stop: if i % 2 == 1 { at(15.0) } else { Time::NEVER },
    };
    let mut links = vec![link("forward", ms(10), aqm, limit), link("back", ms(10), drop_tail(), Amount::Packets(1000))];
    links.extend((0..flows).map(|i| link(&format!("access/{i}"), ms(5 * u64::from(i) + 1), drop_tail(), Amount::Packets(1000))));
    WorldConfig {
        seed: 1,
        end: at(20.0),
        warmup: at(5.0),
        links,
        stacks: vec![params],
        flows: (0..flows).map(flow).collect(),
        ..Default::default()
    }
}

/// All measures of a run, as text, so that nothing can be left out.
/// The fingerprint depends on the order in which the world processes deliveries, which may differ for flows side by side.
fn outcome(config: WorldConfig<'_>) -> String {
    let mut world = World::new(config).unwrap();
    world.links_mut()[0].trace_queue(ms(7));
    world.links_mut()[0].trace_throughput(ms(3));
    let audit = world.finish().unwrap();
    let link = &world.links()[0];
    let flows: Vec<_> = world.flows().collect();
    // A discipline without a probability is not asked for it by every path.
    let mut stats = link.stats().clone();
    stats.probability = Default::default();
    format!("{audit:?} {flows:?} {stats:?} {:?} {:?}", link.traced_queue(), link.traced_throughput().map(|trace| (&trace.t, &trace.bps)))
}

#[test]
fn the_trace_of_a_queue_has_a_probability_only_if_its_algorithm_has_one() {
    let probabilities = |aqm: AnyAqm| {
        let mut world = World::new(config(aqm, Amount::Packets(50), 3, TcpOptions::rfc())).unwrap();
        world.links_mut()[0].trace_queue(ms(7));
        world.finish().unwrap();
        world.links()[0].traced_queue().unwrap().probability.clone()
    };
    let drop_tail = AnyAqm::DropTail(sojourn_aqm::algorithms::drop_tail::DropTail);
    let plan = Link { rate: Rate::from_bps(RATE).unwrap(), delay: ms(10), mean_packet: 1000, limit_packets: 50 };
    let red = AqmConfig::Red(Default::default()).build(&plan).unwrap();
    assert!(probabilities(drop_tail).iter().all(|probability| probability.is_nan()));
    assert!(probabilities(red).iter().all(|probability| (0.0..=1.0).contains(probability)));
}

#[test]
fn a_buffered_queue_does_what_a_precomputed_queue_does() {
    let limits = [Amount::Packets(5), Amount::Packets(50), Amount::Bytes(40_000)];
    for (limit, flows) in limits.into_iter().flat_map(|limit| [1, 3, 20].map(|flows| (limit, flows))) {
        let run = |needs| {
            let idle = Idle { needs, ..Idle::default() };
            let seen = Arc::clone(&idle.seen);
            let text = outcome(config(AnyAqm::Custom(Box::new(idle)), limit, flows, TcpOptions::rfc()));
            (text, Arc::try_unwrap(seen).map_or_else(|seen| seen.lock().unwrap().clone(), |seen| seen.into_inner().unwrap()))
        };
        let plain = Needs { departures: true, ..Needs::default() };
        let (precomputed, before) = run(plain);
        for kept in [Needs { head_drop: true, ..plain }, Needs { waiting_packets: true, ..plain }] {
            let (text, seen) = run(kept);
            assert_eq!(text, precomputed, "{limit:?} {flows} flows {kept:?}");
            assert_eq!(seen.updates, before.updates, "the timer saw other queues");
            assert_eq!(seen.departed, before.departed);
            assert_eq!(seen.hints, before.hints);
        }
        let drop_tail = AnyAqm::DropTail(sojourn_aqm::algorithms::drop_tail::DropTail);
        assert_eq!(outcome(config(drop_tail, limit, flows, TcpOptions::rfc())), precomputed, "DropTail");
    }
}

#[test]
fn a_full_access_link_loses_what_a_full_link_loses() {
    let drop_tail = || AnyAqm::DropTail(sojourn_aqm::algorithms::drop_tail::DropTail);
    for (access, limit) in [(RATE, 1), (RATE, 20), (RATE / 2, 20)] {
        let run = |measure: Measure| {
            let mut config = config(drop_tail(), Amount::Packets(100), 1, TcpOptions::rfc());
            let access_link = link("access", ms(1), drop_tail(), Amount::Packets(limit));
            config.links[2] = access_link;
            config.links[2].link = PlannedLink { rate: Rate::from_bps(access), measure, ..config.links[2].link.clone() };
            let mut world = World::new(config).unwrap();
            (world.finish().unwrap().dropped, world.fingerprint())
        };
        let (lost, fingerprint) = run(Measure::All);
        assert!(lost > 10, "{lost} packets lost");
        assert_eq!(run(Measure::Counts), (lost, fingerprint), "{access} bit/s, {limit} packets");
    }
}

#[test]
fn every_algorithm_balances_on_a_link_with_tcp_and_its_waits_agree_with_its_queue() {
    for entry in sojourn_aqm::REGISTRY.iter().filter(|entry| !(entry.default)().is_placeholder()) {
        let at = Link { rate: Rate::from_bps(RATE).unwrap(), delay: ms(10), mean_packet: 1500, limit_packets: 100 };
        for ecn in [Ecn::Off, Ecn::Classic] {
            let aqm = (entry.default)().build(&at).unwrap();
            // A discipline with its own queues may drop packets at the head when it is full.
            let has_queues = aqm.layout().is_some();
            let mut params = TcpOptions::rfc();
            params.ecn = ecn;
            let mut world = World::new(config(aqm, Amount::Packets(100), 20, params)).unwrap();
            let audit = world.finish().unwrap_or_else(|what| panic!("{}: {what}", entry.name));
            assert!(audit.delivered > 10_000, "{}: {audit:?}", entry.name);
            let stats = world.links()[0].stats();
            // Little's law over the window: mean queue = rate of departures times mean wait, except at the ends.
            let (queue, rate) = (stats.queue.packets.mean(), stats.sent as f64 / 15.0);
            let wait = stats.wait.mean();
            let counters = world.links()[0].counters();
            // Packets dropped at the head have waited, but do not count as sent.
            let head_drops = counters.dropped_early > 0 || (has_queues && counters.dropped_tail > 0);
            let slack = if head_drops { 0.06 } else { 0.01 };
            assert!((queue - rate * wait).abs() <= slack * queue + 0.1, "{}: {queue} against {rate} x {wait}", entry.name);
        }
    }
}

#[test]
fn packets_carry_the_handshakes_round_trip_time_at_first_and_the_smoothed_one_then() {
    for needs in [Needs { departures: true, ..Needs::default() }, Needs { departures: true, head_drop: true, ..Needs::default() }] {
        let idle = Idle { needs: Needs { rtt_hints: true, ..needs }, ..Idle::default() };
        let seen = Arc::clone(&idle.seen);
        let params = TcpOptions { delayed_ack: None, ..TcpOptions::rfc() };
        World::new(config(AnyAqm::Custom(Box::new(idle)), Amount::Packets(50), 2, params)).unwrap().finish().unwrap();
        let seen = seen.lock().unwrap();
        let of = |flow| seen.hints.iter().filter(move |hint| hint.0 == flow).map(|hint| hint.1);
        // A SYN has no estimate, and the ACK of the SYN-ACK no data; then 1 + 10 + 10 ms and transmission times.
        assert_eq!(of(0).take(4).collect::<Vec<_>>(), [0, 0, 21, 21]);
        assert!(of(0).skip(2).all(|hint| (21..=90).contains(&hint)));
        assert!(of(0).any(|hint| hint > 40), "the queue must show");
        let departed: Vec<(u32, u16)> = seen.departed.iter().map(|d| (d.0, d.1)).collect();
        assert!(departed.len() > 10_000 && departed.iter().any(|d| d.1 > 40));
        assert!(seen.departed.iter().all(|d| d.2 < ms(61)), "50 packets of 1500 bytes");
    }
}

#[test]
fn a_sender_may_be_silent_or_lie() {
    for (hint, expected) in [(RttHint::Off, 0), (RttHint::Claimed(640), 640)] {
        let idle = Idle::default();
        let seen = Arc::clone(&idle.seen);
        let mut params = TcpOptions::rfc();
        params.rtt_hint = hint;
        World::new(config(AnyAqm::Custom(Box::new(idle)), Amount::Packets(50), 1, params)).unwrap().finish().unwrap();
        let seen = seen.lock().unwrap();
        assert!(seen.hints.iter().skip(2).all(|&(_, ms)| ms == expected));
    }
}

#[test]
fn a_queue_that_counts_flows_learns_of_every_start_and_end() {
    let idle = Idle { needs: Needs { flow_count: true, ..Needs::default() }, ..Idle::default() };
    let seen = Arc::clone(&idle.seen);
    World::new(config(AnyAqm::Custom(Box::new(idle)), Amount::Packets(50), 20, TcpOptions::rfc())).unwrap().finish().unwrap();
    let flows = seen.lock().unwrap().flows.clone();
    assert_eq!(flows.len(), 30, "20 starts and 10 ends");
    assert!(flows.windows(2).all(|pair| pair[0].0 <= pair[1].0), "{flows:?}");
    for (i, (at, active)) in flows[..20].iter().enumerate() {
        assert_eq!((*at, *active), (Time::from_secs_f64(0.1 * i as f64), i as u32 + 1));
    }
    // Ten flows stop at 15 s; each counts as active until its data is acknowledged.
    assert!(flows[20..].iter().all(|(at, _)| (15.0..20.0).contains(&at.as_secs_f64())));
    assert_eq!(flows[29].1, 10);
}

#[test]
fn a_law_that_needs_what_nobody_tells_is_refused_before_the_run() {
    let at = Link { rate: Rate::from_bps(RATE).unwrap(), delay: ms(10), mean_packet: 1500, limit_packets: 100 };
    let build = |aqm: &AqmConfig, hint, udp: bool| {
        let mut params = TcpOptions::rfc();
        params.rtt_hint = hint;
        let mut config = config(aqm.build(&at).unwrap(), Amount::Packets(50), 2, params);
        if udp {
            config.flows.to_mut().iter_mut().for_each(|flow| flow.stack = None);
        }
        World::new(config).map(|_| ())
    };
    let fuzzy = AqmConfig::FuzzyRtt(Default::default());
    let pi_rtt = AqmConfig::PiRtt(Default::default());
    assert_eq!(build(&fuzzy, RttHint::Smoothed, false), Ok(()));
    for (aqm, hint, udp, word) in [
        (&fuzzy, RttHint::Off, false, "rtt_hint = true"),
        (&pi_rtt, RttHint::Off, false, "rtt_hint = true"),
        (&fuzzy, RttHint::Smoothed, true, "number of active TCP flows"),
        (&pi_rtt, RttHint::Smoothed, true, "rtt_hint = true"),
    ] {
        let error = build(aqm, hint, udp).unwrap_err();
        assert!(matches!(&error, BuildError::Needs { link, .. } if link == "forward"));
        assert!(error.to_string().contains(word), "{error}");
    }
}

/// The source of a queue's hints.
#[derive(Clone, Copy)]
pub(crate) enum HintSource {
    Senders,
    /// The router before the link, which also reads the packets of this link.
    Router {
        reverse: Option<u32>,
    },
}

impl HintSource {
    pub(crate) fn set(self, link: &mut PlannedLink) {
        let (hints, reverse) = match self {
            HintSource::Senders => (Hints::Senders, None),
            HintSource::Router { reverse } => (Hints::Router, reverse),
        };
        link.queue = Some(Arc::new(Queue { options: QueueOptions { hints, ..QueueOptions::default() }, ..Queue::default() }));
        link.reverse = reverse;
    }
}

/// The inputs of a queue of 10 packets with these needs, and the result of the run.
/// Its hints come from `source`.
fn told(source: HintSource, needs: Needs, flows: u32, params: &TcpOptions) -> (Log, String) {
    let idle = Idle { needs: Needs { rtt_hints: true, flow_count: true, ..needs }, ..Idle::default() };
    let seen = Arc::clone(&idle.seen);
    let mut config = config(AnyAqm::Custom(Box::new(idle)), Amount::Packets(10), flows, params.clone());
    source.set(&mut config.links[0].link);
    let text = outcome(config);
    let seen = seen.lock().unwrap().clone();
    (seen, text)
}

pub(crate) const ROUTER: HintSource = HintSource::Router { reverse: Some(1) };

/// The mean estimated and the mean true round-trip time in the second half of a flow.
/// The true one is 21 + 5 i ms of path and transmission times of 1.32 ms for a segment and 0.03 ms for an ACK, and 1.2 ms for each waiting
/// packet.
fn means(seen: &Log, flow: u32) -> (f64, f64) {
    let own = seen.hints.iter().zip(&seen.waited).filter(|(hint, _)| hint.0 == flow);
    let all: Vec<(f64, f64)> = own.map(|(hint, &waited)| (f64::from(hint.1), 1.2 * f64::from(waited))).collect();
    let late = &all[all.len() / 2..];
    let mean = |part: fn(&(f64, f64)) -> f64| late.iter().map(part).sum::<f64>() / late.len() as f64;
    (mean(|both| both.0), mean(|both| both.1) + f64::from(21 + 5 * flow) + 1.35)
}

#[test]
fn with_time_stamps_a_router_finds_the_round_trip_time_within_a_twentieth_and_changes_nothing_by_reading() {
    for (flows, recovery) in [1, 3, 20].into_iter().flat_map(|flows| [(flows, Recovery::NewReno), (flows, Recovery::Sack)]) {
        let params = TcpOptions { delayed_ack: None, recovery, ..TcpOptions::rfc() };
        let (_, untouched) = told(HintSource::Senders, Needs::default(), flows, &params);
        let (found, text) = told(ROUTER, Needs::default(), flows, &params);
        assert_eq!(text, untouched, "this queue passes everything, so reading must not show");
        for flow in 0..flows {
            let (is, was) = means(&found, flow);
            assert!((is / was - 1.0).abs() < 0.05, "flow {flow} of {flows}, {recovery:?}: {is} for {was} ms");
        }
    }
}

#[test]
fn without_time_stamps_a_router_knows_the_round_trip_time_of_the_handshake() {
    for handshake in [Handshake::ThreeWay, Handshake::OneWay] {
        let params = TcpOptions { timestamps: false, handshake, ..TcpOptions::rfc() };
        for source in [ROUTER, HintSource::Router { reverse: None }] {
            let (found, _) = told(source, Needs::default(), 20, &params);
            for flow in 0..20 {
                let own: Vec<u16> = found.hints.iter().filter(|hint| hint.0 == flow).map(|hint| hint.1).collect();
                let path = 21 + 5 * flow as u16;
                let unknown = own.iter().position(|&ms| ms > 0).unwrap();
                assert!((1..10).contains(&unknown), "a SYN knows nothing, lost or not, and an ACK says nothing");
                let known = own[unknown];
                // The first packets may find 10 packets of 1.2 ms in the queue.
                assert!((path..path + 14).contains(&known), "{known} for {path} ms");
                assert!(own[unknown..].iter().all(|ms| (path..path + 15).contains(ms)), "only the queue moves it");
            }
        }
    }
}

#[test]
fn a_router_believes_no_sender_and_needs_none_to_speak() {
    let params = TcpOptions::rfc();
    let (found, _) = told(ROUTER, Needs::default(), 3, &params);
    for hint in [RttHint::Off, RttHint::Claimed(640)] {
        let (same, _) = told(ROUTER, Needs::default(), 3, &TcpOptions { rtt_hint: hint, ..params.clone() });
        assert_eq!(same.hints, found.hints);
    }
}

#[test]
fn a_routers_hints_are_the_same_with_a_buffered_queue_and_with_an_event_at_every_hop() {
    let (precomputed, _) = told(ROUTER, Needs { departures: true, ..Needs::default() }, 20, &TcpOptions::rfc());
    let (kept, _) = told(ROUTER, Needs { departures: true, head_drop: true, ..Needs::default() }, 20, &TcpOptions::rfc());
    assert_eq!((&kept.hints, &kept.flows), (&precomputed.hints, &precomputed.flows));
    let idle = Idle { needs: Needs { rtt_hints: true, departures: true, ..Needs::default() }, ..Idle::default() };
    let seen = Arc::clone(&idle.seen);
    let mut config = config(AnyAqm::Custom(Box::new(idle)), Amount::Packets(10), 20, TcpOptions::rfc());
    ROUTER.set(&mut config.links[0].link);
    config.all_events = true;
    World::new(config).unwrap().finish().unwrap();
    assert_eq!(seen.lock().unwrap().hints, precomputed.hints);
}

#[test]
fn a_router_counts_the_flows_that_sent_in_each_second() {
    for flows in [1, 3, 20] {
        let (exact, _) = told(HintSource::Senders, Needs::default(), flows, &TcpOptions::rfc());
        let (found, _) = told(ROUTER, Needs::default(), flows, &TcpOptions::rfc());
        assert_eq!(found.flows.len(), 19, "once a second, until the run of 20 s is over");
        for (i, &(at, count)) in found.flows.iter().enumerate() {
            let before = Time::from_secs_f64(i as f64);
            assert_eq!(at, Time::from_secs_f64(i as f64 + 1.0));
            let known = |time: Time| exact.flows.iter().take_while(|change| change.0 <= time).last().map_or(0, |change| change.1);
            let within = exact.flows.iter().filter(|change| (before..=at).contains(&change.0)).map(|change| change.1);
            let (least, most) = within.chain([known(before), known(at)]).fold((u32::MAX, 0), |(l, m), n| (l.min(n), m.max(n)));
            // Two flows may share one of 4096 bits; a flow in a long timeout sends nothing to count.
            assert!(count + 1 >= least && count <= most + 1, "{count} of {least} to {most} flows by {at:?}");
        }
    }
}

#[test]
fn a_router_that_can_find_out_nothing_is_refused_before_the_run() {
    let at = Link { rate: Rate::from_bps(RATE).unwrap(), delay: ms(10), mean_packet: 1500, limit_packets: 100 };
    let build = |handshake, timestamps, udp: bool| {
        let params = TcpOptions { handshake, timestamps, ..TcpOptions::rfc() };
        let aqm = AqmConfig::FuzzyRtt(Default::default()).build(&at).unwrap();
        let mut config = config(aqm, Amount::Packets(50), 2, params);
        ROUTER.set(&mut config.links[0].link);
        if udp {
            config.flows.to_mut().iter_mut().for_each(|flow| flow.stack = None);
        }
        World::new(config).map(|_| ())
    };
    assert_eq!(build(Handshake::None, true, false), Ok(()));
    assert_eq!(build(Handshake::OneWay, false, false), Ok(()));
    for error in [build(Handshake::None, false, false), build(Handshake::ThreeWay, true, true)] {
        let error = error.unwrap_err().to_string();
        assert!(error.contains("a handshake or `timestamps = true`"), "{error}");
    }
}

/// The send time and the arrival time of each datagram, in milliseconds.
#[derive(Clone, Default)]
struct Arrivals(Vec<(f64, f64)>);

impl Observer for Arrivals {
    fn on_deliver(&mut self, now: Time, packet: &Packet, _: u64) {
        self.0.push((packet.stamp.as_secs_f64() * 1e3, now.as_secs_f64() * 1e3));
    }
}

#[test]
fn a_delay_that_changes_counts_from_its_time_on_and_packets_keep_their_order() {
    let drop_tail = AnyAqm::DropTail(sojourn_aqm::algorithms::drop_tail::DropTail);
    let mut config = config(drop_tail, Amount::Packets(50), 1, TcpOptions::rfc());
    let change = |(seconds, delay)| DelayChange { at: Time::from_secs_f64(seconds), delay: ms(delay) };
    config.links[0].link.delay_changes = [(5.0, 50), (10.0, 20)].map(change).into();
    config.flows.to_mut()[0].stack = None;
    // A packet every 10 ms with a transmission time of 1 ms, and at the access link 0.1 ms and a delay of 1 ms.
    config.flows.to_mut()[0].traffic = cbr::Params { rate: Rate::from_bps(1_000_000).unwrap(), size: Bytes(1250), jitter: 0.0 }.into();
    let arrivals = Rc::new(RefCell::new(Arrivals::default()));
    World::watched(config, Watch::of(&arrivals)).unwrap().finish().unwrap();
    let arrivals = &arrivals.borrow().0;
    assert!(arrivals.windows(2).all(|pair| pair[0].1 < pair[1].1), "in order, no two at once");
    let took = |from: f64, to: f64| {
        let inside = arrivals.iter().filter(move |&&(sent, _)| sent + 2.1 >= from && sent + 2.1 < to);
        inside.map(|(sent, arrived)| arrived - sent - 2.1).collect::<Vec<_>>()
    };
    for (from, to, delay) in [(0.0, 5e3, 10.0), (5e3, 10e3, 50.0), (10.03e3, 19.9e3, 20.0)] {
        let took = took(from, to);
        assert!(took.len() > 400 && took.iter().all(|&ms| (ms - delay).abs() < 1e-3), "{from} ms: {took:?}");
    }
    // For 30 ms packets wait behind those in transit, which the longer route delays.
    let held = took(10e3, 10.03e3);
    assert!(held.len() == 3 && held[0] > 40.0 && held.is_sorted_by(|a, b| a > b) && held[2] > 20.0, "{held:?}");
}
