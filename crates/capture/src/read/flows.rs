//! The TCP flows of a capture: start, amount of data, and round-trip time without queues.

use super::headers::{Packet, Segment};
use super::load::Load;
use crate::wire::flag;
use std::net::SocketAddr;

/// The minimum number of RTT samples for an estimate of the queue.
const ENOUGH: usize = 50;

/// The widest window (rfc7323#2.3).
const WIDEST: i64 = 1 << 30;

/// The flag that resets the connection.
const RST: u16 = 4;

/// One direction of a flow.
#[derive(Clone, Default, Debug)]
pub struct Direction {
    /// Packets including retransmissions.
    pub packets: u64,
    /// Bytes of payload without retransmissions.
    pub bytes: u64,
    /// Bytes of payload including retransmissions.
    pub sent: u64,
    /// The largest payload of a packet.
    pub largest: u32,
    /// Whether it has ended with a FIN.
    pub ended: bool,
    /// Packets with a CE mark.
    pub marked: u64,
    /// Packets with ECT(1), by which queues recognize a scalable sender (rfc9331#4.1).
    pub scalable: u64,
    /// Packets with ECT(0).
    pub capable: u64,
    /// Retransmitted segments.
    pub again: u64,
    /// Its load on the link.
    pub load: Load,
    /// Its delivery according to ACKs.
    pub delivered: Delivered,
    /// The times from its data to ACKs.
    pub acks: Samples,
    /// The sequence number of its first byte, and the number after its last byte.
    /// The second is relative to the first.
    first: Option<u32>,
    end: u64,
    /// A timestamp whose echo is pending, and the time at which it was first seen.
    awaited: Option<(u32, u64)>,
    last_stamp: Option<u32>,
    /// The minimum time from a packet to its echo, in ns.
    echo: Option<u64>,
}

/// The queuing delay that RTT samples show, in ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Waits {
    /// The 95 % quantile. Longer delays may have other causes than a queue.
    pub usual: u64,
    /// The maximum.
    pub longest: u64,
}

/// RTT samples from data to ACKs: one at a time, and none during loss recovery.
#[derive(Clone, Default, Debug)]
pub struct Samples {
    /// The times in ns.
    pub times: Vec<u64>,
    /// The sequence number whose ACK is awaited, and its send time.
    timed: Option<(u32, u64)>,
}

impl Samples {
    fn acknowledged(&mut self, ack: u32, at: u64) {
        if let Some((_, since)) = self.timed.take_if(|(end, _)| ack.wrapping_sub(*end) as i32 >= 0) {
            self.times.push(at - since);
        }
    }

    /// The minimum.
    fn least(&self) -> Option<u64> {
        self.times.iter().copied().min()
    }

    /// The queuing delay: the 95 % quantile and the maximum, each minus the minimum.
    fn waits(&self) -> Option<Waits> {
        let mut times = self.times.clone();
        times.sort_unstable();
        let least = times.first()?;
        Some(Waits { usual: times.get(times.len() * 19 / 20)? - least, longest: times.last()? - least })
    }
}

/// The data that ACKs report as delivered. It measures the rate of a full link.
/// A queue may drop offered packets, so offered data does not.
#[derive(Clone, Default, Debug)]
pub struct Delivered {
    /// Payload in each second.
    pub load: Load,
    /// The payload below the highest ACK.
    acked: u64,
    /// The payload above it that duplicate ACKs report: one segment each.
    ahead: u64,
    last_ack: Option<u32>,
}

