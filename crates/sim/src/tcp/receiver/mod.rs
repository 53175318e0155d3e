//! The receiving endpoint: reassembly, ACKs, SACK blocks, ECN echoes and the receive window.

mod ack_policy;
mod ack_rules;
mod prediction;
mod reassembly;
mod receive_window;
#[cfg(test)]
mod tests;

use crate::packet::{Packet, flag};
use crate::tcp::ack_options::{AckOptions, AckOptionsPool, SackBlocks};
use crate::tcp::clock::{clock, is_exact_clock, millis};
use crate::tcp::ecn::{AckFeedback, ByteCounter, MarkFeedback};
use ack_policy::{AckPolicy, Arrival};
use ack_rules::AckRules;
use reassembly::Reassembly;
use receive_window::ReceiveWindow;
use sojourn_aqm::Packet as _;
use sojourn_cc::ParamError;
use sojourn_cc::algorithms::rledbat;
use sojourn_spec::tcp::{Handshake, Recovery, TcpOptions};
use sojourn_units::{Memory, Time, memory_of};

/// The result of a segment at the receiver.
#[derive(Clone, Copy, Debug)]
pub struct Received {
    /// Bytes that became readable.
    pub readable: u64,
    /// Whether an ACK must be sent at once; otherwise it is delayed or not needed.
    pub acks: bool,
}

/// A segment of data that was accepted.
struct AcceptedSegment<'a> {
    segment: &'a Packet,
    /// One past its last byte.
    end: u64,
    /// The next expected byte when it arrived.
    rcv_nxt_before: u64,
    /// Whether it brought that byte.
    in_order: bool,
    /// Whether its mark must be reported.
    marked: bool,
    /// Whether all data has arrived now.
    fin: bool,
}

/// The receiving endpoint of one connection.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// The next byte expected (rfc9293#3.3.1 RCV.NXT).
    rcv_nxt: u64,
    /// The data above `rcv_nxt`, allocated at the first arrival of such data.
    reassembly: Option<Box<Reassembly>>,
    /// Whether the next segment in order may take the fast path (`prediction.rs`).
    /// `predicts` is whether any segment ever may.
    predictable: bool,
    predicts: bool,
    /// Whether it compresses the ACKs of segments that follow those above a gap.
    gathers: bool,
    /// The feedback of marks in ACKs.
    marks: MarkFeedback,
    /// Segments that arrived since the last ACK.
    unacked_segments: u32,
    /// The timestamp that the next ACK echoes (rfc7323#4.3 TS.Recent).
    ts_recent: Time,
    /// The last acknowledgment number sent (rfc7323#4.3 Last.ACK.sent).
    last_ack_sent: u64,
    /// Present if it delays ACKs or limits its window.
    rules: Option<Box<AckRules>>,
}

impl Default for Receiver {
    /// A receiver before the first segment, without a controller of its own.
    fn default() -> Self {
        Receiver {
            rcv_nxt: 0,
            reassembly: None,
            predictable: false,
            predicts: false,
            gathers: false,
            marks: MarkFeedback::CLASSIC,
            unacked_segments: 0,
            ts_recent: Time::ZERO,
            last_ack_sent: 0,
            rules: None,
        }
    }
}

impl Receiver {
    /// The receiver of a new connection.
    /// With `predicts`, plain segments take a fast path, which changes only the speed.
    ///
    /// # Errors
    /// A parameter of the congestion controller is out of range.
    pub fn new(params: &TcpOptions, predicts: bool) -> Result<Self, ParamError> {
        let (rules, marks) = (AckRules::new(params)?, MarkFeedback::new(params));
        let plain = rules.as_ref().map_or(!marks.counts(), |rules| rules.window.is_none());
        Ok(Receiver { predicts: predicts && plain && is_exact_clock(params), marks, rules, ..Receiver::default() })
    }

    /// Whether a receiver with these options has no timers: it sends only at arrivals.
    pub fn answers_at_once(params: &TcpOptions) -> bool {
        params.delayed_ack.is_none() && params.reader.is_none() && AckPolicy::new(params).is_none()
    }

    /// The time at which its timer expires: a delayed ACK or a window update is due.
    #[inline]
    pub(crate) fn deadline(&self) -> Time {
        self.rules.as_ref().map_or(Time::NEVER, |rules| {
            let due = rules.delayed_ack_due;
            rules.window.as_ref().map_or(due, |window| window.update_due.min(due))
        })
    }

    /// The time of its pending timer event, or never.
    #[inline]
    pub fn armed(&self) -> Time {
        self.rules.as_ref().map_or(Time::NEVER, |rules| rules.armed)
    }

