//! Routers that read ACKs of another link, for the flows that they send.
//!
//! A router needs the content of an ACK when the next packet arrives at its own link, and not before. So if departures from the other link
//! are known in advance and in order, an ACK needs no event there: it is noted with its time, and read when the router sends next. An ACK
//! in the same nanosecond as a packet is read before it, since it may have released the packet. Otherwise an ACK has an event, which ranks
//! as a delivery, so that the same holds.

use super::Network;
use crate::hop::HopTarget;
use crate::impaired::LinkImpairment;
use crate::packet::Packet;
use alloc::vec;
use sojourn_link::Place;
use sojourn_units::Time;

/// A link whose router reads packets of another one, by their numbers.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    pub link: usize,
    pub reads: u32,
}

impl<P: Packet> Network<P> {
    /// Adds links whose routers read; `targets` are the targets of link numbers.
    pub(crate) fn add_readers(&mut self, readers: &[Reader], targets: &[HopTarget]) {
        for &Reader { link, reads } in readers {
            if let HopTarget::Link(link) = targets[link]
                && let Some(&HopTarget::Link(read)) = targets.get(reads as usize)
                && self.links[link].reads_headers()
            {
                self.readers.resize(self.links.len(), vec![]);
                self.readers[read].push(link as u32);
            }
        }
    }

    /// Whether routers read.
    pub(crate) fn has_readers(&self) -> bool {
        !self.readers.is_empty()
    }

    /// Whether packets leave a link in the order of time, each later than it is known.
    /// Departures are known at least a nanosecond before.
    pub(crate) fn foresees_reading(&self, link: usize) -> bool {
        let delays =
            |impairment: &LinkImpairment| impairment.link() == link && impairment.place() == Place::AfterQueue && !impairment.only_drops();
        self.links[link].foresees_arrivals(self.least_packet) && !self.impairments.iter().any(delays)
    }

    /// A packet leaves a link at `time`: the routers that read it note it.
    /// Returns when it continues, which is at once.
    #[inline(never)]
    pub(super) fn note_for_readers(&mut self, link: usize, time: Time, packet: &P) -> Time {
        let Some(readers) = self.readers.get(link) else { return time };
        for &reader in readers {
            self.links[reader as usize].note_ack(self.now, time, packet);
        }
        time
    }
}
