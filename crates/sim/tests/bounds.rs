//! No overflow if all parameters are at the edges of their documented ranges at once.
//! These are rates, sizes, delays, windows and times. Arithmetic is checked in test builds, so an overflow is a panic.

use proptest::prelude::*;
use sojourn_aqm::{Amount, QueueController, REGISTRY};
use sojourn_sim::tcp::TcpOptions;
use sojourn_sim::{LinkConfig, World, WorldConfig};
use sojourn_spec::flow::Flow;
use sojourn_spec::link::{Link as PlannedLink, Measure, RateChange};
use sojourn_traffic::{Traffic, kinds::*};
use sojourn_units::{Bytes, Duration, Rate, Stream, Time, range};

fn rate() -> impl Strategy<Value = Rate> {
    let edges = vec![1, 2, 7, 320_000_000_001, range::HIGHEST_RATE_BPS - 1, range::HIGHEST_RATE_BPS];
    prop_oneof![prop::sample::select(edges), 1..=range::HIGHEST_RATE_BPS].prop_map(|bps| Rate::from_bps(bps).unwrap())
}

fn time() -> impl Strategy<Value = Duration> {
    let longest = range::LONGEST_TIME.as_nanos();
    prop::sample::select(vec![0, 1, 2, 1_000_000, 1_000_000_000, longest - 1, longest]).prop_map(Duration::from_nanos)
}

fn size() -> impl Strategy<Value = u32> {
    prop::sample::select(vec![1u32, 40, 1_500, 9_000, 60_000])
}

fn limit() -> impl Strategy<Value = Amount> {
    let edges = [Amount::Packets(1), Amount::Packets(u32::MAX), Amount::Bytes(1), Amount::Bytes(1 << 50)];
    prop::sample::select(edges.to_vec())
}

/// A link with any discipline; `None` if the discipline refuses this link.
#[derive(Clone, Debug)]
struct Edge {
    aqm: usize,
    rate: Option<Rate>,
    delay: Duration,
    limit: Amount,
    change: Option<Rate>,
}

fn edge() -> impl Strategy<Value = Edge> {
    let droptail = REGISTRY.iter().position(|entry| entry.name == "droptail").unwrap();
    let aqm = prop_oneof![Just(droptail), 0..REGISTRY.len()];
    (aqm, prop::option::weighted(0.9, rate()), time(), limit(), prop::option::of(rate()))
        .prop_map(|(aqm, rate, delay, limit, change)| Edge { aqm, rate, delay, limit, change })
}

fn link(edge: &Edge, number: usize) -> Option<LinkConfig> {
    let Edge { aqm, rate, delay, limit, change } = *edge;
    let at = sojourn_aqm::Link { rate: rate.unwrap_or(Rate::from_bps(1)?), delay, mean_packet: 1_000, limit_packets: 1_000 };
    let aqm = (REGISTRY[aqm].default)().build(&at).ok()?;
    let rate_changes = change.filter(|_| rate.is_some()).map(|rate| RateChange { at: Time::from_nanos(1_000), rate });
    let planned = PlannedLink {
        name: format!("link{number}"),
        rate,
        delay,
        rate_changes: rate_changes.into_iter().collect(),
        measure: if number == 0 { Measure::All } else { Measure::Counts },
        ..PlannedLink::default()
    };
    Some(LinkConfig::new(planned, QueueController::new(aqm, limit, true, Stream::named(1, "aqm"))))
}

fn traffic(kind: u8, rate: Rate, packet: u32, every: Duration) -> Traffic {
    let (size, every) = (Bytes(u64::from(packet)), every.max(Duration::from_nanos(1)));
    match kind {
        0 => bulk::Params { size: None }.into(),
        1 => bulk::Params { size: Some(Bytes(range::LARGEST_TRANSFER)) }.into(),
        2 => transfers::Params { every, size_mean: Some(Bytes(range::LARGEST_TRANSFER)), size_shape: Some(1.001), sizes: None }.into(),
        3 => cbr::Params { rate, size, jitter: 1.0 }.into(),
        4 => poisson::Params { rate, size, sizes: poisson::Sizes::Exponential }.into(),
        _ => onoff::Params { rate, size, on: every, off: every, shape: Some(1.001), transport: Default::default() }.into(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn no_documented_bound_overflows(
        edges in prop::collection::vec(edge(), 2..4),
        kinds in prop::collection::vec((0u8..6, rate(), size(), time()), 1..4),
        mss in size(),
        window in prop::sample::select(vec![1u32, 2, 10_000, 65_535]),
        profile in 0usize..3,
    ) {
        let Some(links) = edges.iter().enumerate().map(|(number, edge)| link(edge, number)).collect::<Option<Vec<_>>>() else {
            return Ok(());
        };
        let base = [TcpOptions::rfc(), TcpOptions::linux(), TcpOptions::ns2()][profile].clone();
        let back = links.len() as u32 - 1;
        let flow = |(number, &(kind, rate, size, every)): (usize, &(u8, Rate, u32, Duration))| Flow {
            name: format!("flow{number}"),
            group: 0,
            forward: (0..back).collect(),
            back: vec![back],
            paths: None, stack: (kind < 3).then_some(0),
            traffic: traffic(kind, rate, size, every),
            host: None,
            start: Time::ZERO,
            stop: Time::ZERO + range::LONGEST_TIME,
        };
        // The timers of a discipline run all the time.
        let has_timer = edges.iter().any(|edge| REGISTRY[edge.aqm].name != "droptail");
        let config = WorldConfig {
            end: Time::ZERO + if has_timer { Duration::from_secs(10) } else { range::LONGEST_TIME },
            links,
            // Thousands of connections may open between two checks of the memory in use.
            stacks: vec![TcpOptions { mss, window, initial_window: f64::from(window.min(1_000)), ..base }],
            flows: kinds.iter().enumerate().map(flow).collect(),
            ..Default::default()
        };
        // Disciplines with unmet needs are rejected. An endless run ends after some thousands of events.
        let Ok(mut world) = World::new(config) else { return Ok(()) };
        if !world.run_some(Time::NEVER) {
            prop_assert!(world.stalled().is_some() || world.finish().is_ok(), "{:?}", world.finish());
        }
    }
}
