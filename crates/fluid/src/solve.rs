//! The integrator: the classical Runge-Kutta method with a fixed step and a stored past.
//!
//! The feedback to flows one round-trip time later, `d W p / R`, is stored at every step. Between steps it is interpolated by a cubic
//! through the four nearest values. The round-trip time is at least three steps, so the past is always known. The method is of fourth
//! order, except at the discontinuities of the derivative that follow from the start. A law changes its probability only at steps. The
//! error that this causes one round-trip time later is at most the change times a step.

use crate::control::Control;
use crate::history::Feedback;
use crate::plant::{Plant, Refused, refuse_unless};
use crate::run::{Run, Trace};
use crate::system::{State, System};
use sojourn_aqm::{Law, Sample};
use sojourn_units::{Duration, Time};

/// The maximum number of steps.
const MAX_STEPS: f64 = 50e6;
/// The maximum number of windows of all classes and values of the control's state.
const MAX_STATES: usize = 1024;

/// The steps of a trajectory.
#[derive(Clone, Copy)]
struct Steps {
    /// Steps in one interval of the law; 1 without a law.
    per_interval: usize,
    /// The length of a step in seconds.
    length: f64,
}

fn division(plant: &Plant, control: &Control, run: &Run) -> Result<Steps, Refused> {
    refuse_unless(run.step > 0.0 && run.step.is_finite(), || format!("step: expected seconds above 0, got {}", run.step))?;
    let span = control.interval().map_or(run.step, Duration::as_secs_f64);
    let parts = (span / run.step - 1e-9).ceil().max(1.0);
    let step = span / parts;
    let shortest = plant.shortest_delay();
    refuse_unless(3.0 * step <= shortest * (1.0 + 1e-9), || {
        format!("step: expected at most a third of the shortest round-trip time, {} s, got {}", shortest / 3.0, run.step)
    })?;
    let steps = run.duration / step;
    refuse_unless(run.duration > 0.0 && steps <= MAX_STEPS, || {
        format!("duration: expected seconds above 0 and at most {MAX_STEPS:e} steps of {step} s, got {}", run.duration)
    })?;
    refuse_unless(run.every > 0, || "every: expected 1 or more, got 0".into())?;
    Ok(Steps { per_interval: parts as usize, length: step })
}

/// The input of a law for one interval: the state at its start, and the shortest queue.
struct Interval {
    arrived: f64,
    waited: f64,
    queue: f64,
    least: f64,
}

impl Interval {
    fn from<const K: usize>(x: &State<K>) -> Self {
        Interval { arrived: x.arrived, waited: x.waited, queue: x.queue, least: x.queue }
    }

    fn sample<const K: usize>(&self, plant: &Plant, p: f64, now: f64, span: f64, x: &State<K>) -> Sample {
        let arrived = x.arrived - self.arrived;
        let entered = if plant.drops { arrived * (1.0 - p) } else { arrived };
        let departed = (entered + self.queue - x.queue).clamp(0.0, plant.capacity * span);
        Sample {
            now: Time::from_secs_f64(now),
            backlog_packets: x.queue,
            backlog_bytes: x.queue * plant.packet,
            least_backlog_packets: self.least,
            arrived_packets: arrived,
            arrived_bytes: arrived * plant.packet,
            departed_packets: departed,
            departed_bytes: departed * plant.packet,
            sojourn: if span > 0.0 { (x.waited - self.waited) / span / plant.capacity } else { 0.0 },
        }
    }
}

/// Computes the trajectory of a plant under control.
///
/// # Errors
/// A number is out of range.
pub fn simulate(plant: &Plant, control: &Control, run: &Run) -> Result<Trace, Refused> {
    plant.check()?;
    let steps = division(plant, control, run)?;
    let start = run.start;
    let fine = start.window > 0.0 && start.queue >= 0.0 && (0.0..=1.0).contains(&start.probability);
    refuse_unless(fine, || format!("start: expected a window above 0, a queue of 0 or more and a probability, got {start:?}"))?;
    let missing = run.changes.iter().find(|change| change.class >= plant.classes.len());
    refuse_unless(missing.is_none(), || {
        format!("changes: expected one of {} classes, got {}", plant.classes.len(), missing.map_or(0, |change| change.class))
    })?;
    let (size, law) = (plant.classes.len() + control.states(), matches!(control, Control::Law(_)));
    // The compiler knows the size of an array, and can keep a small state in registers.
    let march = match size {
        1 if law => march::<1, true>,
        2 if law => march::<2, true>,
        ..=2 => march::<2, false>,
        3..=16 => march::<16, false>,
        17..=64 => march::<64, false>,
        _ => march::<MAX_STATES, false>,
    };
    Ok(march(plant, control, run, steps))
}

/// Performs all steps and calls the law between them.
fn march<const K: usize, const LAW: bool>(plant: &Plant, control: &Control, run: &Run, steps: Steps) -> Trace {
    let Steps { per_interval, length: step } = steps;
    let mut law = match control {
        Control::Law(law) => Some(law.clone()),
        _ => None,
    };
    let law_first = law.as_ref().map_or(Time::ZERO, |law| law.first_step());
    let law_first = (law_first.as_secs_f64() / step).round();
    let last = (run.duration / step).round() as u32;
    let mut system = System::new(plant, control, run, step);
    let (mut x, mut read) = (system.begin::<K>(run.start), [Feedback::NONE; K]);
    let mut trace = Trace { windows: vec![Vec::new(); plant.classes.len()], ..Trace::default() };
    let (mut interval, mut changes) = (Interval::from(&x), run.changes.iter().peekable());
    // Steps until the next call of the law, and until the next record of the state.
    let (mut until_law, mut until_record) = (law_first as usize, 0);
    for n in 0..=last {
        let now = f64::from(n) * step;
        while let Some(change) = changes.next_if(|change| change.at <= now + 0.5 * step) {
            system.members[change.class].flows = change.flows;
        }
        interval.least = interval.least.min(x.queue);
        if let Some(law) = law.as_mut().filter(|_| until_law == 0) {
            let span = if n == 0 { 0.0 } else { per_interval as f64 * step };
            system.law_probability = law.step(&interval.sample(plant, system.law_probability, now, span, &x)).get();
            interval = Interval::from(&x);
            until_law = per_interval;
        }
        until_law = until_law.saturating_sub(1);
        system.remember(&x);
        if until_record == 0 {
            trace.record(now, &system, &x);
            until_record = run.every;
        }
        until_record -= 1;
        if n < last {
            x = system.advance::<K, LAW>(&mut read, f64::from(n), &x);
        }
    }
    trace
}

impl Trace {
    fn record<const K: usize>(&mut self, now: f64, system: &System<'_>, x: &State<K>) {
        let arriving = system.arriving(x);
        self.t.push(now);
        self.queue.push(x.queue);
        self.probability.push(system.probability(&x.rest, arriving));
        self.load.push(arriving / system.plant.capacity);
        for (column, &w) in self.windows.iter_mut().zip(&x.rest) {
            column.push(w);
        }
    }
}
