//! How a law answers a large swing of the queue: its describing function, from the code itself.

use crate::control::step;
use crate::point::settled;
use crate::response::Complex;
use crate::{Control, NoPoint, Plant, Point};
use sojourn_aqm::Sample;
use sojourn_units::{Duration, Time};

/// A swing of the queue: `mean + amplitude sin(omega t)`, cut off at empty and full.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Swing {
    /// Waiting packets in the middle of the swing.
    pub mean: f64,
    /// Packets to each side.
    pub amplitude: f64,
    /// In rad/s.
    pub omega: f64,
}

/// The answer to one swing: a dual-input describing function, of the mean and of the swing about it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Described {
    /// First harmonic of the probability over that of the queue, per packet.
    pub gain: Complex,
    /// Mean probability.
    pub mean: f64,
}

/// Periods before what is measured.
const SETTLE: f64 = 10.0;
/// Steps measured: a span that is not whole periods is off by at most half a step of them.
const MEASURED: f64 = 2000.0;
/// Substeps a period for forms without an interval.
const PARTS: f64 = 400.0;

/// How the control, at rest at the point until then, answers a swing of the queue with the arrivals that it means.
///
/// # Errors
/// The law does not rest at the point.
pub fn describe(plant: &Plant, control: &Control, point: &Point, swing: Swing) -> Result<Described, NoPoint> {
    let Swing { mean, amplitude, omega } = swing;
    let period = core::f64::consts::TAU / omega;
    let queue = |t: f64| (mean + amplitude * (omega * t).sin()).clamp(0.0, plant.limit);
    let span = control.interval().map_or(period / PARTS, Duration::as_secs_f64);
    let mut law = match control {
        Control::Law(aqm) => Some(settled(plant, aqm, span, point)?),
        _ => None,
    };
    let mut state = [0.0; 2];
    control.start(plant, point.queue, &mut state[..control.states()]);
    let whole = (MEASURED * span / period).clamp(2.0, 20.0).ceil();
    let (settle, total) = ((SETTLE * period / span).ceil(), ((SETTLE + whole) * period / span).ceil());
    let mut sums = Sums::default();
    let mut n = 0.0;
    while n < total {
        let (now, next) = (n * span, (n + 1.0) * span);
        let arriving = (point.load + (queue(next) - queue(now)) / (span * plant.capacity)).max(0.0) * plant.capacity;
        let p = match law.as_mut() {
            Some(aqm) => step(aqm, &sample(plant, next, span, queue(now), queue(next), arriving)),
            None => held(plant, control, &mut state, arriving, queue(now), span),
        };
        // The probability of this step is felt until the next.
        if n >= settle {
            sums.add(p - point.probability, omega, if law.is_some() { next } else { now }, span);
        }
        n += 1.0;
    }
    let away = |t: f64| queue(t) - mean;
    Ok(sums.described(point.probability, omega, amplitude, &away, (settle * span, total * span)))
}

/// A continuous form's probability over a step, by one midpoint step.
fn held(plant: &Plant, control: &Control, state: &mut [f64; 2], arriving: f64, queue: f64, span: f64) -> f64 {
    let states = control.states();
    let p = control.probability(&state[..states], arriving);
    let (mut slope, mut middle) = ([0.0; 2], *state);
    control.derive(plant, queue, arriving, &state[..states], &mut slope[..states]);
    (0..states).for_each(|i| middle[i] += 0.5 * span * slope[i]);
    control.derive(plant, queue, arriving, &middle[..states], &mut slope[..states]);
    (0..states).for_each(|i| state[i] += span * slope[i]);
    control.bound(plant, &mut state[..states]);
    p
}

fn sample(plant: &Plant, now: f64, span: f64, before: f64, after: f64, arriving: f64) -> Sample {
    let arrived = arriving * span;
    let departed = (arrived + before - after).max(0.0);
    Sample {
        now: Time::from_secs_f64(now),
        backlog_packets: after,
        backlog_bytes: after * plant.packet,
        least_backlog_packets: before.min(after),
        arrived_packets: arrived,
        arrived_bytes: arrived * plant.packet,
        departed_packets: departed,
        departed_bytes: departed * plant.packet,
        sojourn: 0.5 * (before + after) / plant.capacity,
    }
}

/// Sums for the mean and the first harmonic of a signal held over each step, integrated exactly. The signal is given
/// as its distance from rest, so that a span that is not whole periods leaks nothing of a constant.
#[derive(Default)]
struct Sums {
    time: f64,
    mean: f64,
    sine: f64,
    cosine: f64,
}

impl Sums {
    fn add(&mut self, p: f64, omega: f64, from: f64, span: f64) {
        let (a, b) = (omega * from, omega * (from + span));
        self.time += span;
        self.mean += p * span;
        self.sine += p * (a.cos() - b.cos()) / omega;
        self.cosine += p * (b.sin() - a.sin()) / omega;
    }

    fn described(&self, rest: f64, omega: f64, amplitude: f64, queue: &dyn Fn(f64) -> f64, (from, to): (f64, f64)) -> Described {
        let harmonic = (2.0 * self.sine / self.time, 2.0 * self.cosine / self.time);
        // The queue's own first harmonic, which clipping makes smaller than the amplitude.
        let mut own = Sums::default();
        let parts = (64.0 * (to - from) * omega / core::f64::consts::TAU).ceil();
        let span = (to - from) / parts;
        let mut n = 0.0;
        while n < parts {
            own.add(queue(from + (n + 0.5) * span), omega, from + n * span, span);
            n += 1.0;
        }
        let base = 2.0 * own.sine / own.time;
        let base = if base.abs() > 1e-9 * amplitude { base } else { amplitude };
        // In phase with sin is real, with cos imaginary.
        Described { gain: (harmonic.0 / base, harmonic.1 / base), mean: rest + self.mean / self.time }
    }
}
