//! Elided events change nothing: a world with an event at every hop behaves the same.

use crate::watch::Watch;
use proptest::prelude::*;
use sojourn_aqm::algorithms::{codel, pd, red};
use sojourn_aqm::{Amount, AnyAqm, Aqm, AqmConfig, ArrivalVerdict, Backlog, DepartureVerdict, Needs, PacketView, QueueController};
use sojourn_cc::CcConfig;
use sojourn_sim::tcp::{AccEcnOption, Ecn, Handshake, Recovery, TcpOptions};
use sojourn_sim::{LinkConfig, Observer, Packet, World, WorldConfig, flag};
use sojourn_spec::flow::Flow;
use sojourn_spec::link::{AccessLink, DelayChange, Link as PlannedLink, Measure};
use sojourn_traffic::{Traffic, kinds::*};
use sojourn_units::{Bytes, Duration, Rate, Stream, Time};
use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;

/// Drops packets at the head that waited too long, like CoDel, so its link must hold packets.
#[derive(Clone)]
struct HeadDrop(u32);

impl Aqm for HeadDrop {
    fn on_enqueue(&mut self, _: &PacketView, _: &Backlog, _: &mut Stream) -> ArrivalVerdict {
        ArrivalVerdict::Pass
    }
    fn on_dequeue(&mut self, _: &PacketView, sojourn: Duration, _: &Backlog, _: &mut Stream) -> DepartureVerdict {
        self.0 += u32::from(sojourn > Duration::from_millis(15));
        if sojourn > Duration::from_millis(15) && self.0.is_multiple_of(7) { DepartureVerdict::Signal } else { DepartureVerdict::Pass }
    }
    fn needs(&self) -> Needs {
        Needs { departures: true, head_drop: true, ..Needs::default() }
    }
}

/// Passes everything, as `DropTail` does, but is called for each packet.
#[derive(Clone)]
struct PassAll;

impl Aqm for PassAll {
    fn on_enqueue(&mut self, _: &PacketView, _: &Backlog, _: &mut Stream) -> ArrivalVerdict {
        ArrivalVerdict::Pass
    }
}

/// A flow of a random world: its traffic, its route and its access links.
#[derive(Clone, Debug)]
pub struct RandomFlow {
    pub kind: u8,
    pub from: usize,
    pub hops: usize,
    pub backward: bool,
    pub access: u8,
    /// The access links of its receiver.
    pub egress: u8,
    pub delay: u64,
    pub start: u64,
    pub stack_choice: u8,
}

pub fn random_flow() -> impl Strategy<Value = RandomFlow> {
    (0u8..8, 0usize..3, 1usize..4, any::<bool>(), 0u8..4, 0u8..5, 0u64..30_000, 0u64..2_000_000, 0u8..6).prop_map(
        |(kind, from, hops, backward, access, egress, delay, start, stack_choice)| RandomFlow {
            kind,
            from,
            hops,
            backward,
            access,
            egress,
            delay,
            start,
            stack_choice,
        },
    )
}

/// CoDel with Linux's rule for short queues.
/// Most runs have signals, and marks of a threshold.
fn quick_codel() -> codel::Params {
    let (target, interval) = (Duration::from_millis(3), Duration::from_millis(20));
    codel::Params { target, interval, rule: codel::Rule::Linux, ce_threshold: Duration::from_millis(9), ..Default::default() }
}

