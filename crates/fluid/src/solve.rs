//! The integrator: classical Runge-Kutta with a fixed step and a dense past.
//!
//! What flows feel one round trip later, `W p / (2R)`, is kept at every step and read off between steps by a cubic
//! through the four nearest; the round trip is at least three steps, so the past is always known. The order is four
//! between the kinks that the start leaves behind; a law's jumps lie on steps, and what they cause a round trip later is off by at most
//! the jump times a step.

use crate::Control;
use crate::control;
use sojourn_aqm::{Aqm, Sample};
use sojourn_units::{Duration, Time};

/// Like flows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Class {
    /// How many.
    pub flows: f64,
    /// Their round-trip time without the queue, in seconds.
    pub delay: f64,
}

/// What is controlled.
#[derive(Clone, PartialEq, Debug)]
pub struct Plant {
    /// The flows.
    pub classes: Vec<Class>,
    /// What the link sends, in packets a second.
    pub capacity: f64,
    /// Most packets that may wait; infinite for no limit.
    pub limit: f64,
    /// Size of a packet in bytes.
    pub packet: f64,
    /// Whether what is struck is dropped and does not enter the queue; else it is marked.
    pub drops: bool,
}

/// A number of flows that changes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Change {
    /// When, in seconds.
    pub at: f64,
    /// Which class.
    pub class: usize,
    /// How many flows from then on.
    pub flows: f64,
}

/// The past before time 0.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Start {
    /// Every flow's window in packets.
    pub window: f64,
    /// Waiting packets.
    pub queue: f64,
    /// Probability that was felt.
    pub probability: f64,
}

/// How to integrate.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    /// Seconds.
    pub duration: f64,
    /// Longest step in seconds; a law's interval is divided into whole steps.
    pub step: f64,
    /// One step in so many is kept.
    pub every: usize,
    /// The past.
    pub start: Start,
    /// Changes in order of time.
    pub changes: Vec<Change>,
}

/// A trajectory: columns of equal length.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Trace {
    /// Seconds.
    pub t: Vec<f64>,
    /// Waiting packets.
    pub queue: Vec<f64>,
    /// The law's probability.
    pub probability: Vec<f64>,
    /// Arrivals over what the link can send.
    pub load: Vec<f64>,
    /// Windows in packets, class by class.
    pub windows: Vec<Vec<f64>>,
}

/// A plant or a run that can't be taken: what was given and what is taken.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

fn refuse_unless(fine: bool, what: impl FnOnce() -> String) -> Result<(), Refused> {
    if fine { Ok(()) } else { Err(Refused(what())) }
}

const MOST_STEPS: f64 = 50e6;

impl Plant {
    /// Whether every number makes sense.
    ///
    /// # Errors
    /// The first that does not.
    pub fn check(&self) -> Result<(), Refused> {
        refuse_unless(!self.classes.is_empty(), || "classes: given none, taken is one or more".into())?;
        let positive = |v: f64| v > 0.0 && v.is_finite();
        for (i, c) in self.classes.iter().enumerate() {
            refuse_unless(c.flows >= 0.0 && c.flows.is_finite(), || format!("classes[{i}].flows: given {}, taken is 0 or more", c.flows))?;
            refuse_unless(positive(c.delay), || format!("classes[{i}].delay: given {} s, taken is above 0", c.delay))?;
        }
        refuse_unless(self.classes.iter().any(|c| c.flows > 0.0), || "classes: no flows; taken is some in one class".into())?;
        refuse_unless(positive(self.capacity), || format!("capacity: given {}, taken is packets a second above 0", self.capacity))?;
        refuse_unless(positive(self.packet), || format!("packet: given {}, taken is bytes above 0", self.packet))?;
        refuse_unless(self.limit > 0.0, || format!("limit: given {}, taken is packets above 0", self.limit))
    }

    fn shortest(&self) -> f64 {
        self.classes.iter().map(|c| c.delay).fold(f64::INFINITY, f64::min)
    }
}

