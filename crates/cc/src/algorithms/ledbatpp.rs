//! LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus): LEDBAT that shrinks in proportion to its window, reads the round
//! trip, starts slowly on short paths, and steps back now and then so that all see the empty queue.

use super::ledbat::target;
use crate::{Ack, CongestionEvent, DelayBased, DelayLaw, DelaySample, EstimatorParams, ParamError, Source, Start, Window};
use sojourn_units::{Duration, Time};

/// Parameters of the law.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// How long packets are to wait; default 60 ms (section 4.4 of the draft).
    pub target: Duration,
    /// Segments taken per round trip and window for a delay of twice the target, above 0; default 1 (section 4.2).
    pub decrease: f64,
    /// Whether to step back periodically; default true (section 4.4).
    pub slowdown: bool,
    /// How the queuing delay is estimated; default from the round trip (section 4.1).
    pub delay: EstimatorParams,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            target: Duration::from_millis(60),
            decrease: 1.0,
            slowdown: true,
            delay: EstimatorParams { source: Source::RoundTrip, ..EstimatorParams::default() },
        }
    }
}

impl Params {
    /// The controller, or which parameter is out of range.
    pub fn build(&self, start: Start) -> Result<DelayBased<LedbatPp>, ParamError> {
        let target = target(self.target)?;
        let decrease = self.decrease > 0.0 && self.decrease <= 10.0;
        ParamError::unless(decrease, "decrease", &self.decrease, "a number above 0 and at most 10")?;
        let law = LedbatPp { target, decrease: self.decrease, slowdown: self.slowdown, first: true, pause: Pause::Before };
        Ok(DelayBased::new(start, self.delay.build()?, law))
    }
}

/// The least window in segments.
const LEAST: f64 = 2.0;

/// Where the periodic slowdown stands.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Pause {
    /// The first slow start lasts.
    Before,
    /// The next one begins then.
    Next(Time),
    /// At two segments since then, until the second time.
    Holding(Time, Time),
    /// Growing back since then.
    Growing(Time),
}

/// The law.
#[derive(Clone, Debug)]
pub struct LedbatPp {
    target: f64,
    decrease: f64,
    slowdown: bool,
    first: bool,
    pause: Pause,
}

/// The part of standard growth on a path with this base delay (section 4.3): 1 over at most 16.
fn gain(target: f64, base: f64) -> f64 {
    1.0 / libm::ceil(2.0 * target / base.max(1e-3)).clamp(1.0, 16.0)
}

/// Segments that a round trip adds or takes (section 4.2), never more than half the window.
fn step(law: &LedbatPp, window: f64, sample: DelaySample) -> f64 {
    let gain = gain(law.target, sample.base);
    if sample.queuing <= law.target {
        return gain;
    }
    (gain - law.decrease * window * (sample.queuing / law.target - 1.0)).max(-window / 2.0)
}

impl LedbatPp {
    fn end_slow_start(&mut self, window: &mut Window, ack: &Ack) {
        self.first = false;
        window.ssthresh = window.ssthresh.min(window.cwnd);
        self.pause = match self.pause {
            // Two round trips after the first slow start; later ones nine times as far apart as they last.
            Pause::Before => Pause::Next(ack.now + ack.srtt * 2),
            Pause::Growing(since) => Pause::Next(ack.now + ack.now.since(since) * 9),
            other => other,
        };
    }

    /// Moves the slowdown on; says whether the window is held.
    fn held(&mut self, window: &mut Window, ack: &Ack) -> bool {
        match self.pause {
            Pause::Next(at) if self.slowdown && ack.now >= at => {
                window.ssthresh = window.cwnd.max(2.0);
                window.cwnd = 2.0;
                self.pause = Pause::Holding(ack.now, ack.now + ack.srtt * 2);
                true
            }
            Pause::Holding(since, until) if ack.now >= until => {
                self.pause = Pause::Growing(since);
                false
            }
            Pause::Holding(..) => true,
            _ => false,
        }
    }
}

