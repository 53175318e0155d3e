//! What the packets of a connection tell of its ends: what the receiver has read, and round-trip times.

use sojourn_units::{Duration, Time};
use std::collections::VecDeque;

/// The most unanswered packets of which the times are kept.
const MOST_PENDING: usize = 1 << 16;

/// Whether sequence number `a` comes before `b` (rfc9293#3.4).
fn is_before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

/// A connection of TCP or a series of echo requests.
#[derive(Clone, Default, Debug)]
pub(crate) struct Tracker {
    /// The byte after the highest one sent; `None` before the first.
    sent: Option<u32>,
    /// The byte up to which its receiver has acknowledged.
    acknowledged: u32,
    /// The ends of segments, or numbers of requests, that wait for an answer.
    pending: VecDeque<(u32, Time)>,
}

impl Tracker {
    /// A segment with data is sent. Returns whether it is a retransmission.
    pub fn on_data(&mut self, now: Time, seq: u32, payload: u16) -> bool {
        let end = seq.wrapping_add(u32::from(payload));
        let sent = *self.sent.get_or_insert_with(|| {
            self.acknowledged = seq;
            seq
        });
        if is_before(seq, sent) {
            // The ACK of any of these bytes may be for either transmission (Karn's rule, rfc6298#3).
            self.pending.clear();
            return true;
        }
        self.sent = Some(end);
        self.wait(end, now);
        false
    }

    /// Its receiver sends an ACK. Returns the bytes that the application can read more.
    pub fn on_ack_sent(&mut self, number: u32) -> u64 {
        let Some(sent) = self.sent else { return 0 };
        // The end of the connection takes a number too.
        let number = if is_before(sent, number) { sent } else { number };
        if !is_before(self.acknowledged, number) {
            return 0;
        }
        let more = number.wrapping_sub(self.acknowledged);
        self.acknowledged = number;
        u64::from(more)
    }

    /// An ACK reaches the sender. Returns the time since the newest acknowledged segment was sent.
    pub fn on_ack_received(&mut self, now: Time, number: u32) -> Option<Duration> {
        let mut newest = None;
        while let Some(&(end, at)) = self.pending.front()
            && !is_before(number, end)
        {
            newest = Some(at);
            self.pending.pop_front();
        }
        newest.map(|at| now.since(at))
    }

    /// An echo request is sent.
    pub fn on_request(&mut self, now: Time, number: u16) {
        self.wait(u32::from(number), now);
    }

    /// A reply reaches the sender. Returns the time since its request.
    pub fn on_reply(&mut self, now: Time, number: u16) -> Option<Duration> {
        let place = self.pending.iter().position(|&(request, _)| request == u32::from(number))?;
        let (_, at) = self.pending.drain(..=place).next_back()?;
        Some(now.since(at))
    }

    fn wait(&mut self, number: u32, now: Time) {
        if self.pending.len() == MOST_PENDING {
            self.pending.pop_front();
        }
        self.pending.push_back((number, now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn an_ack_times_the_newest_segment_across_the_end_of_the_numbers() {
        let mut tracker = Tracker::default();
        let first = u32::MAX - 99;
        assert!(!tracker.on_data(at(0), first, 100) && !tracker.on_data(at(1), 0, 100));
        assert_eq!((tracker.on_ack_sent(100), tracker.on_ack_sent(100)), (200, 0));
        assert_eq!(tracker.on_ack_received(at(11), 100), Some(Duration::from_millis(10)));
        assert_eq!(tracker.on_ack_received(at(12), 100), None);
    }

    #[test]
    fn a_retransmission_has_no_round_trip_time_and_counts_once() {
        let mut tracker = Tracker::default();
        assert!(!tracker.on_data(at(0), 1000, 500) && !tracker.on_data(at(1), 1500, 500));
        assert!(tracker.on_data(at(5), 1000, 500));
        assert_eq!((tracker.on_ack_sent(2000), tracker.on_ack_received(at(9), 2000)), (1000, None));
        // The number of the FIN is no byte.
        assert_eq!(tracker.on_ack_sent(2001), 0);
    }

    #[test]
    fn a_reply_is_matched_with_its_request() {
        let mut tracker = Tracker::default();
        (0..3).for_each(|number| tracker.on_request(at(u64::from(number) * 10), number));
        assert_eq!(tracker.on_reply(at(25), 1), Some(Duration::from_millis(15)));
        assert_eq!((tracker.on_reply(at(26), 0), tracker.on_reply(at(29), 2)), (None, Some(Duration::from_millis(9))));
    }
}
