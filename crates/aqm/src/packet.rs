//! Packets and the backlog, as queues and algorithms see them.

use sojourn_units::Time;

/// The ECN field of a packet's IP header (rfc3168#5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Ecn {
    /// Not ECN-capable.
    NotEct,
    /// ECN-capable transport, ECT(0).
    Ect0,
    /// ECN-capable transport from a scalable sender, ECT(1) (rfc9331#4.1).
    Ect1,
    /// Congestion experienced: the packet carries a mark.
    Ce,
}

impl Ecn {
    /// All codepoints.
    pub const ALL: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];

    /// The two bits of the field (rfc3168#5).
    #[inline]
    pub fn bits(self) -> u8 {
        match self {
            Ecn::NotEct => 0b00,
            Ecn::Ect1 => 0b01,
            Ecn::Ect0 => 0b10,
            Ecn::Ce => 0b11,
        }
    }

    /// Whether a queue treats the sender as scalable: ECT(1) or CE (rfc9331#5.1).
    #[inline]
    pub fn is_l4s(self) -> bool {
        matches!(self, Ecn::Ect1 | Ecn::Ce)
    }
}

/// The class of a packet in a dual queue (Linux `dualpi2_classification_results`).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum DualClass {
    /// Classic: the packet enters the classic queue.
    #[default]
    Classic,
    /// Scalable: the packet enters the low-latency queue and receives its signals.
    /// If it is not ECN-capable, it is dropped instead of marked.
    L4s,
    /// The packet enters the low-latency queue and receives no signals.
    LowLatency,
}

/// The properties of a packet that a queue reads.
pub trait Packet: core::fmt::Debug + Clone + Send + Sync + 'static {
    /// Size on the wire in bytes, at most 65,535.
    fn size(&self) -> u32;
    /// The flow it belongs to.
    fn flow(&self) -> u32;
    /// Whether it can carry a congestion mark (ECT).
    fn can_mark(&self) -> bool;
    /// Sets the congestion mark (CE).
    fn mark(&mut self);
    /// The sender's smoothed RTT in milliseconds; 0 means unknown.
    fn rtt_hint_ms(&self) -> u16 {
        0
    }
    /// Whether it carries payload.
    fn has_data(&self) -> bool {
        true
    }
    /// Its ECN field.
    fn ecn(&self) -> Ecn {
        if self.can_mark() { Ecn::Ect0 } else { Ecn::NotEct }
    }
    /// Its position on its route, as a number of its network, for classifiers.
    fn place(&self) -> u32 {
        u32::MAX
    }
    /// Hands it to a queue of its host ([`HostQueue`](crate::HostQueue)), which then stores it.
    fn give_to_host(&mut self) -> HostPacket {
        HostPacket { size: self.size(), can_mark: self.can_mark(), ..HostPacket::default() }
    }
    /// Returns it from the queue of the host, with the host's handle of it.
    fn take_from_host(&mut self, handle: u64) {
        let _ = handle;
    }
}

/// A packet as a queue of the host sees it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct HostPacket {
    /// The host's handle; 0 is none.
    pub handle: u64,
    /// Size on the wire in bytes.
    pub size: u32,
    /// Whether it can carry a congestion mark (ECT).
    pub can_mark: bool,
    /// Whether an earlier queue on the path marked it.
    pub is_marked: bool,
    /// The sender's smoothed RTT in milliseconds if the packet carries it; 0 means unknown.
    pub rtt_hint_ms: u16,
}

/// An algorithm's view of a packet that arrives at the queue, waits in it or leaves it.
#[derive(Clone, Copy, Debug)]
pub struct PacketView {
    /// The time of the arrival or of the departure.
    pub now: Time,
    /// Size on the wire in bytes.
    pub size: u32,
    /// The flow it belongs to.
    pub flow: u32,
    /// The sender's smoothed RTT in milliseconds if the packet carries it; 0 means unknown.
    pub rtt_hint_ms: u16,
    /// Whether it carries payload (a pure acknowledgment does not).
    pub has_data: bool,
    /// Its ECN field. Without stored packets, a queue reports it as not ECN-capable.
    pub ecn: Ecn,
    /// Its class in a dual queue; classic in other queues.
    pub class: DualClass,
    /// The waiting packet that the algorithm inspects.
    /// It follows [`ArrivalVerdict::Inspect`](crate::ArrivalVerdict::Inspect).
    pub drawn: Option<Drawn>,
}

/// A waiting packet that an algorithm inspects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Drawn {
    /// Its position in the queue, 0 for the head.
    pub position: u32,
    /// Its flow; `None` if no packet waits there.
    pub flow: Option<u32>,
}

impl PacketView {
    /// The view of `packet` at `now`.
    #[inline]
    pub fn of(now: Time, packet: &impl Packet) -> Self {
        let (size, flow, rtt_hint_ms) = (packet.size(), packet.flow(), packet.rtt_hint_ms());
        PacketView { now, size, flow, rtt_hint_ms, has_data: packet.has_data(), ecn: packet.ecn(), class: DualClass::Classic, drawn: None }
    }
}

/// The queue at one instant, without the packet that is being sent.
/// That packet has left the queue (as in ns-2 and in a Linux qdisc).
#[derive(Clone, Copy, Debug)]
pub struct Backlog {
    /// Packets waiting.
    pub packets: u32,
    /// Bytes waiting.
    pub bytes: u64,
    /// The time at which the link became idle; `None` while it is sending.
    pub idle_since: Option<Time>,
}

impl Backlog {
    /// This backlog and one more packet of `size` bytes.
    pub fn with_packet(self, size: u32) -> Self {
        Backlog { packets: self.packets + 1, bytes: self.bytes + u64::from(size), ..self }
    }

    /// This backlog without one of its packets, which has `size` bytes.
    pub(crate) fn without_packet(self, size: u32) -> Self {
        Backlog { packets: self.packets - 1, bytes: self.bytes - u64::from(size), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parcel::Parcel;

    #[test]
    fn a_packet_that_says_no_more_carries_data_and_no_estimate() {
        let parcel = Parcel { size: 40, ..Parcel::default() };
        assert_eq!((parcel.rtt_hint_ms(), parcel.has_data()), (0, true));
    }
}