    /// Sets the time of its pending timer event; never if none is pending.
    pub(crate) fn set_armed(&mut self, armed: Time) {
        if let Some(rules) = &mut self.rules {
            rules.armed = armed;
        }
    }

    fn window(&mut self) -> Option<&mut ReceiveWindow> {
        self.rules.as_mut()?.window.as_deref_mut()
    }

    fn policy(&mut self) -> Option<&mut AckPolicy> {
        self.rules.as_mut()?.policy.as_mut()
    }

    fn bytes(&mut self) -> Option<&mut ByteCounter> {
        self.rules.as_mut()?.bytes.as_deref_mut()
    }

    /// Opens the window of statistics: stores which bytes have arrived and can't be read yet.
    #[cold]
    pub fn open_window(&mut self) {
        if let Some(reassembly) = &mut self.reassembly {
            reassembly.open_window();
        }
    }

    /// Bytes that became readable in the window of statistics but had arrived before it.
    pub(crate) fn arrived_early(&self) -> u64 {
        self.reassembly.as_ref().map_or(0, |reassembly| reassembly.arrived_early(self.rcv_nxt))
    }

    /// Handles a segment that arrives at `now`.
    /// If an ACK must be sent at once, it is written to `ack`. A timer that was due before `now` must have been run.
    #[inline(always)]
    pub fn on_segment(
        &mut self,
        now: Time,
        segment: &Packet,
        params: &TcpOptions,
        pool: &mut AckOptionsPool,
        ack: &mut Packet,
    ) -> Received {
        let before = self.rcv_nxt;
        let received = if self.is_predicted(segment, params) {
            self.on_predicted_segment(now, segment, params, pool, ack)
        } else if self.is_gathered(now, segment, params) {
            self.on_gathered_segment(now, segment, params);
            Received { readable: 0, acks: false }
        } else {
            let received = self.take_segment(now, segment, params, pool, ack);
            self.predict();
            received
        };
        if cfg!(debug_assertions) {
            self.check_invariants(before + received.readable);
            let waits = self.rules.as_ref().is_none_or(|rules| rules.policy.is_none()) && self.unacked_segments >= params.ack_every.max(1);
            assert!(!waits, "{} segments wait for an ACK, of which each {} are to have one", self.unacked_segments, params.ack_every);
        }
        received
    }

    /// Checks the invariants after each segment, which moved RCV.NXT to this byte.
    ///
    /// # Panics
    /// If one does not hold.
    fn check_invariants(&self, rcv_nxt: u64) {
        assert_eq!(self.rcv_nxt, rcv_nxt, "what became readable moves RCV.NXT");
        assert!(self.last_ack_sent <= rcv_nxt, "{} acknowledged, {rcv_nxt} expected", self.last_ack_sent);
        assert!(self.unacked_segments > 0 || self.last_ack_sent == rcv_nxt, "{rcv_nxt} expected, {} acknowledged", self.last_ack_sent);
        if let Some(reassembly) = &self.reassembly {
            reassembly.check_invariants(rcv_nxt);
        }
        assert!(!self.predictable || !self.has_gap(), "a gap is no usual case");
    }

    /// Records the mark of an arriving segment; returns whether its ACK reports something new.
    #[inline(always)]
    fn note_mark(&mut self, now: Time, segment: &Packet, params: &TcpOptions) -> bool {
        if self.marks.counts() { self.count_marks(now, segment, params) } else { self.marks.take_first(segment) }
    }

    /// Records the mark of an arriving segment, if each mark is reported.
    #[inline(never)]
    fn count_marks(&mut self, now: Time, segment: &Packet, params: &TcpOptions) -> bool {
        let ecn = segment.ecn();
        if let Some(bytes) = self.bytes() {
            // The header of the handshake's ACK may carry an option that other segments lack.
            let payload = if segment.has(flag::ACK) { 0 } else { u32::from(segment.size) - params.header };
            bytes.on_packet(now, ecn, payload);
            bytes.received |= segment.has(flag::ACCECN);
        }
        self.marks.take(segment, ecn)
    }

