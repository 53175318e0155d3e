//! The reaction of background senders to counted marks.
//! If marks come early, the queue stays below any delay target.
//!
//! It is Prague with other numbers (draft-briscoe-iccrg-prague-congestion-control#2.4): marks reduce the window by a gain times the marked
//! fraction, where Prague uses a half. A round trip adds no more than with LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus#4.3). If a fraction
//! p is marked, the windows are `growth / (gain p)` and `2 / p`.

use crate::{Ack, EcnNeed, Pacing, ParamError, Start, Window};
use sojourn_units::Duration;

/// The default of the parameter `mark_gain`.
pub(crate) const MARK_GAIN: f64 = 4.0;
/// The weight of the newest round trip in the estimate.
/// Source: draft-briscoe-iccrg-prague-congestion-control#2.4.2.
const WEIGHT: f64 = 0.0625;
/// The target in milliseconds that determines LEDBAT++'s growth per round trip.
/// Source: draft-irtf-iccrg-ledbat-plus-plus#4.4.
const TARGET: f64 = 60.0;
/// The duration of back-to-back segments in seconds.
/// A burst alone must not reach the marking threshold (draft-briscoe-iccrg-prague-congestion-control#2.4.5).
const BURST: f64 = 250e-6;
/// The pacing rate in windows per round trip in slow start.
const SLOW_START_PACE: f64 = 2.0;

/// Segments that LEDBAT++ adds per round trip: 1/16 to 1.
/// Target and base delay are in milliseconds (draft-irtf-iccrg-ledbat-plus-plus#4.3 GAIN).
pub(crate) fn growth(target: f64, base: f64) -> f64 {
    1.0 / libm::ceil(2.0 * target / base.max(1e-3)).clamp(1.0, 16.0)
}

/// The marks of a connection, and the reaction to them.
#[derive(Clone, Debug)]
pub struct Marks {
    gain: f64,
    /// The estimated fraction of marked segments; `None` before the first mark.
    part: Option<f64>,
    /// The round trip ends when more than this byte is acknowledged.
    round_end: u64,
    /// The window at its start.
    window: f64,
    /// Segments acknowledged in it, and how many of them were marked.
    acked: f64,
    marked: f64,
    srtt: Duration,
    in_flight: f64,
}

impl Marks {
    /// The state at the start of a connection.
    /// `None` with a gain of 0, or with feedback that does not count; a mark then counts as a loss.
    ///
    /// # Errors
    /// The gain is out of range.
    pub fn new(gain: f64, start: Start) -> Result<Option<Marks>, ParamError> {
        ParamError::unless((0.0..=100.0).contains(&gain), "mark_gain", &gain, "a number, 0 to 100")?;
        let (acked, marked, in_flight) = (0.0, 0.0, 0.0);
        let marks = Marks { gain, part: None, round_end: 0, window: f64::INFINITY, acked, marked, srtt: Duration::ZERO, in_flight };
        Ok((gain > 0.0 && start.ecn.counts_for(EcnNeed::CountIfThere)).then_some(marks))
    }

