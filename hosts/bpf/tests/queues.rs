//! A million random intervals through each law in C and through the engine's.
//! Packets arrive at the gates of both.

use sojourn_aqm::algorithms::{cpc, fuzzy_red, led, pd, pi};
use sojourn_aqm::{Aqm, AqmConfig, ArrivalVerdict, Backlog, DualClass, Ecn, Link, PacketView, fixed_point};
use sojourn_bpf::queue::{CPC, CSample, FUZZY_RED, LED, PD, PI, Queue, QueueLaw};
use sojourn_units::{Duration, Rate, Stream, Time};

const STEPS: u32 = 1_000_000;
/// The largest difference of probabilities.
const TOLERANCE: f64 = 1e-6;
/// The kernel's mean packet in bytes.
const MEAN: u32 = 1500;

fn link() -> Link {
    Link { rate: Rate::from_bps(10_000_000).unwrap(), delay: Duration::from_millis(20), mean_packet: MEAN, limit_packets: 1000 }
}

/// Replays the same intervals and packets through both.
/// Returns the largest difference and the mean probability.
fn replay(mut exact: impl Aqm, law: QueueLaw, params: Vec<u64>, target: f64) -> (f64, f64) {
    let mut fixed = Queue::new(law, params);
    let (mut random, mut draws, mut twin) = (Stream::named(1, "load"), Stream::named(2, "draws"), Stream::named(2, "draws"));
    let (mut queue, mut worst, mut mean, mut now) = (0.0, 0.0f64, 0.0, Time::ZERO);
    for step in 0..STEPS {
        now += Duration::from_millis(10);
        let level = if step / 5_000 % 2 == 0 { 0.6 * target } else { 1.3 * target };
        queue = f64::max(0.0, queue + 0.05 * (level - queue) + random.uniform(-6.0, 6.0));
        let packets = queue as u32;
        let backlog = Backlog { packets, bytes: u64::from(packets) * 1500 + random.below(1000), idle_since: None };
        let arrived = if random.unit() < 0.02 { 0 } else { random.below(17) };
        let mut sample = CSample { packets: packets.into(), bytes: backlog.bytes, ..CSample::default() };
        for _ in 0..arrived {
            let size = 40 + random.below(1461) as u32;
            let (ecn, class) = (Ecn::NotEct, DualClass::Classic);
            let packet = PacketView { now, size, flow: 0, rtt_hint_ms: 0, has_data: true, ecn, class, drawn: None };
            let signals = exact.on_enqueue(&packet, &backlog, &mut draws) == ArrivalVerdict::Signal;
            let draw = twin.unit();
            let same = fixed.signals(size.into(), packets.into(), (draw * 2f64.powi(32)) as u32) == signals;
            assert!(
                same || (draw - fixed.probability as f64 / 2f64.powi(32)).abs() < TOLERANCE,
                "step {step}: a packet of {size} bytes at {}",
                fixed.probability
            );
            sample.arrived_packets += 1;
            sample.arrived_bytes += u64::from(size);
        }
        exact.on_update(now, &backlog);
        fixed.step(&sample);
        let (expected, found) = (exact.probability().unwrap().get(), fixed.probability as f64 / 2f64.powi(32));
        worst = worst.max((expected - found).abs());
        mean += expected / f64::from(STEPS);
        assert!(worst <= TOLERANCE, "step {step}: {expected}, C: {found}");
    }
    // The probability moved, so that the comparison means something.
    assert!(mean > 0.001 && mean < 0.9, "{mean}");
    (worst, mean)
}

/// Replays a law with the constants that `sojourn attach` packs.
fn compare(config: &AqmConfig, law: QueueLaw, target: f64) {
    println!("{:?}", replay(config.build(&link()).unwrap(), law, fixed_point(config, &link(), false).unwrap(), target));
}

#[test]
fn pi_in_c_sets_the_probabilities_of_the_engine() {
    for queue_in_bytes in [false, true] {
        compare(&AqmConfig::Pi(pi::Params { target: 20.0, queue_in_bytes, ..pi::Params::default() }), PI, 20.0);
    }
}

#[test]
fn pd_in_c_sets_the_probabilities_of_the_engine() {
    for queue_in_bytes in [false, true] {
        let params = pd::Params { k3: -3.0, queue_in_bytes, ..pd::Params::default() };
        compare(&AqmConfig::Pd(params.clone()), PD, params.target);
    }
}

#[test]
fn fuzzy_red_in_c_sets_the_probabilities_of_the_engine() {
    compare(&AqmConfig::FuzzyRed(fuzzy_red::Params::default()), FUZZY_RED, 30.0);
}

#[test]
fn led_in_c_sets_the_probabilities_of_the_engine_and_signals_the_same_packets() {
    for (count_own, forced, min_queue) in [(false, true, 2), (true, false, 20), (false, false, 0)] {
        let interval = Duration::from_millis(10);
        let params = led::Params { min: 0.3, max: 0.6, count_own, forced, min_queue, interval, ..led::Params::default() };
        compare(&AqmConfig::Led(params), LED, 20.0);
    }
}

#[test]
fn cpc_in_c_sets_the_probabilities_of_the_engine() {
    for queue_in_bytes in [false, true] {
        // With the default RTT the gains are multiples of one another, and the set point reaches its limits exactly.
        let rtt = Duration::from_micros(61_700);
        let params = cpc::Params { rtt, queue_in_bytes, max_p: 0.3, ..cpc::Params::default() };
        compare(&AqmConfig::Cpc(params.clone()), CPC, params.target);
    }
}
