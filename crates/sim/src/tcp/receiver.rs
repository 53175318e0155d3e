//! The receiving endpoint: reassembly, ACKs, delayed ACKs, SACK blocks, ECN echoes, the receive window.

use super::ack_policy::{AckPolicy, Arrival};
use super::mark_feedback::MarkFeedback;
use super::ranges::Ranges;
use super::sack_blocks::{MAX_SACK_BLOCKS, SackBlocks, SackPool};
use crate::packet::{Packet, flag};
use sojourn_cc::algorithms::rledbat;
use sojourn_cc::{ParamError, Start};
use sojourn_spec::tcp::{Ecn, Handshake, Recovery, TcpOptions};
use sojourn_units::{Duration, Rate, Time};

/// What the application had read at a time since which it has been reading without a pause.
#[derive(Clone, Copy, Debug)]
struct ReadProgress {
    bytes: u64,
    since: Time,
}

/// The SACK option of an ACK.
#[derive(Clone, Copy, Debug)]
struct SackOption {
    /// The handle of its blocks.
    handle: u32,
    /// How many blocks it has.
    count: u32,
}

impl SackOption {
    const NONE: SackOption = SackOption { handle: 0, count: 0 };
}

/// What a receiver does with a segment.
#[derive(Clone, Copy, Debug)]
pub struct Received {
    /// Bytes that became readable.
    pub readable: u64,
    /// Whether an ACK is to be sent at once; it may be delayed, or the segment may need none.
    pub acks: bool,
}

/// The receiving endpoint of one connection.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// The next byte expected (rfc9293#3.3.1 RCV.NXT).
    rcv_nxt: u64,
    /// What arrived above `rcv_nxt`.
    out_of_order: Ranges,
    /// A byte of each block that was reported lately, the most recent first.
    recent_blocks: Vec<u64>,
    /// What had arrived above `rcv_nxt` when the window of statistics opened.
    early: Option<Box<Ranges>>,
    /// Whether the next segment may take the short way (header prediction, jacobson-1990), and whether any ever may.
    predictable: bool,
    predicts: bool,
    /// What ACKs tell of marks.
    marks: MarkFeedback,
    /// Segments that arrived since the last ACK.
    unacked_segments: u32,
    /// The timestamp that the next ACK echoes (rfc7323#4.3 TS.Recent).
    ts_recent: Time,
    /// The last acknowledgment number sent (rfc7323#4.3 Last.ACK.sent).
    last_ack_sent: u64,
    /// When a delayed ACK is due.
    delayed_ack_due: Time,
    read: ReadProgress,
    /// One past the last byte that the window has allowed.
    right_edge: u64,
    /// When the window will be so much wider than advertised that an ACK says so.
    window_update_due: Time,
    /// The congestion controller's part at the receiver, where it has one: it limits the window too.
    controller: Option<Box<rledbat::Receiver>>,
    /// When to acknowledge, where that is more than the plain rules.
    policy: Option<Box<AckPolicy>>,
    /// The time of this receiver's pending timer event, or never.
    pub armed: Time,
}

impl Default for Receiver {
    /// A receiver before the first segment, without a controller of its own.
    fn default() -> Self {
        Receiver {
            rcv_nxt: 0,
            out_of_order: Ranges::default(),
            recent_blocks: Vec::new(),
            early: None,
            predictable: false,
            predicts: false,
            marks: MarkFeedback::new(Ecn::Classic),
            unacked_segments: 0,
            ts_recent: Time::ZERO,
            last_ack_sent: 0,
            delayed_ack_due: Time::NEVER,
            read: ReadProgress { bytes: 0, since: Time::ZERO },
            right_edge: 0,
            window_update_due: Time::NEVER,
            controller: None,
            policy: None,
            armed: Time::NEVER,
        }
    }
}

impl Receiver {
    /// The receiver of a new connection. `predicts`: segments that need nothing unusual take a short way, which changes nothing but
    /// the speed.
    ///
    /// # Errors
    /// A parameter of the congestion controller is out of range.
    pub fn new(params: &TcpOptions, predicts: bool) -> Result<Self, ParamError> {
        let start = Start { window: params.initial_window, ssthresh: params.initial_ssthresh };
        let controller = params.control.build_receiver(start, params.mss)?.map(Box::new);
        Ok(Receiver {
            controller,
            predicts,
            marks: MarkFeedback::new(params.agreed_ecn()),
            policy: AckPolicy::new(params),
            ..Receiver::default()
        })
    }