pub fn link(name: String, rate: Option<u64>, delay: u64, aqm: u8, seed: u64) -> LinkConfig {
    let rate = rate.map(|bps| Rate::from_bps(bps).unwrap());
    let at = sojourn_aqm::Link {
        rate: rate.unwrap_or(Rate::from_bps(1_000_000).unwrap()),
        delay: Duration::from_micros(delay),
        mean_packet: 1040,
        limit_packets: 30,
    };
    let aqm = match aqm {
        1 => AqmConfig::Red(red::Params { min: 4.0, max: 12.0, ..Default::default() }).build(&at).unwrap(),
        2 => AqmConfig::Pd(pd::Params { target: 8.0, ..Default::default() }).build(&at).unwrap(),
        3 => AnyAqm::Custom(Box::new(HeadDrop(0))),
        4 => AqmConfig::Codel(Default::default()).build(&at).unwrap(),
        5 => AqmConfig::Codel(quick_codel()).build(&at).unwrap(),
        _ => AqmConfig::DropTail(Default::default()).build(&at).unwrap(),
    };
    let random = Stream::named(seed, &name);
    let controller = QueueController::new(aqm, Amount::Packets(30), true, random);
    LinkConfig::new(PlannedLink { name, rate, delay: Duration::from_micros(delay), ..PlannedLink::default() }, controller)
}

pub fn stack(stack_choice: u8) -> TcpOptions {
    let base = match stack_choice {
        0 | 1 => TcpOptions::ns2(),
        2 => TcpOptions::linux(),
        _ => TcpOptions { window: 64, ..TcpOptions::rfc() },
    };
    let options = TcpOptions {
        mss: 1000,
        recovery: [Recovery::Reno, Recovery::NewReno, Recovery::Sack][usize::from(stack_choice) % 3],
        handshake: if stack_choice == 5 { Handshake::None } else { base.handshake },
        reader: (stack_choice == 4).then(|| Rate::from_bps(800_000).unwrap()),
        ecn: [Ecn::Classic, Ecn::Off, Ecn::Accurate, Ecn::Off, Ecn::Classic, Ecn::Off][usize::from(stack_choice)],
        accecn_option: if stack_choice == 2 { AccEcnOption::Full } else { AccEcnOption::Recommended },
        control: if stack_choice == 3 { CcConfig::RLedbat(Default::default()) } else { base.control.clone() },
        ..base
    };
    options.with_accecn_room()
}

/// Takes the receiver's timers out of a stack.
pub fn answer_at_once(stack: &mut TcpOptions) {
    let TcpOptions { quick_start, quick_acks, adaptive_delayed_ack, sack_compression, dsack, .. } = TcpOptions::rfc();
    let plain = TcpOptions { quick_start, quick_acks, adaptive_delayed_ack, sack_compression, dsack, ..stack.clone() };
    *stack = TcpOptions { delayed_ack: None, reader: None, ..plain };
}

