//! Statistics: moments weighted by time, moments of samples, and quantiles.

use alloc::vec;
use alloc::vec::Vec;
use sojourn_units::{Memory, Time};

/// Values below this one have squares of 64 bits: times 10^6 s their sum stays below 2^128.
const EXACT_SQUARE: u64 = 1 << 32;

/// Mean, deviation and maximum of a changing quantity, weighted by time, exact.
/// Only the deviation is rounded, to floats, for values from 2^32 on: a backlog of 4.3 GB.
#[derive(Clone, Debug, Default)]
pub struct TimeWeighted {
    value: u64,
    area: u128,
    square: u128,
    /// The part of the square from values from [`EXACT_SQUARE`] on.
    large_square: f64,
    /// The time covered, in ns.
    spent: u64,
    max: u64,
}

impl TimeWeighted {
    /// Adds `span` ns of the present value, which is below [`EXACT_SQUARE`].
    #[inline]
    fn add_span(&mut self, span: u64) {
        self.area += u128::from(self.value) * u128::from(span);
        self.square += u128::from(self.value * self.value) * u128::from(span);
    }

    /// Adds `span` ns of the present value, which is [`EXACT_SQUARE`] or more.
    #[cold]
    fn add_span_of_large(&mut self, span: u64) {
        let area = u128::from(self.value) * u128::from(span);
        self.area += area;
        self.large_square += area as f64 * self.value as f64;
    }

    #[inline]
    fn set(&mut self, value: u64) {
        self.value = value;
        self.max = self.max.max(value);
    }

    /// Time-weighted mean.
    pub fn mean(&self) -> f64 {
        if self.spent == 0 { self.value as f64 } else { self.area as f64 / self.spent as f64 }
    }

    /// Time-weighted standard deviation.
    pub fn sd(&self) -> f64 {
        let mean = self.mean();
        let square = self.square as f64 + self.large_square;
        if self.spent == 0 { 0.0 } else { libm::sqrt((square / self.spent as f64 - mean * mean).max(0.0)) }
    }

    /// The largest value.
    pub fn max(&self) -> u64 {
        self.max
    }
}

/// A queue in packets and bytes over time.
#[derive(Clone, Debug, Default)]
pub struct QueueStats {
    begin: Time,
    since: Time,
    /// Packets waiting; complete after [`QueueStats::finish`].
    pub packets: TimeWeighted,
    /// Bytes waiting; complete after [`QueueStats::finish`].
    pub bytes: TimeWeighted,
}

impl QueueStats {
    /// Records the present queue up to `now`.
    #[inline]
    fn advance(&mut self, now: Time) {
        if self.packets.value > 0 {
            let span = now.since(self.since).as_nanos();
            // A number of packets has 32 bits.
            self.packets.add_span(span);
            if self.bytes.value < EXACT_SQUARE {
                self.bytes.add_span(span);
            } else {
                self.bytes.add_span_of_large(span);
            }
        }
        self.since = now;
    }

    /// Records a departure at `now`.
    #[inline]
    pub fn shrink(&mut self, now: Time, packets: u64, bytes: u64) {
        self.advance(now);
        (self.packets.value, self.bytes.value) = (packets, bytes);
    }

    /// Records a change of the queue at `now`.
    #[inline]
    pub fn set(&mut self, now: Time, packets: u64, bytes: u64) {
        self.advance(now);
        self.packets.set(packets);
        self.bytes.set(bytes);
    }

    /// Whether the queue has this length.
    #[inline]
    pub fn holds(&self, packets: u64, bytes: u64) -> bool {
        (self.packets.value, self.bytes.value) == (packets, bytes)
    }

    /// Resets the statistics at `now`.
    pub fn restart(&mut self, now: Time) {
        let restarted = |was: &TimeWeighted| TimeWeighted { value: was.value, max: was.value, ..Default::default() };
        *self = QueueStats { begin: now, since: now, packets: restarted(&self.packets), bytes: restarted(&self.bytes) };
    }

    /// Records the queue up to `now`, the end.
    pub fn finish(&mut self, now: Time) {
        self.advance(now);
        let spent = now.since(self.begin).as_nanos();
        (self.packets.spent, self.bytes.spent) = (spent, spent);
    }
}

/// Sum, sum of squares and maximum: enough for mean and deviation at two additions a sample.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    count: u64,
    sum: f64,
    squares: f64,
    max: f64,
}

impl Sums {
    /// Adds a sample of zero or more.
    #[inline]
    pub fn add(&mut self, sample: f64) {
        self.count += 1;
        self.sum += sample;
        self.squares += sample * sample;
        self.max = if sample > self.max { sample } else { self.max };
    }

