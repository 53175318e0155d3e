//! The next departure of one link that buffers its packets, which is not in the calendar.
//!
//! Each of its departures is an event, and one at a time is to come: to remember when takes 3 to 5 % fewer instructions (DualPI2, FQ-CoDel) than to
//! file it among all events. The link is the first of those that buffer, so its departure comes before all else that happens at its time, as the
//! ranks of events and the numbers of links want it.

use crate::calendar::{Due, Rank};
use core::mem::replace;
use sojourn_units::Time;

/// The next departure of one link.
#[derive(Clone, Debug)]
pub(super) struct NextDeparture {
    link: Option<usize>,
    /// When it is, or never.
    at: Time,
    /// The last instant of the run.
    last: Time,
}

impl NextDeparture {
    /// That of this link in a run whose last instant is `last`: none yet.
    pub fn new(link: Option<usize>, last: Time) -> Self {
        NextDeparture { link, at: Time::NEVER, last }
    }

    /// When it is, or never.
    pub fn at(&self) -> Time {
        self.at
    }

    /// The last instant of what comes before it and belongs to the run.
    #[inline]
    pub fn limit(&self) -> Time {
        self.last.min(Time::from_nanos(self.at.as_nanos() - 1))
    }

    /// A transmission of this link ends at `at`; returns whether that is remembered here.
    #[inline]
    pub fn plan(&mut self, at: Time, link: usize) -> bool {
        let is_here = self.link == Some(link) && at > Time::ZERO;
        if is_here {
            self.at = at;
        }
        is_here
    }

    /// Takes the departure, if it is due by `until`. Nothing in the calendar comes before it.
    #[inline]
    pub fn take(&mut self, until: Time) -> Option<Due> {
        let link = self.link.filter(|_| self.at <= until.min(self.last))?;
        let time = replace(&mut self.at, Time::NEVER);
        Some(Due { time, rank: Rank::DEPARTURE, entity: link as u32, hop: 0 })
    }
}
