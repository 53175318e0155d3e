//! Named random streams.
//!
//! The run's seed and a name such as `flow/3/start` determine a stream. An additional flow or link has its own streams and does not affect
//! others, so algorithms can be compared with identical traffic.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The FNV-1a hash of bytes, the same on every machine.
pub fn bytes_hash(bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The FNV-1a hash of a name given in parts.
pub fn name_hash<'a>(parts: impl IntoIterator<Item = &'a str>) -> u64 {
    bytes_hash(parts.into_iter().flat_map(str::bytes))
}

/// One named stream of random numbers: xoshiro256++ seeded from (seed, name).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// The stream called `name` in the run with this `seed`.
    pub fn named(seed: u64, name: &str) -> Stream {
        Stream::named_by_parts(seed, [name])
    }

    /// The stream with a name given in parts, such as `flow/`, `web` and `/start`.
    /// This avoids building many names.
    pub fn named_by_parts<'a>(seed: u64, parts: impl IntoIterator<Item = &'a str>) -> Stream {
        // Mixes name and seed; seed_from_u64 spreads the result with splitmix64.
        let mixed = name_hash(parts) ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31);
        Stream(Xoshiro256PlusPlus::seed_from_u64(mixed))
    }

    /// Switches to the stream of another run, if nothing has been drawn yet.
    /// Returns whether it now equals that stream. `start` and `other` are the two streams before the first draw.
    #[must_use]
    pub fn adopt(&mut self, start: &Stream, other: &Stream) -> bool {
        if self == start {
            *self = other.clone();
        }
        self == other
    }

    /// Uniform in `[0, 1)` with 53 random bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in `[low, high)`.
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// A uniform integer in `0..n` by Lemire's multiplication; 0 for `n` = 0.
    /// Its bias is too small to measure.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// Exponential with mean `mean`.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.unit())
    }

    /// Pareto (type I) with this mean and shape > 1: never below mean (shape - 1)/shape.
    pub fn pareto(&mut self, mean: f64, shape: f64) -> f64 {
        let scale = mean * (shape - 1.0) / shape;
        scale / libm::pow(1.0 - self.unit(), 1.0 / shape)
    }

    /// Pareto type II (Lomax) with this mean and shape > 1: its minimum is 0.
    pub fn pareto2(&mut self, mean: f64, shape: f64) -> f64 {
        mean * (shape - 1.0) * (libm::pow(1.0 - self.unit(), -1.0 / shape) - 1.0)
    }

    /// Normal with this mean and standard deviation (Box-Muller, one of the pair).
    pub fn normal(&mut self, mean: f64, sd: f64) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.unit()));
        mean + sd * radius * libm::cos(core::f64::consts::TAU * self.unit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(name: &str, mut draw: impl FnMut(&mut Stream) -> f64) -> f64 {
        let mut stream = Stream::named(1, name);
        (0..200_000).map(|_| draw(&mut stream)).sum::<f64>() / 200_000.0
    }

    #[test]
    fn a_stream_depends_on_its_seed_and_its_name_only() {
        let draw = |seed, name| Stream::named(seed, name).unit();
        assert_eq!(draw(1, "flow/3/start"), draw(1, "flow/3/start"));
        assert_ne!(draw(1, "flow/3/start"), draw(2, "flow/3/start"));
        assert_ne!(draw(1, "flow/3/start"), draw(1, "flow/4/start"));
    }

    #[test]
    fn a_stream_goes_over_to_another_run_until_something_is_drawn() {
        let (start, other) = (Stream::named(1, "a"), Stream::named(2, "a"));
        let mut stream = start.clone();
        assert!(stream.adopt(&start, &other) && stream == other);
        let mut asked = start.clone();
        asked.unit();
        assert!(!asked.adopt(&start, &other));
        assert_eq!(asked.unit(), {
            let mut second = start.clone();
            second.unit();
            second.unit()
        });
    }

    #[test]
    fn distributions_have_the_means_they_are_asked_for() {
        let near = |value: f64, asked: f64, tolerance: f64| assert!((value - asked).abs() < tolerance, "{value} for {asked}");
        near(mean("a", |s| s.unit()), 0.5, 0.002);
        near(mean("b", |s| s.exponential(3.0)), 3.0, 0.03);
        near(mean("c", |s| s.pareto(10.0, 3.0)), 10.0, 0.1);
        near(mean("d", |s| s.pareto2(10.0, 3.0)), 10.0, 0.2);
        near(mean("e", |s| s.normal(5.0, 2.0)), 5.0, 0.02);
        near(mean("f", |s| s.below(11) as f64), 5.0, 0.03);
    }
}