    /// Adds a sample of zero.
    #[inline]
    pub(crate) fn add_zero(&mut self) {
        self.count += 1;
    }

    /// Number of samples.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Mean; NaN without samples.
    pub fn mean(&self) -> f64 {
        self.sum / self.count as f64
    }

    /// Standard deviation of the samples themselves; NaN without samples.
    pub fn sd(&self) -> f64 {
        let mean = self.mean();
        libm::sqrt((self.squares / self.count as f64 - mean * mean).max(0.0))
    }

    /// Largest sample, at least 0.
    pub fn max(&self) -> f64 {
        self.max
    }
}

/// Mean, deviation and extremes of samples (Welford's update).
#[derive(Clone, Copy, Debug)]
pub struct Moments {
    count: u64,
    mean: f64,
    squares: f64,
    min: f64,
    max: f64,
}

impl Default for Moments {
    fn default() -> Self {
        Moments { count: 0, mean: 0.0, squares: 0.0, min: f64::INFINITY, max: f64::NEG_INFINITY }
    }
}

impl Moments {
    /// Adds a sample.
    #[inline]
    pub fn add(&mut self, sample: f64) {
        self.count += 1;
        let step = sample - self.mean;
        self.mean += step / self.count as f64;
        self.squares += step * (sample - self.mean);
        self.min = if sample < self.min { sample } else { self.min };
        self.max = if sample > self.max { sample } else { self.max };
    }

    /// Number of samples.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Mean; NaN without samples.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { f64::NAN } else { self.mean }
    }

    /// Standard deviation of the samples themselves (divided by n); NaN without samples.
    pub fn sd(&self) -> f64 {
        if self.count == 0 { f64::NAN } else { libm::sqrt(self.squares / self.count as f64) }
    }

    /// Least sample; infinite without samples.
    pub fn min(&self) -> f64 {
        self.min
    }

    /// Largest sample; minus infinity without samples.
    pub fn max(&self) -> f64 {
        self.max
    }
}

const SUB: u32 = 5; // 32 steps an octave
const BUCKETS: usize = (64 - SUB as usize) << SUB;

/// Quantiles of durations from a log-linear histogram: relative error at most 1.6 %.
#[derive(Clone, Debug, Default)]
pub struct Quantiles {
    counts: Vec<u64>,
    total: u64,
}

impl Quantiles {
    /// The largest relative error of a quantile: half a step.
    pub const ERROR: f64 = 0.5 / (1u64 << SUB) as f64;

    #[inline]
    fn bucket(nanos: u64) -> usize {
        if nanos < 1 << SUB {
            return nanos as usize;
        }
        let octave = nanos.ilog2() - SUB;
        (((octave + 1) << SUB) as u64 + ((nanos >> octave) & ((1 << SUB) - 1))) as usize
    }

    fn middle(bucket: usize) -> f64 {
        if bucket < 1 << SUB {
            return bucket as f64;
        }
        let octave = (bucket >> SUB) as u32 - 1;
        let low = ((1u64 << SUB) + (bucket as u64 & ((1 << SUB) - 1))) << octave;
        low as f64 + (1u64 << octave) as f64 / 2.0
    }

    /// Adds a duration in nanoseconds.
    #[inline]
    pub fn add(&mut self, nanos: u64) {
        let bucket = Self::bucket(nanos);
        match self.counts.get_mut(bucket) {
            Some(count) => *count += 1,
            None => self.add_first(bucket),
        }
        self.total += 1;
    }

    /// Adds the samples of another distribution.
    pub fn add_all(&mut self, other: &Quantiles) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        self.counts.iter_mut().zip(&other.counts).for_each(|(here, there)| *here += there);
        self.total += other.total;
    }

    /// Adds the first sample, which belongs to this bucket.
    #[cold]
    #[inline(never)]
    fn add_first(&mut self, bucket: usize) {
        self.counts = vec![0; BUCKETS];
        self.counts[bucket] = 1;
    }

    /// The q-quantile in nanoseconds; NaN without samples.
    pub fn at(&self, q: f64) -> f64 {
        if self.total == 0 {
            return f64::NAN;
        }
        let rank = libm::ceil(q * self.total as f64).max(1.0) as u64;
        let mut seen = 0;
        for (bucket, &count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return Self::middle(bucket);
            }
        }
        f64::NAN
    }

    /// Mean of the smallest share `q` of the samples in nanoseconds; NaN without samples.
    pub fn mean_below(&self, q: f64) -> f64 {
        let kept = libm::ceil(q * self.total as f64).max(1.0) as u64;
        let mut left = kept;
        let mut sum = 0.0;
        for (bucket, &count) in self.counts.iter().enumerate() {
            let taken = count.min(left);
            sum += taken as f64 * Self::middle(bucket);
            left -= taken;
            if left == 0 {
                return sum / kept as f64;
            }
        }
        f64::NAN
    }
}