impl DelayLaw for LedbatPp {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, sample: Option<DelaySample>) {
        let Some(sample) = sample else { return };
        if ack.in_recovery || ack.acked <= 0.0 || self.held(window, ack) || !ack.cwnd_limited {
            return;
        }
        if window.cwnd < window.ssthresh {
            window.cwnd += gain(self.target, sample.base) * ack.acked;
            if (self.first && sample.queuing > 0.75 * self.target) || window.cwnd >= window.ssthresh {
                self.end_slow_start(window, ack);
            }
            return;
        }
        window.cwnd = (window.cwnd + step(self, window.cwnd, sample) * ack.acked / window.cwnd).max(LEAST);
        // What the delay took, slow start must not give back.
        window.ssthresh = window.ssthresh.min(window.cwnd);
    }

    fn on_congestion(&mut self, window: &mut Window, event: &CongestionEvent) {
        window.ssthresh = (event.window / 2.0).max(LEAST);
        window.cwnd = window.ssthresh;
        if self.first {
            self.first = false;
            self.pause = Pause::Next(event.now);
        } else if let Pause::Holding(since, _) | Pause::Growing(since) = self.pause {
            self.pause = Pause::Next(event.now + event.now.since(since) * 9);
        }
    }

    fn on_rto(&mut self, window: &mut Window, now: Time, in_use: f64) {
        window.ssthresh = (in_use / 2.0).max(LEAST);
        window.cwnd = 1.0;
        self.first = false;
        if self.pause == Pause::Before {
            self.pause = Pause::Next(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CongestionController, Signal};

    fn law() -> LedbatPp {
        Params::default().build(Start { window: 2.0, ssthresh: 1e9 }).unwrap().law().clone()
    }

    #[test]
    fn short_paths_grow_more_slowly_to_a_sixteenth() {
        for (base, expected) in [(100.0, 2.0), (10.0, 12.0), (5.0, 16.0), (200.0, 1.0)] {
            assert_eq!(gain(60.0, base), 1.0 / expected, "{base} ms");
        }
    }

    #[test]
    fn the_decrease_grows_with_window_and_delay_up_to_half_the_window() {
        let at = |queuing| step(&law(), 20.0, DelaySample { queuing, base: 100.0 });
        assert_eq!((at(60.0), at(90.0), at(120.0)), (0.5, -9.5, -10.0));
    }

    /// Acknowledges a window a round trip of `rtt` milliseconds for `rounds`; the windows after each.
    fn rounds(cc: &mut DelayBased<LedbatPp>, from: u64, rtt: u64, rounds: u64) -> std::vec::Vec<f64> {
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
        let mut cc = Params::default().build(Start { window: 2.0, ssthresh: 1e9 }).unwrap();
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
    fn what_the_delay_took_is_not_given_back_by_slow_start() {
        let mut cc = Params { slowdown: false, ..Params::default() }.build(Start { window: 40.0, ssthresh: 40.0 }).unwrap();
        rounds(&mut cc, 0, 100, 2);
        let windows = rounds(&mut cc, 2, 200, 5);
        assert!(windows.windows(2).all(|pair| pair[1] < pair[0]) && windows[4] < 4.0, "{windows:?}");
    }

    #[test]
    fn slowdowns_take_a_tenth_of_the_time_at_most() {
        let mut cc = Params::default().build(Start { window: 2.0, ssthresh: 32.0 }).unwrap();
        let windows = rounds(&mut cc, 0, 100, 2000);
        let held = windows.iter().filter(|&&w| w <= 2.0).count();
        assert!(held > 10 && held < 200, "{held}");
    }

    #[test]
    fn a_loss_halves_but_leaves_two_segments() {
        let mut cc = Params::default().build(Start { window: 3.0, ssthresh: 1e9 }).unwrap();
        cc.on_congestion(&CongestionEvent { now: Time::ZERO, window: 3.0, signal: Signal::Loss });
        assert_eq!((cc.cwnd(), cc.ssthresh()), (2.0, 2.0));
    }
}
