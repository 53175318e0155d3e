//! Operating points: the steady state of flows, queue and law.
//!
//! In steady state every class has the window sqrt(a/(d p)), with Reno sqrt(2/p), and the windows fill the link. The queue therefore
//! determines the probability that TCP needs. A law that integrates the error (PI, REM) has a steady state only at its target. A law that
//! does not (RED, LED, a fuzzy surface) has one where its own probability equals the needed one. Both are found by running the law's code
//! and testing whether it ends above or below the needed probability.

use crate::control::{Control, steady};
use crate::plant::{Plant, Refused};
use sojourn_aqm::{AnyLaw, Law, Sample};
use sojourn_units::Duration;

/// An operating point.
#[derive(Clone, PartialEq, Debug)]
pub struct Point {
    /// The number of waiting packets.
    pub queue: f64,
    /// Departures divided by the capacity of the link.
    pub utilization: f64,
    /// Arrivals divided by the capacity of the link; above `utilization` if packets are dropped.
    pub load: f64,
    /// The drop or mark probability.
    pub probability: f64,
    /// The mean window of the flows in packets.
    pub window: f64,
    /// The round-trip time of each class in seconds.
    pub rtts: Vec<f64>,
}

/// The reason why there is no operating point, with numbers.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum NoPoint {
    /// The plant is out of range.
    #[error("{0}")]
    Plant(#[from] Refused),
    /// At any queue, the law's probability is below the one that TCP needs.
    #[error(
        "no equilibrium: even with {queue:.4} packets waiting the law gives a probability of {given:.4}, and these flows need {needed:.4} to fit the link"
    )]
    TooWeak {
        /// The longest queue tried.
        queue: f64,
        /// The law's probability at that queue.
        given: f64,
        /// The probability that the flows need at that queue.
        needed: f64,
    },
    /// The law's probability jumps across the needed one.
    #[error(
        "no equilibrium: near a queue of {queue:.4} packets at load {load:.4} the law jumps between {low:.4} and {high:.4}, and these flows need {needed:.4}"
    )]
    Jump {
        /// The queue at the jump.
        queue: f64,
        /// The load at the jump.
        load: f64,
        /// The law's probability on one side.
        low: f64,
        /// The law's probability on the other side.
        high: f64,
        /// The probability that the flows need.
        needed: f64,
    },
    /// There is no steady state.
    #[error("no equilibrium: {0}")]
    None(&'static str),
}

/// The longest queue tried if the queue has no limit, in packets.
const LONGEST: f64 = 1e7;
/// The number of steps between two tests of the probability.
const BLOCK: usize = 100;

impl Plant {
    /// The steady state with `place` packets waiting.
    /// If `place` is negative: with an empty queue and a utilization of `1 + place`. Its probability is the one that a law needs to keep
    /// this state.
    pub fn at(&self, place: f64) -> Point {
        let (queue, utilization) = if place >= 0.0 { (place, 1.0) } else { (0.0, 1.0 + place) };
        let rtts: Vec<f64> = self.classes.iter().map(|class| class.delay + queue / self.capacity).collect();
        let rate: f64 = self.classes.iter().zip(&rtts).map(|(class, rtt)| class.flows * class.scale() / rtt).sum();
        // Windows of k/sqrt(p) together send rate/sqrt(p) = C u; with drops rate (1 - p)/sqrt(p) = C u.
        let a = (rate / (self.capacity * utilization)) * (rate / (self.capacity * utilization));
        let probability = if self.drops { 2.0 * a / ((2.0 * a + 1.0) + (4.0 * a + 1.0).sqrt()) } else { a };
        let load = if self.drops { utilization / (1.0 - probability) } else { utilization };
        let flows: f64 = self.classes.iter().map(|class| class.flows).sum();
        let scale = self.classes.iter().map(|class| class.flows * class.scale()).sum::<f64>() / flows;
        Point { queue, utilization, load, probability, window: scale / probability.sqrt(), rtts }
    }
}

/// The final value of a law's probability.
#[derive(Clone, Copy)]
struct End {
    /// Whether it is above the needed probability.
    above: bool,
    probability: f64,
}

/// The final value of the law's probability if everything else is held at `point`.
fn end_of(plant: &Plant, control: &Control, point: &Point) -> End {
    let needed = point.probability;
    let p = match control {
        Control::Red(red) => red.profile(point.queue),
        Control::DropTail if point.queue >= plant.limit => 1.0,
        Control::DropTail => 0.0,
        // AVQ is in steady state if arrivals equal its share of the link.
        Control::Avq(avq) if point.load > avq.utilization => return End { above: true, probability: 1.0 },
        Control::Avq(_) => return End { above: false, probability: 0.0 },
        Control::Law(law) => {
            let span = control.interval().map_or(0.0, Duration::as_secs_f64);
            let sample = steady(plant, span, point.queue, point.load);
            return forecast(&mut *law.clone(), needed, &sample);
        }
    };
    End { above: p > needed, probability: p }
}