impl Memory for Quantiles {
    fn memory(&self) -> usize {
        self.counts.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sojourn_units::range;

    #[test]
    fn a_trimmed_mean_leaves_out_the_largest_samples() {
        let mut samples = Quantiles::default();
        assert!(samples.mean_below(0.95).is_nan());
        (0..19).for_each(|_| samples.add(10));
        samples.add(1_000_000);
        assert_eq!(samples.mean_below(0.95), 10.0);
        assert!((samples.mean_below(1.0) / (19.0 * 10.0 / 20.0 + 1e6 / 20.0) - 1.0).abs() <= Quantiles::ERROR);
    }

    #[test]
    fn a_queue_is_weighted_by_the_time_it_held() {
        let mut queue = QueueStats::default();
        queue.set(Time::from_nanos(0), 4, 4_000);
        queue.set(Time::from_nanos(30), 0, 0);
        queue.finish(Time::from_nanos(40));
        assert_eq!((queue.packets.mean(), queue.bytes.mean()), (3.0, 3_000.0));
        assert!((queue.packets.sd() - (12.0f64 - 9.0).sqrt()).abs() < 1e-12);
        queue.restart(Time::from_nanos(40));
        queue.finish(Time::from_nanos(50));
        assert_eq!((queue.packets.mean(), queue.packets.max()), (0.0, 0));
    }

    #[test]
    fn what_a_queue_holds_when_it_is_measured_anew_counts_for_its_maximum() {
        let mut queue = QueueStats::default();
        queue.set(Time::from_nanos(0), 9, 9_000);
        queue.set(Time::from_nanos(5), 4, 4_000);
        queue.restart(Time::from_nanos(10));
        queue.shrink(Time::from_nanos(20), 3, 3_000);
        queue.finish(Time::from_nanos(30));
        assert_eq!((queue.packets.max(), queue.bytes.max()), (4, 4_000));
        assert_eq!((queue.packets.mean(), queue.bytes.mean()), (3.5, 3_500.0));
    }

    #[test]
    fn the_largest_backlog_for_the_longest_time_overflows_nothing() {
        let (packets, bytes) = (u64::from(u32::MAX), u64::from(u32::MAX) * range::LARGEST_PACKET);
        let end = Time::ZERO + range::LONGEST_TIME;
        let mut queue = QueueStats::default();
        queue.set(Time::ZERO, packets, bytes);
        queue.set(end, packets, bytes);
        queue.finish(end);
        assert_eq!((queue.packets.mean(), queue.bytes.mean()), (packets as f64, bytes as f64));
        assert!(queue.bytes.sd() <= 1e-6 * bytes as f64, "{}", queue.bytes.sd());
        // The largest value whose square is exact.
        let mut queue = QueueStats::default();
        queue.set(Time::ZERO, 1, EXACT_SQUARE - 1);
        queue.finish(end);
        assert!(queue.bytes.square > 1 << 113 && queue.bytes.large_square == 0.0);
    }

    #[test]
    fn a_quantile_counts_more_samples_than_fit_into_32_bits() {
        let mut quantiles = Quantiles::default();
        quantiles.add(0);
        (quantiles.counts[0], quantiles.total) = (u64::from(u32::MAX), u64::from(u32::MAX));
        quantiles.add(0);
        quantiles.add(1000);
        assert_eq!(quantiles.at(0.5), 0.0);
    }

    proptest! {
        #[test]
        fn a_quantile_is_within_its_bound(mut samples in prop::collection::vec(0u64..10_000_000_000, 1..400), q in 0.01f64..1.0) {
            let mut quantiles = Quantiles::default();
            samples.iter().for_each(|&s| quantiles.add(s));
            samples.sort_unstable();
            let exact = samples[((q * samples.len() as f64).ceil() as usize).max(1) - 1] as f64;
            prop_assert!((quantiles.at(q) - exact).abs() <= exact / 60.0 + 1.0);
        }

        #[test]
        fn moments_agree_with_their_definition(samples in prop::collection::vec(-1e6f64..1e6, 1..200)) {
            let mut moments = Moments::default();
            samples.iter().for_each(|&s| moments.add(s));
            let mean = samples.iter().sum::<f64>() / samples.len() as f64;
            let variance = samples.iter().map(|s| (s - mean) * (s - mean)).sum::<f64>() / samples.len() as f64;
            prop_assert!((moments.mean() - mean).abs() < 1e-6);
            prop_assert!((moments.sd() - variance.sqrt()).abs() < 1e-5);
        }
    }
}
