//! The ACK policy of a receiver, as in Linux.
//! It has quick ACKs, a delay that adapts to the times between segments, compressed ACKs of segments out of order, and reports of
//! duplicates. Source: Linux `tcp_event_data_recv`, `__tcp_ack_snd_check`, `tcp_send_delayed_ack`.

use crate::tcp::wheel;
use sojourn_spec::tcp::TcpOptions;
use sojourn_units::{Duration, Time};

/// The longest delay of an ACK (Linux `TCP_DELACK_MAX`).
const DELACK_MAX: Duration = Duration::from_millis(200);
/// The largest number of ACKs compressed into one (Linux `tcp_comp_sack_nr`).
const COMPRESSED_MOST: u32 = 44;
/// The number of duplicate ACKs that are sent at once (Linux `TCP_FASTRETRANS_THRESH`).
const DUPLICATES_AT_ONCE: u32 = 3;
/// The time during which ACKs are compressed, as a fraction of the RTT.
/// Source: Linux `tcp_comp_sack_rtt_percent`, of an RTT that is stored eightfold.
const COMPRESSION_OF_RTT: f64 = 0.33;
/// The number of segments acknowledged at once after a congestion mark.
/// Source: Linux `tcp_data_ecn_check`.
const QUICK_AFTER_MARK: u32 = 2;

/// The properties of an arriving segment that the policy uses.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Whether it was the next one expected.
    pub in_order: bool,
    /// Whether it brought no new bytes.
    pub duplicate: bool,
    /// Whether it filled the last gap.
    pub fills_gap: bool,
    /// Whether the application gets its data at once.
    pub pushed: bool,
    /// Whether there is a gap after it.
    pub has_gap: bool,
    /// Whether its mark, or its lack of ECT, asks for quick ACKs.
    /// It is the first with a congestion mark since the sender reacted to the last, or cannot carry a mark although others could.
    /// Always false where each mark is counted.
    pub marked: bool,
    /// Whether its sender reduced the window for a mark, perhaps to a segment or two (CWR).
    pub reduced: bool,
    /// One past the last byte received without a gap.
    pub rcv_nxt: u64,
    /// The value of `rcv_nxt` when the last ACK was sent.
    pub acknowledged: u64,
}

/// The state that decides when to acknowledge.
#[derive(Clone, Debug)]
pub struct AckPolicy {
    /// The number of coming segments to acknowledge at once.
    quick: u32,
    /// The delay of a delayed ACK (Linux `ato`).
    delay: Duration,
    /// The clock tick in which the last segment arrived in order.
    last_data: Option<u64>,
    /// When the delayed ACK is due.
    delayed_due: Time,
    /// When the compressed ACK is due.
    compressed_due: Time,
    compressed: u32,
    duplicates: u32,
    /// The value of `rcv_nxt` at which duplicate ACKs are counted.
    counted_at: u64,
    syn_ack_sent: Time,
    /// The RTT of the handshake.
    rtt: Duration,
    /// The bytes of a duplicate that the next ACK must report.
    pub duplicate: Option<(u64, u64)>,
    /// Whether the next segment to arrive needs no ACK because one is sent just before it.
    pub asks_for_none: bool,
}

impl AckPolicy {
    /// The policy that these options ask for; `None` if the plain rules are enough.
    pub fn new(params: &TcpOptions) -> Option<Self> {
        let plain = params.quick_start.max(params.quick_acks) == 0
            && !params.adaptive_delayed_ack
            && params.sack_compression == Duration::ZERO
            && !params.dsack;
        (!plain).then(|| AckPolicy {
            quick: 0,
            delay: params.delayed_ack.unwrap_or_default(),
            last_data: None,
            delayed_due: Time::NEVER,
            compressed_due: Time::NEVER,
            compressed: 0,
            duplicates: 0,
            counted_at: 0,
            syn_ack_sent: Time::ZERO,
            rtt: Duration::ZERO,
            duplicate: None,
            asks_for_none: false,
        })
    }

    /// The answer to a SYN was sent.
    pub fn on_syn(&mut self, now: Time) {
        self.syn_ack_sent = now;
    }

    /// The ACK of the handshake arrived, or data in its place (Linux `tcp_synack_rtt_meas`).
    pub fn on_handshake(&mut self, now: Time) {
        if self.rtt == Duration::ZERO && self.syn_ack_sent > Time::ZERO {
            self.rtt = now.since(self.syn_ack_sent);
        }
    }