/// How many steps lie in one interval of a law (1 without a law), and how long one is.
fn division(plant: &Plant, control: &Control, run: &Run) -> Result<(usize, f64), Refused> {
    refuse_unless(run.step > 0.0 && run.step.is_finite(), || format!("step: given {} s, taken is above 0", run.step))?;
    let span = control.interval().map_or(run.step, Duration::as_secs_f64);
    let parts = (span / run.step - 1e-9).ceil().max(1.0);
    let step = span / parts;
    let shortest = plant.shortest();
    refuse_unless(3.0 * step <= shortest * (1.0 + 1e-9), || {
        format!("step: given {} s, taken is at most a third of the shortest round trip, {} s", run.step, shortest / 3.0)
    })?;
    let steps = run.duration / step;
    refuse_unless(run.duration > 0.0 && steps <= MOST_STEPS, || {
        format!("duration: given {} s in steps of {step} s, taken is above 0 and at most {MOST_STEPS:e} steps", run.duration)
    })?;
    refuse_unless(run.every > 0, || "every: given 0, taken is 1 or more".into())?;
    Ok((parts as usize, step))
}

/// The values of one quantity at all steps so far.
struct Past {
    values: Vec<f64>,
    before: f64,
}

impl Past {
    /// The value `s` steps after the start.
    #[inline]
    fn at(&self, s: f64) -> f64 {
        if s < 0.0 {
            return self.before;
        }
        let last = self.values.len();
        if last < 4 {
            return self.values[(s as usize).min(last - 1)];
        }
        let base = (s as usize).saturating_sub(1).min(last - 4);
        let Some(&[a, b, c, d]) = self.values[base..].first_chunk::<4>() else { return self.before };
        let x = s - base as f64;
        let (x1, x2, x3) = (x - 1.0, x - 2.0, x - 3.0);
        (-x1 * x2 * x3 * a + 3.0 * x * x2 * x3 * b - 3.0 * x * x1 * x3 * c + x * x1 * x2 * d) * (1.0 / 6.0)
    }
}

/// The equations with their past, in steps.
struct System<'a> {
    plant: &'a Plant,
    control: &'a Control,
    flows: Vec<f64>,
    step: f64,
    /// One over the step, over the capacity, and over the steps between two of the law: divisions are dear here.
    per_step: f64,
    per_capacity: f64,
    per_law: f64,
    limited: bool,
    /// `W / (2R)` of each class, times the probability where that is continuous.
    felt: Vec<Past>,
    /// The part of the arrivals that the limit drops.
    tail: Past,
    /// A law's probability from its first step on, one value an interval.
    law: Vec<f64>,
    /// The step of the law's first, and the probability before it.
    law_first: f64,
    law_before: f64,
}

/// Where in the state what stands.
const QUEUE: usize = 0;
const ARRIVED: usize = 1;
const WAITED: usize = 2;
const WINDOWS: usize = 3;

