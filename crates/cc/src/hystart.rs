//! `HyStart++` (RFC 9406): leave the first slow start when the round trip grows, not when packets are lost.

use crate::Ack;
use sojourn_units::Duration;

/// The least and the most growth of the round trip that counts (RFC 9406 section 4.3).
const THRESHOLD: (Duration, Duration) = (Duration::from_millis(4), Duration::from_millis(16));
/// Between these bounds the part of the round trip that counts is one in so many.
const DIVISOR: u64 = 8;
/// Samples of a round before it is judged.
const SAMPLES: u32 = 8;
/// In conservative slow start the window grows by one in so many.
const SLOWER: f64 = 4.0;
/// Rounds of conservative slow start before it ends for good.
const ROUNDS: u32 = 5;
/// Segments that one acknowledgement may add without pacing.
const MOST: f64 = 8.0;

/// Slow start that watches the round trip.
#[derive(Clone, Debug)]
pub struct HyStart {
    /// The round ends when this byte is acknowledged.
    end: u64,
    samples: u32,
    now: Duration,
    last: Duration,
    /// In conservative slow start: the least round trip on entering it, and rounds seen.
    cautious: Option<(Duration, u32)>,
    done: bool,
}

impl Default for HyStart {
    fn default() -> Self {
        HyStart { end: 0, samples: 0, now: Duration::MAX, last: Duration::MAX, cautious: None, done: false }
    }
}

impl HyStart {
    /// Segments to add to the window for this acknowledgement.
    pub fn growth(&mut self, ack: &Ack) -> f64 {
        if ack.snd_una > self.end {
            self.next_round(ack.snd_max);
        }
        if let Some(rtt) = ack.rtt {
            self.now = self.now.min(rtt);
            self.samples += 1;
        }
        self.judge();
        ack.acked.min(MOST) / if self.cautious.is_some() { SLOWER } else { 1.0 }
    }

    /// Whether slow start is over.
    pub fn done(&self) -> bool {
        self.done
    }

    fn next_round(&mut self, end: u64) {
        self.end = end;
        (self.last, self.now, self.samples) = (self.now, Duration::MAX, 0);
        if let Some((_, rounds)) = &mut self.cautious {
            *rounds += 1;
            self.done = *rounds >= ROUNDS;
        }
    }

    fn judge(&mut self) {
        if self.samples < SAMPLES || self.now == Duration::MAX {
            return;
        }
        match self.cautious {
            // The delay was a blip: back to slow start.
            Some((entered, _)) if self.now < entered => self.cautious = None,
            None if self.last != Duration::MAX => {
                let growth = Duration::from_nanos(self.last.as_nanos() / DIVISOR).clamp(THRESHOLD.0, THRESHOLD.1);
                if self.now >= self.last + growth {
                    self.cautious = Some((self.now, 0));
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of ten segments, with these round trips in milliseconds; gives the growth of each round.
    fn rounds(hystart: &mut HyStart, rtts: &[u64]) -> std::vec::Vec<f64> {
        let mut una = hystart.end;
        let mut round = |rtt: &u64| -> f64 {
            let next = una + 10;
            (0..10)
                .map(|_| {
                    una += 1;
                    hystart.growth(&Ack { rtt: Some(Duration::from_millis(*rtt)), snd_una: una, snd_max: next, ..Ack::ONE })
                })
                .sum()
        };
        rtts.iter().map(&mut round).collect()
    }

    #[test]
    fn a_growing_round_trip_slows_the_growth_to_a_quarter_and_ends_it_five_rounds_later() {
        let mut hystart = HyStart::default();
        let growth = rounds(&mut hystart, &[100, 100, 115, 116, 117, 118, 119]);
        assert_eq!(growth[1], 10.0);
        assert!(growth[2] < 10.0);
        assert_eq!(growth[3], 2.5);
        assert!(!hystart.done());
        rounds(&mut hystart, &[120, 121]);
        assert!(hystart.done());
    }

    #[test]
    fn a_round_trip_that_falls_again_resumes_slow_start() {
        let mut hystart = HyStart::default();
        let growth = rounds(&mut hystart, &[100, 100, 115, 114, 100, 100]);
        assert_eq!(growth[5], 10.0);
        assert!(!hystart.done());
    }
}
