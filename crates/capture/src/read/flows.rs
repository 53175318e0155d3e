//! The TCP flows of a capture: when each started, how much it carried, and its round-trip time without queues.

use super::file::{Damage, Format, Reader};
use super::headers::{self, Kind, Segment};
use crate::wire::flag;
use std::collections::HashMap;
use std::io::Read;
use std::net::SocketAddr;

/// The flows that a capture has at most.
const MOST_FLOWS: usize = 100_000;

/// One direction of a flow.
#[derive(Clone, Copy, Default, Debug)]
pub struct Direction {
    /// Packets, sent again ones too.
    pub packets: u64,
    /// Bytes of payload, each counted once.
    pub bytes: u64,
    /// The largest payload of a packet.
    pub largest: u32,
    /// Whether it has ended with a FIN.
    pub ended: bool,
    /// Packets with a mark.
    pub marked: u64,
    /// Packets with ECT(1), by which queues know a scalable sender (rfc9331#4.1).
    pub scalable: u64,
    /// The sequence number of its first byte, and one past its last so far, counted from there.
    first: Option<u32>,
    end: u64,
    /// A timestamp whose echo is awaited, and when it was first seen.
    awaited: Option<(u32, u64)>,
    last_stamp: Option<u32>,
    /// The least time from a packet to its echo, in ns.
    echo: Option<u64>,
}

impl Direction {
    fn add(&mut self, segment: &Segment) {
        self.packets += 1;
        self.marked += u64::from(segment.ecn == 3);
        self.scalable += u64::from(segment.ecn == 1);
        self.largest = self.largest.max(segment.payload);
        // A SYN takes a number.
        let opens = segment.has(flag::SYN);
        let begin = segment.seq.wrapping_add(u32::from(opens));
        let first = *self.first.get_or_insert(begin);
        // Counted on from the last, because numbers begin again after 2^32.
        let at = self.end as i64 + i64::from(begin.wrapping_sub(first).wrapping_sub(self.end as u32) as i32);
        // What has no data may be beyond the FIN, which takes a number too.
        if segment.payload > 0 {
            self.end = self.end.max((at + i64::from(segment.payload)).max(0) as u64);
        }
        self.bytes = self.end;
        self.ended |= segment.has(flag::FIN);
    }

    /// A packet with this timestamp is seen.
    fn stamps(&mut self, value: u32, at: u64) {
        if self.awaited.is_none() && self.last_stamp != Some(value) {
            self.awaited = Some((value, at));
        }
        self.last_stamp = Some(value);
    }

    /// The other side echoes a timestamp.
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

/// A connection.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Who opened it, as far as the capture shows, and who was asked.
    pub ends: [SocketAddr; 2],
    /// When its first packet came, in ns since the first of the capture; and its last.
    pub start: u64,
    /// See `start`.
    pub last: u64,
    /// From the opener, and to it.
    pub ways: [Direction; 2],
    /// Whether the capture has its SYN.
    pub opened: bool,
    /// From the SYN to the ACK that ends the handshake, in ns.
    pub handshake: Option<u64>,
    /// What the SYN says: the largest segment, SACK, timestamps, ECN.
    pub mss: Option<u16>,
    /// See `mss`.
    pub sack: bool,
    /// See `mss`.
    pub timestamps: bool,
    /// See `mss`.
    pub ecn: bool,
    syn: u32,
    reset: bool,
    sent_syn_again: bool,
}

