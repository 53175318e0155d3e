//! The interface of getrandom 0.2 over that of getrandom 0.3, whose source the workspace chooses.

use std::fmt;
use std::num::NonZeroU32;

/// The source failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Error(NonZeroU32);

impl Error {
    /// Codes from here on do not come from the operating system.
    pub const CUSTOM_START: u32 = (1 << 31) + (1 << 30);

    /// The code.
    pub const fn code(self) -> NonZeroU32 {
        self.0
    }
}

impl From<NonZeroU32> for Error {
    fn from(code: NonZeroU32) -> Self {
        Error(code)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no random bytes: error {}", self.0)
    }
}

impl std::error::Error for Error {}

/// Fills a slice with random bytes.
///
/// # Errors
/// The source failed.
pub fn getrandom(destination: &mut [u8]) -> Result<(), Error> {
    getrandom_03::fill(destination).map_err(|_| Error(NonZeroU32::new(Error::CUSTOM_START).expect("it is not zero")))
}
