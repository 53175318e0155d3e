//! The describing function of a law, measured on its code.
//! It is the response to a large oscillation of the queue.

use crate::complex::Complex;
use crate::control::Control;
use crate::plant::Plant;
use crate::point::{NoPoint, Point, settled};
use sojourn_aqm::Sample;
use sojourn_units::{Duration, Time};

/// An oscillation of the queue: `mean + amplitude sin(omega t)`.
/// It is limited to 0 and the plant's limit.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Oscillation {
    /// Mean queue in packets.
    pub mean: f64,
    /// Amplitude in packets.
    pub amplitude: f64,
    /// Frequency in rad/s.
    pub omega: f64,
}

impl Oscillation {
    /// The queue at `t` seconds.
    fn queue(&self, t: f64, limit: f64) -> f64 {
        (self.mean + self.amplitude * libm::sin(self.omega * t)).clamp(0.0, limit)
    }
}

/// The response to an oscillation with this mean: a dual-input describing function.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Described {
    /// First harmonic of the probability divided by that of the queue, per packet.
    pub gain: Complex,
    /// Mean probability.
    pub mean: f64,
}

/// The number of periods before the measurement.
const SETTLE: f64 = 10.0;
/// The number of steps to measure.
/// A measurement that does not cover whole periods has an error of at most half a step.
const MEASURED: f64 = 2000.0;
/// The number of steps per period for controls without an interval.
const PARTS: f64 = 400.0;

/// The response of the control to an oscillation of the queue.
/// The arrivals that cause it are included.
/// The control starts in steady state at the point.
///
/// # Errors
/// The law has no steady state at the point.
pub fn describe(plant: &Plant, control: &Control, point: &Point, oscillation: Oscillation) -> Result<Described, NoPoint> {
    let omega = oscillation.omega;
    let period = core::f64::consts::TAU / omega;
    let queue = |t: f64| oscillation.queue(t, plant.limit);
    let span = control.interval().map_or(period / PARTS, Duration::as_secs_f64);
    let mut law = match control {
        Control::Law(law) => Some(settled(plant, &**law, span, point)?),
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
            Some(law) => law.step(&Interval { end: next, span, before: queue(now), after: queue(next), arriving }.sample(plant)).get(),
            None => {
                let p = control.probability(&state[..control.states()], arriving);
                advance(plant, control, &mut state, Input { arriving, queue: queue(now), span });
                p
            }
        };
        // The probability of this step applies until the next step.
        if n >= settle {
            sums.add(p - point.probability, omega, if law.is_some() { next } else { now }, span);
        }
        n += 1.0;
    }
    Ok(sums.described(point.probability, &oscillation, plant.limit, Span { start: settle * span, end: total * span }))
}

/// The input of a continuous control over a step.
struct Input {
    /// Packets per second.
    arriving: f64,
    /// Waiting packets.
    queue: f64,
    /// Length of the step in seconds.
    span: f64,
}

/// Performs one step of a continuous control by the midpoint method.
fn advance(plant: &Plant, control: &Control, state: &mut [f64; 2], input: Input) {
    let Input { arriving, queue, span } = input;
    let states = control.states();
    let (mut slope, mut middle) = ([0.0; 2], *state);
    control.derive(plant, queue, arriving, &state[..states], &mut slope[..states]);
    (0..states).for_each(|i| middle[i] += 0.5 * span * slope[i]);
    control.derive(plant, queue, arriving, &middle[..states], &mut slope[..states]);
    (0..states).for_each(|i| state[i] += span * slope[i]);
    control.bound(plant, &mut state[..states]);
}

/// An interval of a law.
struct Interval {
    /// The end in seconds.
    end: f64,
    /// The length in seconds.
    span: f64,
    /// Waiting packets at its start.
    before: f64,
    /// Waiting packets at its end.
    after: f64,
    /// Packets per second.
    arriving: f64,
}

impl Interval {
    fn sample(&self, plant: &Plant) -> Sample {
        let Interval { end, span, before, after, arriving } = *self;
        let arrived = arriving * span;
        let departed = (arrived + before - after).max(0.0);
        Sample {
            now: Time::from_secs_f64(end),
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
}

/// Sums for the mean and the first harmonic of a value that is constant over each step.
/// They are integrated exactly. The value is the distance from the steady state, so that a constant adds nothing if the measurement does
/// not cover whole periods.
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
        self.sine += p * (libm::cos(a) - libm::cos(b)) / omega;
        self.cosine += p * (libm::sin(b) - libm::sin(a)) / omega;
    }

    /// The response to the oscillation over `span`. `rest` is the probability in steady state.
    fn described(&self, rest: f64, oscillation: &Oscillation, limit: f64, span: Span) -> Described {
        let Oscillation { mean, amplitude, omega } = *oscillation;
        // The first harmonic of the queue itself. The limits make it smaller than the amplitude.
        let mut own = Sums::default();
        let parts = (64.0 * (span.end - span.start) * omega / core::f64::consts::TAU).ceil();
        let part = (span.end - span.start) / parts;
        let mut n = 0.0;
        while n < parts {
            own.add(oscillation.queue(span.start + (n + 0.5) * part, limit) - mean, omega, span.start + n * part, part);
            n += 1.0;
        }
        let base = 2.0 * own.sine / own.time;
        let base = if base.abs() > 1e-9 * amplitude { base } else { amplitude };
        // The real part is in phase with the sine, the imaginary part with the cosine.
        let gain = Complex { re: 2.0 * self.sine / self.time / base, im: 2.0 * self.cosine / self.time / base };
        Described { gain, mean: rest + self.mean / self.time }
    }
}

/// The measured part of an oscillation, in seconds.
struct Span {
    start: f64,
    end: f64,
}
