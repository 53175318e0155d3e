//! `HyStart` as in today's Linux, with the names of its `tcp_cubic.c`.
//! Slow start ends if ACKs arrive in a train for half of the minimum delay, or if the minimum delay of a round grows by an eighth.
//!
//! Linux's CUBIC runs it with the delays that it filters itself. In other controllers every RTT sample counts.

use super::{Phase, StartUp};
use crate::{Ack, Window};
use sojourn_units::{Duration, ParamError, Time};

/// `HYSTART_MIN_SAMPLES`.
const MIN_SAMPLES: u32 = 8;
/// `HYSTART_DELAY_MIN`, in us.
const DELAY_MIN_US: u64 = 4_000;
/// `HYSTART_DELAY_MAX`, in us.
const DELAY_MAX_US: u64 = 16_000;
/// The longest `hystart_ack_delay`, in us.
const MAX_ACK_DELAY_US: u64 = 1_000;
/// The segments whose time at the pacing rate is a `hystart_ack_delay`.
/// They are four times `sk_gso_max_size`, in segments of 1,448 bytes.
const ACK_DELAY_SEGMENTS: f64 = 4.0 * 45.0;

/// Parameters of `HyStart`.
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Params {
    /// The window in segments below which it is off, 1 or more; default 16.
    /// Source: Linux `hystart_low_window`.
    pub low_window: f64,
    /// The longest gap between the ACKs of a train; default "2 ms".
    /// Source: Linux `hystart_ack_delta_us`.
    pub ack_delta: Duration,
}

impl Default for Params {
    fn default() -> Self {
        Params::DEFAULT
    }
}

impl Params {
    /// The defaults.
    const DEFAULT: Params = Params { low_window: 16.0, ack_delta: Duration::from_millis(2) };

    pub(crate) fn check(&self) -> Result<(), ParamError> {
        let low = self.low_window >= 1.0 && self.low_window.is_finite();
        ParamError::unless(low, "low_window", &self.low_window, "a number of segments, 1 or more")
    }

    pub(crate) fn start(&self, paced: bool) -> HyStart {
        HyStart { detector: Detector::new(*self, paced), delay_min_us: 0 }
    }
}

/// The part of Linux's `struct bictcp` that ends slow start.
#[derive(Clone, Debug)]
pub(crate) struct Detector {
    params: Params,
    found: bool,
    /// Whether the sender is paced, `sk_pacing_status`.
    paced: bool,
    sample_cnt: u32,
    round_start_us: u64,
    end_seq: u64,
    last_ack_us: u64,
    curr_rtt_us: u64,
}

pub(crate) fn micros(time: Time) -> u64 {
    time.as_nanos() / 1_000
}

/// `hystart_ack_delay`: the time in us for which ACKs may be held back.
fn ack_delay_us(ack: &Ack, window: Window) -> u64 {
    MAX_ACK_DELAY_US.min((ACK_DELAY_SEGMENTS / window.pace(ack.in_flight, ack.srtt) * 1e6) as u64)
}

impl Detector {
    /// The state at the start of a connection. `paced` is whether the endpoint paces segments.
    pub(crate) fn new(params: Params, paced: bool) -> Self {
        Detector { params, found: false, paced, sample_cnt: 0, round_start_us: 0, end_seq: 0, last_ack_us: 0, curr_rtt_us: 0 }
    }

    /// `bictcp_hystart_reset`.
    fn reset(&mut self, now: Time, snd_nxt: u64) {
        let now_us = micros(now);
        (self.round_start_us, self.last_ack_us, self.end_seq) = (now_us, now_us, snd_nxt);
        (self.sample_cnt, self.curr_rtt_us) = (0, u64::MAX);
    }

    /// Searches again, from a new round on (`bictcp_reset`).
    pub(crate) fn restart(&mut self, now: Time, snd_nxt: u64) {
        self.found = false;
        self.reset(now, snd_nxt);
    }

    /// `hystart_update`: returns whether an ACK train or a grown delay ends slow start.
    /// `delay_us` is that of the ACK, and `delay_min_us` the minimum.
    #[inline]
    pub(crate) fn update(&mut self, ack: &Ack, window: Window, delay_us: u64, delay_min_us: u64) -> bool {
        !self.found && window.cwnd < window.ssthresh && self.search(ack, window, delay_us, delay_min_us)
    }

