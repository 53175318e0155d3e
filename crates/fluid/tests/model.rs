//! Tests the integrator by known solutions, equilibria by formulas, responses by transforms.

use sojourn_aqm::algorithms::{avq, cpc, fuzzy_red, led, pi, pi2, pie, red, rem};
use sojourn_aqm::{AqmConfig, Link};
use sojourn_fluid::{Class, Control, Gain, NoPoint, Oscillation, Plant, Response, Run, Start, describe, operating_point, simulate};
use sojourn_units::{Duration, Rate};

fn plant(flows: f64, capacity: f64, delay: f64) -> Plant {
    Plant { classes: vec![Class::reno(flows, delay)], capacity, limit: f64::INFINITY, packet: 1000.0, drops: false }
}

fn control(config: &AqmConfig, plant: &Plant) -> Control {
    let rate = Rate::from_bps((plant.capacity * 8.0 * plant.packet).round() as u64).unwrap();
    let link = Link { rate, delay: Duration::from_millis(20), mean_packet: plant.packet as u32, limit_packets: 500 };
    Control::of(config, &link, plant).unwrap()
}

fn led(max: f64) -> AqmConfig {
    AqmConfig::Led(led::Params { max, ..led::Params::default() })
}

fn run(duration: f64, step: f64) -> Run {
    Run { duration, step, every: 1, start: Start { window: 1.0, queue: 0.0, probability: 0.0 }, changes: Vec::new() }
}

/// An equation with a known solution: one class, an empty queue, and a constant p.
/// W' = 1/R - W(t) W(t-R) p/(2R). On 0..R the past is the constant W0, so W is an exponential. On R..2R it is linear with that as a
/// coefficient, and an integrating factor solves it up to one integral.
fn known(w0: f64, p: f64, r: f64, t: f64) -> f64 {
    let rate = w0 * p / (2.0 * r);
    let rest = 1.0 / (r * rate);
    let first = |t: f64| rest + (w0 - rest) * (-rate * t).exp();
    if t <= r {
        return first(t);
    }
    // The integral of first(x - r) p/(2r) from r to t.
    let sum = |t: f64| p / (2.0 * r) * (rest * (t - r) + (w0 - rest) * (1.0 - (-rate * (t - r)).exp()) / rate);
    let (parts, mut integral) = (20_000, 0.0);
    let h = (t - r) / f64::from(parts);
    for i in 0..parts {
        let x = r + h * f64::from(i);
        integral += h / 6.0 * (sum(x).exp() + 4.0 * sum(x + 0.5 * h).exp() + sum(x + h).exp());
    }
    (first(r) + integral / r) * (-sum(t)).exp()
}

#[test]
fn the_integrator_is_of_fourth_order_on_a_known_solution() {
    let (w0, p, r) = (4.0, 0.3, 0.1);
    let plant = plant(1.0, 1e9, r);
    let control = Control::DropTail;
    let error = |step: f64| {
        let mut run = run(0.17, step);
        run.start = Start { window: w0, queue: 0.0, probability: p };
        let trace = simulate(&plant, &control, &run).unwrap();
        // Within one round-trip time, only the constant past has an effect, whatever the queue does.
        trace
            .t
            .iter()
            .zip(&trace.windows[0])
            .filter(|(t, _)| **t <= 0.8 * r)
            .map(|(&t, &w)| (w - known(w0, p, r, t)).abs())
            .fold(0.0, f64::max)
    };
    let errors = [0.02, 0.01, 0.005].map(error);
    for pair in errors.windows(2) {
        assert!((12.0..20.0).contains(&(pair[0] / pair[1])), "{errors:?}");
    }
    assert!(errors[2] < 1e-8, "{errors:?}");
}

