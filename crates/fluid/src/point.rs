//! Operating points: where flows, queue and law all rest.
//!
//! At rest every class has the window sqrt(a/(d p)), with Reno sqrt(2/p), and the windows fill the link, so the queue fixes the probability
//! that TCP needs. A law with a memory of the error (PI, REM) rests at its target alone; one without (RED, LED, a
//! fuzzy surface) where its own probability meets the needed one. Both are found by asking the code itself whether it
//! would end above or below what is needed.

use crate::control::{rest, steady, step};
use crate::{Control, Plant, Refused};
use sojourn_aqm::AnyAqm;
use sojourn_units::Duration;

/// A state of rest.
#[derive(Clone, PartialEq, Debug)]
pub struct Point {
    /// Waiting packets.
    pub queue: f64,
    /// What enters and leaves the queue over what the link can send.
    pub utilization: f64,
    /// Arrivals over what the link can send; above `utilization` where packets are dropped.
    pub load: f64,
    /// Probability.
    pub probability: f64,
    /// The flows' mean window in packets.
    pub window: f64,
    /// Round-trip time of each class in seconds.
    pub rtts: Vec<f64>,
}

/// Why there is no operating point, with the numbers.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum NoPoint {
    /// The plant itself is out of range.
    #[error("{0}")]
    Plant(#[from] Refused),
    /// Whatever the queue, the law asks for less than TCP needs.
    #[error(
        "no equilibrium: even with {queue:.4} packets waiting the law gives a probability of {given:.4}, and these flows need {needed:.4} to keep to the link"
    )]
    TooWeak {
        /// Longest queue tried.
        queue: f64,
        /// The law's probability there.
        given: f64,
        /// What flows need there.
        needed: f64,
    },
    /// The law jumps across what is needed.
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
        /// And on the other.
        high: f64,
        /// What flows need.
        needed: f64,
    },
    /// There is nothing to rest at.
    #[error("no equilibrium: {0}")]
    None(&'static str),
}

/// Longest queue tried where there is no limit, in packets.
const LONGEST: f64 = 1e7;
const BLOCK: usize = 100;

impl Plant {
    /// The state of rest with `place` packets waiting, or with an empty queue and `1 + place` of the link used if
    /// `place` is negative: what a law has to answer there to keep it so.
    pub fn at(&self, place: f64) -> Point {
        let (queue, utilization) = if place >= 0.0 { (place, 1.0) } else { (0.0, 1.0 + place) };
        let rtts: Vec<f64> = self.classes.iter().map(|class| class.delay + queue / self.capacity).collect();
        let rate: f64 = self.classes.iter().zip(&rtts).map(|(class, rtt)| class.flows * class.scale() / rtt).sum();
        // Windows of k/sqrt(p) together send rate/sqrt(p) = C u, or with drops rate (1 - p)/sqrt(p) = C u.
        let a = (rate / (self.capacity * utilization)) * (rate / (self.capacity * utilization));
        let probability = if self.drops { 2.0 * a / ((2.0 * a + 1.0) + (4.0 * a + 1.0).sqrt()) } else { a };
        let load = if self.drops { utilization / (1.0 - probability) } else { utilization };
        let flows: f64 = self.classes.iter().map(|class| class.flows).sum();
        let scale = self.classes.iter().map(|class| class.flows * class.scale()).sum::<f64>() / flows;
        Point { queue, utilization, load, probability, window: scale / probability.sqrt(), rtts }
    }
}

/// Whether the law, with everything held at `point`, ends above the needed probability; with where it ends.
fn ends_above(plant: &Plant, control: &Control, point: &Point) -> (bool, f64) {
    let needed = point.probability;
    let p = match control {
        Control::Red(red) => red.profile(point.queue),
        Control::DropTail if point.queue >= plant.limit => 1.0,
        Control::DropTail => 0.0,
        // AVQ rests where arrivals are its share of the link.
        Control::Avq(avq) if point.load > avq.utilization => return (true, 1.0),
        Control::Avq(_) => return (false, 0.0),
        Control::Law(aqm) => {
            let span = control.interval().map_or(0.0, Duration::as_secs_f64);
            let sample = steady(plant, span, point.queue, point.load);
            return forecast(&mut aqm.clone(), needed, &sample);
        }
    };
    (p > needed, p)
}

