//! What a background sender does where marks come early and are counted: the queue then stays below any target of delay.
//!
//! It is Prague with other numbers (draft-briscoe-iccrg-prague-congestion-control#2.4): marks reduce the window by a gain times the
//! marked part, where Prague takes a half of it, and a round trip adds no more than it does with LEDBAT++
//! (draft-irtf-iccrg-ledbat-plus-plus#4.3). Where a part p is marked, the windows are then `growth / (gain p)` and `2 / p`.

use crate::{Ack, EcnNeed, Pacing, ParamError, Start, Window};
use sojourn_units::Duration;

/// The default of `mark_gain`.
pub(crate) const MARK_GAIN: f64 = 4.0;
/// The weight of the newest round trip in the estimate (draft-briscoe-iccrg-prague-congestion-control#2.4.2).
const WEIGHT: f64 = 0.0625;
/// The target in milliseconds by which a round trip's growth is that of LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus#4.4).
const TARGET: f64 = 60.0;
/// The time of segments sent back to back, in seconds: a burst must not reach the threshold of marks by itself
/// (draft-briscoe-iccrg-prague-congestion-control#2.4.5).
const BURST: f64 = 250e-6;
/// The pace in windows a round trip in slow start.
const SLOW_START_PACE: f64 = 2.0;

/// Segments that LEDBAT++ adds per round trip, with a target and a base delay in milliseconds: 1/16 to 1
/// (draft-irtf-iccrg-ledbat-plus-plus#4.3 GAIN).
pub(crate) fn growth(target: f64, base: f64) -> f64 {
    1.0 / libm::ceil(2.0 * target / base.max(1e-3)).clamp(1.0, 16.0)
}

/// The counts of a connection, and what they ask for.
#[derive(Clone, Debug)]
pub struct Marks {
    gain: f64,
    /// The estimated part of segments that are marked; `None` before the first mark.
    part: Option<f64>,
    /// A round trip is over when more than this byte is acknowledged.
    round_end: u64,
    /// The window at its start.
    window: f64,
    /// Segments acknowledged in it, and those of them that were marked.
    acked: f64,
    marked: f64,
    srtt: Duration,
    in_flight: f64,
}

impl Marks {
    /// At the start of a connection; `None` with a gain of 0 or feedback that does not count, where a mark counts as a loss.
    ///
    /// # Errors
    /// The gain is out of range.
    pub fn new(gain: f64, start: Start) -> Result<Option<Marks>, ParamError> {
        ParamError::unless((0.0..=100.0).contains(&gain), "mark_gain", &gain, "a number, 0 to 100")?;
        let (acked, marked, in_flight) = (0.0, 0.0, 0.0);
        let marks = Marks { gain, part: None, round_end: 0, window: f64::INFINITY, acked, marked, srtt: Duration::ZERO, in_flight };
        Ok((gain > 0.0 && start.ecn.counts_for(EcnNeed::CountIfThere)).then_some(marks))
    }

    /// Data was acknowledged, and the law set `window`: takes back what a round trip may not add.
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

    /// Marks came, at most once a window: what is left of it, at least a half; a half in slow start, when no estimate exists.
    pub fn reduce(&mut self, window: &mut Window) {
        let slow_start = window.cwnd < window.ssthresh;
        let taken = if slow_start { 0.5 } else { (self.gain * self.part.unwrap_or(0.0)).min(0.5) };
        window.cwnd = (window.cwnd * (1.0 - taken)).max(window.cwnd.min(Window::MIN_CWND));
        window.ssthresh = window.ssthresh.min(window.cwnd);
        self.window = self.window.min(window.cwnd);
    }

    /// One window a round trip, two in slow start; `None` before the first round trip.
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

    /// Round trips of a window each, which the law opens by a segment each, with a part marked; gives the last window.
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
        // With the default gain an eighth of Prague's 2 / p where a round trip adds a segment, and so much less where it adds less.
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