pub fn world(flows: &[RandomFlow], aqms: &[u8], seed: u64, all_events: bool) -> WorldConfig<'static> {
    let cores = aqms.len() / 2;
    let mut links: Vec<LinkConfig> = Vec::new();
    for (at, &aqm) in aqms.iter().enumerate() {
        let rate = 1_000_000 + 700_000 * (at as u64 % 3);
        let mut core = link(format!("core{at}"), Some(rate), 3_000 + 1_000 * at as u64, aqm, seed);
        // A route that becomes longer, then shorter than before: packets after the change would overtake earlier ones.
        let delays = [(2_000 + 100 * at as u64, 40), (4_000, 1), (5_000, 25)];
        if (seed + at as u64).is_multiple_of(3) {
            let change = |(at, delay)| DelayChange { at: Time::ZERO + Duration::from_millis(at), delay: Duration::from_millis(delay) };
            core.link.delay_changes = delays.map(change).into();
        }
        links.push(core);
    }
    let mut config = WorldConfig {
        seed,
        end: Time::ZERO + Duration::from_secs(8),
        warmup: Time::ZERO + Duration::from_secs(1),
        stacks: (0..6).map(stack).collect(),
        all_events,
        ..Default::default()
    };
    for (number, flow) in flows.iter().enumerate() {
        let from = flow.from % cores;
        let to = (from + flow.hops).min(cores);
        let way = |backward: bool| -> Vec<u32> {
            let offset = if backward { cores } else { 0 };
            let mut way: Vec<u32> = (from..to).map(|at| (at + offset) as u32).collect();
            if backward {
                way.reverse();
            }
            way
        };
        let (mut forward, mut back) = (way(flow.backward), way(!flow.backward));
        // Every other flow has access links.
        let measure = if number % 2 == 1 { Measure::Counts } else { Measure::All };
        let mut own = |name: &str, rate: Option<u64>, delay: u64| {
            let mut own = link(format!("{name}{number}"), rate, delay, 0, seed);
            own.link.measure = measure;
            links.push(own);
            links.len() as u32 - 1
        };
        if flow.access > 0 {
            let rate = [None, None, Some(3_000_000), Some(400_000)][usize::from(flow.access)];
            forward.insert(0, own("access:there", rate, flow.delay));
            back.push(own("access:back", rate, flow.delay));
        }
        if flow.egress > 0 {
            // Mostly faster than the links in the core, so that ACKs come back nearly in order.
            let rate = [None, None, Some(3_000_000), Some(20_000_000), Some(900_000)][usize::from(flow.egress)];
            forward.push(own("access:egress", rate, flow.delay % 5_000));
            back.insert(0, own("access:answers", rate, 0));
        }
        let start = Time::ZERO + Duration::from_micros(flow.start);
        let rate = Rate::from_bps(300_000).unwrap();
        let (name, group, stop) = (format!("flow{number}"), number as u32, Time::ZERO + Duration::from_secs(7));
        let stack = (!matches!(flow.kind, 3 | 5)).then_some(u32::from(flow.stack_choice));
        let traffic = traffic(flow, rate);
        config.flows.to_mut().push(Flow { name, group, forward, back, paths: None, stack, traffic, start, stop, host: None });
    }
    config.links = links;
    config
}

fn traffic(flow: &RandomFlow, rate: Rate) -> Traffic {
    let ms = Duration::from_millis;
    match (flow.kind, flow.stack_choice) {
        (0 | 1, _) => Traffic::default(),
        (2, _) => bulk::Params { size: Some(Bytes(150_000)) }.into(),
        (3 | 4, _) => cbr::Params { rate, size: Bytes(700), jitter: 0.5 }.into(),
        (kind @ (5 | 6), _) => {
            let (size, shape) = (Bytes(500), (kind == 6).then_some(1.6));
            onoff::Params { rate, size, on: ms(300), off: ms(300), shape, transport: Default::default() }.into()
        }
        (_, 0 | 2) => transfers::Params { every: ms(300), size_mean: Some(Bytes(9_000)), size_shape: Some(1.5), sizes: None }.into(),
        (_, stack_choice) => web::Params {
            page_gap: ms(500),
            objects: 3,
            object_gap: ms(50),
            object_mean: web::ObjectMean::Segments(6.0),
            object_shape: 1.4,
            pages: None,
            r#loop: if stack_choice == 1 { web::Loop::Open } else { web::Loop::Closed },
            request: Bytes(if stack_choice == 3 { 1000 } else { 0 }),
        }
        .into(),
    }
}

/// A world whose queues are sampled.
fn sampled(config: WorldConfig<'_>) -> World {
    let mut world = World::new(config).unwrap();
    world.links_mut().iter_mut().for_each(|link| link.trace_queue(Duration::from_millis(16)));
    world
}