impl Direction {
    fn add(&mut self, packet: &Packet, segment: &Segment, at: u64) {
        self.packets += 1;
        self.sent += u64::from(segment.payload);
        self.marked += u64::from(packet.ecn == 3);
        self.capable += u64::from(packet.ecn == 2);
        self.scalable += u64::from(packet.ecn == 1);
        self.largest = self.largest.max(segment.payload);
        // A SYN occupies a sequence number.
        let opens = segment.has(flag::SYN);
        let begin = segment.seq.wrapping_add(u32::from(opens));
        let first = *self.first.get_or_insert(begin);
        // Relative to the last number, because sequence numbers wrap at 2^32.
        let place = self.end as i64 + i64::from(begin.wrapping_sub(first).wrapping_sub(self.end as u32) as i32);
        let end = (place + i64::from(segment.payload)).max(0) as u64;
        if segment.payload > 0 && place > self.end as i64 + WIDEST {
            // Outside any window, so the number is invalid.
        } else if end > self.end && segment.payload > 0 {
            self.acks.timed.get_or_insert((begin.wrapping_add(segment.payload), at));
            self.end = end;
        } else if segment.payload > 1 {
            // Retransmitted data: its ACK is ambiguous (Karn). A single byte is a keep-alive probe.
            self.again += 1;
            self.acks.timed = None;
        }
        // A segment without data may be beyond the FIN, which occupies a number too.
        self.bytes = self.end;
        self.ended |= segment.has(flag::FIN);
    }

    /// Handles an ACK of the other side. `pure` is whether it has no data.
    fn acknowledged(&mut self, ack: u32, pure: bool, at: u64) {
        let Direction { acks, delivered, first, end, largest, .. } = self;
        acks.acknowledged(ack, at);
        let duplicate = delivered.last_ack.replace(ack) == Some(ack) && pure;
        if duplicate {
            // Data is missing, so the next ACK may cover more than the timed segment.
            acks.timed = None;
        }
        // A FIN occupies a number too.
        let (largest, more) = (u64::from(*largest), ack.wrapping_sub(first.unwrap_or(ack)).wrapping_sub(delivered.acked as u32) as i32);
        let more = u64::try_from(more).unwrap_or(0).min(*end - delivered.acked);
        // A hole is filled by one segment. Data reported by duplicate ACKs is not counted again.
        let new = more.saturating_sub(delivered.ahead).max(more.min(largest));
        delivered.acked += more;
        delivered.ahead -= more - new;
        let ahead = if duplicate { largest.min(end.saturating_sub(delivered.acked + delivered.ahead)) } else { 0 };
        delivered.ahead += ahead;
        if new + ahead > 0 {
            delivered.load.add(0, at, new + ahead);
        }
    }

    /// Handles a packet with this timestamp.
    fn stamps(&mut self, value: u32, at: u64) {
        if self.awaited.is_none() && self.last_stamp != Some(value) {
            self.awaited = Some((value, at));
        }
        self.last_stamp = Some(value);
    }

    /// Handles the other side's echo of a timestamp.
    fn echoes(&mut self, echo: u32, at: u64) {
        if let Some((value, since)) = self.awaited
            && echo.wrapping_sub(value) as i32 >= 0
        {
            if echo == value {
                self.echo = Some(self.echo.map_or(at - since, |least| least.min(at - since)));
            }
            self.awaited = None;
        }
    }
}

/// A TCP connection.
#[derive(Clone, Debug)]
pub struct Flow {
    /// The client, if the capture reveals it, and the server.
    pub ends: [SocketAddr; 2],
    /// The time of the first packet, in ns since the first packet of the capture.
    pub start: u64,
    /// The time of the last packet.
    pub last: u64,
    /// The directions: from the opener, and to it.
    pub ways: [Direction; 2],
    /// Whether the opener is on the left side of the link.
    pub left: bool,
    /// The link stations of its ends, unless replies contradict them.
    pub(super) stations: Option<[u64; 2]>,
    /// Whether the capture contains its SYN.
    pub opened: bool,
    /// The time from the SYN to the ACK that ends the handshake, in ns.
    pub handshake: Option<u64>,
    /// The MSS that the SYN announces.
    pub mss: Option<u16>,
    /// Whether the SYN permits SACK.
    pub sack: bool,
    /// Whether the SYN has timestamps.
    pub timestamps: bool,
    /// Whether the SYN requests ECN.
    pub ecn: bool,
    syn: u32,
    reset: bool,
    sent_syn_again: bool,
}

