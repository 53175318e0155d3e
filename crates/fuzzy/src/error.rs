//! What can be wrong with a design.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

/// A design that can't be built: where, what was given, what is taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FuzzyError {
    /// A number or a name out of range.
    Value {
        /// What it belongs to, such as `e: centers`.
        what: String,
        /// What was given.
        given: String,
        /// What is taken, as half a sentence.
        taken: &'static str,
    },
    /// A rule that can't be read.
    Rule {
        /// The line in the text of the rules, from 1.
        line: usize,
        /// The word that can't be read; empty where one is missing.
        word: String,
        /// What is taken instead, as half a sentence.
        taken: String,
    },
}

impl FuzzyError {
    pub(crate) fn value(what: impl fmt::Display, given: impl fmt::Debug, taken: &'static str) -> FuzzyError {
        FuzzyError::Value { what: what.to_string(), given: format!("{given:?}"), taken }
    }
}

impl fmt::Display for FuzzyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FuzzyError::Value { what, given, taken } => write!(f, "{what}: given {given}, taken is {taken}"),
            FuzzyError::Rule { line, word, taken } => write!(f, "rules, line {line}: given \"{word}\", taken is {taken}"),
        }
    }
}

impl core::error::Error for FuzzyError {}

/// Whether `x` is a number that sums, differences and areas can be made of without overflow.
pub(crate) fn usable(x: f64) -> bool {
    x.is_finite() && x.abs() <= 1e100
}

/// What [`usable`] takes.
pub(crate) const USABLE: &str = "finite numbers of at most 1e100 in size";

/// Refuses names that a rule table could not hold, and names given twice.
pub(crate) fn check_names<'a>(variable: &str, names: impl Iterator<Item = &'a str> + Clone) -> Result<(), FuzzyError> {
    let taken = "one word without spaces, commas, bars, \"#\" or \"*\", not a single point, each name once";
    for (i, name) in names.clone().enumerate() {
        let odd = name.is_empty() || name == "." || name.contains(|c: char| c.is_whitespace() || ",|#*".contains(c));
        if odd || names.clone().take(i).any(|other| other == name) {
            return Err(FuzzyError::value(format_args!("{variable}: names of terms"), name, taken));
        }
    }
    Ok(())
}
