//! Packets of the simulator's hosts.

use sojourn_aqm as aqm;
use sojourn_net as net;
use sojourn_units::Time;

/// Bits of [`Packet::flags`].
pub mod flag {
    /// An acknowledgement without payload.
    pub const ACK: u16 = 1;
    /// Opens a connection.
    pub const SYN: u16 = 2;
    /// The last segment of a connection.
    pub const FIN: u16 = 4;
    /// Can carry a congestion mark (ECT, rfc3168#5).
    pub const ECT: u16 = 8;
    /// Carries a congestion mark (CE, rfc3168#5).
    pub const CE: u16 = 16;
    /// Echoes a congestion mark (ECE, rfc3168#6.1).
    pub const ECE: u16 = 32;
    /// The sender has reduced its window (CWR, rfc3168#6.1).
    pub const CWR: u16 = 64;
    /// Is a retransmission.
    pub const RETRANSMIT: u16 = 128;
    /// Travels from the receiver to the sender.
    pub const BACK: u16 = 256;
    /// Asks the receiver to pass data on to its application (PSH, rfc9293#3.8.2).
    pub const PSH: u16 = 512;
    /// Comes from a scalable sender: with [`ECT`] it is ECT(1) (rfc9331#4.1).
    pub const ECT1: u16 = 1024;
    /// A packet of the data's sender that carries `AccECN`'s option (rfc9768#3.2.3).
    /// The options of ACKs are stored beside them.
    pub const ACCECN: u16 = 2048;
    /// A SYN without ECN among SYNs that request it, and the answer to such a SYN.
    pub const NO_ECN: u16 = 4096;
    /// The ACE field (rfc9768#3.2, `tcp/accurate_ecn.rs`): three bits.
    pub(crate) const ACE: u16 = 7 << 13;
    /// The highest bit of the ACE field, which is separate in the header.
    /// It is the AE bit (rfc9768#3.1).
    pub const AE: u16 = 4 << 13;
}

/// A packet of 40 bytes.
/// With that size an event and its packet fill one cache line of the network's calendar.
#[derive(Clone, Copy, Default, Debug)]
pub struct Packet {
    /// Data: the number of its first byte. ACK: the next byte expected.
    pub seq: u64,
    /// Data: when it was sent. ACK: the sending time that it echoes.
    pub stamp: Time,
    /// ACK: when the receiver sent it, by its own clock.
    /// Data: the latest such time that its sender has seen, 0 without time stamps.
    pub peer: Time,
    /// The flow it belongs to.
    pub flow: u32,
    /// Data: the sender's smoothed RTT in ms, or a router's estimate of it (0 unknown).
    /// ACK: handle of its options (0 none).
    pub extra: u32,
    /// Size on the wire, in bytes.
    pub size: u16,
    /// See [`flag`].
    pub flags: u16,
    /// ACK: the receive window in segments; 65535 means unlimited.
    pub window: u16,
    /// The connection of its flow: a flow of a session carries one after another.
    pub incarnation: u16,
}

impl Packet {
    /// A packet with every field at zero, to fill in.
    pub const EMPTY: Packet =
        Packet { seq: 0, stamp: Time::ZERO, peer: Time::ZERO, flow: 0, extra: 0, size: 0, flags: 0, window: 0, incarnation: 0 };

    /// An ACK of a connection, to be completed; `flags` are added to those of every ACK.
    #[inline(always)]
    pub(crate) fn ack_of(flow: u32, incarnation: u16, flags: u16) -> Packet {
        Packet { flow, incarnation, flags: flag::ACK | flag::BACK | flags, ..Packet::EMPTY }
    }

    /// The fields that an ACK filter reads, except options; `None` if it is not an ACK of data.
    pub(crate) fn ack_header(&self) -> Option<net::AckHeader> {
        if !self.has(flag::ACK | flag::BACK) || self.has(flag::SYN) {
            return None;
        }
        let echo = self.flags & (flag::ECE | flag::CWR | flag::ACE);
        let timestamps = Some(net::Timestamps { value: self.peer.as_nanos(), echo: self.stamp.as_nanos() });
        // AE is unknown to filters (Linux `cake_tcph_may_drop`).
        let is_pure = self.flags & !(flag::ACK | flag::BACK | flag::ECT | flag::ECT1 | flag::CE | (echo & !flag::AE)) == 0;
        Some(net::AckHeader {
            connection: self.connection(),
            number: self.seq as u32,
            is_pure,
            echo,
            timestamps,
            sack: [(0, 0); 4],
            blocks: 0,
        })
    }

    /// Identifies its connection; when a flow is reused its connection has other ports.
    fn connection(&self) -> u64 {
        u64::from(self.flow) | u64::from(self.incarnation) << 32
    }

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
    #[inline]
    fn ecn(&self) -> aqm::Ecn {
        use aqm::Ecn::{Ce, Ect0, Ect1, NotEct};
        // Indexed by the bits of `ECT`, `CE` and `ECT1`, the lowest first.
        // The field of a packet is as random as its marks, so a table avoids a branch.
        const FIELDS: [aqm::Ecn; 8] = [NotEct, Ect0, Ce, Ce, NotEct, Ect1, Ce, Ce];
        let bits = ((self.flags & (flag::ECT | flag::CE)) / flag::ECT) | ((self.flags & flag::ECT1) / (flag::ECT1 / 4));
        FIELDS[usize::from(bits)]
    }
}

impl net::Packet for Packet {
    #[inline]
    fn take(&mut self) -> Self {
        *self
    }

    #[inline]
    fn headers(&self) -> Option<net::Headers> {
        let back = self.has(flag::BACK);
        let (stamp, peer) = (self.stamp.as_nanos(), self.peer.as_nanos());
        let timestamps = match back {
            true => Some(net::Timestamps { value: peer, echo: stamp }),
            // Data carries an echo exactly where the connection has time stamps, once it is open.
            false => (peer > 0).then_some(net::Timestamps { value: stamp, echo: peer }),
        };
        let direction = if back { net::Direction::ToSender } else { net::Direction::ToReceiver };
        Some(net::Headers { connection: self.connection(), direction, syn: self.has(flag::SYN), timestamps })
    }

    #[inline]
    fn set_rtt_hint_ms(&mut self, rtt_ms: u16) {
        self.extra = u32::from(rtt_ms);
    }
}

#[cfg(test)]
mod tests {
    use super::Packet;

    #[test]
    fn a_packet_takes_40_bytes() {
        assert_eq!(size_of::<Packet>(), 40);
    }

    #[test]
    fn each_connection_of_a_flow_and_each_flow_has_a_number_of_its_own() {
        let numbers =
            [(1, 0), (1, 1), (1, 2), (2, 0), (2, 1)].map(|(flow, incarnation)| Packet { flow, incarnation, ..Packet::EMPTY }.connection());
        for (at, number) in numbers.iter().enumerate() {
            assert!(!numbers[..at].contains(number), "{numbers:?}");
        }
    }
}
