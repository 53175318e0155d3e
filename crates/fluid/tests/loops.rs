//! Loops against theory: drops, margins with an integrator, units, laws that read times.

use sojourn_aqm::algorithms::{avq, led, red};
use sojourn_aqm::{AnyAqm, AqmConfig, Link};
use sojourn_aqm::{Law, Sample};
use sojourn_fluid::{Change, Class, Complex, Control, Grid, Oscillation, Plant, Run, Start, describe, margins, operating_point, simulate};
use sojourn_units::{Bytes, Duration, Probability, Rate};
use std::f64::consts::{FRAC_PI_2, PI};
use std::sync::{Arc, Mutex};

fn plant(flows: f64, capacity: f64, delay: f64, drops: bool) -> Plant {
    Plant { classes: vec![Class::reno(flows, delay)], capacity, limit: f64::INFINITY, packet: 1000.0, drops }
}

fn link(plant: &Plant) -> Link {
    let rate = Rate::from_bps((plant.capacity * 8.0 * plant.packet).round() as u64).unwrap();
    Link { rate, delay: Duration::from_millis(20), mean_packet: plant.packet as u32, limit_packets: 500 }
}

const INTERVAL: Duration = Duration::from_millis(10);

/// A law whose probability is a base plus a multiple of the queuing delay in seconds.
/// It stores its samples.
#[derive(Clone)]
struct Delay {
    base: f64,
    gain: f64,
    seen: Arc<Mutex<Vec<Sample>>>,
}

impl Delay {
    fn control(base: f64, gain: f64) -> (Control, Arc<Mutex<Vec<Sample>>>) {
        let seen = Arc::<Mutex<Vec<Sample>>>::default();
        (Control::law(Delay { base, gain, seen: seen.clone() }), seen)
    }
}

impl Law for Delay {
    fn interval(&self) -> Duration {
        INTERVAL
    }
    fn step(&mut self, sample: &Sample) -> Probability {
        self.seen.lock().unwrap().push(*sample);
        Probability::clamped(self.base + self.gain * sample.sojourn)
    }
}

fn run(duration: f64) -> Run {
    Run { duration, step: 0.001, every: 1, start: Start { window: 1.0, queue: 0.0, probability: 0.0 }, changes: Vec::new() }
}

/// Tests drops with an empty queue.
/// A share p of arrivals is dropped, and the others pass: departures equal accepted packets.
#[test]
fn a_law_that_drops_sees_fewer_departures_than_arrivals() {
    for (drops, share) in [(true, 0.75), (false, 1.0)] {
        // Windows of sqrt(2/p) are 2.83 segments: a rate of 28.3 of 200 packets a second.
        let plant = plant(1.0, 200.0, 0.1, drops);
        let (control, seen) = Delay::control(0.25, 0.0);
        simulate(&plant, &control, &run(30.0)).unwrap();
        let last = *seen.lock().unwrap().last().unwrap();
        assert!(last.backlog_packets == 0.0 && last.arrived_packets > 0.2, "{last:?}");
        assert!((last.departed_packets / last.arrived_packets - share).abs() < 1e-9, "{last:?}");
    }
}

/// Tests that flows with a window of sqrt(2/p) send N W/R.
/// The packets that are not dropped equal the capacity.
#[test]
fn with_drops_more_arrives_than_the_link_carries() {
    let plant = plant(30.0, 625.0, 0.052, true);
    let config = AqmConfig::Led(led::Params { max: 1.75, ..led::Params::default() });
    let point = operating_point(&plant, &Control::of(&config, &link(&plant), &plant).unwrap()).unwrap();
    let (p, rtt) = (point.probability, 0.052 + point.queue / 625.0);
    assert!((point.load * (1.0 - p) - point.utilization).abs() < 1e-9, "{point:?}");
    assert!((30.0 * (2.0 / p).sqrt() / rtt * (1.0 - p) - 625.0 * point.utilization).abs() < 1e-6, "{point:?}");
}

/// Tests that at frequency zero the queue follows the probability along the equilibria.
#[test]
fn the_slow_response_of_the_queue_is_the_slope_of_its_equilibria() {
    for drops in [false, true] {
        let plant = plant(30.0, 625.0, 0.052, drops);
        let near = |queue: f64| plant.at(queue);
        let (low, point, high) = (near(39.99), near(40.0), near(40.01));
        let slope = 0.02 / (high.probability - low.probability);
        let found = plant.response(&point, 1e-6).queue;
        assert!((found.re - slope).abs() < 1e-4 * slope.abs() && found.im.abs() < 1e-3 * slope.abs(), "{drops}: {found:?}, slope {slope}");
    }
}

