//! Loss detection by time (rfc8985#6).
//! A segment is lost if a later one has arrived, and enough time has passed.

use crate::tcp::outstanding::{Outstanding, Segment, tag};
use sojourn_units::{Duration, Time};

/// The number of recoveries for which a wider reordering window is kept (rfc8985#6.2 step 4).
const PERSISTENCE: u32 = 16;
/// The widest reordering window in steps of a quarter of the smallest RTT.
/// Source: Linux `tcp_rack_update_reo_wnd`.
const MOST_STEPS: u32 = 255;
/// The largest reordering degree in segments (Linux `tcp_max_reordering`).
const MAX_REORDERING: u32 = 300;

/// The context of an arriving segment.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// The time of the ACK that reports it.
    pub now: Time,
    /// The smallest RTT so far.
    pub min_rtt: Duration,
    /// The smoothed RTT.
    pub srtt: Duration,
}

/// The state of RACK, with the names of rfc8985#5.2.
#[derive(Clone, Debug)]
pub struct Rack {
    /// The departure time of the latest sent segment that has arrived.
    xmit_ts: Time,
    /// One past its last byte.
    end_seq: u64,
    /// Its RTT.
    rtt: Duration,
    /// Whether a segment arrived since the last search for losses.
    pub advanced: bool,
    reo_wnd_mult: u32,
    reo_wnd_persist: u32,
    /// A duplicate was reported, which widens the window.
    dsack_seen: bool,
    /// The time at which the window was widened last.
    widened_at: Time,
    /// Whether segments have arrived out of order.
    pub reordering_seen: bool,
    /// The reordering degree in segments, initially the threshold of duplicate ACKs.
    pub reordering: u32,
}

impl Rack {
    /// The state before the first segment.
    pub fn new(dupack_threshold: u32) -> Self {
        Rack {
            xmit_ts: Time::ZERO,
            end_seq: 0,
            rtt: Duration::ZERO,
            advanced: false,
            reo_wnd_mult: 1,
            reo_wnd_persist: 0,
            dsack_seen: false,
            widened_at: Time::ZERO,
            reordering_seen: false,
            reordering: dupack_threshold,
        }
    }

    /// Processes a segment that arrived (rfc8985#6.2 steps 1 and 2).
    /// A retransmission that was acknowledged too early is ignored.
    #[inline]
    pub fn advance(&mut self, segment: &Segment, arrival: Arrival) {
        let rtt = arrival.now.since(segment.sent);
        if rtt < arrival.min_rtt && segment.has(tag::RETRANSMITTED | tag::EVER_RETRANSMITTED) {
            return;
        }
        self.advanced = true;
        self.rtt = rtt;
        // Of segments that left at the same time the one with the higher sequence number is later (rfc8985#6.2 RACK_sent_after).
        if (segment.sent, segment.end()) > (self.xmit_ts, self.end_seq) {
            (self.xmit_ts, self.end_seq) = (segment.sent, segment.end());
        }
    }

    /// The reordering window (rfc8985#6.2 step 4).
    /// Until segments have arrived out of order, it is zero in recovery or if the number of duplicate ACKs reaches the threshold.
    #[inline]
    fn reo_wnd(&self, in_recovery: bool, sacked_out: u32, min_rtt: Duration, srtt: Duration) -> Duration {
        if !self.reordering_seen && (in_recovery || sacked_out >= self.reordering) {
            return Duration::ZERO;
        }
        (min_rtt / 4 * u64::from(self.reo_wnd_mult)).min(srtt)
    }

    /// Marks the segments that are lost by now, and passes each to `report`.
    /// Returns their number, and the time until others may be lost (rfc8985#6.2 step 5).
    pub fn detect(
        &mut self,
        sent: &mut Outstanding,
        in_recovery: bool,
        arrival: Arrival,
        mut report: impl FnMut(&mut Segment),
    ) -> (u32, Option<Duration>) {
        self.advanced = false;
        let window = self.rtt + self.reo_wnd(in_recovery, sent.sacked_out, arrival.min_rtt, arrival.srtt);
        let mut timeout = None;
        let lost = sent.mark_lost_by_time(|segment| {
            if (self.xmit_ts, self.end_seq) <= (segment.sent, segment.end()) {
                return None;
            }
            let due = segment.sent + window;
            if due > arrival.now {
                timeout = timeout.max(Some(due.since(arrival.now)));
            } else {
                report(segment);
            }
            Some(due <= arrival.now)
        });
        (lost, timeout)
    }

    /// Whether a segment left so long ago that its ACK should have arrived.
    pub fn is_late(&self, segment: &Segment, now: Time) -> bool {
        segment.sent + self.rtt <= now
    }

    /// Handles a never retransmitted segment that arrived below others.
    /// `from` is its first byte, `highest` one past the highest byte that arrived.
    pub fn on_reordering(&mut self, from: u64, highest: u64, mss: u32) {
        if from < highest {
            let distance = (highest - from).div_ceil(u64::from(mss)).min(u64::from(MAX_REORDERING)) as u32;
            self.reordering = self.reordering.max(distance);
            self.reordering_seen = true;
        }
    }

