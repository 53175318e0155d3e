//! Vegas (brakmo-1995): keeps a few segments in the queue.
//! Once per round trip it compares the actual rate with the rate without a queue. As in Linux `tcp_vegas.c`, without its fixed-point
//! numbers.

use crate::variable::if_known;
use crate::{Ack, CongestionController, CongestionEvent, Event, ParamError, Start, Variable, Window};
use alloc::boxed::Box;
use sojourn_units::{Duration, Time};

/// The traceable variables.
pub(crate) const VARIABLES: &[Variable<Vegas>] =
    &[Variable::new("base_rtt", "s", "the smallest round-trip time", |cc| if_known(cc.base_rtt))];

/// Parameters of Vegas.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Params {
    /// Queued segments below which the window grows, 0 or more; default 2 (Linux `alpha`).
    /// It grows by one per round trip.
    pub alpha: f64,
    /// Queued segments above which the window falls; default 4 (Linux `beta`).
    /// It is at least `alpha`. The window falls by one per round trip.
    pub beta: f64,
    /// Queued segments above which slow start ends, 0 or more; default 1 (Linux `gamma`).
    pub gamma: f64,
}

impl Default for Params {
    fn default() -> Self {
        Params { alpha: 2.0, beta: 4.0, gamma: 1.0 }
    }
}

impl Params {
    /// Creates the controller of a new connection.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn build(&self, start: Start) -> Result<State, ParamError> {
        ParamError::unless(self.alpha >= 0.0 && self.alpha.is_finite(), "alpha", &self.alpha, "a number of segments, 0 or more")?;
        let beta = self.beta >= self.alpha && self.beta.is_finite();
        ParamError::unless(beta, "beta", &self.beta, "a number of segments, alpha or more")?;
        ParamError::unless(self.gamma >= 0.0 && self.gamma.is_finite(), "gamma", &self.gamma, "a number of segments, 0 or more")?;
        Ok(State {
            params: self.clone(),
            window: Window { cwnd: start.window, ssthresh: start.ssthresh },
            base_rtt: Duration::MAX,
            min_rtt: Duration::MAX,
            samples: 0,
            acks: 0,
            round_end: 0,
            snd_max: 0,
            is_open: true,
            measures: true,
            as_linux: start.is_linux(),
        })
    }
}

/// The number of samples of a round trip up to which all may be delayed.
/// Source: Linux `tcp_vegas_cong_avoid`.
const FEW_SAMPLES: u32 = 2;

/// Vegas.
pub type Vegas = Box<State>;

/// The state of Vegas.
#[derive(Clone, Debug)]
pub struct State {
    params: Params,
    window: Window,
    /// The minimum RTT since the connection opened, or since the last pause.
    base_rtt: Duration,
    /// The minimum RTT of this round trip, and its number of samples.
    min_rtt: Duration,
    samples: u32,
    /// ACKs of this round trip.
    acks: u32,
    round_end: u64,
    /// The byte after the highest one sent before the last ACK.
    snd_max: u64,
    /// Whether no losses are being repaired.
    is_open: bool,
    /// Whether it measures. It does not during loss recovery: then it is Reno.
    measures: bool,
    /// Whether it counts as Linux: acknowledged segments, and whole segments in the queue.
    as_linux: bool,
}

impl State {
    fn begin_round(&mut self) {
        (self.min_rtt, self.samples, self.acks, self.round_end) = (Duration::MAX, 0, 0, self.snd_max);
    }

    fn reno(&mut self, ack: &Ack) {
        if !ack.cwnd_limited {
            return;
        }
        if self.window.cwnd < self.window.ssthresh {
            self.slow_start(ack);
        } else {
            self.window.cwnd += if self.as_linux { ack.acked } else { ack.avoidance_count() } / self.window.cwnd;
        }
    }

    fn slow_start(&mut self, ack: &Ack) {
        self.window.cwnd = if self.as_linux {
            (self.window.cwnd + ack.acked).min(self.window.ssthresh)
        } else {
            self.window.cwnd + ack.slow_start_growth()
        };
    }

    /// Whether the round trip has too few samples to be judged.
    /// If one segment is timed at a time, as without timestamps, one sample is enough.
    fn has_few_samples(&self) -> bool {
        self.samples == 0 || (self.samples <= FEW_SAMPLES && self.acks <= 2 * FEW_SAMPLES)
    }

    /// Adjusts the window once per round trip (brakmo-1995).
    fn adjust(&mut self, ack: &Ack) {
        let (base, rtt) = (self.base_rtt.as_secs_f64(), self.min_rtt.as_secs_f64());
        if base <= 0.0 {
            return;
        }
        let whole = |segments: f64| if self.as_linux { libm::floor(segments) } else { segments };
        let queued = whole(self.window.cwnd * (rtt - base) / base);
        if self.window.cwnd < self.window.ssthresh {
            if queued > self.params.gamma {
                self.window.cwnd = self.window.cwnd.min(whole(self.window.cwnd * base / rtt) + 1.0);
                self.window.ssthresh = self.window.ssthresh.min(self.window.cwnd);
            } else {
                self.slow_start(ack);
            }
        } else if queued > self.params.beta {
            self.window.cwnd -= 1.0;
            self.window.ssthresh = self.window.ssthresh.min(self.window.cwnd);
        } else if queued < self.params.alpha {
            self.window.cwnd += 1.0;
        }
        self.window.cwnd = self.window.cwnd.max(Window::MIN_CWND);
        let ssthresh = if self.as_linux { self.window.ssthresh_of_window() } else { self.window.ssthresh };
        self.window.ssthresh = ssthresh.max(Window::MIN_CWND);
    }
}