#[test]
fn the_past_is_interpolated_with_fourth_order_too() {
    // A law with the constant 0.3 closes the loop, so that 0..R determines R..2R.
    let (w0, p, r) = (4.0, 0.3, 0.1);
    let plant = plant(1.0, 1e9, r);
    let errors = [0.01, 0.005, 0.0025].map(|step| {
        // Up to the time at which the discontinuity at 1 R has an effect again.
        let mut run = run(0.18, step);
        run.start = Start { window: w0, queue: 0.0, probability: p };
        let trace = simulate(&plant, &Held(p).control(), &run).unwrap();
        trace.t.iter().zip(&trace.windows[0]).map(|(&t, &w)| (w - known(w0, p, r, t)).abs()).fold(0.0, f64::max)
    });
    for pair in errors.windows(2) {
        assert!((11.0..22.0).contains(&(pair[0] / pair[1])), "{errors:?}");
    }
}

/// A law with a constant probability, from outside the registry.
#[derive(Clone)]
struct Held(f64);

impl sojourn_aqm::Law for Held {
    fn interval(&self) -> Duration {
        Duration::from_millis(10)
    }
    fn step(&mut self, _: &sojourn_aqm::Sample) -> sojourn_units::Probability {
        sojourn_units::Probability::clamped(self.0)
    }
}

impl Held {
    fn control(&self) -> Control {
        Control::law(self.clone())
    }
}

#[test]
fn equilibria_of_led_are_those_of_its_formula() {
    // q0 = N sqrt(2/p0) - C T, p0 = (1 - min)/(max - min); if that is negative, the queue is empty.
    let expected = [
        (10.0, 200.0, 0.06, 1.2, 8.0, 2.0, 0.5, 1.0),
        (20.0, 200.0, 0.06, 1.2, 28.0, 2.0, 0.5, 1.0),
        (30.0, 187.5, 0.052, 1.5, 69.62, 2.6458, 0.28571, 1.0),
        (30.0, 625.0, 0.052, 1.2, 27.5, 2.0, 0.5, 1.0),
        (30.0, 625.0, 0.052, 1.75, 59.95, 3.0822, 0.21053, 1.0),
        (10.0, 625.0, 0.052, 1.2, 0.0, 2.907, 0.2366, 0.89463),
        (5.0, 200.0, 0.06, 1.2, 0.0, 2.28707, 0.38236, 0.95294),
    ];
    for (flows, capacity, delay, max, queue, window, p, load) in expected {
        let plant = plant(flows, capacity, delay);
        let control = control(&led(max), &plant);
        let point = operating_point(&plant, &control).unwrap();
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-3 * b.abs().max(1e-3);
        assert!(
            near(point.queue, queue) && near(point.window, window) && near(point.probability, p) && near(point.load, load),
            "{point:?}"
        );
        // The trajectory ends there.
        let trace = simulate(&plant, &control, &run(300.0, 0.001)).unwrap();
        let last = |column: &[f64]| *column.last().unwrap();
        assert!((last(&trace.queue) - queue).abs() < 0.01 * queue.max(1.0), "{} {queue}", last(&trace.queue));
        assert!((last(&trace.windows[0]) - window).abs() < 0.01 * window && (last(&trace.load) - load).abs() < 0.01);
    }
}

#[test]
fn laws_that_integrate_the_error_have_their_steady_state_at_the_target() {
    let plant = plant(60.0, 3750.0, 0.2);
    let pi = AqmConfig::Pi(pi::Params { target: 175.0, ..pi::Params::default() });
    let rem = AqmConfig::Rem(rem::Params { target: 100.0, ..rem::Params::default() });
    // CPC has two integrators, one of them for a window that these flows need not have.
    let cpc = |flows: f64| AqmConfig::Cpc(cpc::Params { flows, target: 50.0, ..cpc::Params::default() });
    for (config, target) in [(pi, 175.0), (rem, 100.0), (cpc(60.0), 50.0), (cpc(20.0), 50.0)] {
        let point = operating_point(&plant, &control(&config, &plant)).unwrap();
        assert!((point.queue - target).abs() < 0.01, "{point:?}");
        let rtt = 0.2 + target / 3750.0;
        assert!((point.probability - 2.0 * (60.0 / (rtt * 3750.0)) * (60.0 / (rtt * 3750.0))).abs() < 1e-6);
        Response::around(&plant, &control(&config, &plant), &point).unwrap();
    }
}

