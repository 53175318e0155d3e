//! Membership functions: the grade of a number in a term.

use crate::FuzzyError;
use crate::error::{USABLE, usable};

/// A membership function: a grade in `[0, 1]` for every number, 0 for NaN.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Membership(Shape);

#[derive(Clone, Copy, PartialEq, Debug)]
enum Shape {
    /// 0 up to `a`, 1 from `b` to `c`, 0 from `d` on.
    Trapezoid {
        a: f64,
        b: f64,
        c: f64,
        d: f64,
    },
    /// 1 up to `full`, 0 from `zero` on.
    Left {
        full: f64,
        zero: f64,
    },
    /// 0 up to `zero`, 1 from `full` on.
    Right {
        zero: f64,
        full: f64,
    },
    Gaussian {
        center: f64,
        sigma: f64,
    },
    Singleton {
        at: f64,
    },
}

fn ascending(what: &str, points: &[f64], expected: &'static str) -> Result<(), FuzzyError> {
    if !points.iter().all(|&x| usable(x)) {
        return Err(FuzzyError::value(what, points, USABLE));
    }
    if points.is_sorted() { Ok(()) } else { Err(FuzzyError::value(what, points, expected)) }
}

impl Membership {
    /// A triangle: 0 up to `left`, 1 at `peak`, 0 from `right` on. An edge may be vertical.
    ///
    /// # Errors
    /// Unless `left <= peak <= right` and `left < right`.
    pub fn triangle(left: f64, peak: f64, right: f64) -> Result<Membership, FuzzyError> {
        let expected = "left <= peak <= right with left < right";
        ascending("triangle", &[left, peak, right], expected)?;
        if left == right {
            return Err(FuzzyError::value("triangle", [left, peak, right], expected));
        }
        Ok(Membership(Shape::Trapezoid { a: left, b: peak, c: peak, d: right }))
    }

    /// A trapezoid: 0 up to `a`, 1 from `b` to `c`, 0 from `d` on. An edge may be vertical.
    ///
    /// # Errors
    /// Unless `a <= b <= c <= d` and `a < d`.
    pub fn trapezoid(a: f64, b: f64, c: f64, d: f64) -> Result<Membership, FuzzyError> {
        let expected = "a <= b <= c <= d with a < d";
        ascending("trapezoid", &[a, b, c, d], expected)?;
        if a == d {
            return Err(FuzzyError::value("trapezoid", [a, b, c, d], expected));
        }
        Ok(Membership(Shape::Trapezoid { a, b, c, d }))
    }

    /// A shoulder that is open to the left: 1 up to `full`, falling to 0 at `zero`.
    ///
    /// # Errors
    /// Unless `full <= zero`.
    pub fn left_shoulder(full: f64, zero: f64) -> Result<Membership, FuzzyError> {
        ascending("left shoulder", &[full, zero], "full <= zero")?;
        Ok(Membership(Shape::Left { full, zero }))
    }

    /// A shoulder that is open to the right: 0 up to `zero`, rising to 1 at `full`.
    ///
    /// # Errors
    /// Unless `zero <= full`.
    pub fn right_shoulder(zero: f64, full: f64) -> Result<Membership, FuzzyError> {
        ascending("right shoulder", &[zero, full], "zero <= full")?;
        Ok(Membership(Shape::Right { zero, full }))
    }

    /// A bell `exp(-(x - center)^2 / (2 sigma^2))`.
    ///
    /// # Errors
    /// Unless `sigma > 0`.
    pub fn gaussian(center: f64, sigma: f64) -> Result<Membership, FuzzyError> {
        ascending("gaussian", &[center], USABLE)?;
        if !(usable(sigma) && sigma > 0.0) {
            return Err(FuzzyError::value("gaussian: sigma", sigma, "a finite number above zero"));
        }
        Ok(Membership(Shape::Gaussian { center, sigma }))
    }

    /// 1 at one number, 0 elsewhere.
    pub fn singleton(at: f64) -> Result<Membership, FuzzyError> {
        ascending("singleton", &[at], USABLE)?;
        Ok(Membership(Shape::Singleton { at }))
    }

    /// The grade of `x` in the set, in `[0, 1]`.
    /// Infinities count as the ends of the axis; NaN belongs to no set.
    #[inline]
    pub fn grade(&self, x: f64) -> f64 {
        match self.0 {
            Shape::Trapezoid { b, c, .. } if x >= b && x <= c => 1.0,
            Shape::Trapezoid { a, b, .. } if x > a && x < b => (x - a) / (b - a),
            Shape::Trapezoid { c, d, .. } if x > c && x < d => (d - x) / (d - c),
            Shape::Left { full, .. } if x <= full => 1.0,
            Shape::Left { full, zero } if x < zero => (zero - x) / (zero - full),
            Shape::Right { full, .. } if x >= full => 1.0,
            Shape::Right { zero, full } if x > zero => (x - zero) / (full - zero),
            Shape::Gaussian { center, sigma } if !x.is_nan() => {
                let z = (x - center) / sigma;
                libm::exp(-0.5 * z * z)
            }
            Shape::Singleton { at } if x == at => 1.0,
            _ => 0.0,
        }
    }

