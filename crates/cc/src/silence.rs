//! Excludes time in which a sender does not use its window.
//! Such time must not count as time since a reduction (rfc9438#5.8).

use crate::Ack;
use sojourn_units::Time;

/// Excludes times in which the window did not limit the sender.
/// A time is from one ACK to the next, or to the end of a pause.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Silence {
    /// The time up to which counting is done.
    seen: Time,
}

impl Silence {
    /// Handles an ACK.
    /// If the window does not limit the sender, the time since the previous ACK does not count since `start`.
    #[inline]
    pub fn on_ack(&mut self, ack: &Ack, start: Option<&mut Time>) {
        let since = core::mem::replace(&mut self.seen, ack.now);
        if !ack.cwnd_limited {
            self.leave_out(since, start);
        }
    }

    /// Handles a segment that is about to be sent while nothing is in flight.
    /// The time since the last ACK does not count since `start`.
    pub fn on_idle_end(&mut self, now: Time, start: Option<&mut Time>) {
        let since = core::mem::replace(&mut self.seen, now);
        self.leave_out(since, start);
    }

    fn leave_out(&self, since: Time, start: Option<&mut Time>) {
        if let Some(start) = start {
            *start = (*start + self.seen.since(since)).min(self.seen);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_units::Duration;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn a_pause_and_the_time_between_acks_that_find_room_do_not_count_and_all_else_does() {
        let (mut silence, mut start) = (Silence::default(), at(10));
        let mut counted = |at_ms, cwnd_limited| {
            silence.on_ack(&Ack { now: at(at_ms), cwnd_limited, ..Ack::ONE }, Some(&mut start));
            at(at_ms).since(start)
        };
        assert_eq!([(10, true), (15, false), (17, true)].map(|(ms, limited)| counted(ms, limited)), [0, 0, 2].map(Duration::from_millis));
        silence.on_idle_end(at(1017), Some(&mut start));
        silence.on_ack(&Ack { now: at(1117), ..Ack::ONE }, Some(&mut start));
        silence.on_idle_end(at(1117), Some(&mut start));
        assert_eq!(at(1117).since(start), Duration::from_millis(102));
    }

    #[test]
    fn a_start_does_not_move_into_the_future() {
        let (mut silence, mut start) = (Silence::default(), at(500));
        silence.on_idle_end(at(600), Some(&mut start));
        assert_eq!(start, at(600), "before 500 ms there was silence too");
    }
}
