//! Pacing: when the next segment may leave (draft-ietf-ccwg-bbr#5.6.2, Linux `tcp_update_skb_after_send` with sch_fq).
//!
//! A quantum of segments leaves back to back; then the sender waits for as long as they take at the pace. It sets a timer only
//! where the windows would let it send more. Unlike Linux it does not send the first ten segments of a connection at once, and does
//! not catch up on time in which the windows held it back.

use sojourn_cc::Pacing;
use sojourn_units::{Duration, Time};

/// The longest time in seconds that one segment may hold back the next, however low the pace (Linux sch_fq.c).
const LONGEST_GAP: f64 = 1.0;

/// Half a segment: what is left of a quantum below this is no segment.
const LEAST_REST: f64 = 0.5;

/// When the next segment may leave.
#[derive(Clone, Copy, Debug)]
pub struct Pacer {
    /// `C.next_send_time`.
    next_send_time: Time,
    /// When the current quantum began to leave.
    quantum_at: Time,
    /// Segments that are left of it.
    quantum_left: f64,
}

impl Pacer {
    /// A pacer that lets the first quantum go at once.
    pub const NEW: Pacer = Pacer { next_send_time: Time::ZERO, quantum_at: Time::NEVER, quantum_left: 0.0 };

    /// When the next segment may leave: `None` for now.
    pub fn waits_until(&mut self, now: Time, pace: Pacing) -> Option<Time> {
        if self.quantum_at == now && self.quantum_left > LEAST_REST {
            return None;
        }
        if now < self.next_send_time {
            return Some(self.next_send_time);
        }
        (self.quantum_at, self.quantum_left) = (now, pace.quantum);
        None
    }

    /// Segments of this size leave at `now`.
    pub fn on_sent(&mut self, now: Time, segments: f64, pace: Pacing) {
        let gap = (segments / pace.rate).min(LONGEST_GAP);
        self.next_send_time = self.next_send_time.max(now) + Duration::from_secs_f64(gap);
        self.quantum_left -= segments;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When each of `count` segments leaves that are always there to be sent.
    fn departures(pace: Pacing, count: usize) -> Vec<f64> {
        let (mut pacer, mut now) = (Pacer::NEW, Time::ZERO);
        let mut next = || {
            while let Some(later) = pacer.waits_until(now, pace) {
                now = later;
            }
            pacer.on_sent(now, 1.0, pace);
            now.as_secs_f64()
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn a_quantum_leaves_at_once_and_the_next_when_it_has_taken_its_time_at_the_pace() {
        let pace = Pacing { rate: 100.0, quantum: 2.0 };
        assert_eq!(departures(pace, 6), [0.0, 0.0, 0.02, 0.02, 0.04, 0.04]);
    }

    #[test]
    fn the_rate_is_kept_whatever_the_quantum() {
        for quantum in [1.0, 2.0, 7.0, 45.0] {
            let last = *departures(Pacing { rate: 1000.0, quantum }, 10_000).last().unwrap();
            assert!((9.95..=10.0).contains(&last), "{quantum}: {last}");
        }
    }

    #[test]
    fn time_in_which_nothing_was_sent_is_not_caught_up() {
        let pace = Pacing { rate: 10.0, quantum: 1.0 };
        let mut pacer = Pacer::NEW;
        let at = Time::from_secs_f64(5.0);
        assert_eq!(pacer.waits_until(at, pace), None);
        pacer.on_sent(at, 1.0, pace);
        assert_eq!(pacer.waits_until(at, pace), Some(Time::from_secs_f64(5.1)));
    }

    #[test]
    fn no_pace_is_so_low_that_it_holds_a_segment_back_for_more_than_a_second() {
        assert_eq!(departures(Pacing { rate: 1e-9, quantum: 1.0 }, 3), [0.0, 1.0, 2.0]);
    }
}
