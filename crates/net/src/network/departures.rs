//! The next departure of one buffered link, outside of the calendar.
//!
//! Each of its departures is an event, and only one is pending: to store it here takes 3 to 5 % fewer instructions (DualPI2, FQ-CoDel) than
//! to insert it into the calendar. The link is the first of the buffered ones, so its departure precedes all other events at its time, as
//! the ranks of events and the numbers of links require.

use crate::calendar::{Due, Rank};
use core::mem::replace;
use sojourn_units::Time;

/// The next departure of one link.
#[derive(Clone, Debug)]
pub(super) struct NextDeparture {
    link: Option<usize>,
    /// Its time, or never.
    at: Time,
    /// The last instant of the run.
    last: Time,
}

impl NextDeparture {
    /// The next departure of this link in a run whose last instant is `last`: none yet.
    pub fn new(link: Option<usize>, last: Time) -> Self {
        NextDeparture { link, at: Time::NEVER, last }
    }

    /// Its time, or never.
    pub fn at(&self) -> Time {
        self.at
    }

    /// The last instant of the run that comes before it.
    #[inline]
    pub fn limit(&self) -> Time {
        self.last.min(Time::from_nanos(self.at.as_nanos() - 1))
    }

    /// Plans the end of a transmission of this link at `at`; returns whether it is stored here.
    #[inline]
    pub fn plan(&mut self, at: Time, link: usize) -> bool {
        let is_here = self.link == Some(link) && at > Time::ZERO;
        if is_here {
            self.at = at;
        }
        is_here
    }

    /// Takes the departure, if it is due by `until`. No event in the calendar comes before it.
    #[inline]
    pub fn take(&mut self, until: Time) -> Option<Due> {
        let link = self.link.filter(|_| self.at <= until.min(self.last))?;
        let time = replace(&mut self.at, Time::NEVER);
        Some(Due { time, rank: Rank::DEPARTURE, entity: link as u32, hop: 0 })
    }
}
