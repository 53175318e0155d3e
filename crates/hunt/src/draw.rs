//! Random choices.

use sojourn_units::Stream;

/// The random choices of one world.
/// They come from a fuzzer's bytes until these are used up, then from a stream.
#[derive(Debug)]
pub struct Draw {
    bytes: Vec<u8>,
    random: Stream,
}

impl Draw {
    /// The choices for this seed and purpose.
    pub fn new(seed: u64, name: &str) -> Draw {
        Draw { bytes: Vec::new(), random: Stream::named(seed, name) }
    }

    /// The choices of a fuzzer, two bytes each.
    pub fn of_bytes(bytes: &[u8]) -> Draw {
        Draw { bytes: bytes.iter().rev().copied().collect(), random: Stream::named(0, "world") }
    }

    /// A number of at least 0, below 1.
    fn unit(&mut self) -> f64 {
        match (self.bytes.pop(), self.bytes.pop()) {
            (Some(high), Some(low)) => f64::from(u16::from_be_bytes([high, low])) / 65_536.0,
            _ => self.random.unit(),
        }
    }

    /// True with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// A whole number from `low` to `high`, both included.
    pub fn whole(&mut self, low: u64, high: u64) -> u64 {
        low + (self.unit() * (high.saturating_sub(low) as f64 + 1.0)) as u64
    }

    /// An index of a list of this length.
    pub fn index(&mut self, length: usize) -> usize {
        (self.unit() * length as f64) as usize
    }

    /// One of these elements.
    pub fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.index(from.len())].clone()
    }

    /// A uniform number from `low` to `high`.
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// A number from `low` to `high` with a uniform logarithm.
    pub fn magnitude(&mut self, low: f64, high: f64) -> f64 {
        self.uniform(low.ln(), high.ln()).exp()
    }
}