impl Flow {
    pub(super) fn new(packet: &Packet, segment: &Segment, at: u64) -> Self {
        let answers = segment.has(flag::SYN | flag::ACK);
        let opens = segment.has(flag::SYN) && !answers;
        let mut ends = [packet.source, packet.destination];
        if answers {
            ends.reverse();
        }
        Flow {
            ends,
            start: at,
            last: at,
            ways: Default::default(),
            left: true,
            stations: packet.stations_of(answers),
            opened: opens,
            handshake: None,
            mss: None,
            sack: false,
            timestamps: segment.timestamps.is_some(),
            ecn: opens && segment.has(flag::ECE | flag::CWR),
            syn: segment.seq,
            reset: false,
            sent_syn_again: false,
        }
    }

    /// The index of the direction with more data: 0 is from the opener.
    pub fn data(&self) -> usize {
        usize::from(self.ways[1].bytes > self.ways[0].bytes)
    }

    /// Whether its data has ended within the capture.
    pub fn complete(&self) -> bool {
        self.reset || self.ways[self.data()].ended
    }

    /// The base RTT in ns.
    /// It is the minimum of the handshake and of the sum of both sides' minimum echo times. Without these, it is the sum of the minimum
    /// times from data to ACKs.
    pub fn rtt(&self) -> Option<u64> {
        let [there, back] = &self.ways;
        let sum = |one: Option<u64>, other: Option<u64>| one.zip(other).map(|(one, other)| one + other);
        let shown = self.handshake.into_iter().chain(sum(there.echo, back.echo)).min();
        shown.or_else(|| sum(there.acks.least(), back.acks.least()))
    }

    /// The queuing delay of its data; `None` if unknown.
    /// Unless it [`Flow::overflowed`] a queue, the buffer may be larger.
    pub fn waits(&self) -> Option<Waits> {
        let way = &self.ways[self.data()];
        // Near the receiver, ACKs follow immediately, whatever the queue.
        let known = way.acks.times.len() >= ENOUGH && way.acks.least()? >= self.rtt()? / 4;
        way.acks.waits().filter(|_| known)
    }

    /// Whether it sent data again. Without losses no queue was full.
    pub fn overflowed(&self) -> bool {
        self.ways[self.data()].again > 0
    }

    /// Adds a segment that was captured at `at` at an interface.
    pub(super) fn add(&mut self, packet: &Packet, segment: &Segment, at: u64, interface: usize) {
        let back = packet.source != self.ends[0];
        self.stations = packet.stations_of(back).filter(|stations| self.stations == Some(*stations));
        self.last = at;
        self.reset |= segment.flags & RST != 0;
        if segment.has(flag::SYN) {
            self.mss = self.mss.into_iter().chain(segment.mss).min();
            self.sack = segment.sack_permitted && (self.sack || !back);
            self.timestamps &= segment.timestamps.is_some();
            self.sent_syn_again |= !back && at > self.start;
            self.ecn &= !back || segment.flags & (flag::ECE | flag::CWR | flag::AE) != 0;
        } else if !back && self.opened && !self.sent_syn_again && self.handshake.is_none() {
            self.handshake = Some(at - self.start);
        }
        let [own, other] = if back { [1, 0] } else { [0, 1] };
        if let Some((value, echo)) = segment.timestamps {
            self.ways[own].stamps(value, at);
            if segment.has(flag::ACK) {
                self.ways[other].echoes(echo, at);
            }
        }
        if segment.has(flag::ACK) {
            let pure = segment.payload == 0 && segment.flags & (flag::SYN | flag::FIN | RST) == 0;
            self.ways[other].acknowledged(segment.ack, pure, at);
        }
        self.ways[own].add(packet, segment, at);
        self.ways[own].load.add(interface, at, u64::from(packet.length));
    }

    /// Whether a SYN opens a new connection between the same ports.
    pub(super) fn is_over(&self, packet: &Packet, segment: &Segment) -> bool {
        let opens = segment.has(flag::SYN) && !segment.has(flag::ACK);
        let ended = self.reset || self.ways.iter().any(|way| way.ended) || packet.source == self.ends[0];
        opens && ended && (segment.seq != self.syn || !self.opened)
    }
}
