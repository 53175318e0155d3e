//! The integrator: classical Runge-Kutta with a fixed step and a dense past.
//!
//! What flows feel one round trip later, `d W p / R`, is kept at every step and read off between steps by a cubic
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
    /// What a window gains in a round trip, in packets: 1 for Reno, less where an ACK stands for more than one packet.
    pub increase: f64,
    /// The part of a window that a strike takes: 1/2 for Reno.
    pub decrease: f64,
}

impl Class {
    /// Reno with an ACK for every packet.
    pub fn reno(flows: f64, delay: f64) -> Self {
        Class { flows, delay, increase: 1.0, decrease: 0.5 }
    }

    /// The window at a probability p is this over the root of p.
    pub(crate) fn scale(&self) -> f64 {
        (self.increase / self.decrease).sqrt()
    }
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
/// Numbers that a state may have.
const MOST_STATES: usize = 1024;
/// And classes, beside the queue, two sums and what a continuous form keeps.
const MOST_CLASSES: usize = 1000;

impl Plant {
    /// Whether every number makes sense.
    ///
    /// # Errors
    /// The first that does not.
    pub fn check(&self) -> Result<(), Refused> {
        let count = self.classes.len();
        refuse_unless((1..=MOST_CLASSES).contains(&count), || format!("classes: given {count}, taken are 1 to {MOST_CLASSES}"))?;
        let positive = |v: f64| v > 0.0 && v.is_finite();
        for (i, c) in self.classes.iter().enumerate() {
            refuse_unless(c.flows >= 0.0 && c.flows.is_finite(), || format!("classes[{i}].flows: given {}, taken is 0 or more", c.flows))?;
            refuse_unless(positive(c.delay), || format!("classes[{i}].delay: given {} s, taken is above 0", c.delay))?;
            refuse_unless(positive(c.increase), || format!("classes[{i}].increase: given {}, taken is packets above 0", c.increase))?;
            let part = c.decrease > 0.0 && c.decrease <= 1.0;
            refuse_unless(part, || format!("classes[{i}].decrease: given {}, taken is a part above 0, at most 1", c.decrease))?;
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

/// A class and its past.
struct Member {
    flows: f64,
    delay: f64,
    increase: f64,
    decrease: f64,
    /// `W / R` times the decrease at all steps so far, times the probability where that is continuous; and before the start.
    past: Vec<f64>,
    before: f64,
    felt: Felt,
}

/// What a class feels of the steps `from..until` of its past, as a cubic. Laws jump on steps alone, so within one step
/// the cubic holds the probability too, and a moment read again and again costs a few multiplications.
#[derive(Clone, Copy)]
struct Felt {
    from: f64,
    until: f64,
    /// In powers of the steps since this one.
    origin: f64,
    powers: [f64; 4],
}

impl Felt {
    fn constant(from: f64, until: f64, value: f64) -> Self {
        Felt { from, until, origin: 0.0, powers: [value, 0.0, 0.0, 0.0] }
    }

    #[inline]
    fn at(&self, s: f64) -> f64 {
        let x = s - self.origin;
        let [a, b, c, d] = self.powers;
        (a + b * x) + (c + d * x) * (x * x)
    }
}

/// What struck at all steps so far.
struct Struck {
    /// Whether a law decides, called at its interval.
    sampled: bool,
    /// Its probability from each step to the next, and before the start.
    law: Vec<f64>,
    before: f64,
    /// The part of the arrivals that the limit dropped; empty without a limit.
    tail: Vec<f64>,
}

/// A moment this close before a step, in steps, is that step: a law's jump on it counts.
const NEAR: f64 = 1e-9;

impl Struck {
    /// What a class feels around `s` steps after the start.
    #[inline]
    fn felt(&self, past: &[f64], before: f64, s: f64) -> Felt {
        if s < -NEAR {
            let p = if self.sampled { self.before } else { 1.0 };
            return Felt::constant(f64::NEG_INFINITY, -NEAR, before * p);
        }
        // Whole steps fit 32 bits, whose conversions cost half of those with 64.
        let (whole, last) = ((s + NEAR) as u32, past.len() as u32);
        let from = f64::from(whole) - NEAR;
        let p = if self.sampled { self.law[whole as usize] } else { 1.0 };
        let value = |i: u32| {
            let tail = if self.tail.is_empty() || !self.sampled { 0.0 } else { self.tail[i as usize] };
            past[i as usize] * (p + (1.0 - p) * tail)
        };
        if last < 4 {
            return Felt::constant(from, from, value(whole.min(last - 1)));
        }
        let base = whole.saturating_sub(1).min(last - 4);
        let [a, b, c, d] = [value(base), value(base + 1), value(base + 2), value(base + 3)];
        let (second, third) = (0.5 * (a + c) - b, (d - a + 3.0 * (b - c)) * (1.0 / 6.0));
        Felt { from, until: from + 1.0, origin: f64::from(base) + 1.0, powers: [b, 0.5 * (c - a) - third, second, third] }
    }
}

/// The equations with their past, in steps.
struct System<'a> {
    plant: &'a Plant,
    control: &'a Control,
    members: Vec<Member>,
    struck: Struck,
    step: f64,
    /// One over the step and over the capacity: divisions are dear here.
    per_step: f64,
    per_capacity: f64,
    limited: bool,
    /// The law's probability of now.
    now: f64,
}

/// Where in the state what stands.
const QUEUE: usize = 0;
const ARRIVED: usize = 1;
const WAITED: usize = 2;
const WINDOWS: usize = 3;

impl System<'_> {
    #[inline]
    fn arriving(&self, x: &[f64]) -> f64 {
        let wait = x[QUEUE].max(0.0) * self.per_capacity;
        self.members.iter().zip(&x[WINDOWS..]).map(|(each, w)| each.flows * w / (each.delay + wait)).sum()
    }

    /// The probability of now.
    #[inline]
    fn probability(&self, x: &[f64], arriving: f64) -> f64 {
        if self.struck.sampled { self.now } else { self.control.probability(&x[WINDOWS + self.members.len()..], arriving) }
    }

    /// What the limit drops of what arrives.
    fn tail_of(&self, x: &[f64], arriving: f64, p: f64) -> f64 {
        let entering = if self.plant.drops { arriving * (1.0 - p) } else { arriving };
        if x[QUEUE] >= self.plant.limit && entering > self.plant.capacity { 1.0 - self.plant.capacity / entering } else { 0.0 }
    }

    /// The slope of the state `s` steps after the start.
    #[inline(always)]
    fn derive<const K: usize>(&mut self, s: f64, x: &[f64; K]) -> [f64; K] {
        let plant = self.plant;
        let mut dx = [0.0; K];
        let (Some((head, rest)), Some((dhead, drest))) = (x.split_first_chunk::<WINDOWS>(), dx.split_first_chunk_mut::<WINDOWS>()) else {
            return dx;
        };
        let (queue, mut arriving) = (head[QUEUE].max(0.0), 0.0);
        let wait = queue * self.per_capacity;
        for (each, (w, dw)) in self.members.iter_mut().zip(rest.iter().zip(drest.iter_mut())) {
            let rtt = each.delay + wait;
            let (inverse, lag) = (1.0 / rtt, s - rtt * self.per_step);
            if !(each.felt.from <= lag && lag < each.felt.until) {
                each.felt = self.struck.felt(&each.past, each.before, lag);
            }
            *dw = each.increase * inverse - w * each.felt.at(lag);
            arriving += each.flows * w * inverse;
        }
        let p = if plant.drops { self.probability(x, arriving) } else { 0.0 };
        let net = arriving * (1.0 - p) - plant.capacity;
        let stuck = (queue <= 0.0 && net < 0.0) || (self.limited && queue >= plant.limit && net > 0.0);
        dhead[QUEUE] = if stuck { 0.0 } else { net };
        (dhead[ARRIVED], dhead[WAITED]) = (arriving, queue);
        if !self.struck.sampled {
            let states = self.members.len();
            self.control.derive(plant, queue, arriving, &rest[states..], &mut drest[states..]);
        }
        dx
    }

    /// Keeps what flows will feel of now.
    #[inline]
    fn remember(&mut self, x: &[f64]) {
        let wait = x[QUEUE] * self.per_capacity;
        let mut factor = 1.0;
        if self.limited || !self.struck.sampled {
            let arriving = self.arriving(x);
            let p = self.probability(x, arriving);
            let tail = self.tail_of(x, arriving, p);
            if !self.struck.sampled {
                factor = p + (1.0 - p) * tail;
            }
            if self.limited {
                self.struck.tail.push(tail);
            }
        }
        if self.struck.sampled {
            self.struck.law.push(self.now);
        }
        for (each, w) in self.members.iter_mut().zip(&x[WINDOWS..]) {
            each.past.push(each.decrease * w / (each.delay + wait) * factor);
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
    let there = |change: &Change| change.class < plant.classes.len();
    let missing = run.changes.iter().find(|change| !there(change));
    refuse_unless(missing.is_none(), || {
        format!("changes: given class {}, taken is one of {}", missing.map_or(0, |c| c.class), plant.classes.len())
    })?;
    let size = WINDOWS + plant.classes.len() + control.states();
    let steps = (parts, step);
    // An array's size is known to the compiler, which then keeps a small state in registers.
    Ok(match size {
        4 => march::<4>(plant, control, run, steps),
        5 => march::<5>(plant, control, run, steps),
        6..=16 => march::<16>(plant, control, run, steps),
        17..=64 => march::<64>(plant, control, run, steps),
        _ => march::<MOST_STATES>(plant, control, run, steps),
    })
}

/// Steps from the start to the end, with the law between steps.
fn march<const K: usize>(plant: &Plant, control: &Control, run: &Run, (parts, step): (usize, f64)) -> Trace {
    let mut x = [0.0; K];
    let mut law = match control {
        Control::Law(aqm) => Some(aqm.clone()),
        _ => None,
    };
    let law_first = law.as_mut().and_then(|aqm| aqm.law().map(|law| law.first_step())).unwrap_or(Time::ZERO);
    let law_first = (law_first.as_secs_f64() / step).round();
    let steps = (run.duration / step).round() as u32;
    let mut system = System::new(plant, control, run, step);
    begin(&system, run.start, &mut x);
    let mut trace = Trace { windows: vec![Vec::new(); plant.classes.len()], ..Trace::default() };
    let (mut interval, mut changes) = (Interval::from(&x), run.changes.iter().peekable());
    // Steps until the law is called, and until a state is kept.
    let (mut until_law, mut until_kept) = (law_first as usize, 0);
    for n in 0..=steps {
        let now = f64::from(n) * step;
        while let Some(change) = changes.next_if(|change| change.at <= now + 0.5 * step) {
            system.members[change.class].flows = change.flows;
        }
        interval.least = interval.least.min(x[QUEUE]);
        if let Some(aqm) = law.as_mut().filter(|_| until_law == 0) {
            let span = if n == 0 { 0.0 } else { parts as f64 * step };
            system.now = control::step(aqm, &interval.sample(plant, system.now, now, span, &x));
            interval = Interval::from(&x);
            until_law = parts;
        }
        until_law = until_law.saturating_sub(1);
        system.remember(&x);
        if until_kept == 0 {
            trace.keep(now, &system, &x);
            until_kept = run.every;
        }
        until_kept -= 1;
        if n < steps {
            x = advance(&mut system, f64::from(n), &x);
        }
    }
    trace
}

impl<'a> System<'a> {
    fn new(plant: &'a Plant, control: &'a Control, run: &Run, step: f64) -> Self {
        let (start, sampled) = (run.start, matches!(control, Control::Law(_)));
        let factor = if sampled { 1.0 } else { start.probability };
        let before = |class: &Class| class.decrease * start.window / (class.delay + start.queue / plant.capacity) * factor;
        let room = (run.duration / step) as usize + 2;
        let member = |class: &Class| {
            let &Class { flows, delay, increase, decrease } = class;
            let felt = Felt::constant(0.0, 0.0, 0.0);
            Member { flows, delay, increase, decrease, past: Vec::with_capacity(room), before: before(class), felt }
        };
        System {
            plant,
            control,
            members: plant.classes.iter().map(member).collect(),
            struck: Struck {
                sampled,
                law: Vec::with_capacity(if sampled { room } else { 0 }),
                before: start.probability,
                tail: Vec::new(),
            },
            step,
            per_step: 1.0 / step,
            per_capacity: 1.0 / plant.capacity,
            limited: plant.limit.is_finite(),
            now: start.probability,
        }
    }
}

fn begin(system: &System<'_>, start: Start, x: &mut [f64]) {
    let end = WINDOWS + system.members.len();
    x[QUEUE] = start.queue.min(system.plant.limit);
    x[WINDOWS..end].fill(start.window);
    let queue = x[QUEUE];
    system.control.start(system.plant, queue, &mut x[end..]);
}

/// One step of the classical Runge-Kutta method, then back within bounds.
#[inline]
fn advance<const K: usize>(system: &mut System<'_>, s: f64, x: &[f64; K]) -> [f64; K] {
    let h = system.step;
    let along = |k: &[f64; K], by: f64| core::array::from_fn(|i| x[i] + by * k[i]);
    let a = system.derive(s, x);
    let b = system.derive(s + 0.5, &along(&a, 0.5 * h));
    let c = system.derive(s + 0.5, &along(&b, 0.5 * h));
    let d = system.derive(s + 1.0, &along(&c, h));
    let mut next: [f64; K] = core::array::from_fn(|i| x[i] + h / 6.0 * (a[i] + 2.0 * (b[i] + c[i]) + d[i]));
    next[QUEUE] = next[QUEUE].clamp(0.0, system.plant.limit);
    system.control.bound(system.plant, &mut next[WINDOWS + system.members.len()..]);
    next
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