    /// Handles a segment of any kind on the slow path.
    #[inline(always)]
    fn take_segment(&mut self, now: Time, segment: &Packet, params: &TcpOptions, pool: &mut AckOptionsPool, ack: &mut Packet) -> Received {
        if segment.has(flag::SYN) {
            self.answer_syn(now, segment, params, pool, ack);
            return Received { readable: 0, acks: true };
        }
        let end = segment.seq + u64::from(segment.size) - u64::from(params.header);
        if self.is_outdated(segment, params) {
            self.answer_outdated((segment.seq, end), params);
            *ack = self.plain_ack(now, segment, params);
            self.complete_ack(now, params, pool, ack);
            return Received { readable: 0, acks: true };
        }
        if let Some(rules) = &mut self.rules {
            rules.forget_duplicate();
        }
        let marked = self.note_mark(now, segment, params);
        if segment.has(flag::ACK) {
            self.policy().into_iter().for_each(|policy| policy.on_handshake(now));
            return Received { readable: 0, acks: false };
        }
        let rcv_nxt_before = self.rcv_nxt;
        let in_order = self.reassemble(segment.seq, end, params);
        self.unacked_segments += 1;
        // A segment above a gap is not echoed: an ACK that advances echoes the segment that made it advance, or the earliest
        // that waited for it (rfc7323#4.3). Nor is one of which all has been acknowledged (rfc7323#5.3 R2, Linux `tcp_sequence`).
        if (segment.seq..=end).contains(&self.last_ack_sent) && segment.stamp >= self.ts_recent {
            self.ts_recent = segment.stamp;
        }
        let readable = self.rcv_nxt - rcv_nxt_before;
        let fin = segment.has(flag::FIN) && params.handshake == Handshake::ThreeWay && self.rcv_nxt >= end;
        if self.rules.is_some() && self.ack_waits(now, &AcceptedSegment { segment, end, rcv_nxt_before, in_order, marked, fin }, params) {
            self.plan_window_update(now, params);
            return Received { readable, acks: false };
        }
        *ack = self.plain_ack(now, segment, params);
        ack.flags |= if fin { flag::FIN } else { 0 };
        if self.predicts && self.rules.is_none() && (params.recovery != Recovery::Sack || !self.has_gap()) {
            ack.flags |= self.marks.report();
        } else {
            self.complete_ack(now, params, pool, ack);
        }
        Received { readable, acks: true }
    }

    /// Whether a segment's timestamp is more than a millisecond older than the newest in order.
    /// The segment may belong to another round of sequence numbers, and is not accepted (rfc7323#5.3 R1, Linux `TCP_PAWS_WINDOW`).
    #[inline]
    fn is_outdated(&self, segment: &Packet, params: &TcpOptions) -> bool {
        segment.stamp < self.ts_recent
            && params.paws
            && params.timestamps
            && !segment.has(flag::ACK)
            && millis(self.ts_recent) > millis(segment.stamp) + 1
    }

    /// Requests an immediate ACK of an outdated segment (Linux `tcp_send_dupack`).
    #[cold]
    fn answer_outdated(&mut self, (from, to): (u64, u64), params: &TcpOptions) {
        if from < to && from < self.rcv_nxt {
            let duplicate = (from, to.min(self.rcv_nxt));
            self.policy().into_iter().for_each(|policy| policy.be_quick(params.quick_acks, params));
            self.rules.iter_mut().for_each(|rules| rules.on_duplicate(duplicate));
        }
    }

    /// A SYN arrives: writes the answer to `ack`.
    #[cold]
    fn answer_syn(&mut self, now: Time, syn: &Packet, params: &TcpOptions, pool: &mut AckOptionsPool, ack: &mut Packet) {
        self.ts_recent = syn.stamp;
        self.policy().into_iter().for_each(|policy| policy.on_syn(now));
        self.bytes().into_iter().for_each(|bytes| bytes.on_syn(syn.ecn()));
        let feedback = self.marks.on_syn(syn);
        if feedback & flag::NO_ECN != 0 {
            self.rules.iter_mut().for_each(|rules| rules.bytes = None);
        }
        *ack = self.plain_ack(now, syn, params);
        ack.flags |= flag::SYN;
        self.complete_ack(now, params, pool, ack);
        let hidden = self.bytes().is_some_and(|bytes| bytes.hides_ecn());
        ack.flags = (ack.flags & !(flag::ECT | flag::ECE | flag::ACE)) | if hidden { 0 } else { feedback };
    }

