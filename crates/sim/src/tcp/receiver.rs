//! The receiving endpoint: reassembly, ACKs, delayed ACKs, SACK blocks, ECN echo.

use super::params::{Handshake, Recovery, TcpParams};
use super::ranges::Ranges;
use crate::packet::{Packet, flag};
use sojourn_cc::algorithms::rledbat;
use sojourn_cc::{ParamError, Start};
use sojourn_units::{Duration, Rate, Time};

/// Up to three SACK blocks, the newest first (RFC 2018 section 4).
#[derive(Clone, Copy, Default, Debug)]
pub struct SackBlocks {
    blocks: [(u64, u64); 3],
    count: u8,
}

impl SackBlocks {
    /// The blocks.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.blocks[..self.count as usize].iter().copied()
    }
}

/// SACK blocks of ACKs in flight, by handle; handle 0 is "none".
#[derive(Clone, Debug, Default)]
pub struct SackPool {
    blocks: Vec<SackBlocks>,
    free: Vec<u32>,
}

impl SackPool {
    fn keep(&mut self, blocks: SackBlocks) -> u32 {
        match self.free.pop() {
            Some(handle) => {
                self.blocks[handle as usize - 1] = blocks;
                handle
            }
            None => {
                self.blocks.push(blocks);
                self.blocks.len() as u32
            }
        }
    }

    /// Takes the blocks of a handle out; none for handle 0.
    #[inline]
    pub fn take(&mut self, handle: u32) -> Option<SackBlocks> {
        if handle == 0 {
            return None;
        }
        self.free.push(handle);
        Some(self.blocks[handle as usize - 1])
    }
}

/// The receiving endpoint of one connection.
#[derive(Clone, Debug)]
pub struct Receiver {
    next: u64,
    beyond: Ranges,
    /// A byte of each block lately reported, newest first.
    recent: Vec<u64>,
    echo: bool,
    held: u32,
    /// The stamp that the next ACK echoes, and how far the last one reached (RFC 7323 section 4.3: TS.Recent, Last.ACK.sent).
    stamp: Time,
    acked: u64,
    /// When an ACK that is held back must go.
    deadline: Time,
    /// What the application had read at a time since which it has been reading without a pause.
    read: (u64, Time),
    /// One past the last byte that the sender was told it may send.
    edge: u64,
    /// When the window will have opened so far that the sender must hear of it.
    update: Time,
    /// What bounds the sender beside the buffer, where the controller acts at the receiver.
    law: Option<Box<rledbat::Receiver>>,
    /// The time of this receiver's pending timer event.
    pub armed: Option<Time>,
}

impl Default for Receiver {
    /// A receiver before the first segment, without a law of its own.
    fn default() -> Self {
        Receiver {
            next: 0,
            beyond: Ranges::default(),
            recent: Vec::new(),
            echo: false,
            held: 0,
            stamp: Time::ZERO,
            acked: 0,
            deadline: Time::NEVER,
            read: (0, Time::ZERO),
            edge: 0,
            update: Time::NEVER,
            law: None,
            armed: None,
        }
    }
}

impl Receiver {
    /// The receiver of a connection with these habits.
    ///
    /// # Errors
    /// A parameter of the controller is out of range.
    pub fn new(params: &TcpParams) -> Result<Self, ParamError> {
        let start = Start { window: params.initial_window, ssthresh: params.initial_ssthresh };
        let law = params.control.build_receiver(start, params.mss)?.map(Box::new);
        Ok(Receiver { law, ..Receiver::default() })
    }