    /// A duplicate is reported that widens the reordering window (rfc8985#6.2 step 4).
    pub fn on_duplicate(&mut self) {
        self.dsack_seen = true;
    }

    /// Widens the window for a duplicate, when segments arrive for the first time.
    /// It does so only if data that was sent after the last widening was acknowledged (Linux `tcp_rack_update_reo_wnd`).
    #[inline]
    pub fn update_reo_wnd(&mut self, now: Time) {
        if std::mem::take(&mut self.dsack_seen) && self.xmit_ts >= self.widened_at {
            self.widened_at = now;
            self.reo_wnd_mult = (self.reo_wnd_mult + 1).min(MOST_STEPS);
            self.reo_wnd_persist = PERSISTENCE;
        } else if self.reo_wnd_persist == 0 {
            self.reo_wnd_mult = 1;
        }
    }

    /// Keeps the window for one more recovery, because the last one was unnecessary.
    pub fn keep_window(&mut self) {
        self.reo_wnd_persist = (self.reo_wnd_persist + 1).min(PERSISTENCE);
    }

    /// Counts the end of a recovery that was necessary.
    pub fn on_recovery_end(&mut self) {
        self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::outstanding::Sending;

    #[test]
    fn the_window_is_widened_for_duplicates_once_in_a_round_trip_also_above_holes() {
        let mut rack = Rack::new(3);
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let mut deliver = |sent, now, duplicate: bool| {
            let arrival = Arrival { now: at(now), min_rtt: Duration::ZERO, srtt: Duration::ZERO };
            rack.advance(&Segment::new(0, 1_000, at(sent), Sending::default()), arrival);
            if duplicate {
                rack.on_duplicate();
            }
            rack.update_reo_wnd(at(now));
            rack.reo_wnd_mult
        };
        assert_eq!(deliver(0, 50, true), 2);
        // The first segment was sent before the window was widened, this one after that.
        assert_eq!(deliver(20, 70, true), 2);
        assert_eq!(deliver(60, 110, false), 2);
        assert_eq!(deliver(61, 111, true), 3);
    }
    /// A quarter of the smallest RTT a step, at most the smoothed RTT (rfc8985#6.2 step 4).
    #[test]
    fn the_window_is_steps_of_a_quarter_of_the_least_rtt_and_at_most_the_smoothed_one() {
        let ms = Duration::from_millis;
        let window = |mult, srtt| Rack { reo_wnd_mult: mult, ..Rack::new(3) }.reo_wnd(false, 0, ms(40), ms(srtt));
        assert_eq!([1, 3, 5, 6, 20].map(|mult| window(mult, 50)), [10, 30, 50, 50, 50].map(ms));
    }

    /// After 16 recoveries without another duplicate the window is a single step again.
    /// See rfc8985#6.2 step 4. Linux has at most 255 steps.
    #[test]
    fn the_wide_window_is_kept_for_sixteen_recoveries_and_has_at_most_255_steps() {
        let mut rack = Rack::new(3);
        for ms in 0..300 {
            let now = Time::ZERO + Duration::from_millis(ms);
            rack.xmit_ts = now;
            rack.on_duplicate();
            rack.update_reo_wnd(now);
        }
        assert_eq!((rack.reo_wnd_mult, rack.reo_wnd_persist), (MOST_STEPS, PERSISTENCE));
        assert_eq!((MOST_STEPS, PERSISTENCE), (255, 16));
        rack.reo_wnd_persist = 1;
        rack.update_reo_wnd(Time::ZERO);
        assert_eq!(rack.reo_wnd_mult, MOST_STEPS);
        rack.reo_wnd_persist = 0;
        rack.update_reo_wnd(Time::ZERO);
        assert_eq!(rack.reo_wnd_mult, 1);
    }

    /// An ACK of a retransmission within less than the smallest RTT is of the first transmission.
    /// See rfc8985#6.2 step 2.
    #[test]
    fn a_segment_sent_again_that_comes_back_too_early_moves_nothing() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let arrived = |again: bool, now| {
            let mut rack = Rack::new(3);
            let mut segment = Segment::new(0, 1_000, at(100), Sending::default());
            if again {
                segment.set(tag::RETRANSMITTED | tag::EVER_RETRANSMITTED);
            }
            rack.advance(&segment, Arrival { now: at(now), min_rtt: Duration::from_millis(50), srtt: Duration::from_millis(60) });
            (rack.rtt, rack.xmit_ts)
        };
        assert_eq!(arrived(true, 149), (Duration::ZERO, Time::ZERO));
        assert_eq!(arrived(true, 150), (Duration::from_millis(50), at(100)));
        assert_eq!(arrived(false, 149), (Duration::from_millis(49), at(100)));
    }
}