    /// The retransmission timeout, which limits the delay.
    fn rto(&self, params: &TcpOptions) -> Duration {
        self.rtt + (self.rtt * 2).max(params.min_rto)
    }

    /// Adapts the delay to the time between segments (Linux `tcp_event_data_recv`).
    #[inline(always)]
    fn see_data(&mut self, now: Time, params: &TcpOptions) {
        let least = params.delayed_ack.unwrap_or_default();
        let tick = params.tick.as_nanos().max(1);
        let arrived = wheel::whole(now.as_nanos(), tick);
        let Some(last) = self.last_data.replace(arrived) else {
            self.quick = params.quick_start.max(params.quick_acks);
            self.delay = least;
            return;
        };
        let gap = Duration::from_nanos((arrived - last) * tick);
        // No timeout is shorter than `min_rto`, so most gaps need no exact timeout.
        if gap > params.min_rto && gap > self.rto(params) {
            self.quick = self.quick.max(params.quick_acks);
        }
        if params.adaptive_delayed_ack {
            if gap <= least / 2 {
                self.delay = self.delay / 2 + least / 2;
            } else if gap < self.delay {
                self.delay = (self.delay / 2 + gap).min(self.rto(params)).min(DELACK_MAX);
            }
        }
    }

    pub fn be_quick(&mut self, segments: u32, params: &TcpOptions) {
        self.quick = self.quick.max(segments.min(params.quick_acks));
        self.delay = params.delayed_ack.unwrap_or_default();
    }

    /// A segment arrives; returns when its ACK is due, `now` or later.
    pub fn on_segment(&mut self, now: Time, arrival: &Arrival, params: &TcpOptions) -> Time {
        self.on_handshake(now);
        if arrival.in_order {
            self.see_data(now, params);
        }
        if arrival.duplicate {
            self.be_quick(params.quick_acks, params);
        }
        if arrival.marked {
            self.be_quick(QUICK_AFTER_MARK, params);
        }
        let pushed = arrival.pushed && arrival.in_order;
        let wanted = arrival.duplicate || arrival.fills_gap || pushed || Self::acks_reduction(arrival, params);
        if wanted || self.wants(arrival.rcv_nxt - arrival.acknowledged, params) {
            return now;
        }
        if arrival.has_gap { self.compress(now, arrival.rcv_nxt, params) } else { self.delay(now, params) }
    }

    /// [`AckPolicy::on_segment`] for the next segment in order, without a gap.
    /// There is nothing else to report either.
    /// `unacknowledged` is all bytes that wait for an ACK, this segment included.
    #[inline(always)]
    pub fn on_next_segment(&mut self, now: Time, unacknowledged: u64, params: &TcpOptions) -> Time {
        self.on_handshake(now);
        self.see_data(now, params);
        if self.wants(unacknowledged, params) { now } else { self.delay(now, params) }
    }

    /// Whether this many unacknowledged bytes need an ACK at once.
    #[inline]
    fn wants(&self, unacknowledged: u64, params: &TcpOptions) -> bool {
        let enough = unacknowledged > u64::from(params.ack_every - 1) * u64::from(params.mss);
        enough || self.quick > 0 || params.delayed_ack.is_none()
    }

    /// Whether a segment with CWR is acknowledged at once (Linux `tcp_ecn_accept_cwr`).
    fn acks_reduction(arrival: &Arrival, params: &TcpOptions) -> bool {
        arrival.reduced && params.quick_acks > 0
    }

    /// The due time of an ACK above a gap (the end of Linux `__tcp_ack_snd_check`).
    fn compress(&mut self, now: Time, rcv_nxt: u64, params: &TcpOptions) -> Time {
        if params.sack_compression == Duration::ZERO || self.is_full() {
            return now;
        }
        if std::mem::replace(&mut self.counted_at, rcv_nxt) != rcv_nxt {
            self.duplicates = 0;
        }
        if self.duplicates < DUPLICATES_AT_ONCE {
            self.duplicates += 1;
            return now;
        }
        self.gather(now, params)
    }

    /// Whether a delayed ACK waits (Linux `ICSK_ACK_TIMER`).
    pub fn delays(&self) -> bool {
        self.delayed_due != Time::NEVER
    }

    /// Whether ACKs of segments above a gap are being compressed.
    #[inline]
    pub fn gathers(&self) -> bool {
        self.compressed > 0
    }

