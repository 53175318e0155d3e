//! Bounds of numbers that are not NaN.
//! They need one instruction. `f64::max` and `f64::min` need five, because they ignore NaN.

/// Bounds of a number.
pub(crate) trait Bounds {
    /// The number, but at least `least`.
    fn at_least(self, least: Self) -> Self;

    /// The number, but at most `most`.
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
