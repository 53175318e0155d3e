//! Whether the queue that marks is a classic one, as a scalable sender can tell: its delay varies and is deep, where that of a queue for
//! scalable senders does neither (briscoe-2019, rfc9331#A.1.5, Linux `prague_classic_ecn_detection`).
//!
//! Once a round trip a score rises by half of the binary logarithm of the round-trip time's mean deviation over 750 us, and by half of that
//! of the queue's delay over 2 ms where this is above 0. The score stays within 0 and 17: below 8 the queue counts as scalable, above 9 as
//! classic, and so it takes some round trips of evidence to leave either end. As in Linux, a sender that its application limits is not
//! treated apart; the logarithms are exact here, where Linux carries the rest of integers.

use sojourn_units::Duration;

/// The weights of both logarithms (Linux `V`, `D`).
const VARIATION_WEIGHT: f64 = 0.5;
const DEPTH_WEIGHT: f64 = 0.5;
/// The mean deviation and the delay of a queue that tell nothing, in seconds (Linux `V0_LG`, `D0_LG`).
const VARIATION: f64 = 750e-6;
const DEPTH: f64 = 2e-3;
/// The least mean deviation that counts, in seconds (Linux counts whole microseconds).
const LEAST_VARIATION: f64 = 1e-6;
/// Up to this score the queue counts as scalable (Linux `L_STICKY`), from one more on as classic, and the greatest score is as far above
/// (Linux `C_STICKY`).
const SCALABLE: f64 = 8.0;
const MOST: f64 = 2.0 * SCALABLE + 1.0;
/// The reduction for a classic queue as a part marked (Linux `prague_classic_ecn_fallback`).
const CLASSIC_PART: f64 = 0.625;
/// The averages take this much of a sample at least, as a power of two (Linux `PRAGUE_MAX_SRTT_BITS`).
const MOST_SHIFT: i32 = 18;

/// What is known of the queue that marks.
#[derive(Clone, Debug)]
pub struct ClassicEcn {
    /// The mean round-trip time and its mean deviation in seconds; 0 before the first sample.
    srtt: f64,
    mdev: f64,
    /// The part of a sample that the mean takes; its deviation takes half of that.
    gain: f64,
    score: f64,
}

impl ClassicEcn {
    /// A sender that has seen nothing.
    pub const NEW: ClassicEcn = ClassicEcn { srtt: 0.0, mdev: 0.0, gain: gain_of(MOST_SHIFT), score: 0.0 };

    /// From 0 (scalable) to 17 (classic).
    pub fn score(&self) -> f64 {
        self.score
    }

    /// A sample of the round-trip time (Linux `prague_rtt_estimator`).
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

    /// A reduction: the averages last for longer than the round trips from one to the next, which take the longer the larger the
    /// threshold is (Linux `prague_update_rtt_scaling`).
    pub fn on_reduction(&mut self, ssthresh: f64) {
        let log = libm::ilogb(ssthresh.max(1.0)).min(MOST_SHIFT);
        self.gain = gain_of((log + log / 2 + 1).min(MOST_SHIFT));
    }

    /// A round trip of a path with marks ends, of which `rtt_min` is the shortest.
    pub fn on_round(&mut self, rtt_min: Duration) {
        if self.srtt == 0.0 {
            return;
        }
        let depth = self.srtt - rtt_min.as_secs_f64();
        let variation = VARIATION_WEIGHT * libm::log2(self.mdev.max(LEAST_VARIATION) / VARIATION);
        let deep = DEPTH_WEIGHT * libm::log2(depth.max(DEPTH) / DEPTH);
        self.score = (self.score + variation + deep).clamp(0.0, MOST);
    }

    /// The part of marked segments to react to, where `alpha` was measured: not less than what makes a classic reduction of it.
    pub fn fall_back(&self, alpha: f64) -> f64 {
        alpha.max((self.score - SCALABLE).min(1.0) * CLASSIC_PART)
    }
}

/// One over this power of two.
const fn gain_of(shift: i32) -> f64 {
    1.0 / (1u64 << shift) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// The scores after rounds of 50 samples, each by so many us above and below 30 ms in turn, over a path of `base`.
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
        // Averaged over thousands of samples: 3 ms are two powers of two above 750 us, and 8 ms two above 2 ms: 0.5 * 2 + 0.5 * 2.
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
        // ilog2(32) = 5, and half of it and one more: 8. Without a threshold yet it is the least.
        assert_eq!([gain(32.0), gain(1.0), gain(f64::INFINITY)], [1.0 / 256.0, 0.5, gain_of(MOST_SHIFT)]);
    }
}
