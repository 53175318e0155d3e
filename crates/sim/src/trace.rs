//! Traces, kept only when asked for.

use sojourn_units::{Duration, Time};

/// A queue sampled at equal steps.
#[derive(Clone, Debug)]
pub struct QueueTrace {
    /// When the next sample is due.
    pub next: Time,
    every: Duration,
    /// Times in seconds.
    pub t: Vec<f64>,
    /// Packets waiting.
    pub packets: Vec<u32>,
    /// Bytes waiting.
    pub bytes: Vec<u64>,
    /// The discipline's probability.
    pub probability: Vec<f64>,
}

impl QueueTrace {
    /// Samples at 0, `every`, 2 `every`, ...
    pub fn new(every: Duration) -> Self {
        QueueTrace { next: Time::ZERO, every, t: Vec::new(), packets: Vec::new(), bytes: Vec::new(), probability: Vec::new() }
    }

    /// Takes the sample that is due.
    pub fn sample(&mut self, packets: u32, bytes: u64, probability: f64) {
        self.t.push(self.next.as_secs_f64());
        self.packets.push(packets);
        self.bytes.push(bytes);
        self.probability.push(probability);
        self.next += self.every;
    }
}