    /// Handles an ACK after the law has set `window`: limits the growth of a round trip.
    #[inline]
    pub fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        (self.srtt, self.in_flight) = (ack.srtt, ack.in_flight);
        if ack.marked > 0.0 && self.part.is_none() {
            (self.part, self.window) = (Some(0.0), f64::INFINITY);
        }
        let Some(part) = &mut self.part else { return };
        let growth = growth(TARGET, ack.rtt_min.as_nanos() as f64 * 1e-6);
        window.cwnd = window.cwnd.min(self.window.max(window.ssthresh) + growth);
        self.acked += ack.acked;
        self.marked += ack.marked;
        if ack.snd_una > self.round_end && self.acked > 0.0 {
            *part += WEIGHT * ((self.marked / self.acked).min(1.0) - *part);
            (self.round_end, self.window) = (ack.snd_max, window.cwnd);
            (self.acked, self.marked) = (0.0, 0.0);
        }
    }

    /// Reduces the window for marks, at most once per window, and at most by half.
    /// In slow start, without an estimate, by half.
    pub fn reduce(&mut self, window: &mut Window) {
        let slow_start = window.cwnd < window.ssthresh;
        let taken = if slow_start { 0.5 } else { (self.gain * self.part.unwrap_or(0.0)).min(0.5) };
        window.cwnd = (window.cwnd * (1.0 - taken)).max(window.cwnd.min(Window::MIN_CWND));
        window.ssthresh = window.ssthresh.min(window.cwnd);
        self.window = self.window.min(window.cwnd);
    }

    /// Paces one window per round trip, two in slow start; `None` before the first round trip.
    pub fn pacing(&self, window: &Window) -> Option<Pacing> {
        if self.srtt == Duration::ZERO {
            return None;
        }
        let factor = if window.cwnd < window.ssthresh { SLOW_START_PACE } else { 1.0 };
        Some(Pacing::with_quantum_of(factor * window.cwnd.max(self.in_flight) / self.srtt.as_secs_f64(), BURST, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Start = Start::new(1.0, 1.0);
    use sojourn_units::Duration;

    /// The last window of round trips in which the law adds a segment.
    /// A fraction `part` of the segments is marked.
    fn settled(gain: f64, rtt: u64, part: f64) -> f64 {
        let mut marks = Marks::new(gain, START).unwrap().unwrap();
        let mut window = Window { cwnd: 20.0, ssthresh: 10.0 };
        for round in 1..5000 {
            let acked = window.cwnd;
            window.cwnd += 1.0;
            let rtt_min = Duration::from_millis(rtt);
            marks.on_ack(&mut window, &Ack { acked, marked: part * acked, rtt_min, snd_una: round, snd_max: round, ..Ack::ONE });
            marks.reduce(&mut window);
        }
        window.cwnd
    }

    #[test]
    fn with_a_steady_part_p_of_marks_the_window_is_the_growth_over_the_gain_and_p() {
        // With the default gain an eighth of Prague's 2 / p if a round trip adds a segment, and proportionally less if it adds less.
        for (gain, rtt, part, growth) in [(4.0, 120, 0.01, 1.0), (4.0, 20, 0.002, 1.0 / 6.0), (1.0, 5, 0.005, 1.0 / 16.0)] {
            let expected = growth / (gain * part);
            let found = settled(gain, rtt, part);
            assert!((found / expected - 1.0).abs() < 0.05, "{found} for {expected}");
        }
        assert_eq!(settled(4.0, 120, 1.0), 2.0);
    }

    #[test]
    fn marks_end_slow_start_with_half_the_window_and_never_open_it() {
        let mut marks = Marks::new(MARK_GAIN, START).unwrap().unwrap();
        let mut window = Window { cwnd: 40.0, ssthresh: 1e9 };
        marks.reduce(&mut window);
        assert_eq!(window, Window { cwnd: 20.0, ssthresh: 20.0 });
        let mut least = Window { cwnd: 1.0, ssthresh: 1.0 };
        marks.reduce(&mut least);
        assert_eq!(least.cwnd, 1.0);
    }

    #[test]
    fn before_the_first_mark_the_law_alone_sets_the_window() {
        let mut marks = Marks::new(MARK_GAIN, START).unwrap().unwrap();
        let mut window = Window { cwnd: 40.0, ssthresh: 10.0 };
        marks.on_ack(&mut window, &Ack { rtt_min: Duration::from_millis(5), snd_una: 1, snd_max: 2, ..Ack::ONE });
        window.cwnd += 8.0;
        marks.on_ack(&mut window, &Ack { rtt_min: Duration::from_millis(5), snd_una: 3, snd_max: 4, ..Ack::ONE });
        assert_eq!(window.cwnd, 48.0);
    }

    #[test]
    fn a_gain_of_nothing_counts_no_marks_and_one_out_of_range_is_refused() {
        assert!(Marks::new(0.0, START).unwrap().is_none());
        for gain in [-1.0, 101.0, f64::NAN] {
            assert_eq!(Marks::new(gain, START).unwrap_err().field, "mark_gain");
        }
    }
}
