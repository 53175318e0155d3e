//! SEARCH (draft-chung-ccwg-search): less is delivered than was sent when the path is full.
//! That ends slow start. Sent and delivered segments are counted in bins of 0.35 initial RTTs. After each bin, the segments that ten bins delivered are compared
//! with those that ten bins sent one RTT before. If a quarter of them is missing, the path is full: the window drains to the segments that
//! the path delivered in the last initial RTT.
//!
//! The constants are those of version 9. Differences:
//!
//! - Bins count segments and have no scale factor.
//! - Sent segments are interpolated towards older bins. Version 9 interpolates towards newer ones, which its implementers regard as an error.
//! - Missed bins never reset the state, which the draft leaves optional. A pause without data has no effect, because nothing was sent.
//! - The drain follows the authors' module for Linux (SEARCH 4.0): one segment leaves for every few that arrive.

use super::{Phase, StartUp};
use crate::{Ack, Window};
use sojourn_units::{Duration, ParamError, Time};

/// The number of bins in a window (`W`).
const W: usize = 10;
/// The additional bins for the time one RTT before (`EXTRA_BINS`).
const EXTRA_BINS: usize = 15;
const ACKED_BINS: usize = W + 1;
const SENT_BINS: usize = ACKED_BINS + EXTRA_BINS;
/// The minimum target of the drain in segments (Linux `TCP_INIT_CWND`).
const MIN_TARGET: f64 = 10.0;

/// Parameters of SEARCH.
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Params {
    /// The window of the counts in initial RTTs, 0.1 to 100; default 3.5.
    /// Source: draft-chung-ccwg-search#3, `WINDOW_SIZE`.
    pub window_size: f64,
    /// The missing fraction of sent segments that ends slow start; default 0.26.
    /// It is above 0 and below 1. Source: draft-chung-ccwg-search#3, `THRESH`.
    pub thresh: f64,
    /// Segments that arrive in the drain for each that leaves, 0 or more; default 3 (SEARCH 4.0).
    /// With 0 there is no drain: the window stays.
    pub drain: u32,
}

impl Default for Params {
    fn default() -> Self {
        Params::DEFAULT
    }
}

impl Params {
    const DEFAULT: Params = Params { window_size: 3.5, thresh: 0.26, drain: 3 };

    pub(crate) fn check(&self) -> Result<(), ParamError> {
        let size = (0.1..=100.0).contains(&self.window_size);
        ParamError::unless(size, "window_size", &self.window_size, "a number of RTTs, 0.1 to 100")?;
        ParamError::unless(self.thresh > 0.0 && self.thresh < 1.0, "thresh", &self.thresh, "a fraction above 0 and below 1")
    }

    pub(crate) fn start(&self, _paced: bool) -> Search {
        Search {
            params: *self,
            initial_rtt: Duration::ZERO,
            bin_duration: Duration::ZERO,
            bin_end: Time::ZERO,
            curr_idx: 0,
            acked: [0.0; ACKED_BINS],
            sent: [0.0; SENT_BINS],
            delivered: 0.0,
            drain: None,
        }
    }
}

/// The window while it drains.
#[derive(Clone, Copy, Debug)]
struct Drain {
    /// The window at which the drain ends, in segments.
    target: f64,
    /// Segments that arrived since the last one left.
    arrived: f64,
}

/// SEARCH.
#[derive(Clone, Debug)]
pub struct Search {
    params: Params,
    initial_rtt: Duration,
    /// The duration of a bin; zero before the first RTT sample.
    bin_duration: Duration,
    bin_end: Time,
    /// The number of the last bin that ended. Bin `i` is at `i` modulo the number of bins.
    curr_idx: usize,
    /// The segments delivered until the end of each bin.
    acked: [f64; ACKED_BINS],
    /// The segments sent until the end of each bin.
    sent: [f64; SENT_BINS],
    /// The segments delivered in total.
    delivered: f64,
    drain: Option<Drain>,
}