    /// Whether the ACK of a segment waits; it is sent at once otherwise.
    #[inline(never)]
    fn ack_waits(&mut self, now: Time, accepted: &AcceptedSegment<'_>, params: &TcpOptions) -> bool {
        let &AcceptedSegment { segment, end, rcv_nxt_before, in_order, fin, .. } = accepted;
        let gap = self.has_gap();
        if let Some(window) = self.window() {
            window.on_segment(now, rcv_nxt_before, params);
            if let Some(controller) = &mut window.controller {
                let (now, sent) = (clock(now, params), segment.stamp);
                controller.on_segment(&rledbat::Segment { now, sent, echoed: segment.peer, start: segment.seq, end, gap });
            }
        }
        if self.policy().is_some() {
            if self.policy().is_some_and(|policy| std::mem::take(&mut policy.asks_for_none)) {
                self.marks.asks_for_ack = false;
                return true;
            }
            let due = if fin { now } else { self.ask_policy(now, accepted, params) };
            let waits = due > now && !self.marks.asks_for_ack;
            self.rules.iter_mut().filter(|_| waits).for_each(|rules| rules.delayed_ack_due = due);
            return waits;
        }
        let Some(delay) = params.delayed_ack else { return false };
        let fills_gap = self.rcv_nxt > end || gap;
        let may_wait = !self.marks.asks_for_ack && (in_order || (!params.immediate_ack_of_duplicates && end == rcv_nxt_before));
        let waits = may_wait && !fills_gap && !fin && self.unacked_segments < params.ack_every;
        self.rules.iter_mut().filter(|_| waits).for_each(|rules| rules.delay(now, delay));
        waits
    }

    /// The time at which the ACK of a segment is due.
    fn ask_policy(&mut self, now: Time, accepted: &AcceptedSegment<'_>, params: &TcpOptions) -> Time {
        let &AcceptedSegment { segment, end, in_order, marked, .. } = accepted;
        let bytes = (segment.seq, end);
        let has_gap = self.has_gap();
        let duplicate = !in_order && bytes.1 <= self.rcv_nxt;
        let arrival = Arrival {
            in_order,
            duplicate,
            pushed: segment.has(flag::PSH),
            fills_gap: self.rcv_nxt > bytes.1 && in_order && !has_gap,
            has_gap,
            marked: marked && !self.marks.is_accurate(),
            reduced: segment.has(flag::CWR) && !self.marks.is_accurate(),
            rcv_nxt: self.rcv_nxt,
            acknowledged: self.last_ack_sent,
        };
        if duplicate && bytes.0 < bytes.1 {
            self.rules.iter_mut().for_each(|rules| rules.on_duplicate(bytes));
        }
        let Some(policy) = self.policy() else { return now };
        policy.on_segment(now, &arrival, params)
    }

    /// Whether a waiting ACK must be sent before this segment is accepted.
    #[inline]
    pub(crate) fn must_ack_before(&mut self, segment: &Packet, params: &TcpOptions) -> bool {
        if self.unacked_segments == 0 {
            return false;
        }
        let pushes_out = segment.seq > self.rcv_nxt && self.pushes_block_out(segment, params);
        pushes_out || (self.marks.changes_with(segment) && self.delays())
    }

    /// Whether an ACK is delayed, and not compressed (Linux tcp_dctcp.h, `dctcp_ece_ack_update`).
    fn delays(&self) -> bool {
        self.rules.as_ref().and_then(|rules| rules.policy.as_ref()).is_none_or(AckPolicy::delays)
    }

    /// Whether this segment above a gap would push a SACK block out of the compressed ACK.
    /// The ACK that is sent before it also answers this segment (Linux `tcp_sack_new_ofo_skb`, `tcp_event_ack_sent`).
    #[inline(never)]
    fn pushes_block_out(&mut self, segment: &Packet, params: &TcpOptions) -> bool {
        let end = segment.seq + u64::from(segment.size) - u64::from(params.header);
        let is_outdated = self.is_outdated(segment, params);
        let Some(policy) = self.rules.as_mut().and_then(|rules| rules.policy.as_mut()) else { return false };
        let is_new = |reassembly: &Reassembly| reassembly.pushes_block_out(segment.seq, end);
        policy.asks_for_none = policy.gathers() && !is_outdated && self.reassembly.as_deref().is_some_and(is_new);
        policy.asks_for_none
    }

    /// Accepts the bytes from `seq` to `end`; returns whether they were the next expected.
    #[inline(always)]
    fn reassemble(&mut self, seq: u64, end: u64, params: &TcpOptions) -> bool {
        let in_order = seq <= self.rcv_nxt && end > self.rcv_nxt;
        if in_order {
            self.rcv_nxt = end;
            if let Some(reassembly) = &mut self.reassembly {
                self.rcv_nxt = reassembly.absorb(end);
            }
        } else if seq > self.rcv_nxt {
            let new = self.reassembly.get_or_insert_default().insert(seq, end, params.recovery == Recovery::Sack);
            if new == 0 {
                self.rules.iter_mut().for_each(|rules| rules.on_duplicate((seq, end)));
            }
        }
        in_order
    }