/// Steps a law with one sample until it is certain where its probability ends.
/// That is, above or below `needed`.
fn forecast(law: &mut dyn AnyLaw, needed: f64, sample: &Sample) -> End {
    law.rest(sample, needed);
    let (mut last, mut moved, mut before) = (law.step(sample).get(), f64::NAN, f64::NAN);
    for _ in 0..5_000 {
        let mut p = last;
        for _ in 0..BLOCK {
            p = law.step(sample).get();
        }
        let change = p - last;
        if change == 0.0 || (p > needed && change > 0.0) {
            return End { above: p > needed, probability: p };
        }
        // A geometric sequence converges to the value of Aitken's formula. A linear one continues to a bound.
        let ratio = change / moved;
        if ratio >= 1.0 - 1e-12 && (ratio - before).abs() < 1e-9 {
            return End { above: change > 0.0, probability: p };
        }
        if ratio > 0.0 && ratio < 1.0 && (ratio - before).abs() < 1e-4 * (1.0 - ratio) + 1e-12 {
            let end = p + change * ratio / (1.0 - ratio);
            return End { above: end > needed, probability: end };
        }
        if change.abs() < 1e-15 {
            break;
        }
        (last, moved, before) = (p, change, ratio);
    }
    End { above: last > needed, probability: last }
}

/// The operating point of the plant under the control.
///
/// # Errors
/// There is no operating point. The error has the reason, with numbers.
pub fn operating_point(plant: &Plant, control: &Control) -> Result<Point, NoPoint> {
    plant.check()?;
    if let Control::DropTail = control {
        return Err(NoPoint::None("a queue that drops only when it is full has no steady state; its flows fill it and back off in turns"));
    }
    if matches!(control, Control::Avq(avq) if avq.utilization >= 1.0) {
        return Err(NoPoint::None("AVQ with a utilization of 1 does not determine the queue"));
    }
    let longest = if plant.limit.is_finite() { plant.limit } else { LONGEST };
    let above = |place: f64| end_of(plant, control, &plant.at(place)).above;
    if !above(longest) {
        let point = plant.at(longest);
        let given = end_of(plant, control, &point).probability;
        return Err(NoPoint::TooWeak { queue: longest, given, needed: point.probability });
    }
    let (mut low, mut high) = if above(0.0) { (-1.0 + 1e-9, 0.0) } else { (0.0, longest) };
    // The law may keep the queue short, so search upwards by doubling instead of downwards from the limit.
    if low == 0.0 {
        let mut reach = 1.0;
        while reach < longest && !above(reach) {
            (low, reach) = (reach, reach * 2.0);
        }
        high = reach.min(longest);
    }
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        (low, high) = if above(middle) { (low, middle) } else { (middle, high) };
    }
    Ok(plant.at(0.5 * (low + high)))
}

/// The control with its law in steady state at the point.
/// Later measurements then need not settle it again.
///
/// # Errors
/// The law has no steady state there: its probability jumps across the needed one.
pub fn at_rest(plant: &Plant, control: &Control, point: &Point) -> Result<Control, NoPoint> {
    let span = control.interval().map_or(0.0, Duration::as_secs_f64);
    Ok(match control {
        Control::Law(law) => Control::Law(settled(plant, &**law, span, point)?),
        other => other.clone(),
    })
}

/// A copy of the law in steady state at the point.
///
/// # Errors
/// The law has no steady state there: its probability jumps across the needed one.
pub(crate) fn settled(plant: &Plant, law: &dyn AnyLaw, interval: f64, point: &Point) -> Result<Box<dyn AnyLaw>, NoPoint> {
    let mut law = law.boxed_clone();
    let still = steady(plant, interval, point.queue, point.load);
    law.rest(&still, point.probability);
    let mut p = f64::NAN;
    for _ in 0..20_000 {
        let next = law.step(&still).get();
        if next == p {
            break;
        }
        p = next;
    }
    if (p - point.probability).abs() <= 1e-6 * point.probability.max(1e-6) {
        return Ok(law);
    }
    steer(plant, law, interval, point)
}

/// Moves a law that integrates its error to the point's probability, in decreasing steps.
fn steer(plant: &Plant, mut law: Box<dyn AnyLaw>, interval: f64, point: &Point) -> Result<Box<dyn AnyLaw>, NoPoint> {
    let rest = steady(plant, interval, point.queue, point.load);
    let (mut push, mut last, mut side) = (1.0, law.step(&rest).get(), 0.0);
    for _ in 0..200_000 {
        let error = point.probability - last;
        if error.abs() <= 1e-7 * point.probability {
            return Ok(law);
        }
        if side * error < 0.0 {
            push *= 0.5;
        }
        side = error;
        let before = law.clone();
        law.step(&steady(plant, interval, (point.queue + push * error.signum()).max(0.0), point.load));
        let p = law.step(&rest).get();
        if (p - last).abs() < 1e-4 * error.abs() && push < 1e6 {
            push *= 2.0;
        } else if (p - point.probability) * error > 0.0 && (p - last).abs() > 2.0 * error.abs() {
            (law, push) = (before, push * 0.25);
            continue;
        }
        last = p;
    }
    let away = 1e-3 * point.queue.max(1.0);
    let ends = |queue: f64| end_of(plant, &Control::Law(law.clone()), &Point { queue, ..point.clone() }).probability;
    let (low, high) = (ends((point.queue - away).max(0.0)), ends(point.queue + away));
    Err(NoPoint::Jump { queue: point.queue, load: point.load, low, high, needed: point.probability })
}