impl Search {
    fn begin(&mut self, now: Time, rtt: Duration, sent: f64) {
        let duration = Duration::from_secs_f64(rtt.as_secs_f64() * self.params.window_size / W as f64);
        if duration > Duration::ZERO {
            (self.initial_rtt, self.bin_duration, self.bin_end) = (rtt, duration, now + duration);
            (self.acked[0], self.sent[0]) = (self.delivered, sent);
        }
    }

    /// Ends the current bin, and those that passed without an ACK (`update_bins`).
    fn update_bins(&mut self, now: Time, sent: f64) {
        let passed = now.since(self.bin_end).as_nanos() / self.bin_duration.as_nanos() + 1;
        self.bin_end += self.bin_duration * passed;
        // If more bins passed than there are, all have the same value.
        let passed = (passed as usize).min(SENT_BINS + 1);
        let (acked_before, sent_before) = (self.acked[self.curr_idx % ACKED_BINS], self.sent[self.curr_idx % SENT_BINS]);
        for idx in self.curr_idx + 1..self.curr_idx + passed {
            (self.acked[idx % ACKED_BINS], self.sent[idx % SENT_BINS]) = (acked_before, sent_before);
        }
        self.curr_idx += passed;
        (self.acked[self.curr_idx % ACKED_BINS], self.sent[self.curr_idx % SENT_BINS]) = (self.delivered, sent);
    }

    /// The segments delivered in the last `bins` bins.
    fn delivered_in(&self, bins: usize) -> f64 {
        self.acked[self.curr_idx % ACKED_BINS] - self.acked[(self.curr_idx - bins) % ACKED_BINS]
    }

    /// The segments sent in the window that ended one RTT ago (`compute_sent`).
    /// The RTT is `fraction` of a bin longer than whole bins.
    fn sent_before(&self, prev_idx: usize, fraction: f64) -> f64 {
        let window = |end: usize| self.sent[end % SENT_BINS] - self.sent[(end - W) % SENT_BINS];
        window(prev_idx) * (1.0 - fraction) + window(prev_idx - 1) * fraction
    }

    /// `norm_diff`: the fraction of the segments sent one RTT ago that the path did not deliver.
    /// `None` if there are too few bins, the RTT is too long for them, or nothing was sent.
    fn norm_diff(&self, rtt: Duration) -> Option<f64> {
        let bins = (rtt.as_nanos() / self.bin_duration.as_nanos()) as usize;
        let fraction = (rtt.as_nanos() % self.bin_duration.as_nanos()) as f64 / self.bin_duration.as_nanos() as f64;
        let prev_idx = self.curr_idx.checked_sub(bins).filter(|&prev_idx| prev_idx > W && bins < EXTRA_BINS)?;
        let sent = self.sent_before(prev_idx, fraction);
        (sent > 0.0).then(|| (sent - self.delivered_in(W)) / sent)
    }

    /// The segments that the path delivered in the last initial RTT, rounded up to whole bins.
    fn target(&self) -> f64 {
        let bins = self.initial_rtt.as_nanos().div_ceil(self.bin_duration.as_nanos()) as usize;
        self.delivered_in(bins.min(W)).max(MIN_TARGET)
    }
}

impl Drain {
    /// The window after an ACK.
    fn on_ack(&mut self, ack: &Ack, per: f64, cwnd: f64) -> f64 {
        self.arrived += ack.acked;
        let leave = libm::floor(self.arrived / per);
        self.arrived -= leave * per;
        cwnd.min((ack.in_flight - ack.acked + leave).max(self.target))
    }
}

