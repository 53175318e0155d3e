//! The next departure of one link that buffers its packets, which is not in the calendar.
//!
//! Each of its departures is an event, and one at a time is to come: to remember when takes less than to file it among all events. The link is
//! the first of those that buffer, so its departure comes before all else that happens at its time, as the ranks of events and the numbers of
//! links want it.

use super::Network;
use crate::calendar::{Due, Rank};
use crate::packet::Packet;
use core::mem::replace;
use sojourn_units::Time;

/// The next departure of one link.
#[derive(Clone, Debug)]
pub(super) struct NextDeparture {
    link: Option<usize>,
    /// When it is, or never.
    at: Time,
    /// The last instant of what comes before it and belongs to the run.
    pub limit: Time,
    last: Time,
}

impl NextDeparture {
    /// That of this link in a run whose last instant is `last`: none yet.
    pub fn new(link: Option<usize>, last: Time) -> Self {
        NextDeparture { link, at: Time::NEVER, limit: last, last }
    }

    /// When it is, or never.
    pub fn at(&self) -> Time {
        self.at
    }
}

impl<P: Packet> Network<P> {
    /// A transmission of this link ends at `at`.
    #[inline]
    pub(super) fn plan_departure(&mut self, at: Time, link: usize) {
        let before = Time::from_nanos(at.as_nanos().saturating_sub(1));
        if self.departure.link == Some(link) && before < at {
            self.departure.at = at;
            self.departure.limit = before.min(self.departure.last);
        } else {
            self.calendar.push_number(at, Rank::DEPARTURE, link as u32, 0);
        }
    }

    /// Takes the departure that is not in the calendar, if it is due by `until` and nothing in the calendar comes before it.
    #[inline]
    pub(super) fn take_departure(&mut self, until: Time) -> Option<Due> {
        let departure = &mut self.departure;
        let link = departure.link.filter(|_| departure.at <= until && !self.calendar.needs_fit())?;
        let time = replace(&mut departure.at, Time::NEVER);
        departure.limit = departure.last;
        Some(Due { time, rank: Rank::DEPARTURE, entity: link as u32, hop: 0 })
    }
}
