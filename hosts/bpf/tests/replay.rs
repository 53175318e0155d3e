//! A million random events through each law in C and through the engine's.
//! The windows agree within 1/1000 of a segment.

use sojourn_bpf::{Connection, FLOWER, FLOWER_PLUS, LEDBAT, LEDBATPP, Law, ONE};
use sojourn_cc::algorithms::{flower, flower_plus, ledbat, ledbatpp};
use sojourn_cc::{Ack, CongestionController, CongestionEvent, EstimatorParams, Signal, Source, Start};
use sojourn_units::{Duration, Stream, Time};

const EVENTS: u32 = 1_000_000;
/// The largest difference of windows, in segments.
const TOLERANCE: f64 = 1e-3;
/// A window and a threshold that differ by less are a tie.
/// Floats and integers round to different sides, and a slow start ends one ACK sooner or later. Sums such as 13 times 1/13 end in ties.
const TIE: f64 = 1e-9;
const MS: f64 = 1e6;

/// A path whose base delay and queue move at random, and the connection over it.
struct Path {
    random: Stream,
    now: u64,
    base: f64,
    queue: f64,
    srtt: f64,
    acked: u64,
    sent: u64,
}

/// What happens to a connection.
#[derive(Debug)]
enum Happening {
    Ack(Ack),
    Congestion,
    Timeout,
}

impl Path {
    fn new(seed: u64) -> Path {
        Path { random: Stream::named(seed, "path"), now: 1, base: 30.0 * MS, queue: 0.0, srtt: 0.0, acked: 0, sent: 10 }
    }

    fn chance(&mut self, probability: f64) -> bool {
        self.random.unit() < probability
    }

    /// The next event. A round trip has about 20 ACKs; `queue` is pulled towards `level`.
    fn next(&mut self, level: f64) -> Happening {
        self.now += 1 + self.random.exponential(3.0 * MS) as u64;
        if self.chance(1e-5) {
            self.now += self.random.below(200_000_000_000);
            self.base = self.random.uniform(0.2, 150.0) * MS;
        }
        self.queue = (self.queue + 0.02 * (level - self.queue) + self.random.uniform(-3.0, 3.0) * MS).max(0.0);
        if self.chance(1e-3) {
            self.queue *= self.random.uniform(0.0, 4.0);
        }
        if self.chance(3e-4) {
            return Happening::Congestion;
        }
        if self.chance(3e-5) {
            return Happening::Timeout;
        }
        let rtt = Duration::from_nanos((self.base + self.queue) as u64 + 1);
        self.srtt += 0.125 * (rtt.as_nanos() as f64 - self.srtt);
        let acked = if self.chance(0.02) { 0 } else { 1 + self.random.below(3) };
        self.acked += 1448 * acked;
        if self.sent < self.acked || self.chance(0.9) {
            self.sent = self.acked + 1448 * self.random.below(40);
        }
        Happening::Ack(Ack {
            now: Time::from_nanos(self.now),
            acked: acked as f64,
            rtt: (!self.chance(0.05)).then_some(rtt),
            srtt: Duration::from_nanos(self.srtt as u64),
            in_flight: if self.chance(0.001) { self.random.below(5) as f64 } else { (40 + self.random.below(300)) as f64 },
            cwnd_limited: !self.chance(0.2),
            in_recovery: self.chance(0.1),
            snd_una: self.acked,
            snd_max: self.sent,
            ..Ack::ONE
        })
    }
}

/// The windows of a replay.
#[derive(Debug)]
struct Windows {
    largest: f64,
    mean: f64,
    worst: f64,
    /// How often both started again, because they took different sides of a tie.
    ties: u32,
}