impl System<'_> {
    /// A law's probability `s` steps after the start.
    #[inline]
    fn law_at(&self, s: f64) -> f64 {
        let k = (s - self.law_first) * self.per_law;
        // A jump belongs to the step on which it lies.
        if k < -1e-9 { self.law_before } else { self.law.get((k + 1e-9) as usize).or(self.law.last()).copied().unwrap_or(self.law_before) }
    }

    #[inline]
    fn arriving(&self, x: &[f64]) -> f64 {
        let wait = x[QUEUE].max(0.0) * self.per_capacity;
        self.plant.classes.iter().zip(&self.flows).zip(&x[WINDOWS..]).map(|((class, flows), w)| flows * w / (class.delay + wait)).sum()
    }

    /// The probability of now.
    #[inline]
    fn probability(&self, x: &[f64], arriving: f64) -> f64 {
        match self.control {
            Control::Law(_) => self.law.last().copied().unwrap_or(0.0),
            continuous => continuous.probability(&x[WINDOWS + self.flows.len()..], arriving),
        }
    }

    /// What the limit drops of what arrives.
    fn tail_of(&self, x: &[f64], arriving: f64, p: f64) -> f64 {
        let entering = if self.plant.drops { arriving * (1.0 - p) } else { arriving };
        if x[QUEUE] >= self.plant.limit && entering > self.plant.capacity { 1.0 - self.plant.capacity / entering } else { 0.0 }
    }

    /// The slope of the state `s` steps after the start.
    #[inline]
    fn derive(&self, s: f64, x: &[f64], dx: &mut [f64]) {
        let plant = self.plant;
        let (Some((head, rest)), Some((dhead, drest))) = (x.split_first_chunk::<WINDOWS>(), dx.split_first_chunk_mut::<WINDOWS>()) else {
            return;
        };
        let (queue, mut arriving) = (head[QUEUE].max(0.0), 0.0);
        let wait = queue * self.per_capacity;
        let sampled = matches!(self.control, Control::Law(_));
        let classes = plant.classes.iter().zip(&self.flows).zip(&self.felt);
        for (((class, flows), past), (w, dw)) in classes.zip(rest.iter().zip(drest.iter_mut())) {
            let rtt = class.delay + wait;
            let (inverse, lag) = (1.0 / rtt, s - rtt * self.per_step);
            let mut felt = past.at(lag);
            if sampled {
                let p = self.law_at(lag);
                felt *= if self.limited { p + (1.0 - p) * self.tail.at(lag) } else { p };
            }
            *dw = inverse - w * felt;
            arriving += flows * w * inverse;
        }
        let p = if plant.drops { self.probability(x, arriving) } else { 0.0 };
        let net = arriving * (1.0 - p) - plant.capacity;
        let stuck = (queue <= 0.0 && net < 0.0) || (self.limited && queue >= plant.limit && net > 0.0);
        dhead[QUEUE] = if stuck { 0.0 } else { net };
        (dhead[ARRIVED], dhead[WAITED]) = (arriving, queue);
        if !sampled {
            let states = plant.classes.len();
            self.control.derive(plant, queue, arriving, &rest[states..], &mut drest[states..]);
        }
    }

    /// Keeps what flows will feel of now.
    fn remember(&mut self, x: &[f64]) {
        let arriving = self.arriving(x);
        let wait = x[QUEUE] * self.per_capacity;
        let p = self.probability(x, arriving);
        let tail = self.tail_of(x, arriving, p);
        let factor = match self.control {
            Control::Law(_) => 1.0,
            _ => p + (1.0 - p) * tail,
        };
        for (i, class) in self.plant.classes.iter().enumerate() {
            self.felt[i].values.push(0.5 * x[WINDOWS + i] / (class.delay + wait) * factor);
        }
        if self.limited {
            self.tail.values.push(tail);
        }
    }
}

/// What a law is told of one interval: the state at its start, and the least queue.
struct Interval {
    arrived: f64,
    waited: f64,
    queue: f64,
    least: f64,
}

impl Interval {
    fn from(x: &[f64]) -> Self {
        Interval { arrived: x[ARRIVED], waited: x[WAITED], queue: x[QUEUE], least: x[QUEUE] }
    }

    fn sample(&self, plant: &Plant, p: f64, now: f64, span: f64, x: &[f64]) -> Sample {
        let arrived = x[ARRIVED] - self.arrived;
        let entered = if plant.drops { arrived * (1.0 - p) } else { arrived };
        let departed = (entered + self.queue - x[QUEUE]).clamp(0.0, plant.capacity * span);
        Sample {
            now: Time::from_secs_f64(now),
            backlog_packets: x[QUEUE],
            backlog_bytes: x[QUEUE] * plant.packet,
            least_backlog_packets: self.least,
            arrived_packets: arrived,
            arrived_bytes: arrived * plant.packet,
            departed_packets: departed,
            departed_bytes: departed * plant.packet,
            sojourn: if span > 0.0 { (x[WAITED] - self.waited) / span / plant.capacity } else { 0.0 },
        }
    }
}