/// All measures of a world, as text.
pub fn measured<O: Observer>(mut world: World<O>) -> Result<Vec<String>, String> {
    let audit = world.finish()?;
    let mut said = vec![format!("fingerprint {:016x} {audit:?}", world.fingerprint())];
    said.extend(world.flows().map(|flow| format!("{flow:?}")));
    said.extend(world.links().iter().map(|link| {
        let stats = link.stats();
        let (queue, bytes) = (&stats.queue.packets, &stats.queue.bytes);
        let counters = format!("{:?} sent {} {}", stats.counters, stats.sent, stats.sent_bits());
        let queue = format!("queue {} {} {} bytes {} {}", queue.mean(), queue.sd(), queue.max(), bytes.mean(), bytes.sd());
        let samples = link.traced_queue().map(|trace| (&trace.packets, &trace.bytes, &trace.delay));
        format!("{}: {counters} {queue} {:?} wait {:?} samples {samples:?}", link.name(), stats.probability, stats.wait)
    }));
    let mut done: Vec<String> = world.completions().iter().map(|done| format!("{done:?}")).collect();
    done.sort();
    said.extend(done);
    Ok(said)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn a_world_with_an_event_at_every_hop_does_the_same(
        flows in prop::collection::vec(random_flow(), 1..10),
        half in prop::collection::vec(0u8..6, 1..4),
        seed in 0u64..1_000,
    ) {
        let aqms: Vec<u8> = half.iter().chain(half.iter().rev()).copied().collect();
        let [elided, evented] = [false, true].map(|all_events| measured(sampled(world(&flows, &aqms, seed, all_events))).unwrap());
        let differ: Vec<_> = elided.iter().zip(&evented).filter(|(elided, evented)| elided != evented).collect();
        prop_assert!(differ.is_empty(), "elided, then with every event: {differ:#?}");
        prop_assert_eq!(elided.len(), evented.len());
    }

    #[test]
    fn receivers_that_answer_at_once_do_the_same_without_events_on_the_reverse_path(
        flows in prop::collection::vec(random_flow(), 2..10),
        half in prop::collection::vec(0u8..6, 1..4),
        seed in 0u64..1_000,
    ) {
        let aqms: Vec<u8> = half.iter().chain(half.iter().rev()).copied().collect();
        let flows: Vec<RandomFlow> = flows.into_iter().map(|flow| RandomFlow { kind: flow.kind % 7, hops: 3, backward: false, ..flow }).collect();
        let with = |all_events: bool| {
            let mut config = world(&flows, &aqms, seed, all_events);
            config.stacks.iter_mut().for_each(answer_at_once);
            measured(World::new(config).unwrap()).unwrap()
        };
        let (elided, evented) = (with(false), with(true));
        let differ: Vec<_> = elided.iter().zip(&evented).filter(|(elided, evented)| elided != evented).take(3).collect();
        prop_assert!(differ.is_empty(), "elided, then with every event: {differ:#?}");
        prop_assert_eq!(elided.len(), evented.len());
    }

    #[test]
    fn access_links_do_what_links_do(
        flows in prop::collection::vec(random_flow(), 2..10),
        half in prop::collection::vec(0u8..6, 1..4),
        seed in 0u64..1_000,
    ) {
        let aqms: Vec<u8> = half.iter().chain(half.iter().rev()).copied().collect();
        let without_access = |config: WorldConfig<'_>| {
            let mut said = measured(World::new(config).unwrap()).unwrap();
            // An access link is not among the links that report.
            said.retain(|line| !line.starts_with("access"));
            said
        };
        let cores = aqms.len();
        let with = |measure: Measure| {
            let mut config = world(&flows, &aqms, seed, false);
            config.links[cores..].iter_mut().for_each(|access| access.link.measure = measure);
            without_access(config)
        };
        let links = with(Measure::All);
        prop_assert_eq!(&with(Measure::Counts), &links);
        let mut config = world(&flows, &aqms, seed, false);
        let own = config.links.split_off(cores);
        let access = |LinkConfig { link, controller, .. }: LinkConfig| {
            AccessLink { from: link.from, to: link.to, rate: link.rate, delay: link.delay, limit: controller.limit }
        };
        config.access_links = own.into_iter().map(access).collect();
        prop_assert_eq!(&without_access(config), &links);
    }

    #[test]
    fn a_link_that_asks_nobody_does_what_one_does_that_asks(
        flows in prop::collection::vec(random_flow(), 2..10),
        half in prop::collection::vec(prop_oneof![Just(0u8), 0u8..4], 1..4),
        seed in 0u64..1_000,
    ) {
        let aqms: Vec<u8> = half.iter().chain(half.iter().rev()).copied().collect();
        let with = |asks: bool| {
            let mut config = world(&flows, &aqms, seed, false);
            for (config, _) in config.links.iter_mut().zip(&aqms).filter(|(_, aqm)| **aqm == 0) {
                // All but the number of readings of a probability: at an idle link one that is always zero is not read.
                config.link.measure = Measure::Moments;
                if asks {
                    config.controller.aqm = AnyAqm::Custom(Box::new(PassAll));
                }
            }
            measured(World::new(config).unwrap()).unwrap()
        };
        prop_assert_eq!(with(false), with(true));
    }

    #[test]
    fn a_clone_made_on_the_way_ends_as_the_world_it_was_made_from(
        flows in prop::collection::vec(random_flow(), 1..6),
        half in prop::collection::vec(0u8..6, 1..3),
        seed in 0u64..1_000,
        at in 0u64..8_000,
    ) {
        let aqms: Vec<u8> = half.iter().chain(half.iter().rev()).copied().collect();
        let undisturbed = measured(sampled(world(&flows, &aqms, seed, false))).unwrap();
        let mut first = sampled(world(&flows, &aqms, seed, false));
        first.run(Time::ZERO + Duration::from_millis(at));
        let second = first.clone();
        prop_assert_eq!(&measured(second).unwrap(), &undisturbed);
        prop_assert_eq!(&measured(first).unwrap(), &undisturbed);
    }
}

