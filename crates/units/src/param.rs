//! What is said of a parameter out of range.

use alloc::string::String;
use core::fmt;

/// A parameter out of range: which, what was given, what is taken.
#[derive(Clone, PartialEq, Debug)]
pub struct ParamError {
    /// The parameter's name as a user writes it.
    pub field: &'static str,
    /// The value given.
    pub given: String,
    /// What is taken, as half a sentence.
    pub taken: &'static str,
}

impl fmt::Display for ParamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: given {}, taken is {}", self.field, self.given, self.taken)
    }
}

impl core::error::Error for ParamError {}

impl ParamError {
    /// Refuses `given` for `field` unless it is `fine`; `taken` says what is taken, as half a sentence.
    pub fn unless(fine: bool, field: &'static str, given: &dyn fmt::Display, taken: &'static str) -> Result<(), ParamError> {
        if fine { Ok(()) } else { Err(ParamError { field, given: alloc::format!("{given}"), taken }) }
    }
}
