//! The properties of a packet that the network reads.

use sojourn_aqm::{Ecn, HostPacket, Timestamps};
use sojourn_units::Time;

/// A packet of the host's own kind.
/// A queue reads the properties of [`sojourn_aqm::Packet`], and a router may read its headers.
///
/// The network copies nothing: it moves the packet. A location that a packet has left holds the default.
pub trait Packet: sojourn_aqm::Packet + Default {
    /// Moves the packet out of a location that will not be read again.
    /// Small packets that are `Copy` may return a copy, which saves writing the default.
    #[inline]
    fn take(&mut self) -> Self {
        core::mem::take(self)
    }

    /// The headers that a router reads; `None` if it can't read this packet.
    #[inline]
    fn headers(&self) -> Option<Headers> {
        None
    }

    /// Replaces the sender's round-trip time by a router's estimate, in ms (0 unknown).
    #[inline]
    fn set_rtt_hint_ms(&mut self, rtt_ms: u16) {
        let _ = rtt_ms;
    }
}

/// The hash of a packet that reaches the end of its route at `now`.
/// A run's fingerprint is the sum of those of all its packets.
#[inline]
pub fn packet_hash(now: Time, flow: u32, seq: u64, flags: u16) -> u64 {
    let place = now.as_nanos() ^ (u64::from(flow) << 40) ^ seq.rotate_left(20) ^ (u64::from(flags) << 52);
    let mixed = u128::from(place ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93;
    ((mixed >> 64) ^ mixed) as u64
}

/// The direction of a packet of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From the sender of the data to its receiver.
    ToReceiver,
    /// From the receiver back to the sender.
    ToSender,
}

/// The headers of a packet that a router reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Headers {
    /// Identifies its connection, such as a hash of addresses and ports.
    /// It is the same in both directions.
    pub connection: u64,
    /// Its direction.
    pub direction: Direction,
    /// Whether it opens the connection.
    pub syn: bool,
    /// Its time stamps, if it carries them.
    pub timestamps: Option<Timestamps>,
}

/// A packet that waits in the network, with the network's own data.
#[derive(Clone, Debug)]
pub(crate) struct InFlight<P> {
    pub packet: P,
    /// Its position on its route: an index in the table of hops.
    /// For a timer it is a number of the host's choice.
    pub hop: u32,
    /// The next event in the list of its bucket, or the next free node.
    /// Only the calendar uses this.
    pub next: u32,
}

impl<P: Packet> sojourn_aqm::Packet for InFlight<P> {
    #[inline]
    fn size(&self) -> u32 {
        self.packet.size()
    }
    #[inline]
    fn flow(&self) -> u32 {
        self.packet.flow()
    }
    #[inline]
    fn can_mark(&self) -> bool {
        self.packet.can_mark()
    }
    #[inline]
    fn mark(&mut self) {
        self.packet.mark();
    }
    #[inline]
    fn rtt_hint_ms(&self) -> u16 {
        self.packet.rtt_hint_ms()
    }
    #[inline]
    fn has_data(&self) -> bool {
        self.packet.has_data()
    }
    #[inline]
    fn ecn(&self) -> Ecn {
        self.packet.ecn()
    }
    fn place(&self) -> u32 {
        self.hop
    }
    fn give_to_host(&mut self) -> HostPacket {
        self.packet.give_to_host()
    }
    fn take_from_host(&mut self, handle: u64) {
        self.packet.take_from_host(handle);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    /// A packet that is only a number.
    #[derive(Clone, Default, Debug, PartialEq, Eq)]
    pub struct Numbered(pub u32);

    impl sojourn_aqm::Packet for Numbered {
        fn size(&self) -> u32 {
            1000
        }
        fn flow(&self) -> u32 {
            self.0
        }
        fn can_mark(&self) -> bool {
            false
        }
        fn mark(&mut self) {}
    }

    impl super::Packet for Numbered {}
}
