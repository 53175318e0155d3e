//! When a receiver acknowledges, as in Linux (`tcp_event_data_recv`, `__tcp_ack_snd_check`, `tcp_send_delayed_ack`): quick ACKs, a
//! delay that follows the times between segments, ACKs of segments out of order that are put together, reports of duplicates.

use crate::tcp::wheel;
use sojourn_spec::tcp::TcpOptions;
use sojourn_units::{Duration, Time};

/// The longest delay of an ACK (Linux `TCP_DELACK_MAX`).
const DELACK_MAX: Duration = Duration::from_millis(200);
/// ACKs that are put together at most (Linux `tcp_comp_sack_nr`).
const COMPRESSED_MOST: u32 = 44;
/// Duplicate ACKs that are sent at once (Linux `TCP_FASTRETRANS_THRESH`).
const DUPLICATES_AT_ONCE: u32 = 3;
/// The part of the RTT for which ACKs are put together (Linux `tcp_comp_sack_rtt_percent`, of an RTT that is stored eightfold).
const COMPRESSION_OF_RTT: f64 = 0.33;
/// Segments acknowledged at once after a congestion mark (Linux `tcp_data_ecn_check`).
const QUICK_AFTER_MARK: u32 = 2;

/// What a segment is for the receiver.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// It was the next expected.
    pub in_order: bool,
    /// It brought nothing new.
    pub duplicate: bool,
    /// It filled the last gap.
    pub fills_gap: bool,
    /// Its application gets data at once.
    pub pushed: bool,
    /// There is a gap now.
    pub has_gap: bool,
    /// It is the first with a congestion mark since the sender reacted to the last, or can't carry one as others did; none is where marks are counted.
    pub marked: bool,
    /// Its sender has reduced the window for a mark, perhaps to a segment or two (CWR).
    pub reduced: bool,
    /// One past the last byte received without a gap.
    pub rcv_nxt: u64,
    /// The same when the last ACK was sent.
    pub acknowledged: u64,
}

/// When to acknowledge, and what it depends on.
#[derive(Clone, Debug)]
pub struct AckPolicy {
    /// Segments to acknowledge at once.
    quick: u32,
    /// How long an ACK is delayed (`ato`).
    delay: Duration,
    /// In which tick the last segment arrived in order.
    last_data: Option<u64>,
    /// When the delayed ACK is due.
    delayed_due: Time,
    /// When the ACKs put together are due.
    compressed_due: Time,
    compressed: u32,
    duplicates: u32,
    /// `rcv_nxt` where the duplicates are counted.
    counted_at: u64,
    syn_ack_sent: Time,
    /// The RTT of the handshake.
    rtt: Duration,
    /// The bytes of which a duplicate arrived and is to be reported.
    pub duplicate: Option<(u64, u64)>,
    /// The segment that arrives next asks for no ACK, since one goes just before it.
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

    /// The ACK of a SYN was sent.
    pub fn on_syn(&mut self, now: Time) {
        self.syn_ack_sent = now;
    }

    /// The ACK of that arrived, or data in its place (Linux `tcp_synack_rtt_meas`).
    pub fn on_handshake(&mut self, now: Time) {
        if self.rtt == Duration::ZERO && self.syn_ack_sent > Time::ZERO {
            self.rtt = now.since(self.syn_ack_sent);
        }
    }

    /// The retransmission timeout, which limits the delay.
    fn rto(&self, params: &TcpOptions) -> Duration {
        self.rtt + (self.rtt * 2).max(params.min_rto)
    }

    /// Linux `tcp_event_data_recv`
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
        // No timeout is shorter than the least: most gaps need no other.
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

    /// A segment arrives: gives when its ACK is due, `now` or later.
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

    /// [`AckPolicy::on_segment`] of the next segment in order, where there is no gap and nothing else to tell; `unacknowledged` bytes wait for
    /// an ACK with it.
    #[inline(always)]
    pub fn on_next_segment(&mut self, now: Time, unacknowledged: u64, params: &TcpOptions) -> Time {
        self.on_handshake(now);
        self.see_data(now, params);
        if self.wants(unacknowledged, params) { now } else { self.delay(now, params) }
    }

    /// Whether so many bytes are to be acknowledged at once.
    #[inline]
    fn wants(&self, unacknowledged: u64, params: &TcpOptions) -> bool {
        let enough = unacknowledged > u64::from(params.ack_every - 1) * u64::from(params.mss);
        enough || self.quick > 0 || params.delayed_ack.is_none()
    }

    /// Linux `tcp_ecn_accept_cwr`
    fn acks_reduction(arrival: &Arrival, params: &TcpOptions) -> bool {
        arrival.reduced && params.quick_acks > 0
    }

    /// The end of `__tcp_ack_snd_check`
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

    /// Whether ACKs of segments above a gap are put together now.
    #[inline]
    pub fn gathers(&self) -> bool {
        self.compressed > 0
    }

    /// Whether they are, of a gap at this byte.
    pub fn gathers_at(&self, rcv_nxt: u64) -> bool {
        self.gathers() && self.counted_at == rcv_nxt
    }

    /// Whether no more ACKs are put together.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.compressed >= COMPRESSED_MOST
    }

    /// The ACK of one more segment is put together with others: gives when they are due.
    #[inline]
    pub fn gather(&mut self, now: Time, params: &TcpOptions) -> Time {
        self.compressed += 1;
        if self.compressed_due == Time::NEVER {
            self.compressed_due = now + self.compression(params);
        }
        self.due()
    }

    /// How long ACKs are put together. Most round trips are so long that the part of them that counts is longer than the limit.
    #[inline]
    fn compression(&self, params: &TcpOptions) -> Duration {
        const LONG: u64 = 4;
        let most = params.sack_compression;
        if self.rtt >= most * LONG { most } else { most.min(self.rtt.mul_f64(COMPRESSION_OF_RTT)) }
    }

    /// Linux `tcp_send_delayed_ack`
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

    /// What was due is sent now. A delayed ACK that waited in vain makes the next one wait longer (Linux `tcp_delack_timer_handler`).
    pub fn on_timer(&mut self, params: &TcpOptions) {
        if self.compressed == 0 && params.adaptive_delayed_ack {
            self.delay = (self.delay * 2).min(self.rto(params)).min(DELACK_MAX);
        }
    }

    /// An ACK is sent (Linux `tcp_event_ack_sent`): gives the duplicate that it reports.
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
