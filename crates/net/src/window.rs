//! The window of statistics.

use sojourn_units::{Duration, Time};

/// The window of statistics: its beginning is included, its end is not.
/// So consecutive windows cover a run, and nothing counts twice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// Its beginning: the end of the warm-up.
    pub from: Time,
    /// Its end: the end of the run, before which everything happens.
    pub until: Time,
}

impl Window {
    /// The last instant of the run.
    pub(crate) fn last(&self) -> Time {
        Time::from_nanos(self.until.as_nanos().saturating_sub(1))
    }

    /// Its length.
    pub(crate) fn span(&self) -> Duration {
        self.until.since(self.from)
    }
}
