//! The delay-differential equations of flows and a queue.

use crate::Control;
use crate::history::{Feedback, Member, Signals};
use crate::plant::{Class, Plant};
use crate::run::{Run, Start};

/// The equations with their past; times in steps.
pub(crate) struct System<'a> {
    pub plant: &'a Plant,
    control: &'a Control,
    pub members: Vec<Member>,
    signals: Signals,
    step: f64,
    /// The inverse of the step, and of the capacity: a division costs more than a multiplication.
    per_step: f64,
    per_capacity: f64,
    limited: bool,
    /// The current probability of the law.
    pub law_probability: f64,
}

/// Indices of the state: waiting packets, arrived packets, the integral of waiting packets.
/// The windows follow, then the state of the control.
pub(crate) const QUEUE: usize = 0;
pub(crate) const ARRIVED: usize = 1;
pub(crate) const WAITED: usize = 2;
pub(crate) const WINDOWS: usize = 3;

impl System<'_> {
    /// Arrivals in packets per second.
    #[inline]
    pub fn arriving(&self, x: &[f64]) -> f64 {
        let wait = x[QUEUE].max(0.0) * self.per_capacity;
        self.members.iter().zip(&x[WINDOWS..]).map(|(each, w)| each.flows * w / (each.delay + wait)).sum()
    }

    /// The current probability.
    #[inline]
    pub fn probability(&self, x: &[f64], arriving: f64) -> f64 {
        if self.signals.sampled { self.law_probability } else { self.control.probability(&x[WINDOWS + self.members.len()..], arriving) }
    }

    /// The share of the arrivals that the limit drops.
    fn tail_of(&self, x: &[f64], arriving: f64, p: f64) -> f64 {
        let entering = if self.plant.drops { arriving * (1.0 - p) } else { arriving };
        if x[QUEUE] >= self.plant.limit && entering > self.plant.capacity { 1.0 - self.plant.capacity / entering } else { 0.0 }
    }

    /// The derivative of the state `s` steps after the start.
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
            if !(each.feedback.from <= lag && lag < each.feedback.until) {
                each.feedback = self.signals.feedback(&each.past, each.before, lag);
            }
            *dw = each.increase * inverse - w * each.feedback.at(lag);
            arriving += each.flows * w * inverse;
        }
        let p = if plant.drops { self.probability(x, arriving) } else { 0.0 };
        let net = arriving * (1.0 - p) - plant.capacity;
        let stuck = (queue <= 0.0 && net < 0.0) || (self.limited && queue >= plant.limit && net > 0.0);
        dhead[QUEUE] = if stuck { 0.0 } else { net };
        (dhead[ARRIVED], dhead[WAITED]) = (arriving, queue);
        if !self.signals.sampled {
            let states = self.members.len();
            self.control.derive(plant, queue, arriving, &rest[states..], &mut drest[states..]);
        }
        dx
    }

    /// Stores the feedback that flows receive one round-trip time later.
    #[inline]
    pub fn remember(&mut self, x: &[f64]) {
        let wait = x[QUEUE] * self.per_capacity;
        let mut factor = 1.0;
        if self.limited || !self.signals.sampled {
            let arriving = self.arriving(x);
            let p = self.probability(x, arriving);
            let tail = self.tail_of(x, arriving, p);
            if !self.signals.sampled {
                factor = p + (1.0 - p) * tail;
            }
            if self.limited {
                self.signals.tail.push(tail);
            }
        }
        if self.signals.sampled {
            self.signals.law.push(self.law_probability);
        }
        for (each, w) in self.members.iter_mut().zip(&x[WINDOWS..]) {
            each.past.push(each.decrease * w / (each.delay + wait) * factor);
        }
    }
}

impl<'a> System<'a> {
    pub fn new(plant: &'a Plant, control: &'a Control, run: &Run, step: f64) -> Self {
        let (start, sampled) = (run.start, matches!(control, Control::Law(_)));
        let factor = if sampled { 1.0 } else { start.probability };
        let before = |class: &Class| class.decrease * start.window / (class.delay + start.queue / plant.capacity) * factor;
        let room = (run.duration / step) as usize + 2;
        let member = |class: &Class| {
            let &Class { flows, delay, increase, decrease } = class;
            let feedback = Feedback::constant(0.0, 0.0, 0.0);
            Member { flows, delay, increase, decrease, past: Vec::with_capacity(room), before: before(class), feedback }
        };
        System {
            plant,
            control,
            members: plant.classes.iter().map(member).collect(),
            signals: Signals {
                sampled,
                law: Vec::with_capacity(if sampled { room } else { 0 }),
                before: start.probability,
                tail: Vec::new(),
            },
            step,
            per_step: 1.0 / step,
            per_capacity: 1.0 / plant.capacity,
            limited: plant.limit.is_finite(),
            law_probability: start.probability,
        }
    }

    /// Writes the initial state.
    pub fn begin(&self, start: Start, x: &mut [f64]) {
        let end = WINDOWS + self.members.len();
        x[QUEUE] = start.queue.min(self.plant.limit);
        x[WINDOWS..end].fill(start.window);
        let queue = x[QUEUE];
        self.control.start(self.plant, queue, &mut x[end..]);
    }

    /// The state one step after `x`, `s` steps after the start.
    /// It uses the classical Runge-Kutta method and then applies the bounds.
    #[inline]
    pub fn advance<const K: usize>(&mut self, s: f64, x: &[f64; K]) -> [f64; K] {
        let h = self.step;
        let along = |k: &[f64; K], by: f64| core::array::from_fn(|i| x[i] + by * k[i]);
        let a = self.derive(s, x);
        let b = self.derive(s + 0.5, &along(&a, 0.5 * h));
        let c = self.derive(s + 0.5, &along(&b, 0.5 * h));
        let d = self.derive(s + 1.0, &along(&c, h));
        let mut next: [f64; K] = core::array::from_fn(|i| x[i] + h / 6.0 * (a[i] + 2.0 * (b[i] + c[i]) + d[i]));
        next[QUEUE] = next[QUEUE].clamp(0.0, self.plant.limit);
        self.control.bound(self.plant, &mut next[WINDOWS + self.members.len()..]);
        next
    }
}
