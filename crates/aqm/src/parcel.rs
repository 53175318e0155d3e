//! The packet for the tests of queues, and helpers to offer and take it.
//! All tests share one kind, since a queue is compiled for each kind of packet and each closure.

use crate::{DropReason, Ecn, Packet, Qdisc};
use sojourn_units::Time;
use std::vec::Vec;

#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub(crate) struct Parcel {
    pub id: u32,
    pub flow: u32,
    pub place: u32,
    pub size: u32,
    pub ect: bool,
    pub ce: bool,
}

impl Packet for Parcel {
    fn size(&self) -> u32 {
        self.size
    }
    fn flow(&self) -> u32 {
        self.flow
    }
    fn can_mark(&self) -> bool {
        self.ect
    }
    fn mark(&mut self) {
        self.ce = true;
    }
    fn ecn(&self) -> Ecn {
        match (self.ce, self.ect) {
            (true, _) => Ecn::Ce,
            (false, true) => Ecn::Ect0,
            (false, false) => Ecn::NotEct,
        }
    }
    fn place(&self) -> u32 {
        self.place
    }
}

pub(crate) type Lost = Vec<(Parcel, DropReason)>;

impl Qdisc<Parcel> {
    /// Offers a packet to a queue whose link has been idle since `idle_since`, or is busy.
    /// Returns the dropped packets.
    pub(crate) fn offer(&mut self, now: Time, parcel: Parcel, idle_since: Option<Time>) -> Lost {
        let mut lost = Vec::new();
        self.enqueue(now, parcel, idle_since, |parcel, reason| lost.push((parcel, reason)));
        lost
    }

    /// The next packet for the link, and the packets dropped before it.
    pub(crate) fn take(&mut self, now: Time) -> (Option<Parcel>, Lost) {
        let mut lost = Vec::new();
        let taken = self.dequeue(now, |parcel, reason| lost.push((parcel, reason)));
        (taken.map(|(parcel, _)| parcel), lost)
    }
}
