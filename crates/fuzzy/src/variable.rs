//! Linguistic variables: an input with named terms.

use crate::error::check_names;
use crate::{FuzzyError, MAX_TERMS, Membership, Partition};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::Range;

/// An input of a controller: its name, its terms' names and their membership functions.
#[derive(Clone, PartialEq, Debug)]
pub struct Variable {
    name: String,
    terms: Vec<String>,
    sets: Sets,
}

#[derive(Clone, PartialEq, Debug)]
enum Sets {
    Partition(Partition),
    General(Vec<Membership>),
}

impl Variable {
    /// A variable with any membership functions, which may overlap.
    ///
    /// # Errors
    /// There are not 1 to [`MAX_TERMS`] terms, or a name is not one word or occurs twice.
    pub fn new(name: &str, terms: &[(&str, Membership)]) -> Result<Variable, FuzzyError> {
        if terms.is_empty() || terms.len() > MAX_TERMS {
            return Err(FuzzyError::value(name, terms.len(), "1 to 32 terms"));
        }
        check_names(name, terms.iter().map(|term| term.0))?;
        let sets = Sets::General(terms.iter().map(|term| term.1).collect());
        Ok(Variable { name: name.to_string(), terms: terms.iter().map(|term| term.0.to_string()).collect(), sets })
    }

    /// A variable that the centers of its terms partition.
    /// Triangles extend to the neighboring centers, with shoulders at the ends.
    ///
    /// # Errors
    /// A name is not one word or occurs twice, or centers do not strictly increase.
    pub fn partition(name: &str, terms: &[(&str, f64)]) -> Result<Variable, FuzzyError> {
        check_names(name, terms.iter().map(|term| term.0))?;
        let centers: Vec<f64> = terms.iter().map(|term| term.1).collect();
        let sets = Sets::Partition(Partition::new(&centers).map_err(|error| of(name, error))?);
        Ok(Variable { name: name.to_string(), terms: terms.iter().map(|term| term.0.to_string()).collect(), sets })
    }

    /// Its name in rules.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The names of its terms, in order.
    pub fn terms(&self) -> &[String] {
        &self.terms
    }

    /// The centers of the terms in increasing order.
    /// `None` unless [`Variable::partition`] made the variable.
    pub fn centers(&self) -> Option<&[f64]> {
        match &self.sets {
            Sets::Partition(partition) => Some(partition.centers()),
            Sets::General(_) => None,
        }
    }

    /// The grade of `x` in the term at `term`; 0 for an unknown term and for NaN.
    pub fn grade(&self, term: usize, x: f64) -> f64 {
        match &self.sets {
            Sets::Partition(partition) => partition.grade(term, x),
            Sets::General(sets) => sets.get(term).map_or(0.0, |set| set.grade(x)),
        }
    }

    /// Writes the grades of `x` into `grades` and returns the range of terms written.
    /// Every other grade is 0.
    #[inline]
    pub(crate) fn grades(&self, x: f64, grades: &mut [f64; MAX_TERMS]) -> Range<usize> {
        match &self.sets {
            Sets::Partition(partition) => match partition.locate(x) {
                Some(at) if at.next > 0.0 => {
                    (grades[at.term], grades[at.term + 1]) = (1.0 - at.next, at.next);
                    at.term..at.term + 2
                }
                Some(at) => {
                    grades[at.term] = 1.0;
                    at.term..at.term + 1
                }
                None => 0..0,
            },
            Sets::General(sets) => {
                grades.iter_mut().zip(sets).for_each(|(grade, set)| *grade = set.grade(x));
                0..sets.len()
            }
        }
    }
}

/// Adds the variable's name to the place of an error.
pub(crate) fn of(name: &str, error: FuzzyError) -> FuzzyError {
    match error {
        FuzzyError::Value { what, expected, got } => FuzzyError::Value { what: alloc::format!("{name}: {what}"), expected, got },
        rule => rule,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_rules_cannot_contain_are_refused() {
        for bad in ["", "two words", "a|b", "a,b", "#", "*", "."] {
            assert!(Variable::partition("x", &[(bad, 0.0)]).is_err(), "{bad:?}");
        }
        let twice = Variable::partition("x", &[("a", 0.0), ("a", 1.0)]).unwrap_err().to_string();
        assert!(twice.contains("x: names of terms: expected one word") && twice.ends_with("got \"a\""), "{twice}");
        let order = Variable::partition("x", &[("a", 1.0), ("b", 0.0)]).unwrap_err().to_string();
        assert!(order.contains("x: centers: expected 1 to 32 centers, strictly increasing, got [1.0, 0.0]"), "{order}");
        assert!(Variable::new("x", &[]).is_err());
    }

    #[test]
    fn a_partition_activates_at_most_two_terms() {
        let variable = Variable::partition("x", &[("a", 0.0), ("b", 1.0), ("c", 3.0)]).unwrap();
        let active = |x| {
            let mut grades = [0.0; MAX_TERMS];
            let range = variable.grades(x, &mut grades);
            grades[range.clone()].iter().copied().map(move |g| (range.start, g)).collect::<Vec<_>>()
        };
        assert_eq!(active(2.0), [(1, 0.5), (1, 0.5)]);
        assert_eq!(active(1.0), [(1, 1.0)]);
        assert_eq!(active(9.0), [(2, 1.0)]);
        assert_eq!(active(f64::NAN), []);
    }
}
