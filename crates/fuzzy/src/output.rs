//! The output of a controller: terms with sets over a range, and overrides.

use crate::error::{USABLE, check_names, usable};
use crate::partition::memberships;
use crate::variable::of;
use crate::{FuzzyError, MAX_TERMS, Membership};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// The output of a controller: its name, its range, its terms.
///
/// Most terms are sets over the range. Some papers have a consequent that is not a number (a reset). Such an override has only a name, and
/// inference reports it instead of a value: see [`crate::Outcome`].
#[derive(Clone, PartialEq, Debug)]
pub struct Output {
    name: String,
    low: f64,
    high: f64,
    /// Names of the sets, then of the overrides.
    terms: Vec<String>,
    sets: Vec<Membership>,
    centers: Vec<f64>,
}

impl Output {
    /// An output over `range` with any membership functions.
    ///
    /// # Errors
    /// There are not 1 to [`MAX_TERMS`] terms; a name is not one word or occurs twice; or a closed side of a set (or the center of a bell)
    /// is
    /// outside the range.
    pub fn new(name: &str, range: (f64, f64), terms: &[(&str, Membership)]) -> Result<Output, FuzzyError> {
        let (low, high) = range;
        if !(usable(low) && usable(high) && low < high) {
            return Err(FuzzyError::value(format_args!("{name}: range"), range, "finite, low < high"));
        }
        if terms.is_empty() || terms.len() > MAX_TERMS {
            return Err(FuzzyError::value(name, terms.len(), "1 to 32 terms"));
        }
        check_names(name, terms.iter().map(|term| term.0))?;
        for (term, set) in terms {
            let (left, right) = set.support();
            let inside = |x: f64| x.is_infinite() || (low..=high).contains(&x);
            if !(inside(left) && inside(right) && (low..=high).contains(&set.center())) {
                return Err(FuzzyError::value(format_args!("{name}: {term}"), set, "a set within the range of the output"));
            }
        }
        let sets: Vec<Membership> = terms.iter().map(|term| term.1).collect();
        let centers = sets.iter().map(Membership::center).collect();
        Ok(Output { name: name.to_string(), low, high, terms: terms.iter().map(|term| term.0.to_string()).collect(), sets, centers })
    }

    /// An output over `range` that the centers of its terms partition.
    /// Triangles extend to the neighboring centers, shoulders to the ends of the range.
    ///
    /// # Errors
    /// There are not 2 to [`MAX_TERMS`] terms; names are not distinct words; or centers do not increase or are outside the range.
    pub fn partition(name: &str, range: (f64, f64), terms: &[(&str, f64)]) -> Result<Output, FuzzyError> {
        let centers: Vec<f64> = terms.iter().map(|term| term.1).collect();
        let sets = memberships(&centers).map_err(|error| of(name, error))?;
        let named: Vec<(&str, Membership)> = terms.iter().map(|term| term.0).zip(sets).collect();
        Output::new(name, range, &named)
    }

    /// An output of single numbers, for means of centers.
    ///
    /// # Errors
    /// Names are not distinct words, or numbers are not finite.
    pub fn numbers(name: &str, terms: &[(&str, f64)]) -> Result<Output, FuzzyError> {
        if let Some((term, x)) = terms.iter().find(|term| !usable(term.1)) {
            return Err(FuzzyError::value(format_args!("{name}: {term}"), x, USABLE));
        }
        let sets = terms.iter().map(|&(term, x)| Membership::singleton(x).map(|set| (term, set)));
        let sets = sets.collect::<Result<Vec<_>, _>>()?;
        let (low, high) = terms.iter().fold((f64::MAX, f64::MIN), |(low, high), term| (low.min(term.1), high.max(term.1)));
        // A range around a single number must have a length above 0.
        let range = if low < high { (low, high) } else { (low - 1.0 - low.abs(), high + 1.0 + high.abs()) };
        Output::new(name, range, &sets)
    }

    /// Adds a consequent that is not a number.
    ///
    /// # Errors
    /// The name is not one word or occurs already, or there are more than [`MAX_TERMS`] terms.
    pub fn with_override(mut self, term: &str) -> Result<Output, FuzzyError> {
        self.terms.push(term.to_string());
        if self.terms.len() > MAX_TERMS {
            return Err(FuzzyError::value(&self.name, self.terms.len(), "1 to 32 terms"));
        }
        check_names(&self.name, self.terms.iter().map(String::as_str))?;
        Ok(self)
    }

    /// Its name in rules.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The names of its terms: sets in order, then overrides.
    pub fn terms(&self) -> &[String] {
        &self.terms
    }

    /// The center of every term that is a set, in order.
    /// Terms from `centers().len()` on are overrides.
    pub fn centers(&self) -> &[f64] {
        &self.centers
    }

    /// The ends of its range.
    pub fn range(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// The membership function of every term that is a set, in order.
    pub fn sets(&self) -> &[Membership] {
        &self.sets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_outside_the_range_are_refused() {
        let triangle = Membership::triangle(0.0, 1.0, 2.0).unwrap();
        assert!(Output::new("y", (0.0, 2.0), &[("a", triangle)]).is_ok());
        let error = Output::new("y", (0.0, 1.5), &[("a", triangle)]).unwrap_err().to_string();
        assert!(error.starts_with("y: a: expected") && error.contains("within the range of the output"), "{error}");
        assert!(Output::new("y", (2.0, 0.0), &[("a", triangle)]).is_err());
        assert!(Output::partition("y", (0.0, 1.0), &[("a", 0.0), ("b", 2.0)]).is_err());
        assert!(Output::partition("y", (0.0, 1.0), &[("a", 0.5)]).is_err());
        assert!(Output::numbers("y", &[("a", f64::NAN)]).is_err());
        assert!(Output::numbers("y", &[]).is_err());
    }

    #[test]
    fn overrides_follow_the_sets_and_keep_names_apart() {
        let output = Output::numbers("y", &[("a", 1.0)]).unwrap().with_override("reset").unwrap();
        assert_eq!(output.terms(), ["a", "reset"]);
        assert_eq!(output.centers(), [1.0]);
        assert!(output.with_override("a").is_err());
    }
}