impl Flow {
    fn new(segment: &Segment, at: u64) -> Self {
        let answers = segment.has(flag::SYN | flag::ACK);
        let opens = segment.has(flag::SYN) && !answers;
        let ends = if answers { [segment.destination, segment.source] } else { [segment.source, segment.destination] };
        Flow {
            ends,
            start: at,
            last: at,
            ways: Default::default(),
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

    /// Which of its directions has more data: 0 from the opener.
    pub fn data(&self) -> usize {
        usize::from(self.ways[1].bytes > self.ways[0].bytes)
    }

    /// Whether its data has ended within the capture.
    pub fn complete(&self) -> bool {
        self.reset || self.ways[self.data()].ended
    }

    /// The round-trip time without queues, in ns, as well as the capture shows it: the least of the handshake and of the sum of the
    /// least times to the echoes from both sides.
    pub fn rtt(&self) -> Option<u64> {
        let echoes = self.ways[0].echo.zip(self.ways[1].echo).map(|(there, back)| there + back);
        self.handshake.into_iter().chain(echoes).min()
    }

    fn add(&mut self, segment: &Segment, at: u64) {
        let back = segment.source != self.ends[0];
        self.last = at;
        self.reset |= segment.flags & 4 != 0;
        if segment.has(flag::SYN) {
            self.mss = self.mss.into_iter().chain(segment.mss).min();
            self.sack = segment.sack_permitted && (self.sack || !back);
            self.timestamps &= segment.timestamps.is_some();
            self.sent_syn_again |= !back && at > self.start;
            self.ecn &= !back || segment.flags & (flag::ECE | flag::CWR | flag::AE) != 0;
        } else if !back && self.opened && !self.sent_syn_again && self.handshake.is_none() {
            self.handshake = Some(at - self.start);
        }
        if let Some((value, echo)) = segment.timestamps {
            let [own, other] = if back { [1, 0] } else { [0, 1] };
            self.ways[own].stamps(value, at);
            if segment.has(flag::ACK) {
                self.ways[other].echoes(echo, at);
            }
        }
        self.ways[usize::from(back)].add(segment);
    }

    /// Whether a SYN belongs to a new connection between the same ports.
    fn is_over(&self, segment: &Segment) -> bool {
        let opens = segment.has(flag::SYN) && !segment.has(flag::ACK);
        opens && (self.reset || self.ways.iter().any(|way| way.ended)) && (segment.seq != self.syn || !self.opened)
    }
}

/// What a capture has.
#[derive(Clone, Debug)]
pub struct Summary {
    /// What the file is.
    pub format: Format,
    /// The time from the first packet to the last, in ns.
    pub span: u64,
    /// Packets in all, and those that are no TCP segments.
    pub packets: u64,
    /// See `packets`.
    pub others: u64,
    /// The rates of its interfaces in bit/s; 0 where it does not say.
    pub speeds: Vec<u64>,
    /// The throughput at each interface in the second that had most, in bit/s; of a shorter capture over its whole time.
    pub busiest: Vec<u64>,
    /// Its flows, in the order of their first packets.
    pub flows: Vec<Flow>,
}

/// Reads a whole capture.
///
/// # Errors
/// A file that is no capture, is damaged, or has times that fall.
pub fn summary(input: impl Read) -> Result<Summary, Damage> {
    let mut reader = Reader::new(input)?;
    let mut found =
        Summary { format: reader.format(), span: 0, packets: 0, others: 0, speeds: Vec::new(), busiest: Vec::new(), flows: Vec::new() };
    let mut known: HashMap<[SocketAddr; 2], usize> = HashMap::new();
    let mut load: Vec<(u64, u64)> = Vec::new();
    let mut first = None;
    while let Some(frame) = reader.next_frame()? {
        let at = frame.at - *first.get_or_insert(frame.at);
        (found.span, found.packets) = (at, found.packets + 1);
        if load.len() <= frame.interface {
            load.resize(frame.interface + 1, (0, 0));
            found.busiest.resize(frame.interface + 1, 0);
        }
        let (step, bytes) = &mut load[frame.interface];
        if *step != at / STEP {
            (*step, *bytes) = (at / STEP, 0);
        }
        *bytes += u64::from(frame.length);
        found.busiest[frame.interface] = found.busiest[frame.interface].max(*bytes);
        let Some(kind) = headers::read(frame.link_type, frame.bytes) else {
            let said = format!("expected Ethernet, raw IP or a link layer of Linux or BSD, got link type {}", frame.link_type);
            return Err(Damage { at: frame.place, said });
        };
        let Kind::Tcp(segment) = kind else {
            found.others += 1;
            continue;
        };
        let mut ends = [segment.source, segment.destination];
        ends.sort_unstable();
        let last = known.get(&ends).copied().filter(|&flow| !found.flows[flow].is_over(&segment));
        let flow = match last {
            Some(flow) => flow,
            None if found.flows.len() >= MOST_FLOWS => {
                return Err(Damage { at: frame.place, said: format!("expected at most {MOST_FLOWS} flows, got another") });
            }
            None => {
                found.flows.push(Flow::new(&segment, at));
                known.insert(ends, found.flows.len() - 1);
                found.flows.len() - 1
            }
        };
        found.flows[flow].add(&segment, at);
    }
    let time = u128::from(found.span.clamp(1_000_000, STEP));
    found.busiest.iter_mut().for_each(|bytes| *bytes = (u128::from(*bytes) * 8_000_000_000 / time) as u64);
    found.speeds = reader.interfaces().iter().map(|interface| interface.speed).collect();
    found.busiest.resize(found.speeds.len(), 0);
    Ok(found)
}

/// A second, in ns.
const STEP: u64 = 1_000_000_000;
