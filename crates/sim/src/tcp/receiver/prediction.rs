//! Header prediction (jacobson-1990): fast paths for segments that need nothing unusual.
//! One is for the next segment in order, the other for one that directly follows the last above a gap.
//! They change only the speed.

use super::{AckFeedback, AckOptions, AckOptionsPool, AckRules, Packet, Received, Receiver, flag};
use sojourn_spec::tcp::TcpOptions;
use sojourn_units::Time;

impl Receiver {
    /// Determines which fast paths the next segment may take.
    #[inline(always)]
    pub(super) fn predict(&mut self) {
        let policy = self.rules.as_ref().and_then(|rules| rules.policy.as_ref());
        let reports = || policy.is_some_and(|policy| policy.duplicate.is_some());
        let gathers = || policy.is_some_and(|policy| policy.gathers_at(self.rcv_nxt));
        self.predictable = self.predicts && !self.marks.echoes && !self.marks.asks_for_ack && !self.has_gap() && !reports();
        self.gathers = self.predicts && !self.marks.counts() && gathers();
    }

    /// Whether this segment may take the fast path for the next segment in order.
    /// It says nothing else, and nothing waits for reassembly or for an echo.
    #[inline(always)]
    pub(crate) fn is_predicted(&self, segment: &Packet, params: &TcpOptions) -> bool {
        self.predictable
            && is_plain(segment)
            && segment.seq == self.rcv_nxt
            && segment.stamp >= self.ts_recent
            && u32::from(segment.size) > params.header
    }

    /// Whether the receiver acknowledges each segment at once with an unlimited window.
    #[inline(always)]
    pub(crate) fn acknowledges_each_at_once(&self) -> bool {
        self.rules.is_none()
    }

    /// Takes a predicted segment, where each is acknowledged at once.
    /// Returns the bytes that became readable, and the ACK.
    #[inline(always)]
    pub(crate) fn on_segment_fast_path(&mut self, now: Time, segment: &Packet, params: &TcpOptions) -> (u64, Packet) {
        debug_assert_eq!((self.unacked_segments, self.last_ack_sent), (0, self.rcv_nxt), "each segment has been acknowledged");
        let readable = u64::from(segment.size) - u64::from(params.header);
        self.rcv_nxt += readable;
        self.ts_recent = segment.stamp;
        (readable, self.plain_ack(now, segment, params))
    }

    /// Takes a predicted segment under any rules for ACKs.
    #[inline(always)]
    pub(super) fn on_predicted_segment(
        &mut self,
        now: Time,
        segment: &Packet,
        params: &TcpOptions,
        pool: &mut AckOptionsPool,
        ack: &mut Packet,
    ) -> Received {
        let length = u64::from(segment.size) - u64::from(params.header);
        self.rcv_nxt += length;
        self.unacked_segments += 1;
        if segment.seq <= self.last_ack_sent {
            self.ts_recent = segment.stamp;
        }
        let counts = self.marks.counts();
        let changes = counts && self.count_marks(now, segment, params);
        if let Some(rules) = &mut self.rules {
            let waits = rules.on_next_segment(now, self.unacked_segments, self.rcv_nxt - self.last_ack_sent, params);
            if waits && !changes {
                return Received { readable: length, acks: false };
            }
            rules.on_ack_sent(params);
        }
        *ack = self.plain_ack(now, segment, params);
        if counts {
            self.report_marks(now, pool, ack);
        }
        Received { readable: length, acks: true }
    }

    /// Whether this segment directly follows the last one above a gap.
    /// Its ACK will be compressed with others.
    #[inline(always)]
    pub(super) fn is_gathered(&self, now: Time, segment: &Packet, params: &TcpOptions) -> bool {
        let follows = || self.reassembly.as_ref().is_some_and(|reassembly| reassembly.following() == Some(segment.seq));
        let waits = |rules: &AckRules| rules.delayed_ack_due > now && rules.policy.as_ref().is_some_and(|policy| !policy.is_full());
        self.gathers
            && is_plain(segment)
            && segment.stamp >= self.ts_recent
            && u32::from(segment.size) > params.header
            && follows()
            && self.rules.as_deref().is_some_and(waits)
    }

    /// Takes a segment for which [`Receiver::is_gathered`] holds.
    #[inline(always)]
    pub(super) fn on_gathered_segment(&mut self, now: Time, segment: &Packet, params: &TcpOptions) {
        let length = u64::from(segment.size) - u64::from(params.header);
        self.unacked_segments += 1;
        if let Some(reassembly) = &mut self.reassembly {
            reassembly.follow(length);
        }
        if let Some(rules) = &mut self.rules
            && let Some(policy) = &mut rules.policy
        {
            policy.duplicate = None;
            rules.delayed_ack_due = policy.gather(now, params);
        }
    }

    /// Writes the counts of marks into an ACK without SACK blocks.
    #[inline(never)]
    fn report_marks(&mut self, now: Time, pool: &mut AckOptionsPool, ack: &mut Packet) {
        ack.flags |= self.marks.report();
        if let Some(bytes) = self.bytes() {
            let AckFeedback { option, size, .. } = bytes.on_ack(now, false, 0);
            ack.size = size as u16;
            ack.extra = option.map_or(0, |_| pool.store(AckOptions { sack: None, byte_counts: option }));
        }
    }
}

/// Flags that mean nothing in an unmarked segment.
const PLAIN: u16 = flag::ECT | flag::ECT1 | flag::ACE | flag::ACCECN;

/// Whether a segment carries nothing but its bytes.
#[inline(always)]
fn is_plain(segment: &Packet) -> bool {
    segment.flags & !PLAIN == 0
}
