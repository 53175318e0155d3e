//! Foreign flows: their endpoints belong to the caller, and the world carries their packets.

use crate::flow::Endpoint;
use crate::observer::Observer;
use crate::packet::{Packet, flag};
use crate::world::World;
use sojourn_aqm::{Ecn, Packet as _};
use sojourn_traffic::{Action, Write};
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
    events: VecDeque<ForeignEvent>,
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

    fn packet(&self, now: Time) -> Packet {
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

impl<O: Observer> World<O> {
    /// Runs until an event of a foreign flow, and returns it.
    /// `None` if all events that are due by `until` are done, or the world has [`World::stalled`].
    ///
    /// The caller sends the packets that follow from an event before it takes the next one.
    pub fn next_foreign(&mut self, until: Time) -> Option<ForeignEvent> {
        loop {
            if let Some(event) = self.accounts.foreign.as_mut()?.events.pop_front() {
                return Some(event);
            }
            if !self.run_one(until) {
                return None;
            }
        }
    }

    /// Sends a packet of a foreign flow at `now`, which is not before any event that was returned.
    ///
    /// # Panics
    /// If the flow is not foreign, or the packet has no bytes.
    pub fn send_foreign(&mut self, now: Time, packet: &ForeignPacket) {
        assert!(self.is_foreign(packet.flow), "flow {} is not foreign", packet.flow);
        assert!(packet.size > 0, "a packet has at least one byte");
        self.count_datagram(now, packet);
        self.send(now, packet.packet(now));
    }

    /// The receiving application of a foreign flow can read `bytes` more.
    pub fn deliver_foreign(&mut self, now: Time, flow: u32, bytes: u64) {
        let flow = &mut self.flows[flow as usize];
        if !flow.in_window && now >= self.warmup {
            flow.open_window();
        }
        flow.totals.delivered += bytes;
    }

    /// Whether the caller supplies the endpoints of this flow.
    pub fn is_foreign(&self, flow: u32) -> bool {
        self.accounts.foreign.as_ref().is_some_and(|outbox| outbox.has_flow(flow))
    }

    /// Reports what a foreign flow's application does.
    pub(crate) fn foreign_writes(&mut self, at: Time, flow: u32, action: Option<Action>) {
        let action = match action {
            Some(Action::Write(Write { bytes, last, .. })) => ForeignAction::Write { bytes, last },
            Some(Action::Stop) => ForeignAction::Stop,
            None => return,
        };
        if let Some(outbox) = &mut self.accounts.foreign {
            outbox.push(at, flow, action);
        }
    }

    /// Counts a packet of a foreign flow's sending host.
    fn count_datagram(&mut self, now: Time, packet: &ForeignPacket) {
        if let Endpoint::Udp(datagrams) = &mut self.flows[packet.flow as usize].endpoint
            && !packet.back
        {
            datagrams.sent += u64::from(packet.size);
            datagrams.counted += u64::from(now >= self.warmup);
        }
    }
}
