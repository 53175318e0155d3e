//! Drawn worlds behave as on record in `records.txt`.
//! They have TCP of each profile with each recovery, with drawn options, over drawn links that lose, reorder, duplicate, mark and stop. One
//! hash covers all observations and all counters of links and flows. A changed line is either intended, and stored with the change, or a
//! defect. Each world also behaves the same with an event at every hop, and watched.
//!
//! `cargo test --package sojourn-sim --test all records -- --ignored` stores the results of this build.

use crate::drawn::{Draw, ms, world};
use crate::watch::Watch;
use sojourn_net::DropCause;
use sojourn_sim::tcp::{AckOptions, Recovery, SackAlgorithm, Sender, TcpOptions};
use sojourn_sim::{Completion, HostDoes, Link, Moments, NoopObserver, Observer, Packet, Quantiles, Sums, TimeWeighted, World, WorldConfig};
use sojourn_spec::tcp::PROFILES;
use sojourn_units::Time;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::rc::Rc;

const STORED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/records.txt");

/// The number of worlds for each profile and recovery.
/// The first stack of the first world has the profile's options.
const WORLDS: u64 = 12;

/// A hash of numbers (FNV-1a, 64 bits at a time).
#[derive(Clone, Copy, Default)]
struct Hash(u64);

impl Hash {
    fn of(values: &[u64]) -> u64 {
        let mut hash = Hash::default();
        values.iter().for_each(|&value| hash.add(value));
        hash.0
    }

    fn add(&mut self, value: u64) {
        self.0 = (self.0 ^ value).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
    }

    fn add_number(&mut self, value: f64) {
        self.add(if value.is_nan() { 1 } else { value.to_bits() });
    }
}

/// Sums over all observations of packets and of senders.
/// They do not depend on the order of actions ahead of time.
#[derive(Default)]
struct Observations {
    senders: bool,
    of_packets: u64,
    of_senders: u64,
}

impl Observations {
    fn packet(&mut self, what: u64, now: Time, packet: &Packet, more: &[u64]) {
        // The handle is not compared: which handle is free depends on the order of actions.
        let extra = if packet.size > 0 && packet.flags & 256 > 0 { 0 } else { u64::from(packet.extra) };
        let fields = [what, now.as_nanos(), packet.seq, packet.stamp.as_nanos(), packet.peer.as_nanos(), packet.flow.into(), extra];
        let others = [packet.size, packet.flags, packet.window, packet.incarnation].map(u64::from);
        self.of_packets = self.of_packets.wrapping_add(Hash::of(&[&fields[..], &others, more].concat()));
    }
}

/// The content of an ACK's options.
fn content(options: &AckOptions) -> Vec<u64> {
    let blocks = options.sack.iter().flat_map(|sack| sack.iter().flat_map(|(from, to)| [from, to]).collect::<Vec<_>>());
    let counts = options.byte_counts.iter().flat_map(|counts| counts.fields().map(u64::from).chain([u64::from(counts.kind())]));
    blocks.chain([u64::MAX]).chain(counts).collect()
}

impl Observer for Observations {
    fn on_flow(&mut self, _: u32, entry: u32, reversed: bool) {
        self.of_packets = self.of_packets.wrapping_add(Hash::of(&[9, entry.into(), reversed.into()]));
    }

    fn on_arrival(&mut self, now: Time, link: u32, packet: &Packet, options: &AckOptions) {
        self.packet(1, now, packet, &[&[link.into()], &content(options)[..]].concat());
    }

    fn on_departure(&mut self, now: Time, link: u32, packet: &Packet) {
        self.packet(2, now, packet, &[link.into()]);
    }

    fn watches_hosts(&self) -> bool {
        true
    }

    fn on_host(&mut self, now: Time, packet: &Packet, does: HostDoes, options: &AckOptions) {
        self.packet(3, now, packet, &[&[does as u64], &content(options)[..]].concat());
    }

    fn on_send(&mut self, now: Time, packet: &Packet) {
        self.packet(4, now, packet, &[]);
    }

    fn on_drop(&mut self, now: Time, link: u32, cause: DropCause, packet: &Packet) {
        let cause = match cause {
            DropCause::Queue(reason) => reason as u64,
            DropCause::Impairment => 100,
            DropCause::Corruption => 101,
        };
        self.packet(5, now, packet, &[link.into(), cause]);
    }

    fn on_deliver(&mut self, now: Time, packet: &Packet, bytes: u64) {
        self.packet(6, now, packet, &[bytes]);
    }

