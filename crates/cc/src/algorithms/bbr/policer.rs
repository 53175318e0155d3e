//! BBR's detection of token-bucket policers (Linux `bbr_lt_bw_sampling`).
//! Two consecutive intervals with much loss and the same delivery rate reveal a policer. Its rate is then kept for a while.

use crate::RateSample;
use sojourn_units::Time;

/// The minimum and maximum number of rounds of an interval (Linux `bbr_lt_intvl_min_rtts`).
const MIN_ROUNDS: u32 = 4;
const MAX_ROUNDS: u32 = 4 * MIN_ROUNDS;
/// The ratio of lost to delivered segments above which an interval is lossy.
/// It is 50/256 (Linux `bbr_lt_loss_thresh`).
const LOSSY: f64 = 50.0 / 256.0;
/// The relative difference below which two rates are the same (Linux `bbr_lt_bw_ratio`).
/// So are rates that differ by less than 4 kbit/s in segments of 1,448 bytes (Linux `bbr_lt_bw_diff`).
const SAME_RATIO: f64 = 1.0 / 8.0;
const SAME_RATE: f64 = 4000.0 / 8.0 / 1448.0;
/// The rounds for which the rate of a policer is kept (Linux `bbr_lt_bw_max_rtts`).
const KEPT_ROUNDS: u32 = 48;

/// The result of a sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Nothing new.
    None,
    /// A policer was detected.
    Found,
    /// The rate was kept for long enough.
    Over,
}

/// The detection.
#[derive(Clone, Copy, Default, Debug)]
pub struct Policer {
    sampling: bool,
    /// Whether `bw` is the rate of a policer.
    found: bool,
    /// Segments per second in the last lossy interval; 0 without one.
    bw: f64,
    rounds: u32,
    since: Time,
    delivered: f64,
    lost: f64,
}

impl Policer {
    /// The rate of a policer, in segments per second.
    pub fn rate(&self) -> Option<f64> {
        self.found.then_some(self.bw)
    }

    /// Restarts the detection.
    pub fn reset(&mut self) {
        *self = Policer::default();
    }

    fn begin_interval(&mut self, sample: &RateSample) {
        (self.since, self.delivered, self.lost, self.rounds) = (sample.now, sample.delivered_total, sample.lost_total, 0);
    }

    /// Processes a sample. `probing` is whether BBR is in PROBE_BW.
    pub fn on_sample(&mut self, sample: &RateSample, round_start: bool, probing: bool) -> Verdict {
        if self.found {
            self.rounds += u32::from(probing && round_start);
            let over = self.rounds >= KEPT_ROUNDS;
            if over {
                self.reset();
            }
            return if over { Verdict::Over } else { Verdict::None };
        }
        if !self.sampling {
            if sample.newly_lost <= 0.0 {
                return Verdict::None;
            }
            self.begin_interval(sample);
            self.sampling = true;
        }
        self.rounds += u32::from(round_start);
        if sample.is_app_limited || self.rounds > MAX_ROUNDS {
            self.reset();
            return Verdict::None;
        }
        if self.rounds < MIN_ROUNDS || sample.newly_lost <= 0.0 {
            return Verdict::None;
        }
        let (lost, delivered) = (sample.lost_total - self.lost, sample.delivered_total - self.delivered);
        let seconds = sample.now.since(self.since).as_secs_f64();
        if delivered <= 0.0 || lost < LOSSY * delivered || seconds < 1e-3 {
            return Verdict::None;
        }
        self.end_interval(sample, delivered / seconds)
    }

    /// `bbr_lt_bw_interval_done`.
    fn end_interval(&mut self, sample: &RateSample, bw: f64) -> Verdict {
        let difference = (bw - self.bw).abs();
        if self.bw > 0.0 && (difference <= SAME_RATIO * self.bw || difference <= SAME_RATE) {
            self.bw = f64::midpoint(bw, self.bw);
            self.found = true;
            self.rounds = 0;
            return Verdict::Found;
        }
        self.bw = bw;
        self.begin_interval(sample);
        Verdict::None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::tests::SAMPLE;
    use sojourn_units::Duration;

    /// The number of rounds of 100 ms until a policer is detected.
    /// A round delivers `delivered` segments and loses the fraction `lost` in addition.
    fn rounds_until_found(delivered: impl Fn(u32) -> f64, lost: f64) -> Option<u32> {
        let mut policer = Policer::default();
        let (mut total, mut lost_total) = (0.0, 0.0);
        (0..100).find(|&round| {
            total += delivered(round);
            lost_total += lost * delivered(round);
            let now = Time::ZERO + Duration::from_millis(100 * u64::from(round));
            let sample = RateSample { now, delivered_total: total, lost_total, newly_lost: lost, ..SAMPLE };
            policer.on_sample(&sample, true, true) == Verdict::Found
        })
    }

    #[test]
    fn two_intervals_of_four_rounds_with_a_fifth_lost_and_the_same_rate_show_a_policer() {
        assert_eq!(rounds_until_found(|_| 50.0, 0.25), Some(7));
        assert_eq!(rounds_until_found(|_| 50.0, 0.1), None, "too few losses");
        assert_eq!(rounds_until_found(|round| if round / 4 % 2 == 0 { 50.0 } else { 100.0 }, 0.25), None, "rates differ");
    }

    #[test]
    fn its_rate_is_the_mean_of_both_and_is_kept_for_48_rounds() {
        let mut policer = Policer { found: true, bw: 500.0, ..Policer::default() };
        assert_eq!(policer.rate(), Some(500.0));
        let rounds = (1..).find(|_| policer.on_sample(&SAMPLE, true, true) == Verdict::Over);
        assert_eq!((rounds, policer.rate()), (Some(48), None));
    }
}
