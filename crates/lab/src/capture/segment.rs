//! Converts packets of the simulator to TCP headers.
//!
//! The simulator counts payload only. Here SYN and FIN occupy a sequence number. Data flows in one direction, so the receiver's sequence
//! numbers count only its SYN and FIN.

use sojourn_aqm::{Ecn, Packet as _};
use sojourn_capture::wire::{AccEcn, Headers, Ip, Tcp, flag as bit, tcp};
use sojourn_sim::tcp::{AckOptions, ByteCounts, Handshake, Recovery, SackBlocks, TcpOptions};
use sojourn_sim::{Packet, flag};
use sojourn_units::Time;

/// The initial sequence number.
const INITIAL: u32 = 0;
const MOST_SHIFT: u8 = 14;

/// The ECN codepoint of a packet.
pub fn ecn(packet: &Packet) -> u8 {
    match packet.ecn() {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    }
}

/// The IP identification of a packet.
/// It is equal at all capture points, and different for a retransmission.
pub fn id(packet: &Packet) -> u16 {
    let place = packet.seq ^ packet.stamp.as_nanos().rotate_left(20) ^ packet.peer.as_nanos().rotate_left(40);
    (place.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as u16
}

/// The state of a connection that later headers depend on.
#[derive(Clone, Copy, Debug)]
pub struct Connection {
    /// The number of the connection within its flow.
    pub incarnation: u16,
    /// The end of the data, known after a FIN.
    end: Option<u64>,
    /// Whether the receiver has sent a FIN.
    receiver_closed: bool,
}

impl Connection {
    /// A connection with this number within its flow, before its first packet.
    pub fn new(incarnation: u16) -> Self {
        Connection { incarnation, end: None, receiver_closed: false }
    }

    /// The headers of a segment.
    pub fn segment(&mut self, ip: &Ip, options: &TcpOptions, packet: &Packet, carried: &AckOptions) -> Headers {
        let back = packet.has(flag::BACK);
        let payload =
            if packet.has(flag::ACK) || packet.has(flag::SYN) { 0 } else { u32::from(packet.size).saturating_sub(options.header) };
        let mut blocks = [(0, 0); 4];
        let mut count = 0;
        for (place, block) in blocks.iter_mut().zip(carried.sack.iter().flat_map(SackBlocks::iter)) {
            *place = (number(block.0), number(block.1));
            count += 1;
        }
        if !back && packet.has(flag::FIN) {
            self.end = Some(packet.seq + u64::from(payload));
        }
        self.receiver_closed |= back && packet.has(flag::FIN);
        let (seq, ack) = if back { self.numbers_back(packet) } else { self.numbers_forward(packet) };
        let opens = packet.has(flag::SYN);
        // A sender of data receives none, and advertises that.
        let counts = if packet.has(flag::ACCECN) { Some(ByteCounts::START) } else { carried.byte_counts };
        let fields: Vec<u32> = counts.iter().flat_map(ByteCounts::fields).collect();
        let header = Tcp {
            seq,
            ack,
            flags: flags(packet, options),
            window: window(packet, options),
            mss: opens.then(|| most_payload(options)),
            window_scale: opens.then(|| shift(options)),
            sack_permitted: opens && options.recovery == Recovery::Sack,
            timestamps: options.timestamps.then(|| stamps(packet)),
            accecn: counts.map(|counts| AccEcn { kind: counts.kind(), fields: &fields }),
            sack: &blocks[..count],
        };
        tcp(ip, &header, payload)
    }

    /// Sequence and acknowledgment numbers of the sender's packets.
    fn numbers_forward(&self, packet: &Packet) -> (u32, u32) {
        if packet.has(flag::SYN) {
            return (INITIAL, 0);
        }
        // A pure ACK ends the handshake, or acknowledges the other side's FIN after its own.
        let after_end = packet.has(flag::ACK) && self.end == Some(packet.seq) && packet.seq > 0;
        (number(packet.seq).wrapping_add(u32::from(after_end)), INITIAL.wrapping_add(1 + u32::from(self.receiver_closed)))
    }

    /// Sequence and acknowledgment numbers of the receiver's packets.
    fn numbers_back(&self, packet: &Packet) -> (u32, u32) {
        if packet.has(flag::SYN) {
            return (INITIAL, number(0));
        }
        let has_end = self.end == Some(packet.seq) || packet.has(flag::FIN);
        // A retransmitted FIN has the number of the first one.
        let after_fin = self.receiver_closed && !packet.has(flag::FIN);
        (INITIAL.wrapping_add(1 + u32::from(after_fin)), number(packet.seq).wrapping_add(u32::from(has_end)))
    }
}

/// The sequence number of a byte of data.
fn number(byte: u64) -> u32 {
    (byte as u32).wrapping_add(INITIAL).wrapping_add(1)
}

fn flags(packet: &Packet, options: &TcpOptions) -> u16 {
    let back = packet.has(flag::BACK);
    let agreed = options.agreed_ecn();
    let (syn, fin, psh) = (packet.has(flag::SYN), packet.has(flag::FIN), packet.has(flag::PSH));
    let ecn = match (syn, back) {
        _ if syn && packet.has(flag::NO_ECN) => 0,
        (true, false) if options.ecn.is_accurate() => bit::AE | bit::CWR | bit::ECE,
        (true, false) if options.ecn.is_on() => bit::CWR | bit::ECE,
        (true, false) => 0,
        _ if agreed.is_accurate() => ace(packet.flags >> 13),
        (true, true) if agreed.is_on() => bit::ECE,
        (true, true) => 0,
        (false, _) => (u16::from(packet.has(flag::ECE)) * bit::ECE) | (u16::from(packet.has(flag::CWR)) * bit::CWR),
    };
    let given = [(syn, bit::SYN), (fin, bit::FIN), (psh, bit::PSH), (!syn || back, bit::ACK)];
    given.iter().filter(|(is_set, _)| *is_set).fold(ecn, |all, (_, bit)| all | bit)
}

/// The three bits of the ACE field (rfc9768#3.2).
fn ace(count: u16) -> u16 {
    [(4, bit::AE), (2, bit::CWR), (1, bit::ECE)].iter().filter(|(value, _)| count & value != 0).map(|(_, bit)| bit).sum()
}

/// The receive window in bytes.
fn most_window(options: &TcpOptions) -> u64 {
    (u64::from(options.window) * u64::from(options.mss)).min(u64::from(u16::MAX) << MOST_SHIFT)
}

/// The window scale: the smallest that can represent the whole window (rfc7323#2.3).
fn shift(options: &TcpOptions) -> u8 {
    (0..MOST_SHIFT).find(|&shift| most_window(options) >> shift <= u64::from(u16::MAX)).unwrap_or(MOST_SHIFT)
}

/// The value of the MSS option (rfc6691#2).
/// It is a full segment's payload plus the options that every segment carries.
fn most_payload(options: &TcpOptions) -> u16 {
    let stamps = if options.timestamps { TcpOptions::TIMESTAMPS } else { 0 };
    (options.mss + stamps + options.accecn_room()).min(u32::from(u16::MAX)) as u16
}

fn window(packet: &Packet, options: &TcpOptions) -> u16 {
    let limited = packet.has(flag::BACK) && packet.window < u16::MAX;
    let bytes = if limited { u64::from(packet.window) * u64::from(options.mss) } else { most_window(options) };
    // The window of a SYN is not scaled, and without a handshake no scale is negotiated.
    let shift = if packet.has(flag::SYN) || options.handshake == Handshake::None { 0 } else { shift(options) };
    (bytes.min(most_window(options)) >> shift).min(u64::from(u16::MAX)) as u16
}

/// A time as a timestamp value in ms; never 0, which means no timestamp.
fn stamp(time: Time) -> u32 {
    (time.as_nanos() / 1_000_000) as u32 + 1
}

/// Timestamp value and echo reply of a packet.
fn stamps(packet: &Packet) -> (u32, u32) {
    match packet.has(flag::BACK) {
        true => (stamp(packet.peer), stamp(packet.stamp)),
        false => (stamp(packet.stamp), if packet.peer > Time::ZERO { stamp(packet.peer) } else { 0 }),
    }
}