    fn on_mark(&mut self, now: Time, link: u32, flow: u32) {
        self.of_packets = self.of_packets.wrapping_add(Hash::of(&[7, now.as_nanos(), link.into(), flow.into()]));
    }

    fn on_rtt(&mut self, now: Time, flow: u32, rtt: u64) {
        self.of_packets = self.of_packets.wrapping_add(Hash::of(&[8, now.as_nanos(), flow.into(), rtt]));
    }

    fn watches_senders(&self) -> bool {
        self.senders
    }

    fn on_controller(&mut self, now: Time, flow: u32, sender: &Sender, options: &TcpOptions) {
        let numbers = [sender.cwnd(), sender.ssthresh(), sender.in_flight(options), sender.pacing_rate(options).unwrap_or(-1.0)];
        let [state, source] = [sender.loss_state() as u64, sender.delay_source().map_or(9, |source| source as u64)];
        let mut hash = Hash(Hash::of(&[now.as_nanos(), flow.into(), state, source]));
        numbers.into_iter().for_each(|number| hash.add_number(number));
        self.of_senders = self.of_senders.wrapping_add(hash.0);
    }

    fn on_complete(&mut self, completion: &Completion) {
        let Completion { entry, group, opened, closed, size } = *completion;
        let values = [entry.into(), group.into(), opened.as_nanos(), closed.as_nanos(), size];
        self.of_packets = self.of_packets.wrapping_add(Hash::of(&values));
    }
}

trait Numbers {
    fn numbers(&self) -> Vec<f64>;
}

impl Numbers for TimeWeighted {
    fn numbers(&self) -> Vec<f64> {
        vec![self.mean(), self.sd(), self.max() as f64]
    }
}

impl Numbers for Sums {
    fn numbers(&self) -> Vec<f64> {
        vec![self.count() as f64, self.mean(), self.sd(), self.max()]
    }
}

impl Numbers for Moments {
    fn numbers(&self) -> Vec<f64> {
        vec![self.count() as f64, self.mean(), self.sd(), self.min(), self.max()]
    }
}

impl Numbers for Quantiles {
    fn numbers(&self) -> Vec<f64> {
        [0.0, 0.1, 0.5, 0.9, 0.99, 1.0].map(|q| self.at(q)).into()
    }
}

/// The counters and traces of a link.
fn of_link(link: &Link) -> Vec<f64> {
    let stats = link.stats();
    let counters = &stats.counters;
    let drops = [counters.dropped_early, counters.dropped_forced, counters.dropped_tail, counters.dropped_acks, counters.dropped_bytes];
    let counts = [counters.arrived, counters.arrived_bytes, counters.marked, stats.sent, stats.drops_of_earlier];
    let mut found: Vec<f64> = counts.into_iter().chain(drops).map(|count| count as f64).collect();
    found.extend([stats.sent_bits(), link.utilization().unwrap_or(-1.0), link.rate().map_or(0.0, |rate| rate.as_bps() as f64)]);
    found.extend([&stats.queue.packets, &stats.queue.bytes].into_iter().flat_map(Numbers::numbers));
    found.extend([&stats.wait, &stats.probability].into_iter().flat_map(Numbers::numbers));
    found.extend(stats.waits.numbers());
    if let Some(trace) = link.traced_queue() {
        found.extend([&trace.t, &trace.packets, &trace.bytes, &trace.delay].into_iter().flatten());
    }
    if let Some(trace) = link.traced_throughput() {
        found.extend([&trace.t, &trace.bps].into_iter().flatten());
    }
    found.extend(
        link.traced_waits().iter().flat_map(|wait| [wait.arrived.as_nanos() as f64, wait.wait.as_nanos() as f64, f64::from(wait.size)]),
    );
    found
}

/// The hash of all measures of a world.
fn measured<O: Observer>(world: &mut World<O>) -> u64 {
    let audit = world.finish().expect("it balances");
    let mut hash = Hash(world.fingerprint());
    [audit.sent, audit.delivered, audit.dropped, audit.in_flight].into_iter().for_each(|count| hash.add(count));
    let mut numbers: Vec<f64> = world.links().iter().flat_map(of_link).collect();
    for impairment in world.impairments() {
        let stats = impairment.stats();
        let counts = [stats.met, stats.dropped, stats.corrupted, stats.duplicated, stats.delayed, stats.stripped];
        numbers.extend(counts.map(|count| count as f64));
    }
    for flow in world.flows() {
        let (stats, sender) = (flow.stats, flow.sender);
        let counts = [stats.delivered, stats.received, stats.packets, stats.marked, flow.dropped, flow.completed];
        numbers.extend(counts.into_iter().chain([sender.sent, sender.retransmitted]).map(|count| count as f64));
        numbers.extend([sender.timeouts, sender.fast_retransmits, sender.mark_cuts].map(f64::from));
        numbers.push(flow.cwnd);
        numbers.extend(sender.rtt.numbers());
    }
    numbers.extend((0..2).filter_map(|group| world.rtts(group)).flat_map(Numbers::numbers));
    numbers.into_iter().for_each(|number| hash.add_number(number));
    hash.0
}

