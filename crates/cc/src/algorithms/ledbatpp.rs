//! LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus): LEDBAT with a multiplicative decrease.
//! It uses round-trip delays, a slower start on short paths, and periodic slowdowns in which all flows see the empty queue.

use super::ledbat::target;
use crate::{
    Ack, CongestionEvent, DelayBased, DelayLaw, DelaySample, EstimatorParams, MARK_GAIN, Marks, ParamError, Slowdown, Source, Start,
    Variable, Window, growth,
};
use alloc::boxed::Box;
use sojourn_units::{Duration, Time};

/// LEDBAT++.
pub type LedbatPp = Box<DelayBased<LedbatPpLaw>>;

/// The traceable variables.
pub(crate) const VARIABLES: &[Variable<LedbatPp>] = &[DelayBased::QUEUING_DELAY];

/// Parameters of LEDBAT++.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Params {
    /// The target queuing delay, 1 ms to 10 s; default 60 ms.
    /// Source: draft-irtf-iccrg-ledbat-plus-plus#4.4.
    pub target: Duration,
    /// Fraction of the window removed per round trip, above 0 and at most 10; default 1.
    /// It applies at twice the target (draft-irtf-iccrg-ledbat-plus-plus#4.2).
    pub decrease: f64,
    /// Whether to slow down periodically; default true (draft-irtf-iccrg-ledbat-plus-plus#4.4).
    pub slowdown: bool,
    /// Response to counted marks, 0 to 100; default 4. Prague uses 1/2.
    /// It is the window reduction per round trip divided by the marked fraction. With 0, marks count as losses.
    pub mark_gain: f64,
    /// Parameters of the estimator of the queuing delay; default from the round-trip time.
    /// Source: draft-irtf-iccrg-ledbat-plus-plus#4.1.
    pub delay: EstimatorParams,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            target: Duration::from_millis(60),
            decrease: 1.0,
            slowdown: true,
            mark_gain: MARK_GAIN,
            delay: EstimatorParams { source: Source::RoundTrip, ..EstimatorParams::default() },
        }
    }
}

impl Params {
    /// Creates the controller of a new connection.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn build(&self, start: Start) -> Result<DelayBased<LedbatPpLaw>, ParamError> {
        let target = target(self.target)?;
        let decrease = self.decrease > 0.0 && self.decrease <= 10.0;
        ParamError::unless(decrease, "decrease", &self.decrease, "a number above 0 and at most 10")?;
        let law = LedbatPpLaw { target, decrease: self.decrease, slowdown: Slowdown::new(self.slowdown) };
        Ok(DelayBased::new(start, self.delay.build()?, law).with_marks(Marks::new(self.mark_gain, start)?))
    }
}

/// The delay law.
#[derive(Clone, Debug)]
pub struct LedbatPpLaw {
    /// The target in milliseconds.
    target: f64,
    decrease: f64,
    slowdown: Slowdown,
}

/// Segments that a round trip adds or, if negative, removes: at most half the window.
/// Source: draft-irtf-iccrg-ledbat-plus-plus#4.2.
fn step(law: &LedbatPpLaw, window: f64, sample: DelaySample) -> f64 {
    let gain = growth(law.target, sample.base);
    if sample.queuing <= law.target {
        return gain;
    }
    (gain - law.decrease * window * (sample.queuing / law.target - 1.0)).max(-window / 2.0)
}

impl LedbatPpLaw {
    /// Advances the slowdown. Returns whether it holds the window.
    fn hold(&mut self, window: &mut Window, ack: &Ack) -> bool {
        if self.slowdown.is_due(ack.now) {
            self.slowdown.start(window, ack);
        } else {
            self.slowdown.release(ack.now);
        }
        self.slowdown.is_holding()
    }
}

