//! The loop around its operating point, against the closed forms of control theory.

use sojourn_aqm::algorithms::{avq, pi};
use sojourn_aqm::{AqmConfig, Law, Link, Sample};
use sojourn_fluid::{Change, Class, Complex, Control, Grid, Loop, Plant, Point, Response, Run, Start};
use sojourn_fluid::{margins, operating_point, simulate};
use sojourn_units::{Duration, Probability, Rate};
use std::f64::consts::PI;
use std::sync::{Arc, Mutex};

/// The example of hollot-2001: 60 Reno flows, 3750 packets/s of 500 bytes, about 0.25 s.
fn plant() -> Plant {
    Plant { classes: vec![Class::reno(60.0, 0.22)], capacity: 3750.0, limit: 800.0, packet: 500.0, drops: false }
}

/// The PI controller of hollot-2001#4, with gains times `factor`.
/// It has 170 samples per second and a target of 200 packets.
fn controller(plant: &Plant, factor: f64) -> Control {
    let params = pi::Params { a: 1.822e-5 * factor, b: 1.816e-5 * factor, target: 200.0, ..pi::Params::default() };
    built(AqmConfig::Pi(params), plant)
}

fn built(config: AqmConfig, plant: &Plant) -> Control {
    let rate = Rate::from_bps((plant.capacity * 8.0 * plant.packet) as u64).unwrap();
    let link = Link { rate, delay: Duration::from_millis(20), mean_packet: plant.packet as u32, limit_packets: 800 };
    Control::of(&config, &link, plant).unwrap()
}

fn point(plant: &Plant) -> Point {
    operating_point(plant, &controller(plant, 1.0)).unwrap()
}

fn is_near(found: Complex, expected: Complex, share: f64) -> bool {
    found.plus(expected.scaled(-1.0)).size() < share * expected.size()
}

/// Tests the linearized model of hollot-2001, with all delays in the window's terms.
/// With e = e^(-sR): dW' = -N/(R²C) (1 + e) dW - 1/(R²C) (1 - e) dq - R C²/(2N²) e dp and dq' = N/R dW - 1/R dq.
#[test]
fn the_response_of_reno_flows_is_the_linearized_model() {
    let plant = plant();
    let point = point(&plant);
    let (n, c, r) = (60.0, plant.capacity, point.rtts[0]);
    for omega in [0.01, 0.3, 2.0, 7.0, 40.0, 900.0] {
        let (s, e) = (Complex::new(0.0, omega), Complex::turn(-omega * r));
        let window = s.plus(Complex::ONE.plus(e).scaled(n / (r * r * c)));
        let coupling = Complex::ONE.plus(e.scaled(-1.0)).scaled(1.0 / (r * r * c));
        let pole = s.plus(Complex::new(1.0 / r, 0.0)).scaled(r / n);
        let queue = e.scaled(-r * c * c / (2.0 * n * n)).over(pole.times(window).plus(coupling));
        let found = plant.response(&point, omega);
        assert!(is_near(found.queue, queue, 1e-6), "{omega}: {:?} {queue:?}", found.queue);
        // The queue is the integral of arrivals above the capacity: dq' = C dx.
        assert!(is_near(found.load, queue.times(s).scaled(1.0 / c), 1e-6), "{omega}: {:?}", found.load);
    }
}

/// Tests that at rest the flows of all classes fill the link.
/// The sum of N sqrt(a/(b p)) / (T + q/C) is C, which determines dq/dp. Dropped packets do not enter the queue: then the link is filled by
/// 1 - p of all packets.
#[test]
fn slow_changes_move_the_queue_along_the_equilibria() {
    for drops in [false, true] {
        let slow = Class { increase: 0.5, decrease: 0.3, ..Class::reno(30.0, 0.35) };
        let plant = Plant { classes: vec![Class::reno(40.0, 0.1), slow], drops, ..plant() };
        let point = point(&plant);
        let (p, arriving) = (point.probability, point.load * plant.capacity);
        let fills: f64 = plant
            .classes
            .iter()
            .zip(&point.rtts)
            .map(|(class, rtt)| class.flows * (class.increase / class.decrease / p).sqrt() / (rtt * rtt * plant.capacity))
            .sum();
        let lost = if drops { arriving / (1.0 - p) } else { 0.0 };
        let expected = Complex::new(-(arriving / (2.0 * p) + lost) / fills, 0.0);
        let found = plant.response(&point, 1e-6).queue;
        assert!(is_near(found, expected, 1e-4), "{drops}: {found:?} {expected:?}");
    }
}

