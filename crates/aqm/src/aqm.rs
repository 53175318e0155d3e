//! The interface of an AQM algorithm: its inputs and its verdicts.

use crate::{Backlog, Needs, PacketView};
use sojourn_units::{Bytes, Duration, ParamError, Probability, Rate, Stream, Time};

/// The algorithm's verdict on an arriving packet, which [`crate::QueueController`] applies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArrivalVerdict {
    /// Enqueue it.
    Pass,
    /// Signal congestion: mark the packet if ECN is on and it can carry a mark, else drop it.
    Signal,
    /// Enqueue it if it can be marked, else drop it.
    /// [`Aqm::on_dequeue`] then decides about the mark.
    DropUnlessMarkable,
    /// Enqueue it if ECN is on, else drop it.
    DropWithoutEcn,
    /// Drop it, even if it can be marked.
    Drop,
    /// Drop it for lack of room, as if the queue had reached its limit.
    DropForRoom,
    /// Signal congestion by dropping two packets: this one and one that waits.
    /// The number is the position of the waiting one; 0 is the head.
    DropBoth(u32),
    /// Call again with the packet at this position (0 is the head) as [`PacketView::drawn`].
    /// Needs [`Needs::waiting_packets`].
    Inspect(u32),
}

/// The algorithm's verdict on a departing packet, which [`crate::QueueController`] applies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DepartureVerdict {
    /// Send it.
    Pass,
    /// Signal congestion: mark the packet if ECN is on and it can carry a mark, else drop it.
    Signal,
    /// Mark the packet if ECN is on and it can carry a mark, and send it in any case.
    MarkOrPass,
    /// Mark the packet if it can carry a mark, even if ECN is off, and send it in any case.
    /// Linux: `ce_threshold`.
    Mark,
    /// Drop it, even if it can be marked.
    Drop,
}

/// The reason of a drop that no verdict asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dropped {
    /// It arrived at a full queue, whatever the verdict was.
    NoRoom,
    /// The last verdict was a signal, but ECN is off, or the packet cannot carry a mark.
    Unmarkable,
    /// It waited in this queue, and all queues together exceeded the limit.
    FromFull {
        /// The queue.
        queue: u32,
        /// The packet's size in bytes.
        size: u32,
        /// The time of the drop.
        now: Time,
    },
}

/// The link that an algorithm serves. Automatic parameters are derived from it.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Its rate.
    pub rate: Rate,
    /// Its propagation delay.
    pub delay: Duration,
    /// Mean packet size in bytes, for parameters given in packets.
    pub mean_packet: u32,
    /// The queue's limit in packets (bytes / mean packet if the limit is in bytes).
    pub limit_packets: u32,
}

impl Link {
    /// The mean packet size in bytes that an algorithm uses.
    /// It is `own` if that is above zero, else the link's.
    ///
    /// # Errors
    /// `own` is above 1 MB; `field` is its name.
    pub fn mean_packet_or(&self, field: &'static str, own: Bytes) -> Result<u32, ParamError> {
        match own.0 {
            0 => Ok(self.mean_packet.max(1)),
            bytes => ParamError::unless(bytes <= 1_000_000, field, &bytes, "0 B (the link's) to 1 MB").map(|()| bytes as u32),
        }
    }
}

/// An active queue management algorithm.
///
/// `clone` must copy all state, because a run can be branched. No function may panic.
pub trait Aqm {
    /// A packet arrives; `backlog` is the queue before the packet is added.
    /// After [`ArrivalVerdict::Inspect`] it is called again with [`PacketView::drawn`].
    fn on_enqueue(&mut self, arrival: &PacketView, backlog: &Backlog, random: &mut Stream) -> ArrivalVerdict;

    /// A packet leaves the queue after a wait of `sojourn`; `backlog` is the queue without it.
    fn on_dequeue(&mut self, departure: &PacketView, sojourn: Duration, backlog: &Backlog, random: &mut Stream) -> DepartureVerdict {
        let _ = (departure, sojourn, backlog, random);
        DepartureVerdict::Pass
    }

    /// A packet of this queue was dropped, and no verdict asked for the drop.
    fn on_drop(&mut self, dropped: Dropped) {
        let _ = dropped;
    }

    /// From `now` on `active` flows are active.
    /// Called only with [`Needs::flow_count`], before anything else that happens at that time. Until the first call the number is 0.
    fn on_flows(&mut self, now: Time, active: u32) {
        let _ = (now, active);
    }

    /// The time between two calls of [`Aqm::on_update`], above zero; `None` for no timer.
    /// The first call comes one interval after the start, or at [`Needs::first_update`].
    fn update_interval(&self) -> Option<Duration> {
        None
    }

    /// The timer expires.
    fn on_update(&mut self, now: Time, backlog: &Backlog) {
        let _ = (now, backlog);
    }

    /// What the host must supply.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// The present probability of a signal (drop or mark), for traces and averages.
    /// `None` if the discipline has no probability.
    fn probability(&self) -> Option<Probability> {
        None
    }
}