impl DelayLaw for LedbatPpLaw {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, sample: Option<DelaySample>) {
        let Some(sample) = sample else { return };
        if ack.in_recovery || ack.acked <= 0.0 || self.hold(window, ack) || !ack.cwnd_limited {
            return;
        }
        if window.cwnd < window.ssthresh {
            window.cwnd += growth(self.target, sample.base) * ack.acked;
            let first = self.slowdown.in_first_slow_start();
            if (first && sample.queuing > 0.75 * self.target) || window.cwnd >= window.ssthresh {
                window.ssthresh = window.ssthresh.min(window.cwnd);
                // The first slowdown is two round trips after the first slow start (draft-irtf-iccrg-ledbat-plus-plus#4.4).
                self.slowdown.end_slow_start(ack.now, ack.srtt * 2);
            }
            return;
        }
        window.cwnd = (window.cwnd + step(self, window.cwnd, sample) * ack.acked / window.cwnd).max(Window::MIN_CWND);
        // Slow start must not undo what the delay removed.
        window.ssthresh = window.ssthresh.min(window.cwnd);
    }

    fn on_congestion(&mut self, window: &mut Window, event: &CongestionEvent) {
        *window = Window::reduced(event.window / 2.0);
        self.slowdown.end_slow_start(event.now, Duration::ZERO);
    }

    fn on_marks(&mut self, now: Time) -> bool {
        self.slowdown.on_marks(now, Duration::ZERO)
    }

    fn on_rto(&mut self, window: &mut Window, now: Time, in_use: f64) {
        *window = Window::after_timeout(in_use / 2.0);
        if self.slowdown.in_first_slow_start() {
            self.slowdown.end_slow_start(now, Duration::ZERO);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CongestionController, Signal};

    fn law() -> LedbatPpLaw {
        Params::default().build(Start::new(2.0, 1e9)).unwrap().law().clone()
    }

    #[test]
    fn short_paths_grow_more_slowly_to_a_sixteenth() {
        for (base, expected) in [(100.0, 2.0), (10.0, 12.0), (5.0, 16.0), (200.0, 1.0)] {
            assert_eq!(growth(60.0, base), 1.0 / expected, "{base} ms");
        }
    }

    #[test]
    fn the_decrease_grows_with_window_and_delay_up_to_half_the_window() {
        let at = |queuing| step(&law(), 20.0, DelaySample { queuing, base: 100.0 });
        assert_eq!((at(60.0), at(90.0), at(120.0)), (0.5, -9.5, -10.0));
    }

    /// The windows after each of `rounds` round trips of `rtt` ms that acknowledge a window.
    fn rounds(cc: &mut DelayBased<LedbatPpLaw>, from: u64, rtt: u64, rounds: u64) -> std::vec::Vec<f64> {
        let rtt = Duration::from_millis(rtt);
        (0..rounds)
            .map(|i| {
                let now = Time::ZERO + Duration::from_millis(100) * (from + i);
                (0..cc.cwnd() as u64).for_each(|_| cc.on_ack(&Ack { now, rtt: Some(rtt), srtt: rtt, ..Ack::ONE }));
                cc.cwnd()
            })
            .collect()
    }

    #[test]
    fn slow_start_ends_at_three_quarters_of_the_target_and_a_slowdown_follows_two_round_trips_later() {
        let mut cc = Params::default().build(Start::new(2.0, 1e9)).unwrap();
        let grown = rounds(&mut cc, 0, 100, 6);
        assert!(grown[5] > 10.0);
        rounds(&mut cc, 6, 150, 1);
        let at = cc.ssthresh();
        assert!(at < 1e9);
        let windows = rounds(&mut cc, 7, 150, 10);
        assert!(windows.contains(&2.0), "{windows:?}");
        assert!(windows[9] > 2.0, "{windows:?}");
    }

    #[test]
    fn slow_start_does_not_undo_what_the_delay_removed() {
        let mut cc = Params { slowdown: false, ..Params::default() }.build(Start::new(40.0, 40.0)).unwrap();
        rounds(&mut cc, 0, 100, 2);
        let windows = rounds(&mut cc, 2, 200, 5);
        assert!(windows.windows(2).all(|pair| pair[1] < pair[0]) && windows[4] < 4.0, "{windows:?}");
    }

    #[test]
    fn slowdowns_take_a_tenth_of_the_time_at_most() {
        let mut cc = Params::default().build(Start::new(2.0, 32.0)).unwrap();
        let windows = rounds(&mut cc, 0, 100, 2000);
        let held = windows.iter().filter(|&&w| w <= 2.0).count();
        assert!(held > 10 && held < 200, "{held}");
    }

    #[test]
    fn a_loss_halves_but_leaves_two_segments() {
        let mut cc = Params::default().build(Start::new(3.0, 1e9)).unwrap();
        cc.on_congestion(&CongestionEvent { now: Time::ZERO, window: 3.0, signal: Signal::Loss });
        assert_eq!((cc.cwnd(), cc.ssthresh()), (2.0, 2.0));
    }

    #[test]
    fn counted_marks_end_slow_start_and_put_slowdowns_off_for_a_minute() {
        let mut cc = Params::default().build(Start::new(2.0, 1e9)).unwrap();
        rounds(&mut cc, 0, 100, 8);
        let before = cc.cwnd();
        cc.on_congestion(&CongestionEvent { now: Time::ZERO + Duration::from_secs(1), window: before, signal: Signal::Mark });
        assert_eq!((cc.cwnd(), cc.ssthresh()), (before / 2.0, before / 2.0));
        // Rounds are a tenth of a second apart.
        assert!(rounds(&mut cc, 10, 100, 590).iter().all(|&window| window > 2.0));
        assert!(rounds(&mut cc, 600, 100, 50).contains(&2.0));
    }
}
