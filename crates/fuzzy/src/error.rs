//! Errors in a design.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

/// A design that cannot be built: the place, what was expected, and what it contains.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FuzzyError {
    /// A number or a name is out of range.
    Value {
        /// The item that has the value, such as `e: centers`.
        what: String,
        /// The expectation as a noun phrase.
        expected: &'static str,
        /// The value.
        got: String,
    },
    /// A rule cannot be parsed.
    Rule {
        /// The line in the text of the rules, from 1.
        line: usize,
        /// The expectation as a noun phrase.
        expected: String,
        /// The word that was found; empty at the end of a line.
        got: String,
    },
}

impl FuzzyError {
    pub(crate) fn value(what: impl fmt::Display, got: impl fmt::Debug, expected: &'static str) -> FuzzyError {
        FuzzyError::Value { what: what.to_string(), expected, got: format!("{got:?}") }
    }
}

impl fmt::Display for FuzzyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FuzzyError::Value { what, expected, got } => write!(f, "{what}: expected {expected}, got {got}"),
            FuzzyError::Rule { line, expected, got } => write!(f, "rules, line {line}: expected {expected}, got \"{got}\""),
        }
    }
}

impl core::error::Error for FuzzyError {}

/// Whether sums, differences and areas of `x` cannot overflow.
pub(crate) fn usable(x: f64) -> bool {
    x.is_finite() && x.abs() <= 1e100
}

/// The expectation of [`usable`].
pub(crate) const USABLE: &str = "finite numbers of at most 1e100 in size";

/// Rejects duplicate names, and names that a rule table cannot contain.
pub(crate) fn check_names<'a>(variable: &str, names: impl Iterator<Item = &'a str> + Clone) -> Result<(), FuzzyError> {
    let expected = "one word without spaces, commas, bars, \"#\" or \"*\", not a single point, each name once";
    for (i, name) in names.clone().enumerate() {
        let odd = name.is_empty() || name == "." || name.contains(|c: char| c.is_whitespace() || ",|#*".contains(c));
        if odd || names.clone().take(i).any(|other| other == name) {
            return Err(FuzzyError::value(format_args!("{variable}: names of terms"), name, expected));
        }
    }
    Ok(())
}