#[test]
fn avq_has_its_steady_state_at_its_share_of_the_link_with_an_empty_queue() {
    let plant = plant(30.0, 625.0, 0.1);
    let point = operating_point(&plant, &control(&AqmConfig::Avq(avq::Params::default()), &plant)).unwrap();
    assert!((point.load - 0.98).abs() < 1e-6 && point.queue == 0.0);
}

#[test]
fn the_response_of_pi_is_its_transform() {
    let plant = plant(60.0, 3750.0, 0.2);
    let params = pi::Params { target: 175.0, ..pi::Params::default() };
    let control = control(&AqmConfig::Pi(params.clone()), &plant);
    let point = operating_point(&plant, &control).unwrap();
    let response = Response::around(&plant, &control, &point).unwrap();
    let interval = params.interval.as_secs_f64();
    for omega in [0.01, 0.1, 1.0, 10.0, 100.0] {
        // (a - b/z) / (1 - 1/z) times the hold (1 - 1/z) / (j omega T).
        let (cos, sin) = ((omega * interval).cos(), (omega * interval).sin());
        let (re, im) = (params.a - params.b * cos, params.b * sin);
        let expected = (im / (omega * interval), -re / (omega * interval));
        let found = response.at(omega).queue;
        let size = expected.0.hypot(expected.1);
        assert!((found.re - expected.0).hypot(found.im - expected.1) < 1e-5 * size, "{omega}: {found:?} {expected:?}");
    }
}

#[test]
fn the_responses_of_pie_and_pi2_are_those_of_pi_on_the_delay_with_the_gain_of_their_probability() {
    let plant = plant(60.0, 3750.0, 0.2);
    let pie = AqmConfig::Pie(pie::Params::default());
    let pi2 = AqmConfig::Pi2(pi2::Params::default());
    // rfc8033#4.2 halves the gains from one hundredth to one tenth. pi2 squares, so its gain is twice the root.
    for (config, alpha, beta, gain) in [(pie, 0.125, 1.25, 1.0 / 2.0), (pi2, 0.15, 3.0, f64::NAN)] {
        let control = control(&config, &plant);
        let point = operating_point(&plant, &control).unwrap();
        assert!((point.queue - 0.015 * 3750.0).abs() < 0.01 && (1e-2..1e-1).contains(&point.probability), "{point:?}");
        let gain = if gain.is_nan() { 2.0 * point.probability.sqrt() } else { gain };
        let response = Response::around(&plant, &control, &point).unwrap();
        for omega in [0.01, 0.1, 1.0, 10.0, 100.0] {
            let x: f64 = omega * 0.015;
            // (alpha + beta (1 - 1/z)) / (1 - 1/z) of q/C, times the hold.
            let (re, im) = (alpha + beta * (1.0 - x.cos()), beta * x.sin());
            let expected = (im * gain / (3750.0 * x), -re * gain / (3750.0 * x));
            let found = response.at(omega).queue;
            let size = expected.0.hypot(expected.1);
            assert!(
                (found.re - expected.0).hypot(found.im - expected.1) < 1e-3 * size,
                "{} {omega}: {found:?} {expected:?}",
                config.name()
            );
        }
    }
}

#[test]
fn classes_have_the_window_of_their_own_increase_and_decrease() {
    let slow = Class { increase: 0.5, decrease: 0.3, ..Class::reno(20.0, 0.1) };
    let plant = Plant { classes: vec![Class::reno(10.0, 0.05), slow], ..plant(1.0, 2000.0, 0.1) };
    let pi = AqmConfig::Pi(pi::Params { a: 4e-5, b: 3.9e-5, target: 100.0, ..pi::Params::default() });
    let control = control(&pi, &plant);
    let point = operating_point(&plant, &control).unwrap();
    let windows = [(2.0 / point.probability).sqrt(), (0.5 / 0.3 / point.probability).sqrt()];
    let rate = 10.0 * windows[0] / point.rtts[0] + 20.0 * windows[1] / point.rtts[1];
    assert!((rate - 2000.0).abs() < 1e-3 && (point.window - (windows[0] + 2.0 * windows[1]) / 3.0).abs() < 1e-9, "{point:?}");
    let trace = simulate(&plant, &control, &run(300.0, 0.001)).unwrap();
    for (column, window) in trace.windows.iter().zip(windows) {
        assert!((column.last().unwrap() - window).abs() < 0.01 * window, "{} {window}", column.last().unwrap());
    }
}

