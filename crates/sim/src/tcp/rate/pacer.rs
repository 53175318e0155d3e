//! Pacing: the time at which the next segment may leave.
//! Sources: draft-ietf-ccwg-bbr#5.6.2, Linux `tcp_update_skb_after_send`.
//!
//! A quantum of segments leaves back to back. Then the sender waits for the time that they take at the pacing rate. It sets a timer only if
//! the windows would let it send more.
//!
//! With the option `linux_pacing` segments leave one by one, as on a Linux host whose device takes single segments only. The first ten of a
//! connection are not held back. If the windows held the previous segment back, a segment's wait is shortened by that time, by up to half
//! of it. The pacing rate counts segments without AccECN's option (`mss_cache`), whose payload is larger, so segments with the option leave
//! proportionally sooner.

use sojourn_spec::tcp::TcpOptions;
use sojourn_units::{Duration, Time};

/// The longest gap in seconds after a segment, however low the pacing rate (Linux sch_fq.c).
const LONGEST_GAP: f64 = 1.0;

/// Half a segment: a smaller rest of a quantum is discarded.
const LEAST_REST: f64 = 0.5;

/// Linux: the number of the first segment that delays the next.
/// See `tcp_update_skb_after_send`.
const FIRST_PACED: u32 = 10;

/// The time at which the next segment may leave.
#[derive(Clone, Copy, Debug)]
pub struct Pacer {
    /// `C.next_send_time`, Linux `tcp_wstamp_ns`.
    next_send_time: Time,
    /// The departure time of the current quantum.
    quantum_at: Time,
    /// The segments that remain in the quantum.
    quantum_left: f64,
    /// As in Linux: the number of segments that have left, up to the first that is paced.
    linux: Option<u32>,
    /// The payload of a segment over that of the segments that the pacing rate counts.
    payload: f64,
    /// The gap of segments of the last size at the last rate.
    gap: Gap,
}

/// The gap of a number of segments at a rate.
#[derive(Clone, Copy, Debug)]
struct Gap {
    segments: f64,
    rate: f64,
    time: Duration,
}

impl Gap {
    fn new(segments: f64, rate: f64, payload: f64) -> Gap {
        Gap { segments, rate, time: Duration::from_secs_f64((segments * payload / rate).min(LONGEST_GAP)) }
    }
}

impl Pacer {
    /// A pacer that releases the first quantum immediately.
    pub fn new(params: &TcpOptions) -> Pacer {
        let linux = params.linux_pacing.then_some(0);
        let counted = params.mss + if params.linux_pacing { params.accecn_room() } else { 0 };
        let payload = f64::from(params.mss) / f64::from(counted);
        let (quantum_at, gap) = (Time::NEVER, Gap::new(1.0, 1.0, payload));
        Pacer { next_send_time: Time::ZERO, quantum_at, quantum_left: 0.0, linux, payload, gap }
    }

    /// The time at which the next segment may leave; `None` if it may leave now.
    pub fn waits_until(&self, now: Time) -> Option<Time> {
        (now < self.next_send_time && !self.has_quantum(now)).then_some(self.next_send_time)
    }

    /// The remaining delay of the next segment.
    pub fn delay(&self, now: Time) -> Duration {
        self.next_send_time.since(now)
    }

    /// Whether a segment that may leave now is the first of a quantum.
    pub fn needs_quantum(&self, now: Time) -> bool {
        self.linux.is_none() && !self.has_quantum(now)
    }

    /// Starts a quantum of this number of segments.
    pub fn start_quantum(&mut self, now: Time, segments: f64) {
        (self.quantum_at, self.quantum_left) = (now, segments);
    }

    /// Whether the quantum that started at this time has a rest.
    fn has_quantum(&self, now: Time) -> bool {
        self.quantum_at == now && self.quantum_left > LEAST_REST
    }

