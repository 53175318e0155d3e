//! A flow: an application and its two endpoints.

use crate::tcp::{Receiver, Sender};
use sojourn_net::{Moments, RouteId};
use sojourn_traffic::Application;
use sojourn_units::{Duration, Memory, Plain, Time, memory_of};

/// The routes of a flow, shared by flows between the same hosts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowRoutes {
    /// From the sender to the receiver.
    pub forward: RouteId,
    /// From the receiver to the sender.
    pub back: RouteId,
    /// The least propagation delay from the sender to the receiver, for the audit.
    pub least_delay: Duration,
}

/// The measures of a flow within the window of statistics.
#[derive(Clone, Copy, Default, Debug)]
#[non_exhaustive]
pub struct FlowStats {
    /// Bytes that became readable, in order.
    /// In a report: without those that had arrived before the window.
    pub delivered: u64,
    /// Bytes on the wire that arrived, retransmissions included.
    pub received: u64,
    /// Packets that arrived.
    pub packets: u64,
    /// Packets that arrived with a congestion mark.
    pub marked: u64,
}

/// A finite transfer that was completed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completion {
    /// The position of the entry of its session or flow in the configuration.
    pub entry: u32,
    /// The group of its session or flow.
    pub group: u32,
    /// When it was opened.
    pub opened: Time,
    /// When its last byte was acknowledged.
    pub closed: Time,
    /// Its bytes.
    pub size: u64,
}

/// The packets of a flow that were sent and that arrived, data and ACKs.
/// Endpoints run ahead, so an arrival may lie ahead of the network's time.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Travels {
    pub sent: u64,
    arrived: u64,
    last_data: Time,
    last_ack: Time,
}

impl Travels {
    /// A packet arrives at the receiver.
    #[inline]
    pub fn data_arrives(&mut self, at: Time) {
        (self.arrived, self.last_data) = (self.arrived + 1, at);
    }

    /// A packet arrives at the sender.
    #[inline]
    pub fn ack_arrives(&mut self, at: Time) {
        (self.arrived, self.last_ack) = (self.arrived + 1, at);
    }

    /// Whether no packet was in the network at `now`, after these `drops`.
    /// The answer does not depend on how far endpoints have run ahead: a packet that was there at that time still is, or has left at a
    /// later one.
    pub fn over_before(&self, now: Time, drops: SlotDrops) -> bool {
        self.sent + drops.copies == self.arrived + drops.dropped && self.last_data.max(self.last_ack).max(drops.last) < now
    }
}

/// The dropped packets of a slot since the start, data and ACKs.
/// It also counts the copies that impairments made of other packets.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct SlotDrops {
    copies: u64,
    dropped: u64,
    /// The time of the last drop, which may lie ahead of the network's time.
    last: Time,
}

/// The dropped packets of all flows.
#[derive(Clone, Debug)]
pub(crate) struct Drops {
    /// The drops of each flow in the window of statistics.
    in_window: Vec<u64>,
    /// The drops of slots, which are the last flows.
    slots: Vec<SlotDrops>,
}

impl Drops {
    /// Counters at zero, with room for this number of flows.
    pub fn with_room(flows: usize) -> Self {
        Drops { in_window: Vec::with_capacity(flows), slots: Vec::new() }
    }

    /// Adds a flow or slot.
    pub fn add_flow(&mut self, is_slot: bool) {
        self.in_window.push(0);
        if is_slot {
            self.slots.push(SlotDrops::default());
        }
    }

    /// A packet of a flow is dropped, in the window or not.
    pub fn add(&mut self, now: Time, flow: u32, in_window: bool) {
        self.in_window[flow as usize] += u64::from(in_window);
        if let Some(slot) = self.slot_mut(flow) {
            (slot.dropped, slot.last) = (slot.dropped + 1, slot.last.max(now));
        }
    }

    /// A packet of a flow is duplicated.
    pub fn add_copy(&mut self, flow: u32) {
        if let Some(slot) = self.slot_mut(flow) {
            slot.copies += 1;
        }
    }

    /// Adds the drops of the same flows in another part of the world, which has no slots.
    pub fn add_all(&mut self, other: &Drops) {
        self.in_window.iter_mut().zip(&other.in_window).for_each(|(here, there)| *here += there);
    }

    /// The drops of each flow in the window of statistics.
    pub fn in_window(&self) -> &[u64] {
        &self.in_window
    }

    /// The drops of a slot; zero for another flow.
    pub fn of_slot(&self, flow: u32) -> SlotDrops {
        let first = self.in_window.len() - self.slots.len();
        (flow as usize).checked_sub(first).map_or(SlotDrops::default(), |slot| self.slots[slot])
    }

