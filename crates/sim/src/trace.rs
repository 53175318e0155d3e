//! Traces, kept only when asked for.

use sojourn_units::{Duration, Time};

/// A link's queue sampled at equal steps.
#[derive(Clone, Debug)]
pub struct LinkTrace {
    /// When the next sample is due.
    pub next: Time,
    every: Duration,
    /// Times in seconds.
    pub t: Vec<f64>,
    /// Packets waiting.
    pub packets: Vec<f64>,
    /// Bytes waiting.
    pub bytes: Vec<f64>,
    /// The discipline's probability.
    pub probability: Vec<f64>,
    /// Bytes whose sending has begun so far.
    pub begun: Vec<f64>,
}

impl LinkTrace {
    /// Samples at 0, `every`, 2 `every`, ...
    pub fn new(every: Duration) -> Self {
        let every = every.max(Duration::from_nanos(1));
        LinkTrace {
            next: Time::ZERO,
            every,
            t: Vec::new(),
            packets: Vec::new(),
            bytes: Vec::new(),
            probability: Vec::new(),
            begun: Vec::new(),
        }
    }

    /// Takes the sample that is due.
    pub(crate) fn sample(&mut self, packets: u32, bytes: u64, probability: f64, begun: u64) {
        self.t.push(self.next.as_secs_f64());
        self.packets.push(f64::from(packets));
        self.bytes.push(bytes as f64);
        self.probability.push(probability);
        self.begun.push(begun as f64);
        self.next += self.every;
    }
}
