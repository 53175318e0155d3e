//! A packet in flight.

use sojourn_aqm as aqm;
use sojourn_units::Time;

/// Bits of [`Packet::flags`].
pub mod flag {
    /// An acknowledgement without payload.
    pub const ACK: u16 = 1;
    /// Opens a connection.
    pub const SYN: u16 = 2;
    /// The last segment of a connection.
    pub const FIN: u16 = 4;
    /// Can carry a congestion mark (RFC 3168: ECT).
    pub const ECT: u16 = 8;
    /// Carries a congestion mark (RFC 3168: CE).
    pub const CE: u16 = 16;
    /// Echoes a congestion mark (RFC 3168: ECE).
    pub const ECE: u16 = 32;
    /// The sender has reduced its window (RFC 3168: CWR).
    pub const CWR: u16 = 64;
    /// Was sent before.
    pub const RETRANSMIT: u16 = 128;
    /// Travels from the receiver to the sender.
    pub const BACK: u16 = 256;
}

/// A packet in flight: 48 bytes, so that with its place in the order of events it fills one cache line.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// Data: its first byte. ACK: the next byte expected.
    pub seq: u64,
    /// Data: when it was sent. ACK: the sending time that it echoes.
    pub stamp: Time,
    /// ACK: when the receiver sent it, by its own clock. Data: the latest such time that its sender has seen, 0 without time stamps.
    pub peer: Time,
    /// The flow it belongs to.
    pub flow: u32,
    /// Data: the sender's smoothed RTT in ms, or what a router found it to be (0 unknown). ACK: handle of its SACK blocks (0 none).
    pub extra: u32,
    /// Size on the wire in bytes.
    pub size: u16,
    /// See [`flag`].
    pub flags: u16,
    /// ACK: the receive window in segments; 65535 means unlimited.
    pub window: u16,
    /// Which use of the flow's slot it belongs to.
    pub incarnation: u16,
    /// Where it stands on its route: a place in the world's table of hops.
    pub hop: u32,
    /// What follows it in the list that it waits in, as in a kernel's buffers: the calendar's alone to read and write.
    pub(crate) next: u32,
}

impl Packet {
    /// No packet at all, to fill in.
    pub const NOTHING: Packet = Packet {
        seq: 0,
        stamp: Time::ZERO,
        peer: Time::ZERO,
        flow: 0,
        extra: 0,
        size: 0,
        flags: 0,
        window: 0,
        incarnation: 0,
        hop: 0,
        next: 0,
    };

    /// Whether all these flags are set.
    #[inline]
    pub fn has(&self, flags: u16) -> bool {
        self.flags & flags == flags
    }
}

impl aqm::Packet for Packet {
    #[inline]
    fn size(&self) -> u32 {
        u32::from(self.size)
    }
    #[inline]
    fn flow(&self) -> u32 {
        self.flow
    }
    #[inline]
    fn can_mark(&self) -> bool {
        self.has(flag::ECT)
    }
    #[inline]
    fn mark(&mut self) {
        self.flags |= flag::CE;
    }
    #[inline]
    fn rtt_hint_ms(&self) -> u16 {
        if self.has(flag::ACK) { 0 } else { self.extra.min(0xffff) as u16 }
    }
    #[inline]
    fn has_data(&self) -> bool {
        !self.has(flag::ACK)
    }
}
