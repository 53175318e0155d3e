//! Bounds of numbers that are known to be numbers: one instruction, where `f64::max` and `f64::min` take five to leave out what is none.

/// Bounds of a number.
pub(crate) trait Bounds {
    /// It, or `least` where it is less.
    fn at_least(self, least: Self) -> Self;

    /// It, or `most` where it is more.
    fn at_most(self, most: Self) -> Self;
}

impl Bounds for f64 {
    #[inline(always)]
    fn at_least(self, least: f64) -> f64 {
        if self > least { self } else { least }
    }

    #[inline(always)]
    fn at_most(self, most: f64) -> f64 {
        if self < most { self } else { most }
    }
}
