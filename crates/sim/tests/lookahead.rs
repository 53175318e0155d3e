//! ACKs from access links pass the shared link of their reverse path without events.
//! They arrive there nearly in order. Nothing else changes.

use crate::elision::{answer_at_once, link, measured, stack};
use proptest::prelude::*;
use sojourn_sim::tcp::TcpOptions;
use sojourn_sim::{LinkConfig, World, WorldConfig};
use sojourn_spec::flow::Flow;
use sojourn_spec::link::Measure;
use sojourn_traffic::{Traffic, kinds::*};
use sojourn_units::{Bytes, Duration, Rate, Time};

/// A flow over two shared links, forward and reverse, with its own access links at both ends.
#[derive(Clone, Debug)]
struct RandomFlow {
    traffic: u8,
    stack: u8,
    mss: u32,
    /// The links of its receiver: rate over the shared link's rate, and delay in µs.
    /// 0 is a pure delay.
    egress: [(u64, u64); 2],
    /// The rates of its sender's links, in kbit/s, and their delay in microseconds.
    access: [u64; 2],
    delay: u64,
    start: u64,
}

fn random_flow() -> impl Strategy<Value = RandomFlow> {
    let egress = || (prop_oneof![Just(0u64), Just(1), 2u64..20], prop_oneof![Just(0u64), 0u64..3_000]);
    let rate = || 300u64..20_000;
    (0u8..6, 0u8..6, prop_oneof![Just(1000u32), 60u32..1400], [egress(), egress()], [rate(), rate()], 0u64..20_000, 0u64..2_000_000)
        .prop_map(|(traffic, stack, mss, egress, access, delay, start)| RandomFlow { traffic, stack, mss, egress, access, delay, start })
}

fn traffic(kind: u8) -> Traffic {
    let (rate, size) = (Rate::from_bps(300_000).unwrap(), Bytes(700));
    match kind {
        0 | 1 => Traffic::default(),
        2 => bulk::Params { size: Some(Bytes(150_100)) }.into(),
        3 => cbr::Params { rate, size, jitter: 0.5 }.into(),
        4 => ping::Params::default().into(),
        _ => {
            let (on, off) = (Duration::from_millis(300), Duration::from_millis(300));
            onoff::Params { rate, size, on, off, shape: Some(1.6), transport: Default::default() }.into()
        }
    }
}

/// The shared links: their rates in kbit/s, delays in microseconds, and queue disciplines.
type Shared = [(u64, u64, u8); 2];

fn world(flows: &[RandomFlow], shared: &Shared, seed: u64, all_events: bool) -> WorldConfig<'static> {
    let names = ["there", "back"].into_iter().zip(shared);
    let mut links: Vec<LinkConfig> =
        names.map(|(name, &(rate, delay, aqm))| link(name.into(), Some(1000 * rate), delay, aqm, seed)).collect();
    let mut own = |rate: u64, delay: u64| {
        let mut own = link(format!("own{}", links.len()), (rate > 0).then_some(1000 * rate), delay, 0, seed);
        own.link.measure = Measure::Counts;
        links.push(own);
        links.len() as u32 - 1
    };
    let flow = |(number, random_flow): (usize, &RandomFlow)| {
        let [egress, answers] = random_flow.egress.map(|(times, delay)| own(times * shared[0].0, delay));
        let [access, last] = random_flow.access.map(|rate| own(rate, random_flow.delay));
        Flow {
            name: format!("flow{number}"),
            group: number as u32,
            forward: vec![access, 0, egress],
            back: vec![answers, 1, last],
            paths: None,
            stack: (!matches!(random_flow.traffic, 3 | 4)).then_some(number as u32),
            traffic: traffic(random_flow.traffic),
            host: None,
            start: Time::ZERO + Duration::from_micros(random_flow.start),
            stop: Time::ZERO + Duration::from_secs(5),
        }
    };
    let flows_of_world: Vec<Flow> = flows.iter().enumerate().map(flow).collect();
    let stacks = flows.iter().map(|random_flow| {
        let mut stack = TcpOptions { mss: random_flow.mss, ..stack(random_flow.stack) };
        answer_at_once(&mut stack);
        stack
    });
    WorldConfig {
        seed,
        end: Time::ZERO + Duration::from_secs(6),
        warmup: Time::ZERO + Duration::from_secs(1),
        stacks: stacks.collect(),
        links,
        flows: flows_of_world.into(),
        all_events,
        ..Default::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn answers_over_access_links_do_the_same_with_an_event_each_and_in_a_clone(
        flows in prop::collection::vec(random_flow(), 2..10),
        shared in [(500u64..4_000, 0u64..10_000, 0u8..4), (60u64..4_000, 0u64..10_000, 0u8..4)],
        seed in 0u64..1_000,
        at in 0u64..6_000,
    ) {
        let random_flow = |all_events: bool| World::new(world(&flows, &shared, seed, all_events)).unwrap();
        let (elided, evented) = (measured(random_flow(false)).unwrap(), measured(random_flow(true)).unwrap());
        let differ: Vec<_> = elided.iter().zip(&evented).filter(|(elided, evented)| elided != evented).take(3).collect();
        prop_assert!(differ.is_empty(), "elided, then with every event: {differ:#?}");
        prop_assert_eq!(elided.len(), evented.len());
        let mut first = random_flow(false);
        first.run(Time::ZERO + Duration::from_millis(at));
        prop_assert_eq!(&measured(first.clone()).unwrap(), &elided);
        prop_assert_eq!(&measured(first).unwrap(), &elided);
    }
}

