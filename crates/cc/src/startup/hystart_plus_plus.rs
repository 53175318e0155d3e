//! `HyStart++` (rfc9406): slow start ends when the RTT grows, not when packets are lost.
//! If the RTT of a round has grown, growth slows down in conservative slow start (CSS). If it falls again, slow start resumes; otherwise it
//! ends some rounds later.
//!
//! It runs in the first slow start only (rfc9406#4.3). Only ACKs count that may grow the window.

use super::{Phase, StartUp};
use crate::{Ack, Window};
use sojourn_units::{Duration, ParamError};

/// Parameters of `HyStart++`.
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Params {
    /// The minimum growth of the RTT that counts, at most `max_rtt_thresh`; default "4 ms".
    /// Source: rfc9406#4.3, `MIN_RTT_THRESH`.
    pub min_rtt_thresh: Duration,
    /// The growth of the RTT that always counts; default "16 ms" (rfc9406#4.3).
    pub max_rtt_thresh: Duration,
    /// The last round's RTT over this is the growth that counts, 1 or more; default 8.
    /// Source: rfc9406#4.3. The two thresholds limit it.
    pub min_rtt_divisor: u32,
    /// The number of RTT samples that a round requires, 1 or more; default 8 (rfc9406#4.3).
    pub n_rtt_sample: u32,
    /// The divisor of growth in conservative slow start, 1 or more; default 4 (rfc9406#4.3).
    pub css_growth_divisor: f64,
    /// The rounds of conservative slow start after which it ends, 1 or more; default 5.
    /// Source: rfc9406#4.3.
    pub css_rounds: u32,
    /// L, the maximum number of segments that an ACK adds without pacing, 1 or more; default 8.
    /// Source: rfc9406#4.3. With pacing there is no limit.
    pub l: f64,
}

impl Default for Params {
    fn default() -> Self {
        Params::DEFAULT
    }
}

impl Params {
    /// The defaults.
    const DEFAULT: Params = Params {
        min_rtt_thresh: Duration::from_millis(4),
        max_rtt_thresh: Duration::from_millis(16),
        min_rtt_divisor: 8,
        n_rtt_sample: 8,
        css_growth_divisor: 4.0,
        css_rounds: 5,
        l: 8.0,
    };

    pub(crate) fn check(&self) -> Result<(), ParamError> {
        let thresholds = self.min_rtt_thresh <= self.max_rtt_thresh;
        ParamError::unless(thresholds, "min_rtt_thresh", &self.min_rtt_thresh, "a time of at most max_rtt_thresh")?;
        ParamError::unless(self.min_rtt_divisor >= 1, "min_rtt_divisor", &self.min_rtt_divisor, "a whole number, 1 or more")?;
        ParamError::unless(self.n_rtt_sample >= 1, "n_rtt_sample", &self.n_rtt_sample, "a whole number, 1 or more")?;
        let divisor = self.css_growth_divisor >= 1.0 && self.css_growth_divisor.is_finite();
        ParamError::unless(divisor, "css_growth_divisor", &self.css_growth_divisor, "a number, 1 or more")?;
        ParamError::unless(self.css_rounds >= 1, "css_rounds", &self.css_rounds, "a whole number, 1 or more")?;
        ParamError::unless(self.l >= 1.0 && self.l.is_finite(), "l", &self.l, "a number of segments, 1 or more")
    }

    pub(crate) fn start(&self, paced: bool) -> HyStartPlusPlus {
        HyStartPlusPlus {
            params: *self,
            limit: if paced { f64::INFINITY } else { self.l },
            window_end: 0,
            rtt_samples: 0,
            current_round_min_rtt: Duration::MAX,
            last_round_min_rtt: Duration::MAX,
            conservative: None,
        }
    }
}

/// Conservative slow start (rfc9406#4.2).
#[derive(Clone, Copy, Debug)]
struct ConservativeSlowStart {
    /// The minimum RTT of the round in which it started (cssBaselineMinRtt).
    baseline_min_rtt: Duration,
    /// The number of rounds that ended since, the one in which it started included.
    rounds: u32,
}

/// Slow start that watches the RTT.
#[derive(Clone, Debug)]
pub struct HyStartPlusPlus {
    params: Params,
    /// The maximum number of segments that an ACK adds.
    limit: f64,
    /// The round ends when this byte is acknowledged (windowEnd).
    window_end: u64,
    /// RTT samples of this round (rttSampleCount).
    rtt_samples: u32,
    /// The minimum RTT of this round (currentRoundMinRTT).
    current_round_min_rtt: Duration,
    /// The minimum RTT of the previous round (lastRoundMinRTT).
    last_round_min_rtt: Duration,
    conservative: Option<ConservativeSlowStart>,
}

impl HyStartPlusPlus {
    /// Starts a round. Returns whether that ends slow start.
    fn next_round(&mut self, window_end: u64) -> bool {
        self.window_end = window_end;
        self.last_round_min_rtt = self.current_round_min_rtt;
        self.current_round_min_rtt = Duration::MAX;
        self.rtt_samples = 0;
        let Some(conservative) = &mut self.conservative else { return false };
        conservative.rounds += 1;
        conservative.rounds >= self.params.css_rounds
    }

    /// RttThresh (rfc9406#4.2).
    fn rtt_thresh(&self) -> Duration {
        let part = Duration::from_nanos(self.last_round_min_rtt.as_nanos() / u64::from(self.params.min_rtt_divisor));
        part.min(self.params.max_rtt_thresh).max(self.params.min_rtt_thresh)
    }

