//! Every registered algorithm decides about the same packets as stored in `records.txt`, with its defaults and with drawn parameters, and takes
//! and refuses the same values.
//! A change of a line is meant, and then it is stored anew with the change, or it is a fault.
//!
//! `cargo test --package sojourn-aqm --test registry -- --ignored` stores what this build gives.

use crate::bench::{Bench, Fate, TestPacket, link};
use crate::knobs::{combination, leaves, read, written};
use serde_json::json;
use sojourn_aqm::{Amount, Aqm, AqmConfig, Entry, REGISTRY};
use sojourn_units::{Duration, Serializer, Stream, Time};
use std::collections::BTreeMap;
use std::fs;

const STORED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/registry/records.txt");

/// Combinations of parameters of an algorithm; the first has the defaults.
const COMBINATIONS: u64 = 96;

/// Packets that are offered to each.
const PACKETS: u32 = 1200;

/// A hash of numbers (FNV-1a, 64 bits at a time).
struct Hash(u64);

impl Hash {
    fn add(&mut self, value: u64) {
        self.0 = (self.0 ^ value).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
    }

    fn add_fate(&mut self, fate: Fate) {
        let values = match fate {
            Fate::Sent { id, marked, waited } => [u64::from(id), u64::from(marked), waited.as_nanos()],
            Fate::Lost { id, reason } => [u64::from(id), 2 + reason as u64, 0],
        };
        values.into_iter().for_each(|value| self.add(value));
    }
}

/// Time to the next packet. Every second combination has times on a grid, where limits are met exactly.
fn gap(number: u64, id: u32, random: &mut Stream) -> Duration {
    let phase = id / 100 % 4;
    // Every third queue is long, and so overloaded that packets wait for 0.3 s.
    let mean_us = if number % 3 == 2 { 200.0 } else { [1500.0, 400.0, 700.0, 900.0][phase as usize] };
    match random.below(300) {
        0 => Duration::from_millis(20 * random.below(60)),
        1..20 => Duration::ZERO,
        _ if number % 2 == 1 => Duration::from_nanos(100_000 * random.below(mean_us as u64 / 50)),
        _ => Duration::from_secs_f64(random.exponential(mean_us * 1e-6)),
    }
}

/// The hash of all that an algorithm does and shows.
fn outcome(config: &AqmConfig, number: u64) -> u64 {
    let mut random = Stream::named(number, config.name());
    let limit = [Amount::Packets(60), Amount::Bytes(50_000), Amount::Packets(1000)][number as usize % 3];
    let mut bench = Bench::new(config.build(&link()).expect("built before"), limit, !number.is_multiple_of(4), number);
    let (mut hash, mut wire) = (Hash(number), Serializer::new(link().rate));
    let (mut arrival, mut free, mut id) = (Time::ZERO, Time::NEVER, 0);
    while id < PACKETS {
        let next = arrival.min(free).min(bench.queue.next_update().max(bench.now));
        bench.advance(next);
        if free == next {
            free = bench.free().map_or(Time::NEVER, |size| next + wire.send(size));
        } else if arrival == next {
            let size = [40, 500, 1000, 1500][random.below(4) as usize];
            let flow = random.below(12) as u32;
            let was_idle = bench.idle_since.is_some();
            let rtt_hint_ms = [0, 20, 60, 100, 200, 400, 700, 1000][flow as usize % 8];
            bench.arrive(TestPacket { id, size, flow, ect: flow < 8, ce: flow == 7, rtt_hint_ms, has_data: size > 40 });
            if was_idle && bench.idle_since.is_none() {
                free = next + wire.send(size);
            }
            if id.is_multiple_of(90) {
                bench.queue.set_flows(next, random.below(30) as u32);
            }
            id += 1;
            arrival = next + gap(number, id, &mut random);
        }
        bench.fates.drain(..).for_each(|fate| hash.add_fate(fate));
        hash.add(bench.queue.aqm().probability().map_or(0, |p| p.get().to_bits()));
        hash.add(u64::from(bench.queue.packets()) << 32 | bench.queue.bytes());
    }
    let counters = *bench.queue.counters();
    [counters.arrived, counters.marked, counters.dropped()].into_iter().for_each(|count| hash.add(count));
    hash.0
}

/// The hash of which values each parameter takes, and of how the others are refused.
fn bounds(entry: &Entry) -> u64 {
    let (default, mut paths, mut hash) = (written(&(entry.default)()), Vec::new(), Hash(0));
    leaves(&default, "", &mut paths);
    let numbers = [-1.0, 0.0, 1e-9, 0.5, 1.0, 1.5, 2.0, 45.0, 90.0, 100.0, 1000.0, 1e6, 1e9, 1e10, 1e300].map(|x| json!(x));
    let whole = [-1i64, 0, 1, 2, 3, 7, 8, 31, 32, 100, 101, 255, 256, 65_535, 65_536, 1 << 20, 1 << 32].map(|x| json!(x));
    let times = ["0 s", "1 ns", "1 us", "1 ms", "1 s", "60 s", "1000 s", "1001 s", "1000000 s"].map(|x| json!(x));
    let others = ["0 B", "1 B", "1500 B", "65535 B", "65536 B", "1 GB", "0 bit/s", "1 bit/s", "10 Tbit/s"].map(|x| json!(x));
    for path in &paths {
        for value in numbers.iter().chain(&whole).chain(&times).chain(&others) {
            let mut tree = default.clone();
            *tree.pointer_mut(path).expect("a leaf") = value.clone();
            let built = read(entry.name, tree).and_then(|config| config.build(&link()).map_err(|error| error.to_string()));
            let text = built.map_or_else(|error| error, |_| String::new());
            text.bytes().chain([0]).for_each(|byte| hash.add(u64::from(byte)));
        }
    }
    hash.0
}

/// A line for an algorithm: 32 bits of its bounds, and of each outcome.
fn record(entry: &Entry) -> String {
    let outcomes = (0..COMBINATIONS).map(|number| {
        let config = if number == 0 { (entry.default)() } else { combination(&(entry.default)(), "", number) };
        format!(" {:08x}", outcome(&config, number) >> 32)
    });
    std::iter::once(format!(" {:08x}", bounds(entry) >> 32)).chain(outcomes).collect()
}

#[test]
fn every_algorithm_decides_as_stored() {
    let stored = fs::read_to_string(STORED).unwrap();
    let stored: BTreeMap<&str, &str> = stored.lines().filter_map(|line| line.split_once(':')).collect();
    // A new algorithm that is tested by its name has no line yet.
    let is_new = |entry: &Entry| std::env::var("AQMS").is_ok() && !stored.contains_key(entry.name);
    let entries = crate::entries().into_iter().filter(|entry| !is_new(entry));
    let other = entries.filter(|entry| stored.get(entry.name) != Some(&&record(entry)[..]));
    let other: Vec<&str> = other.map(|entry| entry.name).collect();
    assert!(other.is_empty(), "{other:?} decide otherwise than stored in {STORED}; `-- --ignored` stores new and intended decisions");
}

#[test]
#[ignore = "stores the decisions of this build"]
fn store() {
    let lines: Vec<String> = REGISTRY.iter().map(|entry| format!("{}:{}\n", entry.name, record(entry))).collect();
    fs::write(STORED, lines.concat()).unwrap();
}