/// Consecutive transfers whose packets stay in the network longer than a slot rests.
/// The access links are very slow, or the paths very long; the link in the middle has no rate.
fn long_lived(&(rate, delay_ms, every_ms, size, seed): &(u64, u64, u64, u64, u64), all_events: bool) -> WorldConfig<'static> {
    let mut links = vec![link("there".into(), None, 1_000 * delay_ms, 0, seed), link("back".into(), None, 1_000 * delay_ms, 0, seed)];
    for name in ["access", "access:back"] {
        let mut access = link(name.into(), Some(rate), 1_000, 0, seed);
        access.controller = QueueController::new(access.controller.aqm, Amount::Packets(2_000), true, Stream::named(seed, name));
        access.link.measure = Measure::Counts;
        links.push(access);
    }
    let (every, size_mean) = (Duration::from_millis(every_ms), Bytes(size));
    let flow = |name: &str, stack: u32| Flow {
        name: name.into(),
        group: 0,
        forward: vec![2, 0],
        back: vec![1, 3],
        paths: None,
        stack: Some(stack),
        traffic: transfers::Params { every, size_mean: Some(size_mean), size_shape: None, sizes: None }.into(),
        host: None,
        start: Time::ZERO,
        stop: Time::ZERO + Duration::from_secs(40),
    };
    WorldConfig {
        seed,
        end: Time::ZERO + Duration::from_secs(60),
        warmup: Time::ZERO,
        links,
        access_links: Cow::default(),
        stacks: (0..6).map(stack).collect(),
        flows: vec![flow("one", 0), flow("other", 4)].into(),
        all_events,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn packets_that_outlive_the_rest_of_their_slot_change_nothing(
        // Rate of the access links, delay in ms, time between transfers in ms, their mean size, seed.
        random_flow in (200_000u64..2_000_000, prop_oneof![0u64..100, 0u64..6_000], 10u64..200, 500u64..20_000, 0u64..1_000),
    ) {
        let with = |all_events: bool| measured(World::new(long_lived(&random_flow, all_events)).unwrap()).unwrap();
        let (elided, evented) = (with(false), with(true));
        let differ: Vec<_> = elided.iter().zip(&evented).filter(|(elided, evented)| elided != evented).take(3).collect();
        prop_assert!(differ.is_empty(), "elided, then with every event: {differ:#?}");
        prop_assert_eq!(elided.len(), evented.len());
    }
}