    /// The center, for means of centers.
    /// It is the peak, the middle of a plateau, or the point at which a shoulder reaches 1.
    pub fn center(&self) -> f64 {
        match self.0 {
            Shape::Trapezoid { b, c, .. } => b + (c - b) / 2.0,
            Shape::Left { full, .. } | Shape::Right { full, .. } => full,
            Shape::Gaussian { center, .. } => center,
            Shape::Singleton { at } => at,
        }
    }

    /// The ends of the range in which the grade is above 0.
    /// They are infinite for bells, and for shoulders on their open side.
    pub fn support(&self) -> (f64, f64) {
        match self.0 {
            Shape::Trapezoid { a, d, .. } => (a, d),
            Shape::Left { zero, .. } => (f64::NEG_INFINITY, zero),
            Shape::Right { zero, .. } => (zero, f64::INFINITY),
            Shape::Gaussian { .. } => (f64::NEG_INFINITY, f64::INFINITY),
            Shape::Singleton { at } => (at, at),
        }
    }

    /// The corners `a <= b <= c <= d` of a set with straight edges and an area.
    /// Open sides end at `low` and `high`. `None` for bells and singletons.
    pub(crate) fn corners(&self, low: f64, high: f64) -> Option<[f64; 4]> {
        match self.0 {
            Shape::Trapezoid { a, b, c, d } => Some([a, b, c, d]),
            Shape::Left { full, zero } => Some([low, low, full, zero]),
            Shape::Right { zero, full } => Some([zero, full, high, high]),
            Shape::Gaussian { .. } | Shape::Singleton { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::string::ToString;
    use std::vec::Vec;

    fn all() -> Vec<Membership> {
        [
            Membership::triangle(-1.0, 0.0, 2.0),
            Membership::triangle(0.0, 0.0, 2.0),
            Membership::trapezoid(-1.0, 0.0, 1.0, 3.0),
            Membership::left_shoulder(-1.0, 1.0),
            Membership::right_shoulder(-1.0, 1.0),
            Membership::left_shoulder(0.5, 0.5),
            Membership::gaussian(0.0, 0.5),
            Membership::singleton(0.25),
        ]
        .into_iter()
        .map(Result::unwrap)
        .collect()
    }

    #[test]
    fn grades_are_those_of_the_drawn_shapes() {
        let [triangle, upright, trapezoid, left, right, crisp, bell, one] = all().try_into().unwrap();
        assert_eq!([-1.0, -0.5, 0.0, 1.0, 2.0].map(|x| triangle.grade(x)), [0.0, 0.5, 1.0, 0.5, 0.0]);
        assert_eq!([-0.1, 0.0, 1.0].map(|x| upright.grade(x)), [0.0, 1.0, 0.5]);
        assert_eq!([-0.5, 0.5, 2.0, 3.0].map(|x| trapezoid.grade(x)), [0.5, 1.0, 0.5, 0.0]);
        assert_eq!([f64::NEG_INFINITY, 0.0, 1.0].map(|x| left.grade(x)), [1.0, 0.5, 0.0]);
        assert_eq!([-1.0, 0.0, f64::INFINITY].map(|x| right.grade(x)), [0.0, 0.5, 1.0]);
        assert_eq!([0.5, 0.500001].map(|x| crisp.grade(x)), [1.0, 0.0]);
        assert_eq!(bell.grade(0.0), 1.0);
        assert!((bell.grade(0.5) - libm::exp(-0.5)).abs() < 1e-15);
        assert_eq!([0.25, 0.26].map(|x| one.grade(x)), [1.0, 0.0]);
    }

    #[test]
    fn wrong_shapes_are_refused_with_the_expected_one() {
        let refused = |result: Result<Membership, FuzzyError>, said: &str| {
            let error = result.unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        };
        refused(Membership::triangle(1.0, 0.0, 2.0), "expected left <= peak <= right with left < right, got [1.0, 0.0, 2.0]");
        refused(Membership::triangle(1.0, 1.0, 1.0), "left < right");
        refused(Membership::trapezoid(0.0, 2.0, 1.0, 3.0), "a <= b <= c <= d");
        refused(Membership::trapezoid(0.0, f64::NAN, 1.0, 3.0), "finite");
        refused(Membership::left_shoulder(1.0, f64::INFINITY), "finite");
        refused(Membership::right_shoulder(1.0, 0.0), "zero <= full");
        refused(Membership::gaussian(0.0, 0.0), "above zero");
        refused(Membership::gaussian(0.0, f64::NAN), "above zero");
        refused(Membership::singleton(f64::NAN), "finite");
    }

    proptest! {
        #[test]
        fn every_grade_lies_between_zero_and_one(x in prop::num::f64::ANY) {
            for set in all() {
                let grade = set.grade(x);
                prop_assert!((0.0..=1.0).contains(&grade), "{set:?} at {x}: {grade}");
                prop_assert!(!x.is_nan() || grade == 0.0);
            }
        }
    }
}
