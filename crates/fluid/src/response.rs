//! How a law answers small changes around an operating point: its frequency response, from the code itself.
//!
//! A law at rest is told of a slightly longer queue in one interval and, apart from that, of slightly more arrivals
//! in one interval; how its probability departs from rest is its impulse response, and the z-transform of that its
//! frequency response. What goes on beyond the samples taken is a geometric series (an average forgets so, and an
//! integrator, with ratio 1, does not forget at all) or a straight line (two integrators), summed in closed form.

use crate::control::{steady, step};
use crate::point::settled;
use crate::{Control, NoPoint, Plant, Point};
use sojourn_aqm::AnyAqm;
use sojourn_units::Duration;

/// A complex number as (real, imaginary).
pub type Complex = (f64, f64);

fn times(a: Complex, b: Complex) -> Complex {
    (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0)
}

fn over(a: Complex, b: Complex) -> Complex {
    let size = b.0 * b.0 + b.1 * b.1;
    ((a.0 * b.0 + a.1 * b.1) / size, (a.1 * b.0 - a.0 * b.1) / size)
}

/// An impulse response: the first samples, then a geometric series and a straight line.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Impulse {
    /// One value an interval, the first at once.
    pub samples: Vec<f64>,
    /// How each later value follows from the one before.
    pub ratio: f64,
    /// What is added to that from each to the next.
    pub rise: f64,
}

impl Impulse {
    /// The z-transform at `z^-1 = back`.
    fn transform(&self, back: Complex) -> Complex {
        let mut sum = (0.0, 0.0);
        for &h in self.samples.iter().rev() {
            sum = times(sum, back);
            sum.0 += h;
        }
        let last = self.samples.last().copied().unwrap_or(0.0) * self.ratio;
        if last == 0.0 {
            return sum;
        }
        let mut power = (1.0, 0.0);
        for _ in 0..self.samples.len() {
            power = times(power, back);
        }
        let tail = over((power.0 * last, power.1 * last), (1.0 - self.ratio * back.0, -self.ratio * back.1));
        let step = over((1.0, 0.0), (1.0 - back.0, -back.1));
        let line = times(times((power.0 * self.rise, power.1 * self.rise), step), step);
        (sum.0 + tail.0 + line.0, sum.1 + tail.1 + line.1)
    }
}

/// How a law's probability answers the queue (per packet) and the load (arrivals over capacity).
#[derive(Clone, PartialEq, Debug)]
pub enum Response {
    /// A law at its interval, in seconds.
    Sampled {
        /// The span between steps.
        interval: f64,
        /// To the queue at the end of an interval.
        queue: Impulse,
        /// To the mean load of an interval.
        load: Impulse,
    },
    /// `gain / (1 + s/pole)` of the queue.
    Lag {
        /// Probability a packet.
        gain: f64,
        /// In rad/s.
        pole: f64,
    },
    /// `gain + rate/s` of the load.
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
    /// The law does not rest there.
    pub fn around(plant: &Plant, control: &Control, point: &Point) -> Result<Response, NoPoint> {
        match control {
            Control::Red(red) => {
                let away = 1e-6 * point.queue.max(1e-3);
                let gain = (red.profile(point.queue + away) - red.profile(point.queue - away)) / (2.0 * away);
                Ok(Response::Lag { gain, pole: red.per_packet * point.load * plant.capacity })
            }
            Control::Avq(avq) => {
                // p = 1 - c/x, c' = alpha (u C - x): c over x is 1 - p at rest.
                let share = (1.0 - point.probability) / point.load;
                Ok(Response::Integral { gain: share, rate: avq.alpha / point.load })
            }
            Control::DropTail => Err(NoPoint::None("a queue that only drops when it is full has no linear form")),
            Control::Law(aqm) => {
                let interval = control.interval().map_or(0.0, Duration::as_secs_f64);
                let rest = settled(plant, aqm, interval, point)?;
                let away = 1e-4 * point.queue.max(1.0);
                let more = 1e-4 * point.load.max(1e-3);
                let probe = |queue: f64, load: f64| impulse(plant, &rest, interval, point, (queue, load));
                Ok(Response::Sampled { interval, queue: probe(away, 0.0), load: probe(0.0, more) })
            }
        }
    }

    /// The answers to the queue and to the load at `omega` rad/s, with the law's hold and its averaging.
    pub fn at(&self, omega: f64) -> (Complex, Complex) {
        match self {
            Response::Lag { gain, pole } => (over((*gain, 0.0), (1.0, omega / pole)), (0.0, 0.0)),
            Response::Integral { gain, rate } => ((0.0, 0.0), (*gain, -rate / omega)),
            Response::Sampled { interval, queue, load } => {
                let angle = omega * interval;
                let back = (angle.cos(), -angle.sin());
                // (1 - e^-jx) / jx: a value held, or averaged, over an interval.
                let hold = if angle == 0.0 { (1.0, 0.0) } else { over((1.0 - back.0, -back.1), (0.0, angle)) };
                (times(hold, queue.transform(back)), times(times(hold, hold), load.transform(back)))
            }
        }
    }
}

const MOST_SAMPLES: usize = 1 << 16;

/// The mean answer to a change up and one down, per unit of the change.
fn impulse(plant: &Plant, rest: &AnyAqm, interval: f64, point: &Point, (queue, load): (f64, f64)) -> Impulse {
    let still = steady(plant, interval, point.queue, point.load);
    let changed = |sign: f64| steady(plant, interval, (point.queue + sign * queue).max(0.0), (point.load + sign * load).max(0.0));
    let (mut up, mut down) = (rest.clone(), rest.clone());
    // An empty queue can't be shorter: what was really changed counts.
    let (above, below) = (changed(1.0), changed(-1.0));
    let unit = if queue > 0.0 {
        above.backlog_packets - below.backlog_packets
    } else {
        (above.arrived_packets - below.arrived_packets) / (plant.capacity * interval)
    };
    let mut samples = vec![(step(&mut up, &above) - step(&mut down, &below)) / unit];
    let (mut ratio, mut rise) = (0.0, 0.0);
    while samples.len() < MOST_SAMPLES {
        for _ in 0..32 {
            samples.push((step(&mut up, &still) - step(&mut down, &still)) / unit);
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
            ratio = if (second - 1.0).abs() < 1e-6 { 1.0 } else { second.powf(0.125) };
            break;
        }
    }
    Impulse { samples, ratio, rise }
}
