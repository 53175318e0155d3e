//! Partitions: terms defined by their centers, of which at most two are active at a time.

use crate::error::{USABLE, usable};
use crate::{FuzzyError, MAX_TERMS, Membership};
use alloc::vec::Vec;

/// Terms defined by their centers. The grades of any number sum to one.
/// A triangle extends from one neighbor's center to the other's. The outer terms are shoulders.
#[derive(Clone, PartialEq, Debug)]
pub struct Partition {
    centers: Vec<f64>,
}

/// The position of a number in a [`Partition`]: between two centers, or on one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Located {
    /// The lower of the two active terms, or the only one.
    pub term: usize,
    /// The grade of the next term, in `[0, 1]`. The grade of `term` is 1 minus this.
    pub next: f64,
}

const CENTERS: &str = "1 to 32 centers, strictly increasing";

fn check(centers: &[f64]) -> Result<(), FuzzyError> {
    if !centers.iter().all(|&c| usable(c)) {
        return Err(FuzzyError::value("centers", centers, USABLE));
    }
    if centers.is_empty() || centers.len() > MAX_TERMS || !centers.windows(2).all(|pair| pair[0] < pair[1]) {
        return Err(FuzzyError::value("centers", centers, CENTERS));
    }
    Ok(())
}

impl Partition {
    /// Terms with these centers.
    ///
    /// # Errors
    /// There are not 1 to [`MAX_TERMS`] centers, or they are not finite and strictly increasing.
    pub fn new(centers: &[f64]) -> Result<Partition, FuzzyError> {
        check(centers)?;
        Ok(Partition { centers: centers.to_vec() })
    }

    /// The centers, in increasing order.
    pub fn centers(&self) -> &[f64] {
        &self.centers
    }

    /// Moves the centers in place without allocating, for partitions that adapt at run time.
    ///
    /// # Errors
    /// The number of centers differs, or they are not finite and strictly increasing. The partition is then unchanged.
    pub fn set_centers(&mut self, centers: &[f64]) -> Result<(), FuzzyError> {
        check(centers)?;
        if centers.len() != self.centers.len() {
            return Err(FuzzyError::value("centers", centers, "as many centers as the partition has terms"));
        }
        self.centers.copy_from_slice(centers);
        Ok(())
    }

    /// The one or two terms that are active at `x`; `None` for NaN.
    /// Beyond the outer centers, only the outer term is active.
    #[inline]
    pub fn locate(&self, x: f64) -> Option<Located> {
        let (first, last) = (self.centers[0], self.centers.len() - 1);
        if x <= first {
            return Some(Located { term: 0, next: 0.0 });
        }
        if x >= self.centers[last] {
            return Some(Located { term: last, next: 0.0 });
        }
        if x.is_nan() {
            return None;
        }
        // With so few centers, counting is faster than bisection: no branch depends on the data.
        let term = self.centers.iter().filter(|&&center| center <= x).count() - 1;
        let (low, high) = (self.centers[term], self.centers[term + 1]);
        Some(Located { term, next: (x - low) / (high - low) })
    }

    /// The grade of `x` in the term at `term`; 0 for an unknown term.
    pub fn grade(&self, term: usize, x: f64) -> f64 {
        match self.locate(x) {
            Some(at) if at.term == term => 1.0 - at.next,
            Some(at) if at.term + 1 == term => at.next,
            _ => 0.0,
        }
    }
}

/// The membership functions of terms at these 2 to [`MAX_TERMS`] centers.
pub(crate) fn memberships(centers: &[f64]) -> Result<Vec<Membership>, FuzzyError> {
    check(centers)?;
    if centers.len() < 2 {
        return Err(FuzzyError::value("centers", centers, "2 to 32 centers, strictly increasing"));
    }
    let last = centers.len() - 1;
    let set = |i: usize| match i {
        0 => Membership::left_shoulder(centers[0], centers[1]),
        i if i == last => Membership::right_shoulder(centers[i - 1], centers[i]),
        i => Membership::triangle(centers[i - 1], centers[i], centers[i + 1]),
    };
    (0..centers.len()).map(set).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_centers() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::btree_set(-1000i32..1000, 2..=12).prop_map(|set| set.into_iter().map(|c| f64::from(c) / 7.0).collect())
    }

    #[test]
    fn centers_that_do_not_increase_are_refused_and_nothing_moves() {
        for bad in [&[][..], &[1.0, 1.0], &[2.0, 1.0], &[0.0, f64::NAN], &[0.0, f64::INFINITY], &[0.0; 33]] {
            assert!(Partition::new(bad).is_err(), "{bad:?}");
        }
        let mut partition = Partition::new(&[0.0, 1.0]).unwrap();
        assert!(partition.set_centers(&[0.0, 1.0, 2.0]).is_err());
        assert!(partition.set_centers(&[1.0, 0.0]).is_err());
        assert_eq!(partition.centers(), [0.0, 1.0]);
        partition.set_centers(&[-1.0, 4.0]).unwrap();
        assert_eq!(partition.grade(1, 0.0), 0.2);
    }

    proptest! {
        #[test]
        fn grades_sum_to_one_and_agree_with_the_membership_functions(centers in any_centers(), x in -160.0f64..160.0) {
            let partition = Partition::new(&centers).unwrap();
            let sets = memberships(&centers).unwrap();
            let sum: f64 = (0..centers.len()).map(|i| partition.grade(i, x)).sum();
            prop_assert!((sum - 1.0).abs() < 1e-15);
            for (i, set) in sets.iter().enumerate() {
                prop_assert!((set.grade(x) - partition.grade(i, x)).abs() < 1e-12);
            }
            prop_assert_eq!(partition.locate(f64::NAN), None);
        }
    }
}
