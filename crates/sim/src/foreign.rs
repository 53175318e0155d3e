//! Foreign flows: their endpoints belong to the caller, and the world carries their packets.

use crate::packet::{Packet, flag};
use sojourn_aqm::{Ecn, Packet as _};
use sojourn_units::Time;
use std::collections::VecDeque;

/// A packet of a foreign flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ForeignPacket {
    /// The flow, by its position in the configuration.
    pub flow: u32,
    /// Whether it travels from the receiving host to the sending one.
    pub back: bool,
    /// Size on the wire in bytes, 1 or more.
    pub size: u16,
    /// The ECN field.
    pub ecn: Ecn,
    /// The caller's number for it; links never read it.
    pub token: u64,
}

/// What happens to a foreign flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ForeignAction {
    /// The application writes data.
    Write {
        /// The number of bytes; `None` for data without end.
        bytes: Option<u64>,
        /// Whether no write follows.
        last: bool,
    },
    /// The application stops: nothing that is not yet sent is to be sent.
    Stop,
    /// A packet arrives, marked if a link marked it.
    Arrive(ForeignPacket),
    /// A link drops a packet.
    Drop(ForeignPacket),
    /// A link duplicates a packet: one more with the same token is in the network.
    Duplicate(ForeignPacket),
}

/// An event of a foreign flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ForeignEvent {
    /// Its time. A drop may be decided, and reported, before its time.
    pub at: Time,
    /// The flow, by its position in the configuration.
    pub flow: u32,
    /// What happens.
    pub action: ForeignAction,
}

/// The events of foreign flows that the caller has not yet taken.
#[derive(Clone, Default, Debug)]
pub(crate) struct Outbox {
    pub events: VecDeque<ForeignEvent>,
    /// Whether each flow is foreign, by its number.
    flows: Vec<bool>,
}

impl Outbox {
    pub fn add_flow(&mut self, flow: u32) {
        self.flows.resize(flow as usize + 1, false);
        self.flows[flow as usize] = true;
    }

    pub fn has_flow(&self, flow: u32) -> bool {
        self.flows.get(flow as usize).copied().unwrap_or(false)
    }

    pub fn push(&mut self, at: Time, flow: u32, action: ForeignAction) {
        self.events.push_back(ForeignEvent { at, flow, action });
    }

    /// Reports a packet of a foreign flow; ignores others.
    pub fn push_packet(&mut self, at: Time, packet: &Packet, action: fn(ForeignPacket) -> ForeignAction) {
        if self.has_flow(packet.flow) {
            self.push(at, packet.flow, action(ForeignPacket::of(packet)));
        }
    }
}

impl ForeignPacket {
    fn of(packet: &Packet) -> Self {
        let &Packet { flow, size, seq: token, .. } = packet;
        ForeignPacket { flow, back: packet.has(flag::BACK), size, ecn: packet.ecn(), token }
    }

    /// The packet that enters the network at `now`.
    pub(crate) fn packet(&self, now: Time) -> Packet {
        let ecn = match self.ecn {
            Ecn::NotEct => 0,
            Ecn::Ect0 => flag::ECT,
            Ecn::Ect1 => flag::ECT | flag::ECT1,
            Ecn::Ce => flag::ECT | flag::CE,
        };
        let back = if self.back { flag::BACK } else { 0 };
        Packet { seq: self.token, stamp: now, flow: self.flow, size: self.size, flags: ecn | back, ..Packet::EMPTY }
    }
}