/// A path on which segments arrive exactly when delayed ACKs are due.
/// The last link has no delay, and no rate unless `last` has one. Each direction takes 60 ms, and an ACK waits for 100 ms. With `shared` a
/// flow that never starts uses the same last link.
fn last_link_takes_no_time(last: LinkConfig, shared: bool, initial_window: u32) -> WorldConfig<'static> {
    let [there, back] = [("there", 60_000), ("back", 60_000)].map(|(name, delay)| link(name.into(), None, delay, 0, 1));
    let end = Time::ZERO + Duration::from_millis(900);
    let flow = |name: &str, start: Time| Flow {
        name: name.into(),
        group: 0,
        forward: vec![0, 2],
        back: vec![1],
        paths: None,
        stack: Some(0),
        traffic: Traffic::default(),
        host: None,
        start,
        stop: end,
    };
    let delayed_ack = Some(Duration::from_millis(100));
    WorldConfig {
        end,
        links: vec![there, back, last],
        stacks: vec![TcpOptions { delayed_ack, mss: 60, initial_window: f64::from(initial_window), ..TcpOptions::rfc() }],
        flows: std::iter::once(flow("bulk", Time::ZERO)).chain(shared.then(|| flow("other", end))).collect(),
        ..Default::default()
    }
}

/// The times at which a host sent an ACK before a segment arrived there.
#[derive(Clone, Default)]
struct AckedFirst {
    /// The time at which the first flow's receiver last acted, and whether it began with an ACK.
    last: Option<(Time, bool)>,
    times: Vec<Time>,
}

impl AckedFirst {
    fn acts(&mut self, now: Time, acks: bool) {
        match self.last {
            Some((last, began)) if last == now => self.times.extend((began && !acks).then_some(now)),
            _ => self.last = Some((now, acks)),
        }
    }
}

impl Observer for AckedFirst {
    fn on_send(&mut self, now: Time, packet: &Packet) {
        if packet.flow == 0 && packet.has(flag::BACK) {
            self.acts(now, true);
        }
    }
    fn on_deliver(&mut self, now: Time, packet: &Packet, _: u64) {
        if packet.flow == 0 && !packet.has(flag::BACK) {
            self.acts(now, false);
        }
    }
}

/// The times at which a delayed ACK came before a segment that arrived when it was due.
/// The runs have several initial windows.
fn delayed_acks_before_segments(last: &LinkConfig, shared: bool) -> Vec<Time> {
    let with = |initial_window| {
        let config = |all_events| WorldConfig { all_events, ..last_link_takes_no_time(last.clone(), shared, initial_window) };
        assert_eq!(measured(World::new(config(false)).unwrap()), measured(World::new(config(true)).unwrap()));
        let acked = Rc::new(RefCell::new(AckedFirst::default()));
        World::watched(config(false), Watch::of(&acked)).unwrap().run(Time::NEVER);
        acked.take().times
    };
    (1..6).flat_map(with).collect()
}

#[test]
fn a_segment_comes_before_a_delayed_ack_that_is_due_at_its_time_whatever_needs_no_event() {
    for shared in [false, true] {
        assert!(delayed_acks_before_segments(&link("egress".into(), None, 0, 0, 1), shared).is_empty());
    }
    let fast = link("egress".into(), Some(10_000_000_000_000), 0, 0, 1);
    assert!(delayed_acks_before_segments(&fast, false).is_empty());
}

#[test]
fn a_segment_comes_after_a_delayed_ack_that_is_due_at_its_time_over_a_last_link_that_needs_events_and_no_time() {
    let fast = |aqm: u8| link("egress".into(), Some(10_000_000_000_000), 0, aqm, 1);
    let met = delayed_acks_before_segments(&fast(0), true);
    assert!(!met.is_empty(), "delayed ACKs are due at the times of segments");
    for shared in [false, true] {
        assert_eq!(delayed_acks_before_segments(&fast(3), shared), met, "packets are buffered");
    }
}
