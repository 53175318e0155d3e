//! Every registered algorithm decides as on record in `records.txt`.
//! The records cover defaults and drawn parameters, and the values that each parameter accepts and rejects. A changed line is either
//! intended, and stored with the change, or a defect.
//!
//! `cargo test --package sojourn-aqm --test registry -- --ignored` stores the results of this build.

use crate::bench::{Bench, Fate, TestPacket, link};
use crate::knobs::{combination, leaves, read, written};
use serde_json::json;
use sojourn_aqm::{AckFilter, Amount, AnyAqm, AqmConfig, ArrivingAck, Entry, Packet, Qdisc, QueueController, REGISTRY, Sample};
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

    fn add_text(&mut self, text: &str) {
        text.bytes().for_each(|byte| self.add(u64::from(byte)));
    }

    fn add_fate(&mut self, fate: Fate) {
        let values = match fate {
            Fate::Sent { id, marked, waited } => [u64::from(id), u64::from(marked), waited.as_nanos()],
            Fate::Lost { id, reason } => [u64::from(id), 2 + reason as u64, 0],
        };
        values.into_iter().for_each(|value| self.add(value));
    }
}

/// Time to the next packet.
/// Every second combination has times on a grid, so that limits are met exactly.
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

/// A link that runs a queue, and the times at which packets arrive and leave.
struct Run {
    bench: Bench,
    random: Stream,
    wire: Serializer,
    arrival: Time,
    /// The end of the present transmission, and the size of its packet.
    free: Time,
    sending: u32,
    id: u32,
}

impl Run {
    fn new(config: &AqmConfig, number: u64) -> Self {
        let limit = [Amount::Packets(60), Amount::Bytes(50_000), Amount::Packets(1000)][number as usize % 3];
        let ecn = !number.is_multiple_of(4);
        let mut bench = Bench::new(config.build(&link()).expect("built before"), limit, ecn, number);
        let mut controller = QueueController::new(config.build(&link()).expect("built before"), limit, ecn, Stream::named(number, "queue"));
        controller.ack_filter = [AckFilter::None, AckFilter::Filter, AckFilter::Aggressive][number as usize / 2 % 3];
        controller.dscps = vec![0, 46, 8, 34];
        bench.queue = Qdisc::new(controller);
        (0..12).filter(|_| number.is_multiple_of(5)).for_each(|flow| bench.queue.add_place(flow, flow % 4));
        (0..12).filter(|_| number.is_multiple_of(7)).for_each(|flow| bench.queue.set_hash(flow, u64::from(flow) * 7919));
        bench.queue.count_drops_of_earlier(Time::ZERO + Duration::from_millis(200));
        let wire = Serializer::new(link().rate);
        Run { bench, random: Stream::named(number, config.name()), wire, arrival: Time::ZERO, free: Time::NEVER, sending: 0, id: 0 }
    }

    /// The next event.
    fn step(&mut self, number: u64) {
        let next = self.arrival.min(self.free).min(self.bench.queue.next_update().max(self.bench.now));
        self.bench.advance(next);
        let arrives_first = self.arrival == next && self.id % 2 == 1;
        if self.free == next && !arrives_first {
            self.send(next);
        } else if self.arrival == next {
            let departs = self.free == next;
            self.bench.queue.set_simultaneous_departure(departs.then_some(self.sending));
            self.arrive(next);
            self.arrival = next + gap(number, self.id, &mut self.random);
        }
    }

    fn send(&mut self, now: Time) {
        let size = self.bench.free();
        self.sending = size.unwrap_or(0);
        self.free = size.map_or(Time::NEVER, |size| now + self.wire.send(size));
    }

    fn arrive(&mut self, now: Time) {
        let size = [40, 500, 1000, 1500][self.random.below(4) as usize];
        let flow = self.random.below(12) as u32;
        let was_idle = self.bench.idle_since.is_some();
        let rtt_hint_ms = [0, 20, 60, 100, 200, 400, 700, 1000][flow as usize % 8];
        let packet = TestPacket { id: self.id, size, flow, ect: flow < 8, ce: flow == 7, rtt_hint_ms, has_data: size > 40 };
        if let Some(header) = packet.ack() {
            let ack = ArrivingAck { flow, place: flow, ecn: packet.ecn(), header };
            self.bench.queue.compare_acks(&ack, &TestPacket::ack);
        }
        self.bench.arrive(packet);
        if was_idle && self.bench.idle_since.is_none() {
            (self.sending, self.free) = (size, now + self.wire.send(size));
        }
        if self.id.is_multiple_of(90) {
            self.bench.queue.set_flows(now, self.random.below(30) as u32);
        }
        self.id += 1;
    }
}

/// The hash of all decisions and outputs of an algorithm.
fn outcome(config: &AqmConfig, number: u64) -> u64 {
    let (mut run, mut hash) = (Run::new(config, number), Hash(number));
    while run.id < PACKETS {
        run.step(number);
        let Bench { queue, fates, .. } = &mut run.bench;
        fates.drain(..).for_each(|fate| hash.add_fate(fate));
        hash.add(queue.probability().map_or(0, |p| p.get().to_bits()));
        hash.add(u64::from(queue.packets()) << 32 | queue.bytes());
        if run.id.is_multiple_of(40) {
            hash.add_text(&format!("{:?} {:?} {:?}", queue.samples(), queue.last_subqueue(), queue.ready()));
        }
    }
    let queue = &run.bench.queue;
    hash.add_text(&format!("{:?} {:?} {}", queue.counters(), queue.subqueues(), queue.drops_of_earlier()));
    let aqm = queue.aqm().expect("one for all packets");
    hash.add_text(&format!("{:?} {:?}", aqm.needs(), aqm.update_interval()));
    assert!(queue.balances(), "{}: {:?}", config.name(), queue.counters());
    add_law(&config.build(&link()).expect("built before"), &mut hash);
    hash.0
}

/// Adds the answers of an algorithm's law to drawn samples, if it has a law.
/// These are the inputs of the fluid model.
fn add_law(aqm: &AnyAqm, hash: &mut Hash) {
    let Some(mut law) = aqm.law() else { return };
    hash.add_text(&format!("{:?} {:?} {:?}", law.interval(), law.first_step(), law.needs()));
    let mut random = Stream::named(1, "law");
    for step in 1..=150u64 {
        let mut draw = |most: f64| if random.below(8) == 0 { 0.0 } else { most * random.unit() };
        let backlog_packets = draw(if step < 60 { 20.0 } else { 300.0 });
        let sample = Sample {
            now: Time::ZERO + law.interval() * step,
            backlog_packets,
            backlog_bytes: backlog_packets * 1000.0,
            least_backlog_packets: draw(backlog_packets),
            arrived_packets: draw(40.0),
            arrived_bytes: draw(40_000.0),
            departed_packets: draw(40.0),
            departed_bytes: draw(40_000.0),
            sojourn: draw(0.3),
        };
        if step == 100 {
            law.rest(&sample, 0.2);
        }
        hash.add(law.step(&sample).get().to_bits());
    }
}

/// The hash of the accepted values of each parameter, and of the errors for the others.
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
            hash.add_text(&text);
            hash.add(0);
        }
    }
    hash.0
}

/// The record of an algorithm: 32 bits of its bounds, and of each outcome.
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
