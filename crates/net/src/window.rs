//! The time within which statistics are taken.

use sojourn_units::Time;

/// The time within which statistics are taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// When it opens: the end of the warm-up.
    pub from: Time,
    /// When it closes: the end of the run, after which nothing happens.
    pub until: Time,
}
