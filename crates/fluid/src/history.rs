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
    /// The part of the past that was read last.
    pub feedback: Feedback,
}

/// The feedback of a class over the steps `from..until` of its past, as a cubic.
/// Laws change their probability only at steps, so within one step the cubic includes the probability. Reading it again costs a few
/// multiplications.
#[derive(Clone, Copy)]
pub(crate) struct Feedback {
    pub from: f64,
    pub until: f64,
    /// The origin of the powers, in steps.
    origin: f64,
    powers: [f64; 4],
}

impl Feedback {
    pub fn constant(from: f64, until: f64, value: f64) -> Self {
        Feedback { from, until, origin: 0.0, powers: [value, 0.0, 0.0, 0.0] }
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
    #[inline]
    pub fn feedback(&self, past: &[f64], before: f64, s: f64) -> Feedback {
        if s < -NEAR {
            let p = if self.sampled { self.before } else { 1.0 };
            return Feedback::constant(f64::NEG_INFINITY, -NEAR, before * p);
        }
        // The number of a step fits into 32 bits, whose conversions cost half of those with 64.
        let (whole, last) = ((s + NEAR) as u32, past.len() as u32);
        let from = f64::from(whole) - NEAR;
        let p = if self.sampled { self.law[whole as usize] } else { 1.0 };
        let value = |i: u32| {
            let tail = if self.tail.is_empty() || !self.sampled { 0.0 } else { self.tail[i as usize] };
            past[i as usize] * (p + (1.0 - p) * tail)
        };
        if last < 4 {
            return Feedback::constant(from, from, value(whole.min(last - 1)));
        }
        let base = whole.saturating_sub(1).min(last - 4);
        let [a, b, c, d] = [value(base), value(base + 1), value(base + 2), value(base + 3)];
        let (second, third) = (0.5 * (a + c) - b, (d - a + 3.0 * (b - c)) * (1.0 / 6.0));
        Feedback { from, until: from + 1.0, origin: f64::from(base) + 1.0, powers: [b, 0.5 * (c - a) - third, second, third] }
    }
}
