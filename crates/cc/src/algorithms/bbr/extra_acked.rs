//! Data that ACKs deliver beyond what the bandwidth predicts.
//! Source: Linux `bbr_update_ack_aggregation`.

use crate::RateSample;
use sojourn_units::Time;

/// The rounds after which the older half of the filter is dropped.
/// Source: Linux `bbr_extra_acked_win_rtts`.
const ROUNDS: u32 = 5;

/// The measurement, in segments.
#[derive(Clone, Copy, Default, Debug)]
pub struct ExtraAcked {
    epoch: Time,
    acked: f64,
    /// The maximum of the current and of the previous rounds.
    most: [f64; 2],
    rounds: u32,
}

impl ExtraAcked {
    /// The maximum of the last rounds.
    pub fn most(&self) -> f64 {
        self.most[0].max(self.most[1])
    }

    /// Restarts counting at `now`.
    pub fn restart(&mut self, now: Time) {
        (self.epoch, self.acked) = (now, 0.0);
    }

    /// Processes a sample, with this bandwidth in segments per second and this window.
    pub fn on_sample(&mut self, sample: &RateSample, bandwidth: f64, cwnd: f64, round_start: bool) {
        if sample.newly_acked <= 0.0 || sample.delivery_rate <= 0.0 {
            return;
        }
        if round_start {
            self.rounds += 1;
            if self.rounds >= ROUNDS {
                self.rounds = 0;
                self.most = [0.0, self.most[0]];
            }
        }
        let mut expected = bandwidth * sample.now.since(self.epoch).as_secs_f64();
        if self.acked <= expected {
            self.restart(sample.now);
            expected = 0.0;
        }
        self.acked += sample.newly_acked;
        self.most[0] = self.most[0].max((self.acked - expected).min(cwnd));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::tests::SAMPLE;
    use sojourn_units::Duration;

    /// Tests samples of 1,000 segments per second with a window of 40.
    /// Each has the time in ms, the acknowledged segments, and the expected extra data.
    #[test]
    fn what_acks_bring_beyond_the_bandwidth_since_it_was_last_caught_up_is_counted_up_to_the_window() {
        let mut extra = ExtraAcked::default();
        for (ms, newly_acked, known) in [(10, 30.0, 30.0), (20, 5.0, 30.0), (25, 20.0, 40.0), (26, 5.0, 40.0), (200, 1.0, 40.0)] {
            let now = Time::ZERO + Duration::from_millis(ms);
            extra.on_sample(&RateSample { now, newly_acked, ..SAMPLE }, 1000.0, 40.0, false);
            assert_eq!(extra.most(), known, "{ms}");
        }
        // At 200 ms only its own segment is left.
        assert_eq!(extra.acked, 1.0);
    }

    #[test]
    fn it_is_forgotten_after_five_to_ten_rounds() {
        let mut extra = ExtraAcked::default();
        let known = |round: u64| {
            let now = Time::ZERO + Duration::from_millis(100 * round);
            let newly_acked = if round == 1 { 30.0 } else { 2.0 };
            extra.on_sample(&RateSample { now, newly_acked, ..SAMPLE }, 1000.0, 40.0, true);
            extra.most()
        };
        let known: std::vec::Vec<f64> = (1..=12).map(known).collect();
        assert_eq!(known[..9], [30.0; 9]);
        assert_eq!(known[9..], [2.0; 3]);
    }
}
