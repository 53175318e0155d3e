//! Random operations on every registered algorithm, with default and random parameters.

use crate::bench::{Bench, TestPacket, link, workload};
use crate::{entries, knobs};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use sojourn_aqm::{Amount, AnyAqm, Aqm, AqmConfig, ArrivalVerdict, Backlog, DepartureVerdict, Dropped, Entry, Needs, PacketView, REGISTRY};
use sojourn_units::{Duration, Probability, Stream, Time};

/// An event at a queue, `gap` nanoseconds after the previous one.
#[derive(Clone, Debug)]
enum Op {
    Arrive { gap: u64, size: u32, flow: u32, ect: bool, rtt_hint_ms: u16, has_data: bool },
    Free { gap: u64 },
}

/// A case: the non-default parameters of the algorithm, its queue, and the events.
#[derive(Clone, Debug)]
struct Case {
    changed: Vec<(Index, Index)>,
    limit: Amount,
    ecn: bool,
    seed: u64,
    ops: Vec<Op>,
    /// A pause before this operation, one in twenty of up to an hour.
    pause: (Index, u64),
    /// The run is branched before this operation.
    branch: Index,
}

fn gap() -> impl Strategy<Value = u64> {
    prop_oneof![4 => Just(0), 10 => 0..2_000_000u64, 2 => 0..200_000_000u64, 1 => 0..5_000_000_000u64]
}

fn op() -> impl Strategy<Value = Op> {
    let size = prop_oneof![Just(1u32), Just(40), Just(1000), Just(1500), 1..65_536u32, Just(65_535)];
    let hint = prop_oneof![Just(0u16), 1..500u16, Just(u16::MAX)];
    let arrive = (gap(), size, any::<u32>(), any::<bool>(), hint, any::<bool>());
    prop_oneof![
        3 => arrive.prop_map(|(gap, size, flow, ect, rtt_hint_ms, has_data)| Op::Arrive { gap, size, flow, ect, rtt_hint_ms, has_data }),
        2 => gap().prop_map(|gap| Op::Free { gap }),
    ]
}

fn case() -> impl Strategy<Value = Case> {
    let changed = prop::collection::vec(any::<(Index, Index)>(), 0..4);
    let limit = prop_oneof![(1..200u32).prop_map(Amount::Packets), (0..200_000u64).prop_map(Amount::Bytes)];
    let pause = (any::<Index>(), prop_oneof![19 => 0..60_000_000_000u64, 1 => 0..3_600_000_000_000u64]);
    let ops = prop::collection::vec(op(), 1..400);
    (changed, limit, any::<bool>(), any::<u64>(), ops, pause, any::<Index>())
        .prop_map(|(changed, limit, ecn, seed, ops, pause, branch)| Case { changed, limit, ecn, seed, ops, pause, branch })
}

impl Case {
    fn build(&self, entry: &Entry) -> AnyAqm {
        let config = knobs::change(&(entry.default)(), &self.changed);
        config.build(&link()).expect("changed within range")
    }

    /// Runs the operations from `from` on and checks after each; returns the branched copy.
    fn run(&self, bench: &mut Bench, from: usize) -> Result<Option<(usize, Bench)>, String> {
        let mut branched = None;
        for (i, op) in self.ops.iter().enumerate().skip(from) {
            if i == self.branch.index(self.ops.len()) {
                branched = Some((i, bench.clone()));
            }
            let pause = if i == self.pause.0.index(self.ops.len()) { self.pause.1 } else { 0 };
            match *op {
                Op::Arrive { gap, size, flow, ect, rtt_hint_ms, has_data } => {
                    bench.advance(bench.now + Duration::from_nanos(gap + pause));
                    bench.arrive(TestPacket { id: i as u32, size, flow, ect, ce: false, rtt_hint_ms, has_data });
                }
                Op::Free { gap } => {
                    bench.advance(bench.now + Duration::from_nanos(gap + pause));
                    bench.free();
                }
            }
            bench.check().map_err(|what| format!("after operation {i}: {what}"))?;
        }
        Ok(branched)
    }

    fn hold(&self, entry: &Entry) -> Result<(), String> {
        let offered: Vec<u32> = (0u32..).zip(&self.ops).filter(|(_, op)| matches!(op, Op::Arrive { .. })).map(|(i, _)| i).collect();
        let start = || Bench::new(self.build(entry), self.limit, self.ecn, self.seed);
        let (mut first, mut again) = (start(), start());
        let branched = self.run(&mut first, 0)?;
        self.run(&mut again, 0)?;
        first.drain(&offered)?;
        again.drain(&offered)?;
        if first.fates != again.fates {
            return Err("the same seed gave another outcome".into());
        }
        let (from, mut copy) = branched.ok_or("not branched")?;
        self.run(&mut copy, from)?;
        copy.drain(&offered)?;
        if copy.fates != first.fates { Err(format!("a copy made before operation {from} gave another outcome")) } else { Ok(()) }
    }
}

