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

/// The state, or its derivative.
/// It has separate numbers, because the compiler would keep one array in memory and not in registers.
#[derive(Clone, Copy)]
pub(crate) struct State<const K: usize> {
    /// Waiting packets.
    pub queue: f64,
    /// Packets that have arrived.
    pub arrived: f64,
    /// The integral of waiting packets.
    pub waited: f64,
    /// The windows, then the state of the control.
    pub rest: [f64; K],
}

/// The slope of a queue that stays empty or full.
/// It is a call, so that the processor predicts a branch and does not wait for the comparison.
#[cold]
#[inline(never)]
fn at_bound() -> f64 {
    0.0
}

impl System<'_> {
    /// Arrivals in packets per second.
    #[inline]
    pub fn arriving<const K: usize>(&self, x: &State<K>) -> f64 {
        let wait = x.queue.max(0.0) * self.per_capacity;
        self.members.iter().zip(&x.rest).map(|(each, w)| each.flows * w / (each.delay + wait)).sum()
    }

    /// The current probability.
    #[inline]
    pub fn probability<const K: usize>(&self, rest: &[f64; K], arriving: f64) -> f64 {
        if self.signals.sampled { self.law_probability } else { self.control.probability(&rest[self.members.len()..], arriving) }
    }

    /// The share of the arrivals that the limit drops.
    fn tail_of(&self, queue: f64, arriving: f64, p: f64) -> f64 {
        let entering = if self.plant.drops { arriving * (1.0 - p) } else { arriving };
        if queue >= self.plant.limit && entering > self.plant.capacity { 1.0 - self.plant.capacity / entering } else { 0.0 }
    }

    /// The derivative of the state `s` steps after the start.
    /// `read` is the part of each past that was read last. `LAW` is set if a law determines the probability. The windows are then in registers, because no other function reads them.
    #[inline(always)]
    fn derive<const K: usize, const LAW: bool>(&self, read: &mut [Feedback; K], s: f64, queue: f64, rest: &[f64; K]) -> State<K> {
        let plant = self.plant;
        let mut drest = [0.0; K];
        // A comparison takes half the time of `max`, which also handles NaN; -0.0 is the neutral element of a sum.
        let (queue, mut arriving) = (if queue > 0.0 { queue } else { 0.0 }, -0.0);
        let wait = queue * self.per_capacity;
        for (((each, feedback), w), dw) in self.members.iter().zip(read).zip(rest).zip(&mut drest) {
            let rtt = each.delay + wait;
            let (inverse, lag) = (1.0 / rtt, s - rtt * self.per_step);
            if !(feedback.from <= lag && lag < feedback.until) {
                *feedback = self.signals.feedback(&each.past, each.before, feedback, lag);
            }
            *dw = each.increase * inverse - w * feedback.at(lag);
            arriving += each.flows * w * inverse;
        }
        let probability = || if LAW { self.law_probability } else { self.probability(rest, arriving) };
        let entering = if plant.drops { arriving * (1.0 - probability()) } else { arriving };
        let net = entering - plant.capacity;
        let stuck = (queue <= 0.0 && net < 0.0) || (self.limited && queue >= plant.limit && net > 0.0);
        if !LAW && !self.signals.sampled {
            let states = self.members.len();
            self.control.derive(plant, queue, arriving, &rest[states..], &mut drest[states..]);
        }
        State { queue: if stuck { at_bound() } else { net }, arrived: arriving, waited: queue, rest: drest }
    }

    /// Stores the feedback that flows receive one round-trip time later.
    #[inline]
    pub fn remember<const K: usize>(&mut self, x: &State<K>) {
        let wait = x.queue * self.per_capacity;
        let mut factor = 1.0;
        if self.limited || !self.signals.sampled {
            let arriving = self.arriving(x);
            let p = self.probability(&x.rest, arriving);
            let tail = self.tail_of(x.queue, arriving, p);
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
        for (each, w) in self.members.iter_mut().zip(&x.rest) {
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
            Member { flows, delay, increase, decrease, past: Vec::with_capacity(room), before: before(class) }
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

    /// The initial state.
    pub fn begin<const K: usize>(&self, start: Start) -> State<K> {
        let mut x = State { queue: start.queue.min(self.plant.limit), arrived: 0.0, waited: 0.0, rest: [0.0; K] };
        let (windows, control) = x.rest.split_at_mut(self.members.len());
        windows.fill(start.window);
        self.control.start(self.plant, x.queue, control);
        x
    }

    /// The state one step after `x`, `s` steps after the start.
    /// It uses the classical Runge-Kutta method and then applies the bounds.
    #[inline]
    pub fn advance<const K: usize, const LAW: bool>(&self, read: &mut [Feedback; K], s: f64, x: &State<K>) -> State<K> {
        let h = self.step;
        let a = self.derive::<K, LAW>(read, s, x.queue, &x.rest);
        let along = |k: &State<K>, by: f64| (x.queue + by * k.queue, core::array::from_fn(|i| x.rest[i] + by * k.rest[i]));
        let (queue, rest) = along(&a, 0.5 * h);
        let b = self.derive::<K, LAW>(read, s + 0.5, queue, &rest);
        let (queue, rest) = along(&b, 0.5 * h);
        let c = self.derive::<K, LAW>(read, s + 0.5, queue, &rest);
        let (queue, rest) = along(&c, h);
        let d = self.derive::<K, LAW>(read, s + 1.0, queue, &rest);
        let sum = |x: f64, a: f64, b: f64, c: f64, d: f64| x + h / 6.0 * (a + 2.0 * (b + c) + d);
        let mut next = State {
            queue: sum(x.queue, a.queue, b.queue, c.queue, d.queue).clamp(0.0, self.plant.limit),
            arrived: sum(x.arrived, a.arrived, b.arrived, c.arrived, d.arrived),
            waited: sum(x.waited, a.waited, b.waited, c.waited, d.waited),
            rest: core::array::from_fn(|i| sum(x.rest[i], a.rest[i], b.rest[i], c.rest[i], d.rest[i])),
        };
        self.control.bound(self.plant, &mut next.rest[self.members.len()..]);
        next
    }
}