#[test]
fn the_response_of_led_is_that_of_its_average() {
    let plant = plant(20.0, 200.0, 0.06);
    let control = control(&led(1.2), &plant);
    let point = operating_point(&plant, &control).unwrap();
    let response = Response::around(&plant, &control, &point).unwrap();
    for omega in [0.01, 0.3, 3.0, 30.0] {
        let found = response.at(omega);
        let x = omega * 0.05;
        // alpha / (1 - (1 - alpha)/z) / span, times averaging and hold, whose product has the size (sin(x/2) / (x/2))^2.
        let size = 0.05 / 0.4 / (1.0 - 0.95 * x.cos()).hypot(0.95 * x.sin()) * ((x / 2.0).sin() / (x / 2.0)).powi(2);
        assert!((found.load.re.hypot(found.load.im) - size).abs() < 1e-5 * size, "{omega}");
        assert_eq!((found.queue.re, found.queue.im), (0.0, 0.0));
    }
}

#[test]
fn the_response_to_a_small_oscillation_is_the_linear_one() {
    let plant = plant(30.0, 1250.0, 0.05);
    let fuzzy = AqmConfig::FuzzyRed(fuzzy_red::Params::default());
    let red = AqmConfig::Red(red::Params { min: 5.0, max: 60.0, weight: 0.002, ..red::Params::default() });
    let led = led(1.5);
    for config in [fuzzy, red, led] {
        let control = control(&config, &plant);
        let point = operating_point(&plant, &control).unwrap();
        let response = Response::around(&plant, &control, &point).unwrap();
        for omega in [0.7, 5.0] {
            let Gain { queue, load } = response.at(omega);
            // The load of an oscillating queue is its rate of change over the capacity.
            let x = omega / plant.capacity;
            let linear = (queue.re - x * load.im, queue.im + x * load.re);
            let found = describe(&plant, &control, &point, Oscillation { mean: point.queue, amplitude: 0.02, omega }).unwrap().gain;
            let size = linear.0.hypot(linear.1);
            assert!((found.re - linear.0).hypot(found.im - linear.1) < 0.03 * size, "{}: {found:?} {linear:?}", config.name());
        }
    }
}

#[test]
fn a_missing_equilibrium_is_explained() {
    // Many flows share a slow link, and the law's probability is too small.
    let slow_link = Plant { limit: 100.0, ..plant(500.0, 200.0, 0.05) };
    let weak = AqmConfig::Red(red::Params { min: 5.0, max: 400.0, max_p: 0.02, weight: 0.002, ..red::Params::default() });
    let error = operating_point(&slow_link, &control(&weak, &slow_link)).unwrap_err();
    assert!(matches!(error, NoPoint::TooWeak { .. }) && error.to_string().contains("100.0000 packets"), "{error}");
    let tail = control(&AqmConfig::DropTail(Default::default()), &slow_link);
    assert!(operating_point(&slow_link, &tail).unwrap_err().to_string().starts_with("no equilibrium"));
    let link = Link { rate: Rate::from_bps(1_000_000).unwrap(), delay: Duration::ZERO, mean_packet: 1000, limit_packets: 10 };
    for (config, why) in [
        (AqmConfig::Blue(Default::default()), "single losses"),
        (AqmConfig::Codel(Default::default()), "by their sojourn time"),
        (AqmConfig::FqCodel(Default::default()), "its own queue"),
        (AqmConfig::Choke(Default::default()), "compares packets"),
        (AqmConfig::PiRtt(Default::default()), "flow's round-trip time"),
    ] {
        let said = Control::of(&config, &link, &slow_link).unwrap_err().to_string();
        assert!(said.contains("no fluid form") && said.contains(why), "{said}");
    }
}