/// Tests k e^(-sT)/s: it crosses 1 at k, with a phase margin of 90 degrees minus k T.
/// It is stable for k T < pi/2.
#[test]
fn an_integrator_with_a_dead_time_has_its_textbook_margins() {
    let of = |k: f64, dead: f64| {
        let open = move |w: f64| {
            let (size, angle) = (k / w, -FRAC_PI_2 - w * dead);
            Complex { re: size * angle.cos(), im: size * angle.sin() }
        };
        margins(open, &Grid::between(1e-3, 50.0, 4000))
    };
    let stable = of(2.0, 0.25);
    assert!(stable.stable, "{stable:?}");
    assert!((stable.crossover - 2.0).abs() < 1e-6 && (stable.phase - (90.0 - 0.5f64.to_degrees())).abs() < 1e-4, "{stable:?}");
    // The phase is -180 degrees at pi/(2 T).
    assert!((stable.turn - 2.0 * PI).abs() < 1e-3 && (stable.gain - PI).abs() < 1e-3, "{stable:?}");
    assert!((stable.delay - (FRAC_PI_2 - 0.5) / 2.0).abs() < 1e-6, "{stable:?}");
    assert!(of(1.0, 1.5).stable && !of(1.0, 1.65).stable);
}

/// Tests (1 + s)/s^2, whose closed loop s^2 + s + 1 is stable.
/// It crosses 1 where w^4 = 1 + w^2, with a phase margin of atan w.
#[test]
fn two_integrators_with_a_lead_are_stable() {
    let open = |w: f64| Complex { re: -1.0 / (w * w), im: -1.0 / w };
    let found = margins(open, &Grid::between(1e-3, 1e3, 4000));
    let crossover = (0.5 * (1.0 + 5f64.sqrt())).sqrt();
    assert!(found.stable && (found.crossover - crossover).abs() < 1e-6, "{found:?}");
    assert!((found.phase - crossover.atan().to_degrees()).abs() < 1e-4, "{found:?}");
}

/// Tests ns-2's `queue_in_bytes_`.
/// Thresholds stay in packets of the mean size, and the average is in bytes.
#[test]
fn red_with_a_queue_in_bytes_has_the_profile_of_red_in_packets() {
    let plant = plant(30.0, 625.0, 0.052, false);
    let profile = |queue_in_bytes: bool| {
        let params = red::Params { min: 5.0, max: 15.0, weight: 0.002, queue_in_bytes, mean_packet: Bytes(1000), ..red::Params::default() };
        let Control::Red(red) = Control::of(&AqmConfig::Red(params), &link(&plant), &plant).unwrap() else { panic!() };
        [3.0, 7.0, 10.0, 14.0, 20.0].map(|average| red.profile(average))
    };
    let packets = profile(false);
    assert!(packets[1] > 0.0);
    profile(true).iter().zip(packets).for_each(|(bytes, packets)| assert!((bytes - packets).abs() < 1e-12));
}

#[test]
fn the_limit_of_avqs_virtual_queue_is_in_packets() {
    let plant = plant(30.0, 625.0, 0.1, false);
    let params = avq::Params::default();
    let AnyAqm::Avq(built) = AqmConfig::Avq(params.clone()).build(&link(&plant)).unwrap() else { panic!() };
    let Control::Avq(avq) = Control::of(&AqmConfig::Avq(params), &link(&plant), &plant).unwrap() else { panic!() };
    assert_eq!(avq.limit * plant.packet, built.shape().limit);
    assert!((1.0..10_000.0).contains(&avq.limit), "{avq:?}");
}

/// Tests the delay of an interval: the mean of its ends.
/// This is a filter cos(x) e^(-jx) with x = w h / 2. The probability is held for an interval, a filter sin(x)/x e^(-jx).
#[test]
fn the_delay_of_an_interval_is_that_of_its_middle() {
    let plant = plant(30.0, 625.0, 0.052, false);
    let (control, _) = Delay::control(0.01, 1.0);
    let point = operating_point(&plant, &control).unwrap();
    for omega in [5.0, 60.0] {
        let x = omega * INTERVAL.as_secs_f64() / 2.0;
        let size = x.cos() * x.sin() / x / plant.capacity;
        let found = describe(&plant, &control, &point, Oscillation { mean: point.queue, amplitude: 0.1, omega }).unwrap().gain;
        let expected = Complex { re: size * (2.0 * x).cos(), im: -size * (2.0 * x).sin() };
        assert!((found.re - expected.re).hypot(found.im - expected.im) < 0.01 * size, "{omega}: {found:?} {expected:?}");
    }
}

#[test]
fn a_change_of_the_flows_acts_at_its_time() {
    let plant = plant(10.0, 1e6, 0.1, false);
    let (control, _) = Delay::control(0.0, 0.0);
    let run = Run { changes: vec![Change { at: 0.5, class: 0, flows: 20.0 }], ..run(1.0) };
    let trace = simulate(&plant, &control, &run).unwrap();
    let jumps: Vec<f64> = (1..trace.t.len()).filter(|&n| trace.load[n] > 1.5 * trace.load[n - 1]).map(|n| trace.t[n]).collect();
    assert_eq!(jumps, [0.5]);
}
