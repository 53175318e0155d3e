//! BBR's search for token-bucket policers (Linux `bbr_lt_bw_sampling`): two intervals in a row with much loss and the same delivery
//! rate show one, and then its rate is kept for a while.

use crate::RateSample;
use sojourn_units::Time;

/// The least and the greatest number of rounds of an interval (Linux `bbr_lt_intvl_min_rtts`).
const MIN_ROUNDS: u32 = 4;
const MAX_ROUNDS: u32 = 4 * MIN_ROUNDS;
/// The ratio of lost to delivered segments that makes an interval lossy (Linux `bbr_lt_loss_thresh`: 50/256).
const LOSSY: f64 = 50.0 / 256.0;
/// Two rates are the same if they differ by less than this part, or by 4 kbit/s in segments of 1,448 bytes (Linux `bbr_lt_bw_ratio`,
/// `bbr_lt_bw_diff`).
const SAME_RATIO: f64 = 1.0 / 8.0;
const SAME_RATE: f64 = 4000.0 / 8.0 / 1448.0;
/// Rounds for which the rate of a policer is kept (Linux `bbr_lt_bw_max_rtts`).
const KEPT_ROUNDS: u32 = 48;

/// What a sample showed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Nothing new.
    None,
    /// There is a policer.
    Found,
    /// Its rate was kept for long enough.
    Over,
}

/// The search.
#[derive(Clone, Copy, Default, Debug)]
pub struct Policer {
    sampling: bool,
    /// Whether `bw` is the rate of a policer.
    found: bool,
    /// Segments per second of the last lossy interval; 0 if there was none.
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

    /// Begins again.
    pub fn reset(&mut self) {
        *self = Policer::default();
    }

    fn begin_interval(&mut self, sample: &RateSample) {
        (self.since, self.delivered, self.lost, self.rounds) = (sample.now, sample.delivered_total, sample.lost_total, 0);
    }

    /// Takes a sample. `probing` says whether BBR is in PROBE_BW.
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

    /// Rounds of 100 ms, each with `delivered` segments of which this part more is lost; gives the rounds until a policer is found.
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