    /// Enters conservative slow start if the RTT grew, and leaves it if that did not last.
    fn check_rtt(&mut self) {
        let (current, last) = (self.current_round_min_rtt, self.last_round_min_rtt);
        if self.rtt_samples < self.params.n_rtt_sample || current == Duration::MAX {
            return;
        }
        match self.conservative {
            Some(conservative) if current < conservative.baseline_min_rtt => self.conservative = None,
            None if last != Duration::MAX && current >= last + self.rtt_thresh() => {
                self.conservative = Some(ConservativeSlowStart { baseline_min_rtt: current, rounds: 0 });
            }
            _ => {}
        }
    }
}

impl StartUp for HyStartPlusPlus {
    fn on_ack(&mut self, ack: &Ack, window: &mut Window) -> Phase {
        if ack.in_recovery || !ack.cwnd_limited || window.cwnd >= window.ssthresh {
            return Phase::SlowStart;
        }
        if ack.snd_una > self.window_end && self.next_round(ack.snd_max) {
            window.ssthresh = window.cwnd;
            return Phase::Over;
        }
        if let Some(rtt) = ack.rtt {
            self.current_round_min_rtt = self.current_round_min_rtt.min(rtt);
            self.rtt_samples += 1;
        }
        self.check_rtt();
        Phase::SlowStart
    }

    fn growth(&self, ack: &Ack, _classic: f64) -> f64 {
        ack.acked.min(self.limit) / if self.conservative.is_some() { self.params.css_growth_divisor } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    /// A connection in slow start, with ten segments in each round.
    struct Connection {
        state: HyStartPlusPlus,
        window: Window,
        una: u64,
    }

    impl Connection {
        fn new(params: Params) -> Connection {
            Connection { state: params.start(false), window: Window { cwnd: 10.0, ssthresh: 1e9 }, una: 0 }
        }

        /// The growth in each round with these RTTs in milliseconds, until slow start ends.
        fn rounds(&mut self, rtts: &[u64]) -> Vec<f64> {
            rtts.iter().map_while(|&rtt| self.round(rtt)).collect()
        }

        fn round(&mut self, rtt: u64) -> Option<f64> {
            let (end, mut growth) = (self.una + 10, 0.0);
            while self.una < end {
                self.una += 1;
                let ack = Ack { rtt: Some(Duration::from_millis(rtt)), snd_una: self.una, snd_max: end, ..Ack::ONE };
                if self.state.on_ack(&ack, &mut self.window) == Phase::Over {
                    return None;
                }
                growth += self.state.growth(&ack, 1.0);
            }
            Some(growth)
        }
    }

    #[test]
    fn the_constants_are_those_of_rfc_9406_section_4_3() {
        let Params { min_rtt_thresh, max_rtt_thresh, min_rtt_divisor, n_rtt_sample, css_growth_divisor, css_rounds, l } = Params::DEFAULT;
        assert_eq!([min_rtt_thresh, max_rtt_thresh], [4, 16].map(Duration::from_millis));
        assert_eq!([min_rtt_divisor, n_rtt_sample, css_rounds], [8, 8, 5]);
        assert_eq!([css_growth_divisor, l], [4.0, 8.0]);
    }

    #[test]
    fn rtt_thresh_is_an_eighth_of_the_last_rounds_rtt_between_4_and_16_ms() {
        let thresh = |ms| {
            let mut state = Params::DEFAULT.start(false);
            state.last_round_min_rtt = Duration::from_millis(ms);
            state.rtt_thresh()
        };
        assert_eq!([10, 80, 400].map(thresh), [4, 10, 16].map(Duration::from_millis));
    }

    #[test]
    fn growth_falls_to_a_quarter_at_the_threshold_and_not_a_millisecond_before() {
        assert_eq!(Connection::new(Params::DEFAULT).rounds(&[80, 80, 89, 89]), [10.0; 4]);
        // The eighth sample of the third round decides. The samples of a round include that of its first ACK.
        assert_eq!(Connection::new(Params::DEFAULT).rounds(&[80, 80, 90, 90])[3], 2.5);
    }

    #[test]
    fn a_round_with_too_few_samples_decides_nothing() {
        let mut connection = Connection::new(Params { n_rtt_sample: 11, ..Params::DEFAULT });
        assert_eq!(connection.rounds(&[80, 80, 120, 120]), [10.0; 4]);
    }

    #[test]
    fn conservative_slow_start_lasts_five_rounds_with_that_in_which_it_starts() {
        let mut connection = Connection::new(Params::DEFAULT);
        // It starts in the third round, and the seventh is the fifth of it.
        assert_eq!(connection.rounds(&[100, 100, 115, 116, 117, 118, 119, 120]).len(), 7);
        assert_eq!(connection.window.ssthresh, connection.window.cwnd);
    }

    #[test]
    fn an_rtt_below_the_baseline_resumes_slow_start() {
        let growth = Connection::new(Params::DEFAULT).rounds(&[100, 100, 115, 114, 100, 100]);
        assert_eq!(growth[5], 10.0);
    }

    #[test]
    fn an_ack_adds_at_most_eight_segments_without_pacing_and_all_with_it() {
        let ack = Ack { acked: 20.0, ..Ack::ONE };
        let growth = |paced| Params::DEFAULT.start(paced).growth(&ack, 1.0);
        assert_eq!([growth(false), growth(true)], [8.0, 20.0]);
    }
}