/// The trajectory of a plant under control.
///
/// # Errors
/// A number out of range.
pub fn simulate(plant: &Plant, control: &Control, run: &Run) -> Result<Trace, Refused> {
    plant.check()?;
    let (parts, step) = division(plant, control, run)?;
    let start = run.start;
    let fine = start.window > 0.0 && start.queue >= 0.0 && (0.0..=1.0).contains(&start.probability);
    refuse_unless(fine, || format!("start: given {start:?}, taken is a window above 0, a queue of 0 or more, a probability"))?;
    let mut law = match control {
        Control::Law(aqm) => Some(aqm.clone()),
        _ => None,
    };
    let law_first = law.as_mut().and_then(|aqm| aqm.law().map(|law| law.first_step())).unwrap_or(Time::ZERO);
    let mut system = System {
        plant,
        control,
        flows: plant.classes.iter().map(|class| class.flows).collect(),
        step,
        per_step: 1.0 / step,
        per_capacity: 1.0 / plant.capacity,
        per_law: 1.0 / parts as f64,
        limited: plant.limit.is_finite(),
        felt: past(plant, start, law.is_some()),
        tail: Past { values: Vec::new(), before: 0.0 },
        law: Vec::new(),
        law_first: (law_first.as_secs_f64() / step).round(),
        law_before: start.probability,
    };
    let mut x = vec![0.0; WINDOWS + plant.classes.len() + control.states()];
    x[QUEUE] = start.queue.min(plant.limit);
    x[WINDOWS..WINDOWS + plant.classes.len()].fill(start.window);
    control.start(plant, x[QUEUE], &mut x[WINDOWS + plant.classes.len()..]);
    let steps = (run.duration / step).round() as usize;
    let mut trace = Trace { windows: vec![Vec::new(); plant.classes.len()], ..Trace::default() };
    let (mut slopes, mut between) = (vec![vec![0.0; x.len()]; 4], vec![0.0; x.len()]);
    let (mut interval, mut changes) = (Interval::from(&x), run.changes.iter().peekable());
    for n in 0..=steps {
        let now = n as f64 * step;
        while let Some(change) = changes.next_if(|change| change.at <= now + 0.5 * step) {
            refuse_unless(change.class < system.flows.len(), || format!("changes: class {} is not there", change.class))?;
            system.flows[change.class] = change.flows;
        }
        interval.least = interval.least.min(x[QUEUE]);
        let since_first = n as f64 - system.law_first;
        if let Some(aqm) = law.as_mut().filter(|_| since_first >= 0.0 && (since_first as usize).is_multiple_of(parts)) {
            let p = system.law.last().copied().unwrap_or(start.probability);
            let span = if n == 0 { 0.0 } else { parts as f64 * step };
            system.law.push(control::step(aqm, &interval.sample(plant, p, now, span, &x)));
            interval = Interval::from(&x);
        }
        system.remember(&x);
        if n % run.every == 0 {
            trace.keep(now, &system, &x);
        }
        if n < steps {
            advance(&system, n as f64, &mut x, &mut slopes, &mut between);
        }
    }
    Ok(trace)
}

fn past(plant: &Plant, start: Start, law: bool) -> Vec<Past> {
    let factor = if law { 1.0 } else { start.probability };
    let felt = |delay: f64| 0.5 * start.window / (delay + start.queue / plant.capacity) * factor;
    plant.classes.iter().map(|class| Past { values: Vec::new(), before: felt(class.delay) }).collect()
}

/// One step of the classical Runge-Kutta method, then back within bounds.
fn advance(system: &System<'_>, s: f64, x: &mut [f64], slopes: &mut [Vec<f64>], between: &mut [f64]) {
    let h = system.step;
    let [k1, k2, k3, k4] = slopes else { return };
    system.derive(s, x, k1);
    let shift = |between: &mut [f64], x: &[f64], k: &[f64], by: f64| {
        for ((b, x), k) in between.iter_mut().zip(x).zip(k) {
            *b = x + by * k;
        }
    };
    shift(between, x, k1, 0.5 * h);
    system.derive(s + 0.5, between, k2);
    shift(between, x, k2, 0.5 * h);
    system.derive(s + 0.5, between, k3);
    shift(between, x, k3, h);
    system.derive(s + 1.0, between, k4);
    let sixth = h / 6.0;
    for ((((x, a), b), c), d) in x.iter_mut().zip(&*k1).zip(&*k2).zip(&*k3).zip(&*k4) {
        *x += sixth * (a + 2.0 * (b + c) + d);
    }
    x[QUEUE] = x[QUEUE].clamp(0.0, system.plant.limit);
    let states = WINDOWS + system.flows.len();
    system.control.bound(system.plant, &mut x[states..]);
}

impl Trace {
    fn keep(&mut self, now: f64, system: &System<'_>, x: &[f64]) {
        let arriving = system.arriving(x);
        self.t.push(now);
        self.queue.push(x[QUEUE]);
        self.probability.push(system.probability(x, arriving));
        self.load.push(arriving / system.plant.capacity);
        for (column, &w) in self.windows.iter_mut().zip(&x[WINDOWS..]) {
            column.push(w);
        }
    }
}