    fn slot_mut(&mut self, flow: u32) -> Option<&mut SlotDrops> {
        let first = self.in_window.len() - self.slots.len();
        self.slots.get_mut((flow as usize).wrapping_sub(first))
    }
}

impl Memory for Drops {
    fn memory(&self) -> usize {
        memory_of([&self.in_window, &self.slots])
    }
}

/// The sending side.
/// Nearly all flows are TCP. Their senders are stored inline, because they are read together with the rest of the flow.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant)]
pub(crate) enum Endpoint {
    Tcp(Sender),
    Udp(Box<Datagrams>),
}

/// A sender of datagrams.
#[derive(Clone, Default, Debug)]
pub(crate) struct Datagrams {
    /// Bytes sent.
    pub sent: u64,
    /// Datagrams sent in the window of statistics.
    pub counted: u64,
    /// The time of its pending timer event, or never.
    pub armed: Time,
    /// Round-trip times in seconds, for datagrams that are echoed.
    pub echo: Option<Moments>,
    /// Whether the caller supplies both endpoints, and these are their packets.
    pub foreign: bool,
}

/// A finite transfer: a flow's only one, or that of the present connection of a slot.
#[derive(Clone, Default, Debug)]
pub(crate) struct Transfer {
    /// The session that it serves.
    pub session: Option<u32>,
    pub opened: Time,
    pub size: u64,
    /// For the request of a session, the size of the answer in bytes; otherwise 0.
    /// The answer is sent once the request is complete.
    pub requested_bytes: u64,
    /// Connections completed within the window of statistics.
    pub completed: u64,
    pub travels: Travels,
}

/// A flow, or a slot that connections of a session use one after another.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    pub routes: FlowRoutes,
    /// The position of its entry in the configuration.
    pub entry: u32,
    pub group: u32,
    pub stack: u32,
    pub endpoint: Endpoint,
    pub receiver: Receiver,
    pub application: Application,
    /// The finite transfer that it carries, if any.
    pub transfer: Option<Box<Transfer>>,
    /// The totals since the window of statistics opened, or before that since the start.
    pub totals: FlowStats,
    /// Whether a packet has arrived since the window opened.
    pub in_window: bool,
    /// Whether links that count flows count it as active.
    pub counted: bool,
}

impl Flow {
    /// Opens the window of statistics: the next packet is the first in it that arrives.
    #[cold]
    pub fn open_window(&mut self) {
        (self.totals, self.in_window) = (FlowStats::default(), true);
        self.receiver.open_window();
    }

    /// The measures within the window of statistics.
    pub fn stats(&self) -> FlowStats {
        match self.in_window {
            false => FlowStats::default(),
            true => FlowStats { delivered: self.totals.delivered - self.receiver.arrived_early(), ..self.totals },
        }
    }

    /// Counts an ACK of its receiver, and returns the route.
    #[inline(always)]
    pub fn sends_back(&mut self) -> RouteId {
        if let Some(transfer) = &mut self.transfer {
            transfer.travels.sent += 1;
        }
        self.routes.back
    }

    /// When the pending timer event of the sending side is due, or never.
    #[inline]
    pub fn armed(&self) -> Time {
        match &self.endpoint {
            Endpoint::Tcp(sender) => sender.armed,
            Endpoint::Udp(datagrams) => datagrams.armed,
        }
    }

    /// The time of that event, for changes.
    #[inline]
    pub fn armed_mut(&mut self) -> &mut Time {
        match &mut self.endpoint {
            Endpoint::Tcp(sender) => &mut sender.armed,
            Endpoint::Udp(datagrams) => &mut datagrams.armed,
        }
    }

    /// The time at which the sending side acts next.
    #[inline]
    pub fn sender_due(&self) -> Time {
        match &self.endpoint {
            Endpoint::Tcp(sender) => sender.deadline().min(self.application.due()),
            Endpoint::Udp(_) => self.application.due(),
        }
    }
}

impl Memory for Flow {
    fn memory(&self) -> usize {
        memory_of([&self.endpoint, &self.receiver, &self.application, &Plain(&self.transfer)])
    }
}

impl Memory for Endpoint {
    fn memory(&self) -> usize {
        match self {
            Endpoint::Tcp(sender) => sender.memory(),
            Endpoint::Udp(_) => size_of::<Datagrams>(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_with_its_endpoints_is_small_for_there_may_be_a_hundred_thousand() {
        let sizes = [size_of::<Flow>(), size_of::<Receiver>(), size_of::<Sender>()];
        assert_eq!(sizes, [496, 56, 336], "bytes of a flow with its receiver and sender, of the receiver, of a sender");
    }
}
