//! `HyStart++` (rfc9406): slow start ends when the RTT grows, not when packets are lost.

use crate::Ack;
use sojourn_units::Duration;

/// The minimum growth of the RTT that counts (rfc9406#4.3).
const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
/// The growth of the RTT that always counts (rfc9406#4.3).
const MAX_RTT_THRESH: Duration = Duration::from_millis(16);
/// The divisor of the last round's RTT that yields the growth that counts (rfc9406#4.3).
/// The bounds above limit it.
const MIN_RTT_DIVISOR: u64 = 8;
/// The number of RTT samples that a round requires (rfc9406#4.3).
const N_RTT_SAMPLE: u32 = 8;
/// The divisor of growth in conservative slow start (rfc9406#4.3).
const CSS_GROWTH_DIVISOR: f64 = 4.0;
/// The rounds of conservative slow start, after which slow start ends (rfc9406#4.3).
const CSS_ROUNDS: u32 = 5;
/// The maximum number of segments that an ACK adds without pacing (rfc9406#4.3 L).
const L: f64 = 8.0;

/// Conservative slow start (rfc9406#4.2).
#[derive(Clone, Copy, Debug)]
struct ConservativeSlowStart {
    /// The minimum RTT of the round in which it started (cssBaselineMinRtt).
    baseline_min_rtt: Duration,
    /// The number of rounds since its start.
    rounds: u32,
}

/// Slow start that watches the RTT.
#[derive(Clone, Debug)]
pub struct HyStart {
    /// The round ends when this byte is acknowledged (windowEnd).
    window_end: u64,
    /// RTT samples of this round (rttSampleCount).
    rtt_samples: u32,
    /// The minimum RTT of this round (currentRoundMinRTT).
    current_round_min_rtt: Duration,
    /// The minimum RTT of the previous round (lastRoundMinRTT).
    last_round_min_rtt: Duration,
    conservative: Option<ConservativeSlowStart>,
    /// The fraction of a segment by which a window of whole segments has not grown yet.
    part: f64,
    done: bool,
}

impl Default for HyStart {
    fn default() -> Self {
        HyStart {
            window_end: 0,
            rtt_samples: 0,
            current_round_min_rtt: Duration::MAX,
            last_round_min_rtt: Duration::MAX,
            conservative: None,
            part: 0.0,
            done: false,
        }
    }
}

impl HyStart {
    /// The segments that an ACK adds to the window.
    pub fn growth(&mut self, ack: &Ack) -> f64 {
        if ack.snd_una > self.window_end {
            self.next_round(ack.snd_max);
        }
        if let Some(rtt) = ack.rtt {
            self.current_round_min_rtt = self.current_round_min_rtt.min(rtt);
            self.rtt_samples += 1;
        }
        self.check_rtt();
        ack.acked.min(L) / if self.conservative.is_some() { CSS_GROWTH_DIVISOR } else { 1.0 }
    }

    /// The growth in whole segments. The remainder counts for the next ACKs.
    pub(crate) fn whole_growth(&mut self, ack: &Ack) -> f64 {
        let growth = self.part + self.growth(ack);
        let whole = libm::floor(growth);
        self.part = growth - whole;
        whole
    }

    /// Whether slow start is over.
    pub fn done(&self) -> bool {
        self.done
    }

    fn next_round(&mut self, window_end: u64) {
        self.window_end = window_end;
        self.last_round_min_rtt = self.current_round_min_rtt;
        self.current_round_min_rtt = Duration::MAX;
        self.rtt_samples = 0;
        if let Some(conservative) = &mut self.conservative {
            conservative.rounds += 1;
            self.done = conservative.rounds >= CSS_ROUNDS;
        }
    }

    /// Enters conservative slow start if the RTT grew, and leaves it if that did not last.
    fn check_rtt(&mut self) {
        let (current, last) = (self.current_round_min_rtt, self.last_round_min_rtt);
        if self.rtt_samples < N_RTT_SAMPLE || current == Duration::MAX {
            return;
        }
        match self.conservative {
            Some(conservative) if current < conservative.baseline_min_rtt => self.conservative = None,
            None if last != Duration::MAX => {
                let threshold = Duration::from_nanos(last.as_nanos() / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH);
                if current >= last + threshold {
                    self.conservative = Some(ConservativeSlowStart { baseline_min_rtt: current, rounds: 0 });
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The growth in each round of ten segments with these RTTs in milliseconds.
    fn rounds(hystart: &mut HyStart, rtts: &[u64]) -> std::vec::Vec<f64> {
        let mut una = hystart.window_end;
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
    fn a_growing_rtt_slows_growth_to_a_quarter_and_ends_slow_start_five_rounds_later() {
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
    fn a_window_of_whole_segments_grows_by_a_quarter_too() {
        let mut hystart = HyStart::default();
        rounds(&mut hystart, &[100, 100, 115]);
        let ack = Ack { rtt: Some(Duration::from_millis(116)), snd_una: hystart.window_end, snd_max: hystart.window_end, ..Ack::ONE };
        let growth: f64 = (0..20).map(|_| hystart.whole_growth(&ack)).sum();
        assert_eq!(growth, 5.0);
    }

    #[test]
    fn an_rtt_that_falls_again_resumes_slow_start() {
        let mut hystart = HyStart::default();
        let growth = rounds(&mut hystart, &[100, 100, 115, 114, 100, 100]);
        assert_eq!(growth[5], 10.0);
        assert!(!hystart.done());
    }
}