/// Runs a world with traced queues, and returns the hash of its measures.
fn run<O: Observer>(config: WorldConfig<'_>, observer: O) -> u64 {
    let mut world = match World::watched(config, observer) {
        Ok(world) => world,
        Err(error) => return Hash::of(&error.to_string().bytes().map(u64::from).collect::<Vec<_>>()),
    };
    for (number, link) in world.links_mut().iter_mut().enumerate() {
        if number % 2 == 0 {
            link.trace_queue(ms(90));
            link.trace_waits(3);
        }
        if number % 3 == 0 {
            link.trace_throughput(ms(110));
        }
        link.watch();
    }
    measured(&mut world)
}

/// The hash of everything that a world does.
/// It is the same with all fast paths, with an event at every hop, and with watched senders.
fn outcome(profile: &TcpOptions, number: u64) -> u64 {
    let config = || world(profile, &Draw::new(number));
    let see = |all_events: bool, senders: bool| {
        let seen = Rc::new(RefCell::new(Observations { senders, ..Observations::default() }));
        let measured = run(WorldConfig { all_events, ..config() }, Watch::of(&seen));
        let seen = seen.borrow();
        (measured, seen.of_packets, seen.of_senders)
    };
    let (elided, evented, watched) = (see(false, false), see(true, false), see(false, true));
    assert_eq!(elided, evented, "world {number}: with an event at every hop");
    assert_eq!((elided.0, elided.1), (watched.0, watched.1), "world {number}: with watched senders");
    assert_eq!(elided.0, run(config(), NoopObserver), "world {number}: without an observer");
    Hash::of(&[watched.0, watched.1, watched.2])
}

/// Each profile with each recovery.
pub fn profiles() -> Vec<(String, TcpOptions)> {
    let algorithms = [SackAlgorithm::Rfc6675, SackAlgorithm::Ns2Sack1, SackAlgorithm::RateHalving, SackAlgorithm::RackTlp];
    let sack = algorithms.map(|algorithm| (Recovery::Sack, algorithm));
    let plain = |recovery| (recovery, SackAlgorithm::Rfc6675);
    let recoveries = [plain(Recovery::Reno), plain(Recovery::NewReno)].into_iter().chain(sack).chain([plain(Recovery::Tahoe)]);
    let with = |(recovery, sack_algorithm): (Recovery, SackAlgorithm)| {
        PROFILES.iter().map(move |profile| {
            let name = format!("{} {recovery} {sack_algorithm}", profile.name);
            (name, TcpOptions { recovery, sack_algorithm, ..(profile.options)() })
        })
    };
    recoveries.flat_map(with).collect()
}

/// The record of a profile: 32 bits of each outcome.
fn record(place: usize, profile: &TcpOptions) -> String {
    let first = place as u64 * WORLDS;
    (first..first + WORLDS).map(|number| format!(" {:08x}", outcome(profile, number) >> 32)).collect()
}

#[test]
fn drawn_worlds_do_as_stored() {
    let stored = fs::read_to_string(STORED).unwrap();
    let stored: BTreeMap<&str, &str> = stored.lines().filter_map(|line| line.split_once(':')).collect();
    let profiles = profiles();
    let other = profiles.iter().enumerate().filter(|(place, (name, profile))| stored.get(&name[..]) != Some(&&record(*place, profile)[..]));
    let other: Vec<&String> = other.map(|(_, (name, _))| name).collect();
    assert!(other.is_empty(), "{other:?} do otherwise than stored in {STORED}; `-- --ignored` stores what is new or intended");
}

#[test]
#[ignore = "stores what the worlds of this build do"]
fn store() {
    let lines = profiles().into_iter().enumerate().map(|(place, (name, profile))| format!("{name}:{}\n", record(place, &profile)));
    fs::write(STORED, lines.collect::<String>()).unwrap();
}