/// Replays the events through both.
fn replay<C: CongestionController + Clone>(new: &C, law: Law, params: &[u64], seed: u64, target: f64) -> Windows {
    let mut path = Path::new(seed);
    let (mut exact, mut fixed) = (new.clone(), Connection::new(law, params, 10.0));
    let mut seen = Windows { largest: 0.0, mean: 0.0, worst: 0.0, ties: 0 };
    for event in 0..EVENTS {
        // Half of the time below the target, and half above it.
        let level = if event / 20_000 % 2 == 0 { 0.3 * target } else { 1.1 * target };
        let (happening, before) = (path.next(level), exact.window());
        let now = Time::from_nanos(path.now);
        match &happening {
            Happening::Ack(ack) => {
                exact.on_ack(ack);
                fixed.on_ack(ack);
            }
            Happening::Congestion => {
                exact.on_congestion(&CongestionEvent { now, window: before.cwnd, signal: Signal::Loss });
                fixed.on_congestion(path.now);
            }
            Happening::Timeout => {
                exact.on_rto(now, before.cwnd);
                fixed.on_rto(path.now);
            }
        }
        let after = exact.window();
        let of_threshold = if after.ssthresh == fixed.ssthresh() { 0.0 } else { (after.ssthresh - fixed.ssthresh()).abs() };
        let difference = (after.cwnd - fixed.cwnd()).abs().max(of_threshold);
        if difference > TOLERANCE && (before.cwnd - before.ssthresh).abs() < TIE {
            seen.ties += 1;
            (exact, fixed) = (new.clone(), Connection::new(law, params, 10.0));
            continue;
        }
        assert!(
            difference <= TOLERANCE,
            "event {event}: {before:?} -> {after:?}, C: {} {} {:?}",
            fixed.cwnd(),
            fixed.ssthresh(),
            happening
        );
        seen.worst = seen.worst.max(difference);
        seen.largest = seen.largest.max(after.cwnd);
        seen.mean += after.cwnd / f64::from(EVENTS);
    }
    // The windows moved, so that the comparison means something.
    assert!(seen.largest > 30.0 && seen.mean > 2.5 && seen.ties < 100, "{seen:?}");
    seen
}

fn start() -> Start {
    Start::new(10.0, f64::INFINITY).echoing()
}

fn q32(value: f64) -> u64 {
    (value * ONE).round() as u64
}

fn delay() -> EstimatorParams {
    let mut delay = EstimatorParams::default();
    delay.source = Source::RoundTrip;
    delay
}

fn delay_fields(delay: &EstimatorParams) -> [u64; 2] {
    [delay.history.into(), delay.filter.into()]
}

/// Targets in milliseconds with the seed of their events.
const TARGETS: [(u64, u64); 3] = [(100, 1), (60, 2), (15, 3)];

#[test]
fn ledbat_in_c_sets_the_windows_of_the_engine() {
    for (target, seed) in TARGETS {
        let mut params = ledbat::Params::default();
        (params.target, params.delay) = (Duration::from_millis(target), delay());
        params.gain = if seed == 2 { 0.3 } else { params.gain };
        let fields = [&delay_fields(&params.delay)[..], &[params.target.as_nanos(), q32(params.gain)]].concat();
        println!("{target} ms: {:?}", replay(&params.build(start()).unwrap(), LEDBAT, &fields, seed, target as f64 * MS));
    }
}

#[test]
fn ledbatpp_in_c_sets_the_windows_of_the_engine() {
    for (target, seed) in TARGETS {
        let mut params = ledbatpp::Params::default();
        (params.target, params.delay) = (Duration::from_millis(target), delay());
        (params.decrease, params.slowdown) = (if seed == 2 { 0.3 } else { params.decrease }, seed != 3);
        let law = [params.target.as_nanos(), q32(params.decrease), params.slowdown.into()];
        let fields = [&delay_fields(&params.delay)[..], &law].concat();
        println!("{target} ms: {:?}", replay(&params.build(start()).unwrap(), LEDBATPP, &fields, seed, target as f64 * MS));
    }
}

/// The fields of `struct flower_params`.
fn flower_fields(params: &flower::Params) -> Vec<u64> {
    let weights = [params.neighbors.into(), q32(params.peak_weight), q32(params.trend_weight), params.small_trends.into()];
    [&delay_fields(&params.delay)[..], &[params.target.as_nanos()], &weights].concat()
}

#[test]
fn flower_in_c_sets_the_windows_of_the_engine() {
    for (target, seed) in TARGETS {
        let mut params = flower::Params::default();
        (params.target, params.delay) = (Duration::from_millis(target), delay());
        (params.small_trends, params.neighbors) = (seed != 2, if seed == 2 { 32 } else { params.neighbors });
        let fields = flower_fields(&params);
        println!("{target} ms: {:?}", replay(&params.build(start()).unwrap(), FLOWER, &fields, seed, target as f64 * MS));
    }
}

#[test]
fn flower_plus_in_c_sets_the_windows_of_the_engine() {
    for (target, seed) in TARGETS {
        let mut params = flower_plus::Params::default();
        (params.target, params.slowdown, params.delay) = (Duration::from_millis(target), seed != 3, delay());
        let mut plain = flower::Params::default();
        (plain.target, plain.delay) = (params.target, delay());
        let fields = [flower_fields(&plain), vec![params.slowdown.into()]].concat();
        println!("{target} ms: {:?}", replay(&params.build(start()).unwrap(), FLOWER_PLUS, &fields, seed, target as f64 * MS));
    }
}
