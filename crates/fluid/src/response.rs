//! The frequency response of a law around an operating point, measured on its code.
//!
//! A law in steady state receives a slightly longer queue in one interval, and in another run slightly more arrivals in one interval. The
//! deviation of its probability from the steady state is its impulse response. The z-transform of that is its frequency response. Beyond
//! the samples the impulse response continues as a geometric series (an average decays like this; the ratio of an integrator is 1) or as a
//! straight line (two integrators). Both are summed in closed form.

use crate::complex::Complex;
use crate::control::{Control, steady};
use crate::plant::Plant;
use crate::point::{NoPoint, Point, settled};
use sojourn_aqm::{AnyLaw, Law};
use sojourn_units::Duration;

/// An impulse response: the first samples, then a geometric series and a straight line.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Impulse {
    /// One value per interval, starting with the interval of the change.
    pub samples: Vec<f64>,
    /// The ratio of each later value to the previous one.
    pub ratio: f64,
    /// The difference between later values, in addition to the ratio.
    pub rise: f64,
}

impl Impulse {
    /// The z-transform at `z^-1 = back`.
    fn transform(&self, back: Complex) -> Complex {
        let mut sum = Complex::ZERO;
        for &h in self.samples.iter().rev() {
            sum = sum.times(back);
            sum.re += h;
        }
        let last = self.samples.last().copied().unwrap_or(0.0) * self.ratio;
        if last == 0.0 {
            return sum;
        }
        let mut power = Complex::ONE;
        for _ in 0..self.samples.len() {
            power = power.times(back);
        }
        let scaled = |factor: f64| Complex::new(power.re * factor, power.im * factor);
        let tail = scaled(last).over(Complex::new(1.0 - self.ratio * back.re, -self.ratio * back.im));
        let step = Complex::ONE.over(Complex::new(1.0 - back.re, -back.im));
        let line = scaled(self.rise).times(step).times(step);
        Complex::new(sum.re + tail.re + line.re, sum.im + tail.im + line.im)
    }
}

/// The response of a law's probability at one frequency.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Gain {
    /// The response to the queue, per packet.
    pub queue: Complex,
    /// The response to the load (arrivals divided by capacity).
    pub load: Complex,
}

/// The response of a law's probability to the queue (per packet) and to the load.
/// The load is arrivals divided by capacity.
#[derive(Clone, PartialEq, Debug)]
pub enum Response {
    /// The response of a law that is called at its interval.
    Sampled {
        /// The time between two steps in seconds.
        interval: f64,
        /// The response to the queue at the end of an interval.
        queue: Impulse,
        /// The response to the mean load of an interval.
        load: Impulse,
    },
    /// The response `gain / (1 + s/pole)` to the queue.
    Lag {
        /// Probability per packet.
        gain: f64,
        /// The pole in rad/s.
        pole: f64,
    },
    /// The response `gain + rate/s` to the load.
    Integral {
        /// Probability per load.
        gain: f64,
        /// Probability per load and second.
        rate: f64,
    },
}

impl Response {
    /// The response of the control around the point.
    ///
    /// # Errors
    /// The law has no steady state there.
    pub fn around(plant: &Plant, control: &Control, point: &Point) -> Result<Response, NoPoint> {
        match control {
            Control::Red(red) => {
                let away = 1e-6 * point.queue.max(1e-3);
                let gain = (red.profile(point.queue + away) - red.profile(point.queue - away)) / (2.0 * away);
                Ok(Response::Lag { gain, pole: red.per_packet * point.load * plant.capacity })
            }
            Control::Avq(avq) => {
                // p = 1 - c/x, c' = alpha (u C - x): in steady state c over x is 1 - p.
                let share = (1.0 - point.probability) / point.load;
                Ok(Response::Integral { gain: share, rate: avq.alpha / point.load })
            }
            Control::DropTail => Err(NoPoint::None("a queue that only drops when it is full has no linear form")),
            Control::Law(law) => {
                let interval = control.interval().map_or(0.0, Duration::as_secs_f64);
                let rest = settled(plant, &**law, interval, point)?;
                let away = 1e-4 * point.queue.max(1.0);
                let more = 1e-4 * point.load.max(1e-3);
                let probe = |change: Probe| impulse(plant, &*rest, interval, point, change);
                Ok(Response::Sampled {
                    interval,
                    queue: probe(Probe { queue: away, load: 0.0 }),
                    load: probe(Probe { queue: 0.0, load: more }),
                })
            }
        }
    }

    /// The response at `omega` rad/s.
    /// The probability is held for an interval, and the load is averaged over one.
    pub fn at(&self, omega: f64) -> Gain {
        match self {
            Response::Lag { gain, pole } => {
                Gain { queue: Complex::new(*gain, 0.0).over(Complex::new(1.0, omega / pole)), load: Complex::ZERO }
            }
            Response::Integral { gain, rate } => Gain { queue: Complex::ZERO, load: Complex::new(*gain, -rate / omega) },
            Response::Sampled { interval, queue, load } => {
                let angle = omega * interval;
                let back = Complex::new(libm::cos(angle), -libm::sin(angle));
                // (1 - e^-jx) / jx is a value that is held, or averaged, over an interval.
                let hold = if angle == 0.0 { Complex::ONE } else { Complex::new(1.0 - back.re, -back.im).over(Complex::new(0.0, angle)) };
                Gain { queue: hold.times(queue.transform(back)), load: hold.times(hold).times(load.transform(back)) }
            }
        }
    }
}

/// The maximum number of samples of an impulse response.
const MAX_SAMPLES: usize = 1 << 16;

/// A change of the queue in packets or of the load, in one interval.
struct Probe {
    queue: f64,
    load: f64,
}

/// The mean response to a positive and a negative change, per unit of the change.
fn impulse(plant: &Plant, rest: &dyn AnyLaw, interval: f64, point: &Point, change: Probe) -> Impulse {
    let Probe { queue, load } = change;
    let still = steady(plant, interval, point.queue, point.load);
    let changed = |sign: f64| steady(plant, interval, (point.queue + sign * queue).max(0.0), (point.load + sign * load).max(0.0));
    let (mut up, mut down) = (rest.boxed_clone(), rest.boxed_clone());
    // An empty queue cannot become shorter, so the unit is the actual change.
    let (above, below) = (changed(1.0), changed(-1.0));
    let unit = if queue > 0.0 {
        above.backlog_packets - below.backlog_packets
    } else {
        (above.arrived_packets - below.arrived_packets) / (plant.capacity * interval)
    };
    let mut samples = vec![(up.step(&above).get() - down.step(&below).get()) / unit];
    let (mut ratio, mut rise) = (0.0, 0.0);
    while samples.len() < MAX_SAMPLES {
        for _ in 0..32 {
            samples.push((up.step(&still).get() - down.step(&still).get()) / unit);
        }
        let n = samples.len();
        let (a, b, c) = (samples[n - 17], samples[n - 9], samples[n - 1]);
        if c == 0.0 && b == 0.0 {
            break;
        }
        let (before, after) = (b - a, c - b);
        if (after - before).abs() < 1e-6 * after.abs() && after.abs() > 1e-6 * c.abs() {
            (ratio, rise) = (1.0, after / 8.0);
            break;
        }
        let (first, second) = (b / a, c / b);
        if (first - second).abs() < 1e-5 * second.abs() && second > 0.0 {
            ratio = if (second - 1.0).abs() < 1e-6 { 1.0 } else { libm::pow(second, 0.125) };
            break;
        }
    }
    Impulse { samples, ratio, rise }
}