impl CongestionController for State {
    fn memory(&self) -> usize {
        size_of::<Self>()
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.acks += 1;
        self.snd_max = ack.snd_max;
        if let Some(rtt) = ack.rtt {
            self.base_rtt = self.base_rtt.min(rtt);
            self.min_rtt = self.min_rtt.min(rtt);
            self.samples += 1;
        }
        let open = !ack.in_recovery && !ack.after_timeout;
        if core::mem::replace(&mut self.is_open, open) != open {
            self.measures = open;
            self.begin_round();
        }
        // Because delays tell how much data is in the network, Linux ignores what limits the sender.
        if ack.in_recovery || !(ack.cwnd_limited || self.as_linux) {
            return;
        }
        if !self.measures {
            self.reno(ack);
        } else if ack.snd_una > self.round_end {
            if self.has_few_samples() {
                self.reno(ack)
            } else {
                self.adjust(ack)
            }
            self.begin_round();
        } else if self.window.cwnd < self.window.ssthresh {
            self.slow_start(ack);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.window = Window::reduced(event.window / 2.0);
    }

    fn on_rto(&mut self, _now: Time, window: f64) {
        self.window = Window::after_timeout(window / 2.0);
    }

    fn window(&self) -> Window {
        self.window
    }

    fn set_cwnd(&mut self, cwnd: f64) {
        self.window.cwnd = cwnd;
    }

    fn on_event(&mut self, event: &Event) {
        match event {
            Event::IdleRestart(window) => self.window = *window,
            // Measurements before a pause are stale (Linux `tcp_vegas_cwnd_event_tx_start`).
            Event::IdleEnd { .. } if self.as_linux => {
                (self.base_rtt, self.measures) = (Duration::MAX, true);
                self.begin_round();
            }
            _ => event.apply(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last window after `rounds` round trips on a path of `bdp` segments.
    fn settled(start: f64, bdp: f64, rounds: u64) -> f64 {
        let mut cc = Params::default().build(Start::new(start, 2.0)).unwrap();
        for round in 1..=rounds {
            let rtt = Duration::from_secs_f64(0.1 * (cc.cwnd() / bdp).max(1.0));
            let rtt = if round == 1 { Duration::from_millis(100) } else { rtt };
            (0..4).for_each(|i| cc.on_ack(&Ack { rtt: Some(rtt), snd_una: 4 * round + i, snd_max: 4 * round + 3, ..Ack::ONE }));
        }
        cc.cwnd()
    }

    #[test]
    fn two_to_four_segments_stay_in_the_queue() {
        assert!((22.0..=24.0).contains(&settled(5.0, 20.0, 100)));
        assert!((22.0..=24.0).contains(&settled(60.0, 20.0, 100)));
    }

    #[test]
    fn after_a_pause_linux_measures_the_least_round_trip_time_again() {
        let mut cc = Params::default().build(Start::new(10.0, 2.0).in_linux()).unwrap();
        let round = |cc: &mut State, ms: u64, number: u64| {
            for i in 0..4 {
                let rtt = Some(Duration::from_millis(ms));
                cc.on_ack(&Ack { rtt, snd_una: 4 * number + i, snd_max: 4 * number + 3, ..Ack::ONE });
            }
            cc.cwnd()
        };
        round(&mut cc, 20, 1);
        let before = round(&mut cc, 100, 2);
        assert!(round(&mut cc, 100, 4) < before, "it takes the longer path for a queue");
        cc.on_event(&Event::IdleEnd { now: Time::ZERO, idle: Duration::from_secs(1), srtt: Duration::ZERO });
        let before = round(&mut cc, 100, 5);
        assert!(round(&mut cc, 100, 6) > before, "what it knew is stale");
    }

    #[test]
    fn one_sample_in_a_round_trip_of_many_acks_is_enough() {
        let mut cc = Params::default().build(Start::new(60.0, 2.0)).unwrap();
        for round in 1..=100 {
            let rtt = Duration::from_secs_f64(if round == 1 { 0.1 } else { 0.1 * (cc.cwnd() / 20.0).max(1.0) });
            for i in 0..8 {
                let rtt = (i == 3).then_some(rtt);
                cc.on_ack(&Ack { rtt, snd_una: 8 * round + i, snd_max: 8 * round + 7, ..Ack::ONE });
            }
        }
        assert!((22.0..=24.0).contains(&cc.cwnd()), "{}", cc.cwnd());
    }
}