    /// Segments of this size leave at `now`.
    /// Without a rate, in segments a second, they delay nothing.
    #[inline]
    pub fn on_sent(&mut self, now: Time, segments: f64, rate: Option<f64>) {
        let mut unpaced = false;
        if let Some(sent) = &mut self.linux
            && *sent < FIRST_PACED
        {
            *sent += 1;
            unpaced = *sent < FIRST_PACED;
        }
        debug_assert!(self.linux.is_none_or(|sent| sent <= FIRST_PACED && unpaced == (sent < FIRST_PACED)), "{self:?}, unpaced: {unpaced}");
        let Some(rate) = rate else { return };
        let late = now.since(self.next_send_time);
        self.next_send_time = self.next_send_time.max(now);
        if unpaced {
            return;
        }
        if self.gap.segments != segments || self.gap.rate != rate {
            self.gap = Gap::new(segments, rate, self.payload);
        }
        let gap = self.gap.time;
        let made_up = if self.linux.is_some() { late.min(gap / 2) } else { Duration::ZERO };
        self.next_send_time += gap - made_up;
        self.quantum_left -= segments;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_cc::Pacing;
    use sojourn_spec::tcp::{AccEcnOption, Ecn};

    fn pacer(linux_pacing: bool) -> Pacer {
        Pacer::new(&TcpOptions { linux_pacing, ..TcpOptions::default() })
    }

    /// The departure times of `count` segments that are always available.
    fn departures(mut pacer: Pacer, pace: Pacing, count: usize) -> Vec<f64> {
        let mut now = Time::ZERO;
        let mut next = || {
            while let Some(later) = pacer.waits_until(now) {
                now = later;
            }
            if pacer.needs_quantum(now) {
                pacer.start_quantum(now, pace.quantum());
            }
            pacer.on_sent(now, 1.0, Some(pace.rate));
            now.as_secs_f64()
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn a_quantum_leaves_at_once_and_the_next_when_it_has_taken_its_time_at_the_pace() {
        let pace = Pacing::of_quantum(100.0, 2.0);
        assert_eq!(departures(pacer(false), pace, 6), [0.0, 0.0, 0.02, 0.02, 0.04, 0.04]);
    }

    #[test]
    fn the_rate_is_kept_whatever_the_quantum() {
        for quantum in [1.0, 2.0, 7.0, 45.0] {
            let last = *departures(pacer(false), Pacing::of_quantum(1000.0, quantum), 10_000).last().unwrap();
            assert!((9.95..=10.0).contains(&last), "{quantum}: {last}");
        }
    }

    #[test]
    fn time_in_which_nothing_was_sent_is_not_caught_up() {
        let pace = Pacing::of_quantum(10.0, 1.0);
        let mut pacer = pacer(false);
        let at = Time::from_secs_f64(5.0);
        assert_eq!(pacer.waits_until(at), None);
        pacer.on_sent(at, 1.0, Some(pace.rate));
        assert_eq!(pacer.waits_until(at), Some(Time::from_secs_f64(5.1)));
    }

    #[test]
    fn no_pace_is_so_low_that_it_holds_a_segment_back_for_more_than_a_second() {
        assert_eq!(departures(pacer(false), Pacing::of_quantum(1e-9, 1.0), 3), [0.0, 1.0, 2.0]);
    }

    #[test]
    fn as_in_linux_segments_leave_one_by_one_after_the_first_ten() {
        let left = departures(pacer(true), Pacing::of_quantum(100.0, 7.0), 13);
        assert_eq!(left[..10], [0.0; 10]);
        let ms: Vec<f64> = left[10..].iter().map(|seconds| (seconds * 1000.0).round()).collect();
        assert_eq!(ms, [10.0, 20.0, 30.0]);
    }

    #[test]
    fn as_in_linux_the_pace_counts_segments_without_an_option() {
        let options = TcpOptions { linux_pacing: true, ecn: Ecn::L4s, accecn_option: AccEcnOption::Full, ..TcpOptions::linux() };
        let left = departures(Pacer::new(&options.with_accecn_room()), Pacing::of_quantum(100.0, 1.0), 11);
        let gap = left[10] - left[9];
        assert!((gap - 0.01 * 1436.0 / 1448.0).abs() < 1e-8, "{gap}");
    }

    #[test]
    fn as_in_linux_a_segment_that_is_late_holds_the_next_back_for_less_and_for_half_at_least() {
        let pace = Pacing::of_quantum(100.0, 1.0);
        for (late, gap) in [(0.002, 0.008), (0.005, 0.005), (3.0, 0.005)] {
            let mut pacer = pacer(true);
            for _ in 0..10 {
                pacer.on_sent(Time::ZERO, 1.0, Some(pace.rate));
            }
            let at = Time::from_secs_f64(0.01 + late);
            assert_eq!(pacer.waits_until(at), None);
            pacer.on_sent(at, 1.0, Some(pace.rate));
            let until = pacer.waits_until(at).unwrap();
            assert!((until.since(at).as_secs_f64() - gap).abs() < 1e-9, "{late}: {until:?}");
        }
    }
}
