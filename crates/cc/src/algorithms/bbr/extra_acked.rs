//! Data that ACKs deliver beyond what the bandwidth lets expect (Linux `bbr_update_ack_aggregation`).

use crate::RateSample;
use sojourn_units::Time;

/// Rounds after which the older half of the filter is forgotten (Linux `bbr_extra_acked_win_rtts`).
const ROUNDS: u32 = 5;

/// The search, in segments.
#[derive(Clone, Copy, Default, Debug)]
pub struct ExtraAcked {
    epoch: Time,
    acked: f64,
    /// The greatest of these and of the last few rounds.
    most: [f64; 2],
    rounds: u32,
}

impl ExtraAcked {
    /// The greatest of the last rounds.
    pub fn most(&self) -> f64 {
        self.most[0].max(self.most[1])
    }

    /// Begins to count at `now`.
    pub fn restart(&mut self, now: Time) {
        (self.epoch, self.acked) = (now, 0.0);
    }

    /// Takes a sample, with this bandwidth in segments per second and this window.
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