impl StartUp for Search {
    fn on_ack(&mut self, ack: &Ack, window: &mut Window) -> Phase {
        let sent = self.delivered + ack.in_flight;
        self.delivered += ack.acked;
        if let Some(drain) = &mut self.drain {
            window.cwnd = drain.on_ack(ack, f64::from(self.params.drain), window.cwnd);
            if window.cwnd > drain.target {
                return Phase::Hold;
            }
            window.ssthresh = window.cwnd;
            return Phase::Over;
        }
        let Some(rtt) = ack.rtt.filter(|_| window.cwnd < window.ssthresh) else { return Phase::SlowStart };
        if self.bin_duration == Duration::ZERO {
            self.begin(ack.now, rtt, sent);
            return Phase::SlowStart;
        }
        if ack.now < self.bin_end {
            return Phase::SlowStart;
        }
        self.update_bins(ack.now, sent);
        if self.norm_diff(rtt).is_none_or(|norm_diff| norm_diff < self.params.thresh) {
            return Phase::SlowStart;
        }
        if self.params.drain == 0 {
            window.ssthresh = window.cwnd;
            return Phase::Over;
        }
        self.drain = Some(Drain { target: self.target(), arrived: 0.0 });
        Phase::Hold
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    const RTT: Duration = Duration::from_millis(100);

    fn at(ms: f64) -> Time {
        Time::from_secs_f64(ms / 1e3)
    }

    /// The state after bins that each sent and delivered these segments.
    fn after(bins: &[(f64, f64)]) -> Search {
        let mut state = Params::DEFAULT.start(false);
        let mut sent = 0.0;
        state.begin(at(0.0), RTT, sent);
        for (number, (sends, delivers)) in (1u64..).zip(bins) {
            sent += sends;
            state.delivered += delivers;
            state.update_bins(Time::ZERO + state.bin_duration * number, sent);
        }
        state
    }

    #[test]
    fn the_constants_are_those_of_version_9_of_the_draft() {
        let Params { window_size, thresh, .. } = Params::DEFAULT;
        assert_eq!((window_size, thresh, W, EXTRA_BINS), (3.5, 0.26, 10, 15));
    }

    #[test]
    fn ten_bins_of_35_ms_are_a_window_of_3_5_rtts_of_100_ms() {
        let state = after(&[]);
        assert_eq!((state.bin_duration, state.bin_duration * W as u64), (Duration::from_millis(35), Duration::from_millis(350)));
        assert_eq!(state.bin_end, at(35.0));
    }

    #[test]
    fn what_was_sent_is_read_2_bins_and_6_sevenths_of_one_before() {
        // 100 ms are 2 bins of 35 ms and 30 ms, which is 6/7 of a bin.
        let bins: Vec<(f64, f64)> = (1..=13).map(|bin| (f64::from(bin), 0.0)).collect();
        let state = after(&bins);
        // Bins 2 to 11 sent 65 segments, and bins 1 to 10 sent 55.
        assert_eq!((state.sent_before(11, 0.0), state.sent_before(11, 1.0)), (65.0, 55.0));
        let mut state = state;
        state.acked[13 % ACKED_BINS] = 20.0;
        let sent = 65.0 / 7.0 + 55.0 * 6.0 / 7.0;
        assert!((state.norm_diff(RTT).unwrap() - (sent - 20.0) / sent).abs() < 1e-9);
    }

    #[test]
    fn the_first_comparison_needs_a_window_one_rtt_before_and_the_rtt_fits_15_bins() {
        let bins = |count: usize| std::vec![(10.0, 10.0); count];
        assert_eq!(after(&bins(12)).norm_diff(RTT), None);
        assert!(after(&bins(13)).norm_diff(RTT).is_some());
        let long = after(&bins(40));
        assert!(long.norm_diff(Duration::from_millis(524)).is_some());
        assert_eq!(long.norm_diff(Duration::from_millis(525)), None, "15 bins");
        assert_eq!(after(&std::vec![(0.0, 0.0); 20]).norm_diff(RTT), None, "nothing was sent");
    }

    #[test]
    fn slow_start_ends_when_26_of_100_sent_segments_are_missing_and_not_at_25() {
        for (delivers, over) in [(75.0, false), (74.0, true)] {
            let mut state = after(&std::vec![(100.0, delivers); 13]);
            let norm_diff = state.norm_diff(RTT).unwrap();
            assert!((norm_diff - (1.0 - delivers / 100.0)).abs() < 1e-9, "{norm_diff}");
            // The next bin ends with this ACK and is as the others.
            let mut window = Window { cwnd: 500.0, ssthresh: 1e9 };
            let in_flight = state.sent[13] + 100.0 - state.delivered;
            let ack = Ack { now: state.bin_end, rtt: Some(RTT), acked: delivers, in_flight, ..Ack::ONE };
            assert_eq!(state.on_ack(&ack, &mut window), if over { Phase::Hold } else { Phase::SlowStart });
        }
    }

    #[test]
    fn bins_without_an_ack_have_the_value_of_the_last() {
        let mut state = after(&[(10.0, 10.0)]);
        state.delivered += 7.0;
        state.update_bins(at(35.0 * 5.0), 30.0);
        assert_eq!((state.curr_idx, state.bin_end), (5, at(35.0 * 6.0)));
        assert_eq!(state.acked[..6], [0.0, 10.0, 10.0, 10.0, 10.0, 17.0]);
        state.update_bins(at(1e9), 31.0);
        assert_eq!(state.delivered_in(9), 0.0, "an hour later nothing is left of them");
    }

    /// A path of this many segments per RTT with an endless queue.
    /// Returns the RTTs until slow start ends, and the final window.
    fn path(capacity: f64, params: Params) -> (f64, Window) {
        let mut state = params.start(false);
        let mut window = Window { cwnd: 10.0, ssthresh: 1e9 };
        // The times at which segments in flight arrive, by number.
        let (mut sent, mut acked, mut last) = (0u64, 0u64, 0.0f64);
        let mut arrivals: std::collections::VecDeque<(f64, f64)> = std::collections::VecDeque::new();
        let mut now = 0.0;
        loop {
            while ((sent - acked) as f64) < libm::floor(window.cwnd) {
                last = (last + 100.0 / capacity).max(now + 100.0);
                arrivals.push_back((now, last));
                sent += 1;
            }
            let (left, arrival) = arrivals.pop_front().unwrap();
            now = arrival;
            let rtt = Some(Duration::from_secs_f64((now - left) / 1e3));
            let ack = Ack { now: at(now), rtt, in_flight: (sent - acked) as f64, ..Ack::ONE };
            acked += 1;
            match state.on_ack(&ack, &mut window) {
                Phase::SlowStart => window.cwnd += 1.0,
                Phase::Hold => {}
                Phase::Over => return (now / 100.0, window),
            }
            if now > 2_000.0 {
                return (f64::INFINITY, window);
            }
        }
    }

    #[test]
    fn a_path_that_is_not_full_never_ends_slow_start() {
        assert_eq!(path(1e6, Params::DEFAULT).0, f64::INFINITY);
    }

    /// The exit is two RTTs of that time after the path is full.
    /// With a bandwidth-delay product of C, a full path delivers C per base RTT, and slow start sends 2 C. The window of 3.5 RTTs that ended
    /// one (grown) RTT before must have sent 3.5 C / 0.74. Before the path was full it sent 1.2 C, so it sent 2 C for 1.76 RTTs. Their last
    /// segments arrive 2 * 1.76 + 1 = 4.5 RTTs after the path is full.
    #[test]
    fn a_full_path_ends_it_at_a_window_of_five_and_a_half_bdps() {
        for bdp in [160.0, 640.0, 2560.0] {
            let (_, window) = path(bdp, Params { drain: 0, ..Params::DEFAULT });
            assert!((5.0..6.0).contains(&(window.cwnd / bdp)), "{bdp}: {window:?}");
            assert_eq!(window.cwnd, window.ssthresh);
        }
    }

    #[test]
    fn the_drain_leaves_three_bins_of_the_path() {
        for bdp in [160.0, 640.0, 2560.0] {
            let (_, window) = path(bdp, Params::DEFAULT);
            // Three bins are 1.05 RTTs.
            assert!((window.cwnd / (1.05 * bdp) - 1.0).abs() < 0.01, "{bdp}: {window:?}");
            assert_eq!(window.cwnd, window.ssthresh);
        }
    }

    #[test]
    fn in_the_drain_one_segment_leaves_for_every_three_that_arrive() {
        let mut drain = Drain { target: 10.0, arrived: 0.0 };
        let windows: Vec<f64> = (0..6).map(|number| drain.on_ack(&Ack { in_flight: 40.0 - f64::from(number), ..Ack::ONE }, 3.0, 40.0)).collect();
        assert_eq!(windows, [39.0, 38.0, 38.0, 36.0, 35.0, 35.0]);
    }
}