/// Lets a law run on one sample until it is plain whether it will end above `needed`.
fn forecast(aqm: &mut AnyAqm, needed: f64, sample: &sojourn_aqm::Sample) -> (bool, f64) {
    rest(aqm, sample, needed);
    let (mut last, mut moved, mut before) = (step(aqm, sample), f64::NAN, f64::NAN);
    for _ in 0..5_000 {
        let mut p = last;
        for _ in 0..BLOCK {
            p = step(aqm, sample);
        }
        let change = p - last;
        if change == 0.0 || (p > needed && change > 0.0) {
            return (p > needed, p);
        }
        // A geometric approach ends where Aitken's formula says; a linear one goes on to a bound.
        let ratio = change / moved;
        if ratio >= 1.0 - 1e-12 && (ratio - before).abs() < 1e-9 {
            return (change > 0.0, p);
        }
        if ratio > 0.0 && ratio < 1.0 && (ratio - before).abs() < 1e-4 * (1.0 - ratio) + 1e-12 {
            let end = p + change * ratio / (1.0 - ratio);
            return (end > needed, end);
        }
        if change.abs() < 1e-15 {
            break;
        }
        (last, moved, before) = (p, change, ratio);
    }
    (last > needed, last)
}

/// Where the plant rests under the control.
///
/// # Errors
/// There is no such place: the reason in words, with the numbers.
pub fn operating_point(plant: &Plant, control: &Control) -> Result<Point, NoPoint> {
    plant.check()?;
    if let Control::DropTail = control {
        return Err(NoPoint::None("a queue that only drops when it is full has none; its flows take turns to fill it and to back off"));
    }
    if matches!(control, Control::Avq(avq) if avq.utilization >= 1.0) {
        return Err(NoPoint::None("AVQ with a utilization of 1 leaves the queue where it happens to be"));
    }
    let longest = if plant.limit.is_finite() { plant.limit } else { LONGEST };
    let above = |place: f64| ends_above(plant, control, &plant.at(place)).0;
    if !above(longest) {
        let point = plant.at(longest);
        let given = ends_above(plant, control, &point).1;
        return Err(NoPoint::TooWeak { queue: longest, given, needed: point.probability });
    }
    let (mut low, mut high) = if above(0.0) { (-1.0 + 1e-9, 0.0) } else { (0.0, longest) };
    // A queue that the law never lets grow: double towards it rather than halve from far above.
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

/// The control with its law at rest at the point; what is asked of it there then begins at once.
///
/// # Errors
/// The law can't be brought to rest there: it jumps across it.
pub fn at_rest(plant: &Plant, control: &Control, point: &Point) -> Result<Control, NoPoint> {
    let span = control.interval().map_or(0.0, Duration::as_secs_f64);
    Ok(match control {
        Control::Law(aqm) => Control::law(settled(plant, aqm, span, point)?),
        other => other.clone(),
    })
}

/// A copy of the law that has come to rest at the point.
///
/// # Errors
/// The law can't be brought to rest there: it jumps across it.
pub(crate) fn settled(plant: &Plant, aqm: &AnyAqm, interval: f64, point: &Point) -> Result<AnyAqm, NoPoint> {
    let mut aqm = aqm.clone();
    let still = steady(plant, interval, point.queue, point.load);
    rest(&mut aqm, &still, point.probability);
    let mut p = f64::NAN;
    for _ in 0..20_000 {
        let next = step(&mut aqm, &still);
        if next == p {
            break;
        }
        p = next;
    }
    if (p - point.probability).abs() <= 1e-6 * point.probability.max(1e-6) {
        return Ok(aqm);
    }
    steer(plant, aqm, interval, point)
}

/// Pushes a law that remembers its error to the point's probability, with errors that shrink.
fn steer(plant: &Plant, mut aqm: AnyAqm, interval: f64, point: &Point) -> Result<AnyAqm, NoPoint> {
    let rest = steady(plant, interval, point.queue, point.load);
    let (mut push, mut last, mut side) = (1.0, step(&mut aqm, &rest), 0.0);
    for _ in 0..200_000 {
        let error = point.probability - last;
        if error.abs() <= 1e-7 * point.probability {
            return Ok(aqm);
        }
        if side * error < 0.0 {
            push *= 0.5;
        }
        side = error;
        let before = aqm.clone();
        step(&mut aqm, &steady(plant, interval, (point.queue + push * error.signum()).max(0.0), point.load));
        let p = step(&mut aqm, &rest);
        if (p - last).abs() < 1e-4 * error.abs() && push < 1e6 {
            push *= 2.0;
        } else if (p - point.probability) * error > 0.0 && (p - last).abs() > 2.0 * error.abs() {
            (aqm, push) = (before, push * 0.25);
            continue;
        }
        last = p;
    }
    let away = 1e-3 * point.queue.max(1.0);
    let ends = |queue: f64| ends_above(plant, &Control::Law(Box::new(aqm.clone())), &Point { queue, ..point.clone() }).1;
    let (low, high) = (ends((point.queue - away).max(0.0)), ends(point.queue + away));
    Err(NoPoint::Jump { queue: point.queue, load: point.load, low, high, needed: point.probability })
}