#[test]
fn margins_say_which_gain_and_which_dead_time_the_loop_bears() {
    let plant = plant();
    let of = |factor: f64| Loop::new(plant.clone(), &controller(&plant, factor)).unwrap();
    let (closed, found) = (of(1.0), of(1.0).margins());
    assert!(found.stable);
    // By definition the loop has magnitude 1 at the crossover, and is a negative number at the turn.
    let (crossing, turning) = (closed.at(found.crossover), closed.at(found.turn));
    assert!((crossing.size() - 1.0).abs() < 1e-9 && (180.0 + crossing.angle().to_degrees() - found.phase).abs() < 1e-6, "{found:?}");
    assert!((found.delay - found.phase.to_radians() / found.crossover).abs() < 1e-9);
    assert!(turning.re < 0.0 && turning.im.abs() < 1e-9 && (turning.size() * found.gain - 1.0).abs() < 1e-6, "{found:?}");
    assert!(of(0.98 * found.gain).margins().stable && !of(1.02 * found.gain).margins().stable);
    let late = |more: f64| margins(|w| closed.at(w).times(Complex::turn(-w * more)), &closed.grid(4000)).stable;
    assert!(late(0.98 * found.delay) && !late(1.02 * found.delay));
}

/// Tests the range of frequencies.
/// A law with interval T has no response above pi/T; 2/(R W) is the slowest pole of the windows (hollot-2001).
#[test]
fn a_loop_is_looked_at_from_far_below_its_poles_to_half_the_sampling_rate() {
    let plant = plant();
    for (interval, high) in [(Duration::from_millis(100), PI / 0.1), (Duration::from_millis(1), 50.0 / 0.2733)] {
        let params = pi::Params { target: 200.0, interval, ..pi::Params::default() };
        let closed = Loop::new(plant.clone(), &built(AqmConfig::Pi(params), &plant)).unwrap();
        let grid = closed.grid(100).0;
        let slow = 2.0 / (closed.point.rtts[0] * closed.point.window);
        assert_eq!(grid.len(), 100);
        assert!((grid[0] / (1e-4 * slow) - 1.0).abs() < 1e-6 && (grid[99] / high - 1.0).abs() < 1e-3, "{grid:?}");
    }
}

/// Tests k (1 + 2s)/s² e^(-s/10): |L| = 1 where w⁴ = k² (1 + 4 w²).
/// The phase there is atan(2w) - w/10 above -180 degrees.
#[test]
fn two_integrators_and_a_zero_have_the_margins_of_the_textbook() {
    let open = |w: f64| Complex::new(1.0, 2.0 * w).times(Complex::turn(-0.1 * w)).over(Complex::new(-w * w, 0.0));
    let found = margins(open, &Grid::between(1e-4, 100.0, 4000));
    let crossover = (2.0 + 5.0f64.sqrt()).sqrt();
    assert!(found.stable && (found.crossover - crossover).abs() < 1e-9, "{found:?}");
    let phase = (2.0 * crossover).atan() - 0.1 * crossover;
    assert!((found.phase - phase.to_degrees()).abs() < 1e-6 && (found.delay - phase / crossover).abs() < 1e-9, "{found:?}");
}

/// Tests that the flows send the sum of N sqrt(a/(b p)) / R.
/// If signals are drops, 1 - p of that passes a link with utilization u.
#[test]
fn the_flows_at_a_point_use_the_share_of_the_link_that_was_asked_for() {
    let slow = Class { increase: 0.5, decrease: 0.3, ..Class::reno(30.0, 0.35) };
    for (drops, place, used) in [(false, 40.0, 1.0), (true, 40.0, 1.0), (false, -0.3, 0.7), (true, -0.3, 0.7)] {
        let plant = Plant { classes: vec![Class::reno(40.0, 0.1), slow], drops, ..plant() };
        let point = plant.at(place);
        let (queue, p) = (place.max(0.0), point.probability);
        let sent: f64 = (plant.classes.iter())
            .map(|each| each.flows * (each.increase / each.decrease / p).sqrt() / (each.delay + queue / plant.capacity))
            .sum();
        let passed = if drops { 1.0 - p } else { 1.0 };
        assert!((sent * passed / plant.capacity - used).abs() < 1e-9, "{drops} {place}: {point:?}");
        assert!((sent / plant.capacity - point.load).abs() < 1e-9 && point.utilization == used && point.queue == queue);
    }
}

/// Tests kunniyur-2001#eq1: the virtual capacity is c' = alpha (u C - x).
/// Packets above it are marked, so p = 1 - c/x. Around the equilibrium dp = (1-p)/x dx - dc/x.
#[test]
fn avq_answers_the_load_with_a_gain_and_an_integral() {
    let (plant, avq) = (plant(), avq::Params::default());
    let (alpha, utilization) = (avq.alpha, avq.utilization);
    let control = built(AqmConfig::Avq(avq), &plant);
    let point = operating_point(&plant, &control).unwrap();
    assert!((point.load - utilization).abs() < 1e-6 && point.queue == 0.0, "{point:?}");
    let response = Response::around(&plant, &control, &point).unwrap();
    for omega in [0.05, 2.0] {
        let found = response.at(omega);
        let expected = Complex::new((1.0 - point.probability) / utilization, -alpha / utilization / omega);
        assert!(is_near(found.load, expected, 1e-4), "{found:?} {expected:?}");
        assert_eq!((found.queue.re, found.queue.im), (0.0, 0.0));
    }
}

