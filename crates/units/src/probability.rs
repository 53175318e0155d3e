//! Probabilities.

/// A probability: at least 0, at most 1, never NaN.
#[derive(Clone, Copy, PartialEq, PartialOrd, Default, Debug)]
pub struct Probability(f64);

impl Probability {
    /// Probability 0.
    pub const ZERO: Probability = Probability(0.0);
    /// Probability 1.
    pub const ONE: Probability = Probability(1.0);

    /// The nearest probability to `p`; NaN becomes 0.
    pub fn clamped(p: f64) -> Probability {
        if p >= 1.0 {
            Probability::ONE
        } else if p > 0.0 {
            Probability(p)
        } else {
            Probability::ZERO
        }
    }

    /// The value as a float in `[0, 1]`.
    pub const fn get(self) -> f64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_float_becomes_a_probability() {
        for (raw, clamped) in [(f64::NAN, 0.0), (-1.0, 0.0), (0.25, 0.25), (f64::INFINITY, 1.0), (-0.0, 0.0)] {
            assert_eq!(Probability::clamped(raw).get(), clamped);
        }
    }
}
