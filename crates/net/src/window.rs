//! The time within which statistics are taken.

use sojourn_units::{Duration, Time};

/// The time within which statistics are taken: what happens when it opens counts, what would happen when it closes does not happen.
/// So the windows of a run side by side are the run, and nothing counts twice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// When it opens: the end of the warm-up.
    pub from: Time,
    /// When it closes: the end of the run, before which everything happens.
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