#[test]
fn every_algorithm_keeps_its_queue_in_order_under_any_traffic() {
    for entry in entries() {
        let cases = Config::default().cases.min(40); // fewer where PROPTEST_CASES says so
        let config = Config { cases, failure_persistence: None, ..Config::default() };
        let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::XorShift));
        let outcome = runner.run(&case(), |case| case.hold(entry).map_err(|what| TestCaseError::fail(format!("{}: {what}", entry.name))));
        outcome.unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn every_algorithm_survives_hours_without_packets_and_bursts_without_a_gap() {
    for entry in entries() {
        let mut bench = Bench::new((entry.default)().build(&link()).unwrap(), Amount::Packets(50), false, 1);
        let mut offered = Vec::new();
        for hours in 0..5u64 {
            bench.advance(bench.now + Duration::from_secs(3600 * hours));
            for size in [1, 65_535, 1000].repeat(100) {
                let id = offered.len() as u32;
                offered.push(id);
                bench.arrive(TestPacket { id, size, flow: id, ect: true, ce: false, rtt_hint_ms: 0, has_data: true });
                bench.check().unwrap_or_else(|what| panic!("{}: {what}", entry.name));
            }
            while bench.free().is_some() {}
        }
        bench.drain(&offered).unwrap_or_else(|what| panic!("{}: {what}", entry.name));
    }
}

/// An algorithm that sees every departure.
#[derive(Clone)]
struct ShownDepartures(AnyAqm);

impl Aqm for ShownDepartures {
    fn on_enqueue(&mut self, arrival: &PacketView, backlog: &Backlog, random: &mut Stream) -> ArrivalVerdict {
        self.0.on_enqueue(arrival, backlog, random)
    }
    fn on_dequeue(&mut self, departure: &PacketView, sojourn: Duration, backlog: &Backlog, random: &mut Stream) -> DepartureVerdict {
        self.0.on_dequeue(departure, sojourn, backlog, random)
    }
    fn on_drop(&mut self, dropped: Dropped) {
        self.0.on_drop(dropped);
    }
    fn on_flows(&mut self, now: Time, active: u32) {
        self.0.on_flows(now, active);
    }
    fn update_interval(&self) -> Option<Duration> {
        self.0.update_interval()
    }
    fn on_update(&mut self, now: Time, backlog: &Backlog) {
        self.0.on_update(now, backlog);
    }
    fn needs(&self) -> Needs {
        Needs { departures: true, ..self.0.needs() }
    }
    fn probability(&self) -> Option<Probability> {
        self.0.probability()
    }
}

#[test]
fn an_algorithm_that_reads_departures_asks_for_them() {
    let is_asked = |entry: &Entry| {
        let (config, needs) = ((entry.default)(), (entry.default)().build(&link()).unwrap().needs());
        config.layout().is_none() && !needs.departures && !needs.head_drop
    };
    for entry in entries().into_iter().filter(|entry| is_asked(entry)) {
        let build = || (entry.default)().build(&link()).unwrap();
        let with_departures = workload(AnyAqm::Custom(Box::new(ShownDepartures(build()))), 1);
        assert!(workload(build(), 1) == with_departures, "{}: its needs() must say `departures`", entry.name);
    }
    assert!(REGISTRY.iter().filter(|entry| is_asked(entry)).count() > 5);
}

#[test]
fn an_algorithm_that_needs_no_arrivals_passes_them_and_stays_as_it_is() {
    let passes = |entry: &Entry| (entry.default)().build(&link()).unwrap().needs().no_arrivals;
    for entry in entries().into_iter().filter(|entry| passes(entry)) {
        let mut aqm = (entry.default)().build(&link()).unwrap();
        let (before, mut random) = (format!("{aqm:?}"), Stream::named(1, "arrivals"));
        for packets in [0, 1, 1000] {
            let packet = TestPacket { id: 0, size: 1500, flow: packets, ect: true, ce: false, rtt_hint_ms: 50, has_data: true };
            let backlog = Backlog { packets, bytes: 1500 * u64::from(packets), idle_since: None };
            let view = PacketView::of(Time::from_nanos(1_000_000_000), &packet);
            assert_eq!(aqm.on_enqueue(&view, &backlog, &mut random), ArrivalVerdict::Pass, "{}", entry.name);
        }
        assert_eq!(format!("{aqm:?}"), before, "{}", entry.name);
        assert!(random == Stream::named(1, "arrivals"), "{}: draws", entry.name);
    }
    assert!(REGISTRY.iter().filter(|entry| passes(entry)).count() >= 4);
}

#[test]
fn names_in_the_registry_are_unique_and_summaries_say_something() {
    for (i, entry) in REGISTRY.iter().enumerate() {
        assert!(REGISTRY[..i].iter().all(|other| other.name != entry.name), "{} is there twice", entry.name);
        assert_eq!((entry.default)().name(), entry.name);
        assert!(entry.summary.len() > 10 && !entry.summary.ends_with('.'), "{}: {}", entry.name, entry.summary);
        let config: AqmConfig = (entry.default)();
        assert_eq!(knobs::read(entry.name, knobs::written(&config)).as_ref(), Ok(&config), "a config must survive being written and read");
    }
}