    /// When its timer expires: a delayed ACK or a window update is due.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.delayed_ack_due.min(self.window_update_due)
    }

    /// Bytes of memory beyond its own size.
    pub fn memory(&self) -> usize {
        let controller = self.controller.as_ref().map_or(0, |_| size_of::<rledbat::Receiver>());
        let policy = self.policy.as_ref().map_or(0, |_| size_of::<AckPolicy>());
        self.out_of_order.memory() + self.recent_blocks.capacity() * 8 + controller + policy
    }

    /// The window of statistics opens: remembers what has arrived and can't be read yet.
    #[cold]
    pub fn open_window(&mut self) {
        self.early = (!self.out_of_order.is_empty()).then(|| Box::new(self.out_of_order.clone()));
    }

    /// Bytes that became readable in the window of statistics but had arrived before it.
    pub fn arrived_early(&self) -> u64 {
        self.early.as_ref().map_or(0, |early| early.iter().map(|(from, to)| to.min(self.rcv_nxt).saturating_sub(from)).sum())
    }

    /// Takes a segment that arrives at `now`; writes the ACK to send at once to `ack`, if there is one. A timer that was due before
    /// `now` must have been run.
    #[inline(always)]
    pub fn on_segment(&mut self, now: Time, segment: &Packet, params: &TcpOptions, pool: &mut SackPool, ack: &mut Packet) -> Received {
        let length = u64::from(segment.size).wrapping_sub(u64::from(params.header));
        if self.predictable && segment.flags & !flag::ECT == 0 && segment.seq == self.rcv_nxt && length > 0 {
            return self.on_predicted_segment(now, segment, length, params, ack);
        }
        self.on_any_segment(now, segment, params, pool, ack)
    }

    /// Takes the next segment in order of `length` bytes, which says nothing else, where nothing waits for reassembly or for an echo.
    #[inline(always)]
    fn on_predicted_segment(&mut self, now: Time, segment: &Packet, length: u64, params: &TcpOptions, ack: &mut Packet) -> Received {
        self.rcv_nxt += length;
        self.unacked_segments += 1;
        if segment.seq <= self.last_ack_sent && segment.stamp >= self.ts_recent {
            self.ts_recent = segment.stamp;
        }
        if let Some(delay) = params.delayed_ack
            && self.unacked_segments < params.ack_every
        {
            self.delayed_ack_due = if self.delayed_ack_due == Time::NEVER { now + delay } else { self.delayed_ack_due };
            return Received { readable: length, acks: false };
        }
        self.unacked_segments = 0;
        self.last_ack_sent = self.rcv_nxt;
        self.delayed_ack_due = Time::NEVER;
        *ack = Packet {
            seq: self.rcv_nxt,
            stamp: self.ts_recent,
            peer: now,
            flow: segment.flow,
            extra: 0,
            size: params.header as u16,
            flags: flag::ACK | flag::BACK,
            window: u16::MAX,
            incarnation: segment.incarnation,
        };
        Received { readable: length, acks: true }
    }

    /// Takes a segment of any kind, and finds out whether the next one may be a usual one.
    #[inline(never)]
    fn on_any_segment(&mut self, now: Time, segment: &Packet, params: &TcpOptions, pool: &mut SackPool, ack: &mut Packet) -> Received {
        let received = self.take_segment(now, segment, params, pool, ack);
        let nothing_waits = self.out_of_order.is_empty() && !self.marks.echoes;
        let any_window = params.reader.is_none() && self.controller.is_none();
        let plain_acks = self.policy.is_none() && !self.marks.counts();
        self.predictable = self.predicts && nothing_waits && any_window && plain_acks && is_exact_clock(params);
        received
    }

    #[inline(always)]
    fn take_segment(&mut self, now: Time, segment: &Packet, params: &TcpOptions, pool: &mut SackPool, ack: &mut Packet) -> Received {
        let marked = self.marks.take(segment);
        if segment.has(flag::SYN) {
            self.ts_recent = segment.stamp;
            self.policy.iter_mut().for_each(|policy| policy.on_syn(now));
            *ack = self.ack(now, segment, flag::SYN, params, pool);
            return Received { readable: 0, acks: true };
        }
        if segment.has(flag::ACK) {
            self.policy.iter_mut().for_each(|policy| policy.on_handshake(now));
            return Received { readable: 0, acks: false };
        }
        let end = segment.seq + u64::from(segment.size) - u64::from(params.header);
        let rcv_nxt_before = self.rcv_nxt;
        if let Some(rate) = params.reader
            && self.read_by(now, rate) == rcv_nxt_before
        {
            self.read = ReadProgress { bytes: rcv_nxt_before, since: now };
        }
        let in_order = self.reassemble(segment.seq, end, params);
        if let Some(controller) = &mut self.controller {
            let (sent, gap) = (segment.stamp, !self.out_of_order.is_empty());
            controller.on_segment(&rledbat::Segment { now: clock(now, params), sent, echoed: segment.peer, start: segment.seq, end, gap });
        }
        self.unacked_segments += 1;
        // A segment above a gap is not echoed: an ACK that advances echoes the segment that made it advance, or the earliest
        // that waited for it (rfc7323#4.3).
        if segment.seq <= self.last_ack_sent && segment.stamp >= self.ts_recent {
            self.ts_recent = segment.stamp;
        }
        let readable = self.rcv_nxt - rcv_nxt_before;
        let fin = segment.has(flag::FIN) && params.handshake == Handshake::ThreeWay && self.rcv_nxt >= end;
        if self.policy.is_some() {
            let due = if fin { now } else { self.ask_policy(now, segment, in_order, marked, params) };
            if due > now && !self.marks.asks_for_ack {
                self.delayed_ack_due = due;
                self.plan_window_update(now, params);
                return Received { readable, acks: false };
            }
        } else if let Some(delay) = params.delayed_ack {
            let fills_gap = self.rcv_nxt > end || !self.out_of_order.is_empty();
            let may_wait = !self.marks.asks_for_ack && (in_order || (!params.immediate_ack_of_duplicates && end == rcv_nxt_before));
            if may_wait && !fills_gap && !fin && self.unacked_segments < params.ack_every {
                self.delayed_ack_due = if self.delayed_ack_due == Time::NEVER { now + delay } else { self.delayed_ack_due };
                self.plan_window_update(now, params);
                return Received { readable, acks: false };
            }
        }
        let flags = if fin { flag::FIN } else { 0 };
        *ack = self.ack(now, segment, flags, params, pool);
        Received { readable, acks: true }
    }

    /// When the ACK of a segment with these bytes is due.
    #[inline(never)]
    fn ask_policy(&mut self, now: Time, segment: &Packet, in_order: bool, marked: bool, params: &TcpOptions) -> Time {
        let bytes = (segment.seq, segment.seq + u64::from(segment.size) - u64::from(params.header));
        let has_gap = !self.out_of_order.is_empty();
        let duplicate = !in_order && bytes.1 <= self.rcv_nxt;
        let arrival = Arrival {
            in_order,
            duplicate,
            pushed: segment.has(flag::PSH),
            fills_gap: self.rcv_nxt > bytes.1 && in_order && !has_gap,
            has_gap,
            marked,
            rcv_nxt: self.rcv_nxt,
            acknowledged: self.last_ack_sent,
        };
        let Some(policy) = &mut self.policy else { return now };
        if duplicate && bytes.0 < bytes.1 {
            policy.duplicate = Some(bytes);
        }
        policy.on_segment(now, &arrival, params)
    }

    /// Whether a delayed ACK must go before this segment is taken.
    #[inline]
    pub fn must_ack_before(&self, segment: &Packet) -> bool {
        self.unacked_segments > 0 && self.marks.changes_with(segment)
    }

    /// Takes the bytes from `seq` to `end`; says whether they were the next expected.
    #[inline(always)]
    fn reassemble(&mut self, seq: u64, end: u64, params: &TcpOptions) -> bool {
        let in_order = seq <= self.rcv_nxt && end > self.rcv_nxt;
        if in_order {
            self.rcv_nxt = end;
            while !self.out_of_order.is_empty() {
                let next = self.out_of_order.absorb(self.rcv_nxt);
                if next == self.rcv_nxt {
                    break;
                }
                self.rcv_nxt = next;
            }
        } else if seq > self.rcv_nxt {
            let new = self.out_of_order.insert(seq, end);
            if let Some(policy) = &mut self.policy
                && new == 0
            {
                policy.duplicate = Some((seq, end));
            }
            if params.recovery == Recovery::Sack {
                self.recent_blocks.insert(0, seq);
            }
        }
        in_order
    }

    /// The timer expires at `now`: gives the delayed ACK or the window update.
    pub fn on_timer(&mut self, now: Time, flow: u32, incarnation: u16, params: &TcpOptions, pool: &mut SackPool) -> Option<Packet> {
        if self.deadline() == Time::NEVER {
            return None;
        }
        if let Some(policy) = &mut self.policy
            && self.delayed_ack_due <= now
        {
            policy.on_timer(params);
        }
        let like = Packet { flow, incarnation, ..Packet::EMPTY };
        Some(self.ack(now, &like, 0, params, pool))
    }

    /// Bytes that the application has read by `now`.
    fn read_by(&self, now: Time, rate: Rate) -> u64 {
        (self.read.bytes + rate.bytes_in(now.since(self.read.since))).min(self.rcv_nxt)
    }

    /// The window to advertise at `now` in whole segments; `u16::MAX` is unlimited.
    #[inline]
    fn advertise(&mut self, now: Time, params: &TcpOptions) -> u16 {
        if params.reader.is_none() && self.controller.is_none() { u16::MAX } else { self.limited_window(now, params) }
    }

    /// What is left of the buffer, or less where the controller says so.
    #[inline(never)]
    fn limited_window(&mut self, now: Time, params: &TcpOptions) -> u16 {
        let left = self.buffer_left(now, params);
        self.controller.as_mut().map_or(left, |controller| controller.advertise(self.rcv_nxt).min(u64::from(left)) as u16)
    }

    /// What is left of the buffer at `now` in whole segments.
    fn buffer_left(&mut self, now: Time, params: &TcpOptions) -> u16 {
        let Some(rate) = params.reader else { return u16::MAX };
        let mss = u64::from(params.mss);
        let unread = self.rcv_nxt - self.read_by(now, rate);
        let segments = ((u64::from(params.window) * mss).saturating_sub(unread) / mss).min(u64::from(u16::MAX - 1));
        self.right_edge = self.rcv_nxt + segments * mss;
        self.plan_window_update(now, params);
        segments as u16
    }

    /// Finds when the window will be wider than advertised by two segments or half the buffer, whichever is less, if the
    /// application goes on reading (rfc9293#3.8.6.2.2).
    fn plan_window_update(&mut self, now: Time, params: &TcpOptions) {
        let Some(rate) = params.reader else { return };
        let (mss, window) = (u64::from(params.mss), u64::from(params.window));
        let wider = self.right_edge.saturating_sub(self.rcv_nxt) / mss + window.div_ceil(2).min(2);
        let unread = window.saturating_sub(wider) * mss;
        let readable_from = self.read.bytes + unread;
        self.window_update_due = if wider <= window && self.rcv_nxt > readable_from {
            let bits = u128::from(self.rcv_nxt - readable_from) * 8_000_000_000;
            (self.read.since + Duration::from_nanos(bits.div_ceil(u128::from(rate.as_bps())) as u64)).max(now)
        } else {
            Time::NEVER
        };
    }

    #[inline]
    fn ack(&mut self, now: Time, segment: &Packet, flags: u16, params: &TcpOptions, pool: &mut SackPool) -> Packet {
        self.unacked_segments = 0;
        self.last_ack_sent = self.rcv_nxt;
        self.delayed_ack_due = Time::NEVER;
        let duplicate = self.policy.as_mut().and_then(|policy| policy.on_ack_sent(params));
        let plain = (self.out_of_order.is_empty() && duplicate.is_none()) || params.recovery != Recovery::Sack;
        let sack = if plain { SackOption::NONE } else { self.sack_option(duplicate, pool) };
        let option = if sack.count > 0 { params.sack_option + 8 * sack.count } else { 0 };
        let ece = self.marks.report();
        Packet {
            seq: self.rcv_nxt,
            stamp: self.ts_recent,
            peer: clock(now, params),
            flow: segment.flow,
            extra: sack.handle,
            size: (params.header + option) as u16,
            flags: flag::ACK | flag::BACK | flags | ece,
            window: self.advertise(now, params),
            incarnation: segment.incarnation,
        }
    }

    /// The blocks of what arrived out of order, the most recently reported first, after that of a duplicate (rfc2883#4).
    #[inline(never)]
    fn sack_option(&mut self, duplicate: Option<(u64, u64)>, pool: &mut SackPool) -> SackOption {
        let mut sack = SackBlocks::default();
        let first = duplicate.map_or(0, |block| {
            sack.blocks[0] = block;
            1
        });
        let (out_of_order, mut count) = (&self.out_of_order, first);
        self.recent_blocks.retain(|&byte| {
            let Some(block) = out_of_order.around(byte) else { return false };
            if count == MAX_SACK_BLOCKS || sack.blocks[first..count].contains(&block) {
                return false;
            }
            sack.blocks[count] = block;
            count += 1;
            true
        });
        sack.count = count as u8;
        SackOption { handle: pool.store(sack), count: count as u32 }
    }
}

/// Whether the receiver's clock shows the time of the run.
#[inline]
fn is_exact_clock(params: &TcpOptions) -> bool {
    params.clock_offset == 0 && params.clock_skew_ppm == 0.0
}

/// What the receiver's clock shows at `now`: with an offset and a drift, but never before 0.
#[inline]
fn clock(now: Time, params: &TcpOptions) -> Time {
    if is_exact_clock(params) {
        return now;
    }
    let skew = now.as_nanos() as f64 * params.clock_skew_ppm * 1e-6;
    Time::from_nanos(now.as_nanos().saturating_add_signed(params.clock_offset + skew as i64))
}