    /// Whether ACKs are being compressed for a gap at this byte.
    pub fn gathers_at(&self, rcv_nxt: u64) -> bool {
        self.gathers() && self.counted_at == rcv_nxt
    }

    /// Whether no more ACKs can be compressed.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.compressed >= COMPRESSED_MOST
    }

    /// Compresses the ACK of one more segment; returns when the compressed ACK is due.
    #[inline]
    pub fn gather(&mut self, now: Time, params: &TcpOptions) -> Time {
        self.compressed += 1;
        if self.compressed_due == Time::NEVER {
            self.compressed_due = now + self.compression(params);
        }
        self.due()
    }

    /// How long ACKs are compressed.
    /// A long RTT needs no product: its fraction is larger than the limit.
    #[inline]
    fn compression(&self, params: &TcpOptions) -> Duration {
        const LONG: u64 = 4;
        let most = params.sack_compression;
        if self.rtt >= most * LONG { most } else { most.min(self.rtt.mul_f64(COMPRESSION_OF_RTT)) }
    }

    /// The due time of a delayed ACK (Linux `tcp_send_delayed_ack`).
    #[inline]
    fn delay(&mut self, now: Time, params: &TcpOptions) -> Time {
        let least = params.delayed_ack.unwrap_or_default();
        let delay = if self.delay > least { self.delay.min(self.rtt.max(least)) } else { self.delay };
        let delay = delay.min(DELACK_MAX.max(least));
        if self.delayed_due != Time::NEVER && self.delayed_due <= now + delay / 4 {
            return now;
        }
        self.delayed_due = self.delayed_due.min(wheel::due(now, delay, params));
        self.due()
    }

    #[inline]
    fn due(&self) -> Time {
        self.delayed_due.min(self.compressed_due)
    }

    /// The timer expired and its ACK is sent.
    /// A delayed ACK that waited in vain makes the next one wait longer (Linux `tcp_delack_timer_handler`).
    pub fn on_timer(&mut self, params: &TcpOptions) {
        if self.compressed == 0 && params.adaptive_delayed_ack {
            self.delay = (self.delay * 2).min(self.rto(params)).min(DELACK_MAX);
        }
    }

    /// An ACK is sent; returns the duplicate that it reports (Linux `tcp_event_ack_sent`).
    #[inline]
    pub fn on_ack_sent(&mut self, params: &TcpOptions) -> Option<(u64, u64)> {
        if self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.delay = params.delayed_ack.unwrap_or_default();
            }
        }
        (self.delayed_due, self.compressed_due, self.compressed) = (Time::NEVER, Time::NEVER, 0);
        self.duplicate.take().filter(|_| params.dsack)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first_segment(params: &TcpOptions, reduced: bool) -> Arrival {
        Arrival {
            in_order: true,
            duplicate: false,
            fills_gap: false,
            pushed: false,
            has_gap: false,
            marked: false,
            reduced,
            rcv_nxt: u64::from(params.mss),
            acknowledged: 0,
        }
    }

    #[test]
    fn a_segment_of_a_reduced_window_is_acknowledged_immediate_by_a_receiver_with_quick_acks() {
        let delayed_ack = Some(Duration::from_millis(40));
        for (quick_acks, reduced, immediate) in [(16, true, true), (16, false, false), (0, true, false)] {
            let params = TcpOptions { delayed_ack, quick_acks, adaptive_delayed_ack: true, ..TcpOptions::default() };
            let mut policy = AckPolicy::new(&params).unwrap();
            policy.last_data = Some(0);
            let next = first_segment(&params, reduced);
            let now = Time::from_secs_f64(0.001);
            assert_eq!(policy.on_segment(now, &next, &params) == now, immediate, "{quick_acks} {reduced}");
        }
    }

    #[test]
    fn data_in_the_place_of_a_lost_handshake_gives_the_round_trip() {
        let params = TcpOptions { delayed_ack: Some(Duration::from_millis(40)), quick_acks: 16, ..TcpOptions::default() };
        let mut policy = AckPolicy::new(&params).unwrap();
        let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
        policy.on_syn(at(10));
        let data = first_segment(&params, false);
        policy.on_segment(at(110), &data, &params);
        policy.on_handshake(at(150));
        assert_eq!(policy.rtt, Duration::from_millis(100));
    }
}
