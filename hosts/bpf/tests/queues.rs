//! A million random intervals through each law in C and through the engine's.
//! Packets arrive at the gates of both.

use sojourn_aqm::algorithms::{cpc, fuzzy_red, led, pd, pi};
use sojourn_aqm::{Aqm, ArrivalVerdict, Backlog, DualClass, Ecn, Link, PacketView};
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

fn fixed(value: f64, bits: u32) -> u64 {
    (value * 2f64.powi(bits as i32)).round() as i64 as u64
}

/// The fields of `struct queue_params` of a law with this interval.
fn queue_fields(interval: Duration, in_bytes: bool) -> [u64; 3] {
    [interval.as_nanos(), if in_bytes { MEAN.into() } else { 0 }, 0]
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

#[test]
fn pi_in_c_sets_the_probabilities_of_the_engine() {
    for in_bytes in [false, true] {
        let params = pi::Params { target: 20.0, queue_in_bytes: in_bytes, ..pi::Params::default() };
        let law = [fixed(params.a, 60), fixed(params.b, 60), fixed(params.target, 20)];
        let fields = [&queue_fields(params.interval, in_bytes)[..], &law].concat();
        println!("{:?}", replay(params.build(&link()).unwrap(), PI, fields, params.target));
    }
}

#[test]
fn pd_in_c_sets_the_probabilities_of_the_engine() {
    for in_bytes in [false, true] {
        let params = pd::Params { k3: -3.0, queue_in_bytes: in_bytes, ..pd::Params::default() };
        let gains = [fixed(params.k1 / 100.0, 60), fixed(params.k2 / 100.0, 60)];
        let law = [gains[0], gains[1], fixed(params.k3 / 100.0, 48), fixed(params.target, 20)];
        let fields = [&queue_fields(params.interval, in_bytes)[..], &law].concat();
        println!("{:?}", replay(params.build(&link()).unwrap(), PD, fields, params.target));
    }
}

#[test]
fn fuzzy_red_in_c_sets_the_probabilities_of_the_engine() {
    let params = fuzzy_red::Params::default();
    let controller = params.controller().unwrap();
    let (rows, fall, rise) = (45i32, 12i32, 12i32);
    let table: Vec<u64> = (0..=rows)
        .flat_map(|queue| (-fall..=rise).map(move |change| (queue, change)))
        .map(|(queue, change)| fixed(controller.evaluate(f64::from(queue), f64::from(change)) / 100.0, 31))
        .collect();
    let pairs = table.chunks(2).map(|pair| pair[0] | pair.get(1).unwrap_or(&0) << 32);
    let shape = [rows as u64, (fall + rise) as u64, fall as u64];
    let fields = queue_fields(params.interval, false).into_iter().chain(shape).chain(pairs).collect();
    println!("{:?}", replay(params.build(&link()).unwrap(), FUZZY_RED, fields, 30.0));
}

#[test]
fn led_in_c_sets_the_probabilities_of_the_engine_and_signals_the_same_packets() {
    for (count_own, forced, min_queue) in [(false, true, 2), (true, false, 20), (false, false, 0)] {
        let mut params = led::Params { count_own, forced, min_queue, interval: Duration::from_millis(10), ..led::Params::default() };
        (params.min, params.max) = (0.3, 0.6);
        let capacity = 10_000_000 / 8 / 100;
        let law = [fixed(params.min, 32), fixed(params.max, 32), fixed(params.weight, 32), capacity];
        let gate = [MEAN.into(), min_queue.into(), count_own.into(), forced.into()];
        let fields = [&queue_fields(params.interval, false)[..], &law, &gate].concat();
        println!("{:?}", replay(params.build(&link()).unwrap(), LED, fields, 20.0));
    }
}

#[test]
fn cpc_in_c_sets_the_probabilities_of_the_engine() {
    for in_bytes in [false, true] {
        // With the default RTT the gains are multiples of one another, and the set point reaches its limits exactly.
        let rtt = Duration::from_micros(61_700);
        let params = cpc::Params { rtt, queue_in_bytes: in_bytes, max_p: 0.3, ..cpc::Params::default() };
        let (rate, interval) = (10e6 / 8.0 / f64::from(MEAN), params.interval.as_secs_f64());
        let (propagation, flows) = (params.rtt.as_secs_f64(), params.flows);
        let rtt = propagation + params.target / rate;
        let window = rtt * rate / flows;
        let w = window.max(2.0);
        let (inner, outer) = (4.0 / (rtt * w.powi(4)), w / (2.0 * flows));
        let law = [
            fixed(params.target, 20),
            fixed(interval / (interval + rtt), 32),
            fixed(propagation / (interval * flows), 32),
            fixed(1.0 / (rate * interval * flows), 44),
            fixed(outer, 32),
            fixed(outer * interval / (rtt * w), 44),
            fixed(inner * interval, 60),
            fixed(inner * outer * rtt * w / 2.0, 60),
            fixed(window, 32),
            fixed(params.min_window, 32),
            fixed(params.max_window * window, 32),
            fixed(params.max_p, 48),
        ];
        let fields = [&queue_fields(params.interval, in_bytes)[..], &law].concat();
        println!("{:?}", replay(params.build(&link()).unwrap(), CPC, fields, params.target));
    }
}
