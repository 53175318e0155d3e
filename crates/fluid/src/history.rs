//! The past of a trajectory, and the feedback to flows one round-trip time later.

/// A class of flows and its past.
pub(crate) struct Member {
    pub flows: f64,
    pub delay: f64,
    pub increase: f64,
    pub decrease: f64,
    /// `W / R` times the decrease at all steps so far.
    /// It is also multiplied by the probability if that is continuous.
    pub past: Vec<f64>,
    /// The same value before time 0.
    pub before: f64,
}

/// The feedback of a class over the steps `from..until` of its past, as a cubic.
/// Laws change their probability only at steps, so within one step the cubic includes the probability. Reading it again costs a few
/// multiplications.
#[derive(Clone, Copy)]
pub(crate) struct Feedback {
    pub from: f64,
    pub until: f64,
    /// The step at `until`.
    next: u32,
    /// The origin of the powers, in steps.
    origin: f64,
    powers: [f64; 4],
}

impl Feedback {
    /// A part of the past that no time is in.
    pub const NONE: Feedback = Feedback::constant(0.0, 0.0, 0, 0.0);

    const fn constant(from: f64, until: f64, next: u32, value: f64) -> Self {
        Feedback { from, until, next, origin: 0.0, powers: [value, 0.0, 0.0, 0.0] }
    }

    #[inline]
    pub fn at(&self, s: f64) -> f64 {
        let x = s - self.origin;
        let [a, b, c, d] = self.powers;
        (a + b * x) + (c + d * x) * (x * x)
    }
}

/// The signals (drops or marks) at all steps so far.
pub(crate) struct Signals {
    /// Whether a law determines them, called at its interval.
    pub sampled: bool,
    /// The law's probability from each step to the next.
    pub law: Vec<f64>,
    /// The law's probability before time 0.
    pub before: f64,
    /// The share of the arrivals that the limit dropped; empty without a limit.
    pub tail: Vec<f64>,
}

/// The distance before a step, in steps, within which a time counts as that step.
/// The law's change at the step is then included.
const NEAR: f64 = 1e-9;

impl Signals {
    /// The feedback to a class with this past around `s` steps after the start.
    /// `last` is the one that was read last. Usually the next step is due. Its number does not depend on `s`, so the processor can compute the cubic before it knows `s`.
    #[inline(always)]
    pub fn feedback(&self, past: &[f64], before: f64, last: &Feedback, s: f64) -> Feedback {
        if last.until <= s && s < last.until + 1.0 { self.cubic(past, last.next) } else { self.search(past, before, s) }
    }

    #[inline(never)]
    fn search(&self, past: &[f64], before: f64, s: f64) -> Feedback {
        if s < -NEAR {
            let p = if self.sampled { self.before } else { 1.0 };
            return Feedback::constant(f64::NEG_INFINITY, -NEAR, 0, before * p);
        }
        // The number of a step fits into 32 bits, whose conversions cost half of those with 64.
        self.cubic(past, (s + NEAR) as u32)
    }

    /// The feedback from the step `whole` to the next one.
    #[inline(always)]
    fn cubic(&self, past: &[f64], whole: u32) -> Feedback {
        let (from, last) = (f64::from(whole) - NEAR, past.len() as u32);
        let p = if self.sampled { self.law[whole as usize] } else { 1.0 };
        let value = |i: u32| {
            let tail = if self.tail.is_empty() || !self.sampled { 0.0 } else { self.tail[i as usize] };
            past[i as usize] * (p + (1.0 - p) * tail)
        };
        if last < 4 {
            return Feedback::constant(from, from, whole, value(whole.min(last - 1)));
        }
        let base = whole.saturating_sub(1).min(last - 4);
        let [a, b, c, d] = [value(base), value(base + 1), value(base + 2), value(base + 3)];
        let (second, third) = (0.5 * (a + c) - b, (d - a + 3.0 * (b - c)) * (1.0 / 6.0));
        let powers = [b, 0.5 * (c - a) - third, second, third];
        Feedback { from, until: from + 1.0, next: whole + 1, origin: f64::from(base) + 1.0, powers }
    }
}
