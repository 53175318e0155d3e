//! Errors of parameters that are out of range.

use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use core::fmt;

/// A parameter out of range: its name, what is expected, and the value it got.
#[derive(Clone, PartialEq, Debug)]
pub struct ParamError {
    /// The parameter's name in a scenario. A dot separates a table from its key.
    pub field: Cow<'static, str>,
    /// The value that was given.
    pub got: String,
    /// The expectation as a noun phrase, such as "a time above zero".
    pub expected: Cow<'static, str>,
}

impl fmt::Display for ParamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: expected {}, got {}", self.field, self.expected, self.got)
    }
}

impl core::error::Error for ParamError {}

impl ParamError {
    /// Returns the error that `field` expected `expected`, a noun phrase, and got `got`.
    pub fn new(field: impl Into<Cow<'static, str>>, got: &dyn fmt::Display, expected: impl Into<Cow<'static, str>>) -> ParamError {
        ParamError { field: field.into(), got: got.to_string(), expected: expected.into() }
    }

    /// Returns an error of `field` unless its value `got` is valid. `expected` is a noun phrase.
    ///
    /// # Errors
    /// The value is invalid.
    pub fn unless(
        fine: bool,
        field: impl Into<Cow<'static, str>>,
        got: &dyn fmt::Display,
        expected: impl Into<Cow<'static, str>>,
    ) -> Result<(), ParamError> {
        if fine { Ok(()) } else { Err(ParamError::new(field, got, expected)) }
    }

    /// The same error for a parameter inside the table `table`.
    #[must_use]
    pub fn within(self, table: &str) -> ParamError {
        ParamError { field: alloc::format!("{table}.{}", self.field).into(), ..self }
    }
}