/// The same flows and links, `times` as fast.
/// Each flow sends a file, and all start together.
fn faster(flows: &[RandomFlow], shared: &Shared, times: u64) -> (Vec<RandomFlow>, Shared) {
    let flow = |random_flow: &RandomFlow| RandomFlow {
        traffic: 2,
        access: random_flow.access.map(|rate| rate * times),
        start: random_flow.start / 1_000,
        ..random_flow.clone()
    };
    (flows.iter().map(flow).collect(), shared.map(|(rate, delay, aqm)| (rate * times, delay, aqm)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// Two packets of less than a nanosecond may arrive at the same time.
    #[test]
    fn answers_over_fast_links_do_the_same_with_an_event_each(
        flows in prop::collection::vec(random_flow(), 2..20),
        shared in [(500u64..4_000, 0u64..10_000, 0u8..4), (60u64..4_000, 0u64..10_000, 0u8..4)],
        (header, times) in (prop_oneof![Just(1u32), Just(40)], prop_oneof![Just(10_000u64), Just(100_000)]),
        seed in 0u64..1_000,
    ) {
        let (flows, shared) = faster(&flows, &shared, times);
        let random_flow = |all_events: bool| {
            let mut config = world(&flows, &shared, seed, all_events);
            config.stacks.iter_mut().for_each(|stack| stack.header = header + stack.accecn_room());
            measured(World::new(config).unwrap()).unwrap()
        };
        let (elided, evented) = (random_flow(false), random_flow(true));
        let differ: Vec<_> = elided.iter().zip(&evented).filter(|(elided, evented)| elided != evented).take(3).collect();
        prop_assert!(differ.is_empty(), "elided, then with every event: {differ:#?}");
        prop_assert_eq!(elided.len(), evented.len());
    }
}

/// The numbers of events at the hosts of a world, and of packets that they send.
fn events(mut world: World) -> (u64, u64) {
    let mut events = 0;
    while world.run_events(Time::NEVER, 1).is_some() {
        events += 1;
    }
    (events, world.finish().unwrap().sent)
}

/// Ten flows over equal links, with all links `times` as fast.
/// Those of their receivers are ten times faster than the shared one.
fn ten(times: u64, all_events: bool) -> World {
    let random_flow =
        |start| RandomFlow { traffic: 0, stack: 0, mss: 1000, egress: [(10, 500); 2], access: [20_000; 2], delay: 2_000, start };
    let flows: Vec<RandomFlow> = (0..10).map(|number| random_flow(100_000 * number)).collect();
    let shared = [(4_000, 5_000, 0), (4_000, 5_000, 0)];
    let (flows, shared) = if times > 1 { faster(&flows, &shared, times) } else { (flows, shared) };
    World::new(world(&flows, &shared, 1, all_events)).unwrap()
}

#[test]
fn a_stream_of_answers_needs_hardly_an_event() {
    for times in [1, 10_000] {
        let (events_of_all, sent) = events(ten(times, true));
        assert!(sent > 3_000 && events_of_all > sent, "{events_of_all} events for {sent} packets");
        let (elided, same) = events(ten(times, false));
        assert_eq!(same, sent);
        assert!(10 * elided < 6 * sent, "{elided} events for {sent} packets, half of them answers");
    }
}