    /// The next byte expected.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// When its timer is due.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.deadline.min(self.update)
    }

    /// Bytes of memory beyond its own size.
    pub fn memory(&self) -> usize {
        self.beyond.memory() + self.recent.capacity() * 8 + self.law.as_ref().map_or(0, |_| size_of::<rledbat::Receiver>())
    }

    /// Takes a segment that arrives at `now`; gives how many bytes became readable and the ACK to send at once, if any.
    /// A timer due before `now` must have been run.
    #[inline]
    pub fn on_segment(&mut self, now: Time, segment: &Packet, params: &TcpParams, pool: &mut SackPool) -> (u64, Option<Packet>) {
        if segment.has(flag::CWR) {
            self.echo = false;
        }
        if segment.has(flag::CE) {
            self.echo = true;
        }
        if segment.has(flag::SYN) {
            self.stamp = segment.stamp;
            return (0, Some(self.ack(now, segment, flag::SYN, params, pool)));
        }
        if segment.has(flag::ACK) {
            return (0, None);
        }
        let end = segment.seq + u64::from(segment.size) - u64::from(params.header);
        let was = self.next;
        if let Some(rate) = params.reader
            && self.read_by(now, rate) == was
        {
            self.read = (was, now);
        }
        let in_order = segment.seq <= was && end > was;
        if in_order {
            self.next = end;
            while !self.beyond.is_empty() {
                let next = self.beyond.absorb(self.next);
                if next == self.next {
                    break;
                }
                self.next = next;
            }
        } else if segment.seq > was {
            self.beyond.insert(segment.seq, end);
            if params.recovery == Recovery::Sack {
                self.recent.insert(0, segment.seq);
            }
        }
        if let Some(law) = &mut self.law {
            let (sent, gap) = (segment.stamp, !self.beyond.is_empty());
            law.on_segment(&rledbat::Segment { now: clock(now, params), sent, echoed: segment.peer, start: segment.seq, end, gap });
        }
        self.held += 1;
        // What comes beyond a gap is not echoed: an ACK that advances tells of the segment that made it advance, or of the
        // earliest that waited for it.
        if segment.seq <= self.acked && segment.stamp >= self.stamp {
            self.stamp = segment.stamp;
        }
        let readable = self.next - was;
        let fin = segment.has(flag::FIN) && params.handshake == Handshake::ThreeWay && self.next >= end;
        if let Some(delay) = params.delayed_ack {
            let fills = self.next > end || !self.beyond.is_empty();
            // ns-2 takes a second copy of the segment that came last for a new one.
            let waits = in_order || (!params.immediate_ack_of_duplicates && end == was);
            if waits && !fills && !fin && self.held < params.ack_every {
                self.deadline = if self.deadline == Time::NEVER { now + delay } else { self.deadline };
                self.plan_update(now, params);
                return (readable, None);
            }
        }
        let flags = if fin { flag::FIN } else { 0 };
        (readable, Some(self.ack(now, segment, flags, params, pool)))
    }

    /// The timer fires at `now`: an ACK that was delayed or tells of a wider window.
    pub fn on_timer(&mut self, now: Time, flow: u32, incarnation: u16, params: &TcpParams, pool: &mut SackPool) -> Option<Packet> {
        if self.deadline() == Time::NEVER {
            return None;
        }
        let like = Packet { flow, incarnation, ..Packet::EMPTY };
        Some(self.ack(now, &like, 0, params, pool))
    }

    /// What the application has read by `now`.
    fn read_by(&self, now: Time, rate: Rate) -> u64 {
        let (read, since) = self.read;
        (read + rate.bytes_in(now.since(since))).min(self.next)
    }

    /// The window at `now` in whole segments, for an ACK: what is left of the buffer, or less where a law says so.
    #[inline]
    fn advertise(&mut self, now: Time, params: &TcpParams) -> u16 {
        if params.reader.is_none() && self.law.is_none() { u16::MAX } else { self.bounded(now, params) }
    }

    #[inline(never)]
    fn bounded(&mut self, now: Time, params: &TcpParams) -> u16 {
        let left = self.room(now, params);
        self.law.as_mut().map_or(left, |law| law.advertise(self.next).min(u64::from(left)) as u16)
    }

    /// What is left of the buffer at `now` in whole segments.
    fn room(&mut self, now: Time, params: &TcpParams) -> u16 {
        let Some(rate) = params.reader else { return u16::MAX };
        let mss = u64::from(params.mss);
        let unread = self.next - self.read_by(now, rate);
        let segments = ((u64::from(params.window) * mss).saturating_sub(unread) / mss).min(u64::from(u16::MAX - 1));
        self.edge = self.next + segments * mss;
        self.plan_update(now, params);
        segments as u16
    }

    /// Finds when the window will be wider than advertised by two segments or half the buffer, whichever is less
    /// (RFC 9293 section 3.8.6.2.2), if the application goes on reading what has arrived.
    fn plan_update(&mut self, now: Time, params: &TcpParams) {
        let Some(rate) = params.reader else { return };
        let (mss, window) = (u64::from(params.mss), u64::from(params.window));
        let wider = self.edge.saturating_sub(self.next) / mss + window.div_ceil(2).min(2);
        let (read, since) = self.read;
        let unread = window.saturating_sub(wider) * mss;
        self.update = if wider <= window && self.next > read + unread {
            let bits = u128::from(self.next - read - unread) * 8_000_000_000;
            (since + Duration::from_nanos(bits.div_ceil(u128::from(rate.as_bps())) as u64)).max(now)
        } else {
            Time::NEVER
        };
    }

    #[inline]
    fn ack(&mut self, now: Time, segment: &Packet, flags: u16, params: &TcpParams, pool: &mut SackPool) -> Packet {
        self.held = 0;
        self.acked = self.next;
        self.deadline = Time::NEVER;
        let plain = self.beyond.is_empty() || params.recovery != Recovery::Sack;
        let (extra, blocks) = if plain { (0, 0) } else { self.sack(pool) };
        let option = if blocks > 0 { params.sack_option + 8 * blocks } else { 0 };
        let echo = if self.echo { flag::ECE } else { 0 };
        Packet {
            seq: self.next,
            stamp: self.stamp,
            peer: clock(now, params),
            flow: segment.flow,
            extra,
            size: (params.header + option) as u16,
            flags: flag::ACK | flag::BACK | flags | echo,
            window: self.advertise(now, params),
            incarnation: segment.incarnation,
        }
    }

    /// What arrived beyond the gap: a handle of the blocks, and how many.
    fn sack(&mut self, pool: &mut SackPool) -> (u32, u32) {
        let mut blocks = SackBlocks::default();
        let (beyond, mut kept) = (&self.beyond, 0usize);
        self.recent.retain(|&point| {
            let Some(block) = beyond.around(point) else { return false };
            let known = blocks.blocks[..kept.min(3)].contains(&block);
            if known || kept >= 3 {
                return false;
            }
            blocks.blocks[kept] = block;
            kept += 1;
            true
        });
        blocks.count = kept as u8;
        (pool.keep(blocks), kept as u32)
    }
}

/// What the receiver's clock shows at `now`: offset and skewed, but never before 0.
#[inline]
fn clock(now: Time, params: &TcpParams) -> Time {
    if params.clock_offset == 0 && params.clock_skew_ppm == 0.0 {
        return now;
    }
    let skew = now.as_nanos() as f64 * params.clock_skew_ppm * 1e-6;
    Time::from_nanos(now.as_nanos().saturating_add_signed(params.clock_offset + skew as i64))
}
