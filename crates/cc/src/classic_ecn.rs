//! Detects whether the marking queue is a classic one, for a scalable sender.
//! The delay of a classic queue varies and is large. That of a queue for scalable senders does neither (briscoe-2019, rfc9331#A.1.5, Linux
//! `prague_classic_ecn_detection`).
//!
//! Once per round trip a score rises by half of the binary logarithm of the RTT's mean deviation divided by 750 us. If the queuing delay is
//! above 0, it also rises by half of the logarithm of that delay divided by 2 ms. The score is limited to 0 to 17. Below 8 the queue counts
//! as scalable, above 9 as classic, so it takes some round trips of evidence to leave either end. As in Linux, an application-limited
//! sender is not treated differently. The logarithms are exact here; Linux carries the remainder of integers.

use sojourn_units::Duration;

/// The weights of the two logarithms (Linux `V`, `D`).
const VARIATION_WEIGHT: f64 = 0.5;
const DEPTH_WEIGHT: f64 = 0.5;
/// The mean deviation and the delay that leave the score unchanged, in seconds.
/// Source: Linux `V0_LG`, `D0_LG`.
const VARIATION: f64 = 750e-6;
const DEPTH: f64 = 2e-3;
/// The minimum mean deviation that counts, in seconds (Linux counts whole microseconds).
const LEAST_VARIATION: f64 = 1e-6;
/// The score up to which the queue counts as scalable (Linux `L_STICKY`).
/// From one more on it counts as classic. The maximum score is as far above that (Linux `C_STICKY`).
const SCALABLE: f64 = 8.0;
const MOST: f64 = 2.0 * SCALABLE + 1.0;
/// The reduction for a classic queue, as a marked fraction.
/// Source: Linux `prague_classic_ecn_fallback`.
const CLASSIC_PART: f64 = 0.625;
/// The minimum weight of a sample in the averages, as a power of two.
/// Source: Linux `PRAGUE_MAX_SRTT_BITS`.
const MOST_SHIFT: i32 = 18;

/// The state of the detection.
#[derive(Clone, Debug)]
pub struct ClassicEcn {
    /// The mean RTT and its mean deviation in seconds; 0 before the first sample.
    srtt: f64,
    mdev: f64,
    /// The weight of a sample in the mean. The deviation uses half of it.
    gain: f64,
    score: f64,
}

impl ClassicEcn {
    /// The state before any sample.
    pub const NEW: ClassicEcn = ClassicEcn { srtt: 0.0, mdev: 0.0, gain: gain_of(MOST_SHIFT), score: 0.0 };

    /// The score from 0 (scalable) to 17 (classic).
    pub fn score(&self) -> f64 {
        self.score
    }

    /// Processes an RTT sample (Linux `prague_rtt_estimator`).
    pub fn on_rtt(&mut self, rtt: Duration) {
        let rtt = rtt.as_secs_f64();
        if self.srtt == 0.0 {
            (self.srtt, self.mdev) = (rtt, LEAST_VARIATION);
            return;
        }
        let error = rtt - self.srtt;
        self.srtt += error * self.gain;
        self.mdev += (error.abs() - self.mdev) * self.gain / 2.0;
    }

    /// Adapts the averages to a reduction.
    /// They must last longer than the round trips between reductions, whose number grows with the threshold (Linux
    /// `prague_update_rtt_scaling`).
    pub fn on_reduction(&mut self, ssthresh: f64) {
        let log = libm::ilogb(ssthresh.max(1.0)).min(MOST_SHIFT);
        self.gain = gain_of((log + log / 2 + 1).min(MOST_SHIFT));
    }

    /// Processes the end of a round trip with marks. `rtt_min` is its minimum RTT.
    pub fn on_round(&mut self, rtt_min: Duration) {
        if self.srtt == 0.0 {
            return;
        }
        let depth = self.srtt - rtt_min.as_secs_f64();
        let variation = VARIATION_WEIGHT * libm::log2(self.mdev.max(LEAST_VARIATION) / VARIATION);
        let deep = DEPTH_WEIGHT * libm::log2(depth.max(DEPTH) / DEPTH);
        self.score = (self.score + variation + deep).clamp(0.0, MOST);
    }

    /// The marked fraction to react to; `alpha` is the measured one.
    /// It is at least the one that yields a classic reduction.
    pub fn fall_back(&self, alpha: f64) -> f64 {
        alpha.max((self.score - SCALABLE).min(1.0) * CLASSIC_PART)
    }
}

/// The inverse of a power of two.
const fn gain_of(shift: i32) -> f64 {
    1.0 / (1u64 << shift) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// The scores after rounds of 50 samples over a path of `base`.
    /// Samples alternate between `off_us` above and below 30 ms.
    fn scores(rounds: usize, off_us: u64, base: Duration) -> f64 {
        let mut found = ClassicEcn::NEW;
        found.on_reduction(32.0);
        for _ in 0..rounds {
            for sample in 0..50 {
                let off = Duration::from_micros(off_us);
                found.on_rtt(if sample % 2 == 0 { MS * 30 + off } else { MS * 30 - off });
            }
            found.on_round(base);
        }
        found.score()
    }

    #[test]
    fn a_round_adds_half_of_the_logarithms_of_variation_and_depth() {
        // Averaged over thousands of samples, 3 ms are two powers of two above 750 us, and 8 ms two above 2 ms: 0.5 * 2 + 0.5 * 2.
        let mut found = ClassicEcn::NEW;
        (found.srtt, found.mdev) = (0.030, 0.003);
        found.on_round(MS * 22);
        assert!((found.score() - 2.0).abs() < 1e-12, "{}", found.score());
        found.mdev = VARIATION / 4.0;
        found.on_round(MS * 29);
        assert!((found.score() - 1.0).abs() < 1e-12, "less than 2 ms of queue count as none: {}", found.score());
    }

    #[test]
    fn what_varies_by_milliseconds_is_classic_and_what_varies_by_a_tenth_is_not() {
        assert_eq!(scores(40, 5000, MS * 15), MOST);
        assert_eq!(scores(200, 100, MS * 29), 0.0);
    }

    #[test]
    fn a_classic_queue_gets_at_least_the_classic_reduction_and_a_scalable_one_the_measured() {
        let at = |score| ClassicEcn { score, ..ClassicEcn::NEW };
        assert_eq!([0.0, 8.0, 8.5, 9.0, 17.0].map(|score| at(score).fall_back(0.1)), [0.1, 0.1, 0.3125, 0.625, 0.625]);
        assert_eq!(at(17.0).fall_back(0.8), 0.8);
    }

    #[test]
    fn averages_last_longer_with_a_larger_window() {
        let gain = |ssthresh| {
            let mut found = ClassicEcn::NEW;
            found.on_reduction(ssthresh);
            found.gain
        };
        // ilog2(32) = 5; half of it, plus one more: 8. Without a threshold it is the minimum.
        assert_eq!([gain(32.0), gain(1.0), gain(f64::INFINITY)], [1.0 / 256.0, 0.5, gain_of(MOST_SHIFT)]);
    }
}