#[test]
fn avq_steers_the_load_to_its_share_of_the_link() {
    let plant = plant();
    for (utilization, window) in [(0.98, 1.0), (0.6, 40.0)] {
        let control = built(AqmConfig::Avq(avq::Params { utilization, ..avq::Params::default() }), &plant);
        let start = Start { window, queue: 0.0, probability: 0.0 };
        let trace = simulate(&plant, &control, &Run { duration: 300.0, step: 0.002, every: 50, start, changes: Vec::new() }).unwrap();
        let late = &trace.load[trace.load.len() / 2..];
        let mean = late.iter().sum::<f64>() / late.len() as f64;
        assert!((mean - utilization).abs() < 0.01, "{utilization}: {mean}");
    }
}

#[test]
fn flows_that_join_send_from_their_time_on_with_the_window_of_the_others() {
    let plant = plant();
    let start = Start { window: 5.0, queue: 0.0, probability: 0.0 };
    let changes = vec![Change { at: 100.0, class: 0, flows: 120.0 }];
    let run = Run { duration: 400.0, step: 0.002, every: 1, start, changes };
    let trace = simulate(&plant, &controller(&plant, 1.0), &run).unwrap();
    let joined = trace.t.iter().position(|&t| t > 99.999).unwrap();
    assert!((trace.load[joined] / trace.load[joined - 1] - 2.0).abs() < 0.01, "{:?}", &trace.load[joined - 1..=joined]);
    let twice = Plant { classes: vec![Class::reno(120.0, 0.22)], ..plant.clone() };
    let (before, after) = (point(&plant), point(&twice));
    assert!((trace.windows[0][joined - 1] / before.window - 1.0).abs() < 0.01);
    assert!((trace.windows[0].last().unwrap() / after.window - 1.0).abs() < 0.01);
}

/// A law with a constant probability that stores its samples.
#[derive(Clone)]
struct Spy(Arc<Mutex<Vec<Sample>>>);

impl Law for Spy {
    fn interval(&self) -> Duration {
        Duration::from_millis(10)
    }
    fn step(&mut self, sample: &Sample) -> Probability {
        self.0.lock().unwrap().push(*sample);
        Probability::clamped(0.002)
    }
}

/// Checks the conservation laws of the queue of any link.
/// Packets that arrived and did not leave are waiting. A link sends at most its rate. Bytes are packets times their size. A packet waits
/// for the packets ahead of it.
fn assert_conserves(samples: &[Sample], plant: &Plant) {
    let (most, p) = (plant.capacity * 0.01, if plant.drops { 0.002 } else { 0.0 });
    for pair in samples.windows(2) {
        let (before, now) = (&pair[0], &pair[1]);
        let entered = now.arrived_packets * (1.0 - p);
        let rest = before.backlog_packets + entered - now.departed_packets - now.backlog_packets;
        assert!(rest.abs() < 0.01 && now.departed_packets < 1.001 * most, "{before:?} {now:?}");
        assert_eq!(now.arrived_bytes, now.arrived_packets * plant.packet);
        assert_eq!(now.departed_bytes, now.departed_packets * plant.packet);
        assert_eq!(now.backlog_bytes, now.backlog_packets * plant.packet);
        let mean = 0.5 * (before.backlog_packets + now.backlog_packets);
        assert!((now.sojourn - mean / plant.capacity).abs() < 1e-3, "{now:?}");
        assert!(now.least_backlog_packets <= before.backlog_packets.min(now.backlog_packets) + 1e-6, "{now:?}");
        assert!((now.now.since(before.now).as_secs_f64() - 0.01).abs() < 1e-6);
    }
}

#[test]
fn a_law_is_given_what_happened_in_its_interval() {
    for drops in [false, true] {
        let plant = Plant { drops, limit: f64::INFINITY, ..plant() };
        let spy = Spy(Arc::new(Mutex::new(Vec::new())));
        let control = Control::law(spy.clone());
        let start = Start { window: 1.0, queue: 0.0, probability: 0.002 };
        simulate(&plant, &control, &Run { duration: 30.0, step: 0.002, every: 1, start, changes: Vec::new() }).unwrap();
        let simulated = std::mem::take(&mut *spy.0.lock().unwrap());
        assert_eq!(simulated.len(), 3000);
        assert!(simulated.iter().any(|sample| sample.backlog_packets > 10.0));
        assert_conserves(&simulated, &plant);
    }
}
