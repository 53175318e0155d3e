//! A packet of the kernel's sockets in the network.

use crate::header::Header;
use sojourn_aqm as aqm;
use sojourn_net as net;

/// Bits of [`Packet::flags`].
pub mod flag {
    /// Opens a connection.
    pub const SYN: u8 = 1;
    /// The last segment of a connection.
    pub const FIN: u8 = 2;
    /// ECN-capable (ECT, rfc3168#5).
    pub const ECT: u8 = 4;
    /// Carries a congestion mark (CE, rfc3168#5).
    pub const CE: u8 = 8;
    /// Carries TCP timestamps.
    pub const TIMESTAMPS: u8 = 16;
    /// Travels from the receiver to the sender.
    pub const BACK: u8 = 32;
    /// Is a retransmission.
    pub const AGAIN: u8 = 64;
    /// The packet is of a scalable sender: ECT(1), in addition to [`ECT`] (rfc9331#4.1).
    pub const ECT1: u8 = 128;
}

/// A packet: the header fields that the network uses, the headers, and the kernel's handle.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Packet {
    /// The kernel's handle; 0 in a replay.
    pub handle: u64,
    /// The flow of the packet.
    pub flow: u32,
    /// The sequence number of its first byte.
    pub seq: u32,
    /// TSval, in the sender's unit.
    pub ts_value: u32,
    /// TSecr.
    pub ts_echo: u32,
    /// The size on the wire in bytes, including the IP header.
    pub size: u16,
    /// Bytes of payload.
    pub payload: u16,
    /// The smoothed round-trip time of its sender in ms; 0 if unknown.
    pub rtt_ms: u16,
    /// The flags: see [`flag`].
    pub flags: u8,
    /// Its headers.
    pub header: Header,
}

impl Packet {
    /// Whether all these flags are set.
    pub fn has(&self, flags: u8) -> bool {
        self.flags & flags == flags
    }
}

impl aqm::Packet for Packet {
    fn size(&self) -> u32 {
        u32::from(self.size)
    }
    fn flow(&self) -> u32 {
        self.flow
    }
    fn can_mark(&self) -> bool {
        self.has(flag::ECT)
    }
    fn mark(&mut self) {
        self.flags |= flag::CE;
    }
    fn ecn(&self) -> aqm::Ecn {
        match self.flags & (flag::ECT | flag::ECT1 | flag::CE) {
            flags if flags & flag::CE != 0 => aqm::Ecn::Ce,
            flags if flags & flag::ECT1 != 0 => aqm::Ecn::Ect1,
            0 => aqm::Ecn::NotEct,
            _ => aqm::Ecn::Ect0,
        }
    }
    fn rtt_hint_ms(&self) -> u16 {
        self.rtt_ms
    }
    /// Outside a network, this is the flow's number.
    fn place(&self) -> u32 {
        self.flow
    }
    fn has_data(&self) -> bool {
        self.payload > 0
    }
    fn give_to_host(&mut self) -> aqm::HostPacket {
        aqm::HostPacket {
            handle: core::mem::take(&mut self.handle),
            size: u32::from(self.size),
            can_mark: self.has(flag::ECT),
            is_marked: self.has(flag::CE),
            rtt_hint_ms: self.rtt_ms,
        }
    }
    fn take_from_host(&mut self, handle: u64) {
        self.handle = handle;
    }
}

impl net::Packet for Packet {
    fn take(&mut self) -> Self {
        *self
    }

    fn headers(&self) -> Option<net::Headers> {
        let direction = if self.has(flag::BACK) { net::Direction::ToSender } else { net::Direction::ToReceiver };
        let timestamps =
            self.has(flag::TIMESTAMPS).then(|| net::Timestamps { value: u64::from(self.ts_value), echo: u64::from(self.ts_echo) });
        Some(net::Headers { connection: u64::from(self.flow), direction, syn: self.has(flag::SYN), timestamps })
    }

    fn set_rtt_hint_ms(&mut self, rtt_ms: u16) {
        self.rtt_ms = rtt_ms;
    }
}