    /// The timer expires at `now`: completes the delayed ACK or the window update.
    /// Returns whether there is one to send.
    #[inline(always)]
    pub(crate) fn on_timer(&mut self, now: Time, params: &TcpOptions, pool: &mut AckOptionsPool, ack: &mut Packet) -> bool {
        if self.deadline() == Time::NEVER {
            return false;
        }
        if let Some(AckRules { policy: Some(policy), delayed_ack_due, .. }) = self.rules.as_deref_mut()
            && *delayed_ack_due <= now
        {
            policy.on_timer(params);
        }
        *ack = self.plain_ack(now, ack, params);
        self.complete_ack(now, params, pool, ack);
        true
    }

    /// Whether something waits above a gap.
    #[inline]
    fn has_gap(&self) -> bool {
        self.reassembly.as_ref().is_some_and(|reassembly| !reassembly.is_empty())
    }

    /// The window to advertise at `now` in whole segments; `u16::MAX` is unlimited.
    #[inline]
    fn advertise(&mut self, now: Time, params: &TcpOptions) -> u16 {
        let rcv_nxt = self.rcv_nxt;
        self.window().map_or(u16::MAX, |window| window.advertise(now, rcv_nxt, params))
    }

    /// Plans the ACK that the window requires, while an ACK waits.
    fn plan_window_update(&mut self, now: Time, params: &TcpOptions) {
        let rcv_nxt = self.rcv_nxt;
        if let Some(window) = self.window() {
            window.plan_update(now, rcv_nxt, params);
        }
    }

    /// The ACK to send at `now`, without options and feedback of marks.
    /// The clock must be exact and the window unlimited. The ACK belongs to the connection of `packet`.
    #[inline(always)]
    fn plain_ack(&mut self, now: Time, packet: &Packet, params: &TcpOptions) -> Packet {
        self.unacked_segments = 0;
        self.last_ack_sent = self.rcv_nxt;
        Packet {
            seq: self.rcv_nxt,
            stamp: self.ts_recent,
            peer: now,
            size: params.header as u16,
            window: u16::MAX,
            ..Packet::ack_of(packet.flow, packet.incarnation, 0)
        }
    }

    /// Completes a plain ACK that is sent at `now`: options, marks, clock and window.
    fn complete_ack(&mut self, now: Time, params: &TcpOptions, pool: &mut AckOptionsPool, ack: &mut Packet) {
        let sacks = params.recovery == Recovery::Sack;
        let has_gap = sacks && self.has_gap();
        let (mut duplicate, mut bytes) = (None, None);
        if let Some(rules) = &mut self.rules {
            (duplicate, bytes) = (rules.on_ack_sent(params), rules.bytes.as_deref_mut());
        }
        // The most recently reported first, after that of a duplicate (rfc2883#4).
        let reports = has_gap || (sacks && duplicate.is_some());
        let sack = if reports { Some(self.reassembly.get_or_insert_default().sack_blocks(duplicate)) } else { None };
        let sack = sack.filter(|sack| sack.count > 0);
        let (size, extra) = match (bytes, sack) {
            (Some(bytes), sack) => {
                let feedback = bytes.on_ack(now, ack.has(flag::SYN), sack.map_or(0, |sack| sack.count.into()));
                with_byte_counts(feedback, sack.copied(), params, pool)
            }
            (None, Some(sack)) => {
                let size = params.header + params.sack_option + 8 * u32::from(sack.count);
                (size, pool.store(AckOptions { sack: Some(*sack), byte_counts: None }))
            }
            (None, None) => (params.header, 0),
        };
        (ack.peer, ack.size, ack.extra) = (clock(now, params), size as u16, extra);
        ack.flags |= self.marks.report();
        ack.window = self.advertise(now, params);
    }
}

impl Memory for Receiver {
    fn memory(&self) -> usize {
        memory_of([&self.reassembly, &self.rules])
    }
}

/// Stores the options of an ACK that may carry `AccECN`'s option.
/// Returns its size and the handle of its options. SACK blocks for which there is no room are left out.
#[inline(never)]
fn with_byte_counts(feedback: AckFeedback, mut sack: Option<SackBlocks>, params: &TcpOptions, pool: &mut AckOptionsPool) -> (u32, u32) {
    sack.iter_mut().for_each(|sack| sack.count = feedback.blocks as u8);
    let size = feedback.size + if feedback.blocks > 0 { params.sack_option + 8 * feedback.blocks } else { 0 };
    let is_none = sack.is_none() && feedback.option.is_none();
    (size, if is_none { 0 } else { pool.store(AckOptions { sack, byte_counts: feedback.option }) })
}