    #[inline(never)]
    fn search(&mut self, ack: &Ack, window: Window, delay_us: u64, delay_min_us: u64) -> bool {
        if ack.snd_una > self.end_seq {
            self.reset(ack.now, ack.snd_max);
        }
        if window.cwnd < self.params.low_window {
            return false;
        }
        let now_us = micros(ack.now);
        if now_us - self.last_ack_us <= self.params.ack_delta.as_nanos() / 1_000 {
            self.last_ack_us = now_us;
            let threshold = delay_min_us + ack_delay_us(ack, window);
            // Pacing may have held segments back for half a round trip.
            self.found = now_us - self.round_start_us > if self.paced { threshold } else { threshold / 2 };
        }
        self.curr_rtt_us = self.curr_rtt_us.min(delay_us);
        if self.sample_cnt < MIN_SAMPLES {
            self.sample_cnt += 1;
        } else {
            self.found |= self.curr_rtt_us > delay_min_us + (delay_min_us / 8).clamp(DELAY_MIN_US, DELAY_MAX_US);
        }
        self.found
    }
}

/// `HyStart` with the minimum of all RTT samples.
#[derive(Clone, Debug)]
pub struct HyStart {
    detector: Detector,
    /// The minimum delay; 0 before the first sample.
    delay_min_us: u64,
}

impl StartUp for HyStart {
    fn on_ack(&mut self, ack: &Ack, window: &mut Window) -> Phase {
        let Some(rtt) = ack.rtt else { return Phase::SlowStart };
        let delay_us = (rtt.as_nanos() / 1_000).max(1);
        if self.delay_min_us == 0 || self.delay_min_us > delay_us {
            self.delay_min_us = delay_us;
        }
        if !self.detector.update(ack, *window, delay_us, self.delay_min_us) {
            return Phase::SlowStart;
        }
        window.ssthresh = window.cwnd;
        Phase::Over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delayed_acks_are_allowed_a_millisecond_or_the_time_of_four_large_segments_at_the_pace() {
        let delay = |cwnd| {
            let ack = Ack { srtt: Duration::from_millis(1), ..Ack::ONE };
            ack_delay_us(&ack, Window { cwnd, ssthresh: 1e9 })
        };
        // At twice the window per round trip, 180 segments take 1 ms with a window of 90.
        assert_eq!([delay(20.0), delay(90.0), delay(900.0)], [1_000, 1_000, 100]);
    }

    /// The round in which slow start ends, with ACKs `gap_us` apart and these delays.
    fn ends(paced: bool, gap_us: u64, acks: u64, delays_ms: &[u64]) -> Option<usize> {
        let mut state = Params::DEFAULT.start(paced);
        let mut first = 0;
        delays_ms.iter().position(|&delay| {
            first += 1;
            (0..acks).any(|number| {
                let now = Time::from_nanos(first * 100_000_000 + number * gap_us * 1_000);
                let delay = Duration::from_millis(delay);
                let ack = Ack { now, rtt: Some(delay), srtt: delay, snd_una: first, snd_max: first, ..Ack::ONE };
                let mut window = Window { cwnd: 20.0, ssthresh: 1e9 };
                let over = state.on_ack(&ack, &mut window) == Phase::Over;
                assert_eq!(window.ssthresh, if over { 20.0 } else { 1e9 });
                over
            })
        })
    }

    #[test]
    fn slow_start_ends_when_the_delay_grew_by_an_eighth_or_acks_come_in_a_train_of_half_the_delay() {
        assert_eq!(ends(false, 5_000, 10, &[100, 100, 112, 113]), Some(3));
        assert_eq!(ends(false, 5_000, 8, &[100, 100, 112, 113]), None);
        assert_eq!(ends(false, 1_000, 51, &[100, 100]), None);
        assert_eq!(ends(false, 1_000, 53, &[100, 100]), Some(0));
    }

    #[test]
    fn a_paced_sender_ends_it_at_a_train_of_the_whole_delay() {
        assert_eq!(ends(true, 1_000, 101, &[100]), None);
        assert_eq!(ends(true, 1_000, 103, &[100]), Some(0));
    }

    #[test]
    fn below_the_low_window_nothing_ends_slow_start() {
        let mut state = Params { low_window: 21.0, ..Params::DEFAULT }.start(false);
        let mut window = Window { cwnd: 20.0, ssthresh: 1e9 };
        let ack = |ms| Ack { now: Time::from_nanos(ms * 1_000_000), rtt: Some(Duration::from_millis(ms)), srtt: Duration::from_millis(ms), ..Ack::ONE };
        assert!((100..200).all(|ms| state.on_ack(&ack(ms), &mut window) == Phase::SlowStart));
    }
}
