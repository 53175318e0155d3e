//! How far a network is, and what comes next.

use super::{Network, Place};
use crate::calendar::{Due, Rank};
use crate::packet::Packet;
use sojourn_units::Time;

impl<P: Packet> Network<P> {
    /// The time of the last event, and the number of packets that hosts have sent by then.
    pub fn progress(&self) -> (Time, u64) {
        (self.now, self.audit.sent)
    }

    /// The time of the next event; `None` without pending events.
    pub fn next_event(&mut self) -> Option<Time> {
        if self.deciding.is_some() {
            return Some(self.now);
        }
        self.calendar.peek()
    }

    /// Prefetches the network's state for the next event into the processor's cache.
    /// Returns its entity, a flow if the event is that of a packet, so that the host can prefetch too; `None` if it is unknown. This pays
    /// if the cache has no room for all flows.
    #[inline]
    pub fn prefetch_upcoming(&self) -> Option<u32> {
        let (entity, hop) = self.calendar.upcoming()?;
        if let Some(link) = self.hops.get(hop as usize + 1).and_then(|next| next.access_link()) {
            self.access_links.prefetch(link);
        }
        Some(entity)
    }

    /// Whether [`Network::next_in_place`] returned `None` only because of a pause.
    /// It pauses after every few thousand events, so that the host can do other work.
    pub fn paused(&self) -> bool {
        self.paused
    }

    /// Events that have happened at the network's time, accurate to some thousands.
    pub fn events_at_once(&self) -> u64 {
        self.events_at_once
    }

    /// The state of the network.
    pub fn place(&mut self) -> Place {
        let is_packet = |due: &Due| matches!(due.rank, Rank::ARRIVAL | Rank::DELIVERY);
        let next = self.calendar.next_due().filter(is_packet);
        let link = next.as_ref().and_then(|due| self.link_number(due.hop));
        Place { now: self.now, events: self.events_at_once, flow: next.map(|due| due.entity), link }
    }
}