#[test]
fn a_queue_stays_within_its_limit_and_its_losses_limit_the_windows() {
    let plant = Plant { limit: 50.0, drops: true, ..plant(10.0, 500.0, 0.05) };
    let tail = control(&AqmConfig::DropTail(Default::default()), &plant);
    let trace = simulate(&plant, &tail, &run(100.0, 0.001)).unwrap();
    let most = trace.queue.iter().copied().fold(0.0, f64::max);
    assert!((most - 50.0).abs() < 1e-9, "{most}");
    let late = &trace.windows[0][50_000..];
    assert!(late.iter().all(|&w| (2.0..20.0).contains(&w)), "{:?}", late.last());
}

#[test]
fn numbers_out_of_range_are_refused_with_their_name() {
    let good = plant(1.0, 100.0, 0.1);
    let class = |change: fn(&mut Class)| {
        let mut plant = good.clone();
        change(&mut plant.classes[0]);
        plant
    };
    let bad = [
        ("capacity", Plant { capacity: 0.0, ..good.clone() }),
        ("capacity", Plant { capacity: f64::INFINITY, ..good.clone() }),
        ("classes: expected 1", Plant { classes: vec![], ..good.clone() }),
        ("classes: expected 1", Plant { classes: vec![good.classes[0]; 1001], ..good.clone() }),
        ("classes: expected flows", class(|class| class.flows = 0.0)),
        ("limit", Plant { limit: f64::NAN, ..good.clone() }),
        ("limit", Plant { limit: 0.0, ..good.clone() }),
        ("packet", Plant { packet: f64::INFINITY, ..good.clone() }),
        ("packet", Plant { packet: 0.0, ..good.clone() }),
        ("classes[0].flows", class(|class| class.flows = f64::NAN)),
        ("classes[0].flows", class(|class| class.flows = f64::INFINITY)),
        ("classes[0].flows", class(|class| class.flows = -1e-9)),
        ("classes[0].delay", class(|class| class.delay = 0.0)),
        ("classes[0].delay", class(|class| class.delay = f64::INFINITY)),
        ("classes[0].increase", class(|class| class.increase = 0.0)),
        ("classes[0].decrease", class(|class| class.decrease = 0.0)),
        ("classes[0].decrease", class(|class| class.decrease = 1.0 + 1e-9)),
        ("classes[0].decrease", class(|class| class.decrease = f64::NAN)),
    ];
    for (field, plant) in bad {
        let error = simulate(&plant, &Control::DropTail, &run(1.0, 0.001)).unwrap_err().to_string();
        assert!(error.starts_with(field), "{error}, expected {field}");
    }
    let whole = class(|class| class.decrease = 1.0);
    let many = Plant { classes: vec![good.classes[0]; 1000], ..good.clone() };
    assert!([good.clone(), whole, many].iter().all(|plant| plant.check().is_ok()));
    // The step is at most a third of the round-trip time, with a tolerance of 10^-9 for rounding.
    let every = Run { every: 0, ..run(1.0, 0.01) };
    let steps = [("step", run(1.0, 0.1)), ("step", run(1.0, 0.0334)), ("step", run(1.0, f64::NAN)), ("step", run(1.0, 0.0))];
    let others = [("step", run(1.0, f64::INFINITY)), ("duration", run(1e300, 0.01)), ("duration", run(0.0, 0.01)), ("every", every)];
    for (field, run) in steps.into_iter().chain(others) {
        let error = simulate(&good, &Control::DropTail, &run).unwrap_err().to_string();
        assert!(error.starts_with(field), "{error}, expected {field}");
    }
    assert!(simulate(&good, &Control::DropTail, &run(1.0, 0.1 / 3.0)).is_ok());
}
