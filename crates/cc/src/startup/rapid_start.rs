//! Rapid Start (draft-kazuho-ccwg-rapid-start): triples the window per round trip.
//! While there is a queue, the window doubles. The first flight is paced over a round trip. After congestion the window follows the data that passed the bottleneck until recovery ends.
//!
//! It follows the draft's text of November 2025. Differences:
//!
//! - The initial window is that of the endpoint. The draft allows twice the usual one (`initial_window`).
//! - The losses that start the recovery count in it. Its reductions end when the whole window was delivered or lost: retransmissions do not
//!   reduce the window.
//! - An endpoint with proportional rate reduction approaches each target instead of stopping.
//! - The reduction does not stop at a part of the initial window, which the draft leaves optional.

use super::{Phase, StartUp, StartUpNeeds};
use crate::max_filter::MaxFilter;
use crate::{Ack, CongestionEvent, Pacing, Window};
use sojourn_units::{Duration, ParamError};

/// K of the reduction factors.
const K: f64 = 11.0 / 18.0;

/// Parameters of Rapid Start.
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Params {
    /// Segments added per acknowledged segment while there is no queue, 1 to 10; default 2.
    /// Source: draft-kazuho-ccwg-rapid-start#3.1, threefold growth.
    pub growth: f64,
    /// The growth of the RTT that is not a queue; default "4 ms".
    /// Source: draft-kazuho-ccwg-rapid-start#3.1.
    pub jitter: Duration,
    /// The RTT over the minimum RTT that is not a queue, 1 to 10; default 1.1.
    /// Source: draft-kazuho-ccwg-rapid-start#3.1. The smaller bound applies.
    pub jitter_ratio: f64,
}

impl Default for Params {
    fn default() -> Self {
        Params { growth: 2.0, jitter: Duration::from_millis(4), jitter_ratio: 1.1 }
    }
}

impl Params {
    pub(crate) fn check(&self) -> Result<(), ParamError> {
        let growth = (1.0..=10.0).contains(&self.growth);
        ParamError::unless(growth, "growth", &self.growth, "a number of segments, 1 to 10")?;
        ParamError::unless((1.0..=10.0).contains(&self.jitter_ratio), "jitter_ratio", &self.jitter_ratio, "a number, 1 to 10")
    }

    pub(crate) fn start(&self, _paced: bool) -> RapidStart {
        RapidStart { params: *self, fastest: MaxFilter::default(), queued: false, pacing: None, began: false, lost: 0.0, recovery: None }
    }
}

/// The reduction factors for a controller that keeps `beta` of its window.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Factors {
    silence: f64,
    ack: f64,
    loss: f64,
}

impl Factors {
    fn of(beta: f64) -> Factors {
        let part = K * (1.0 - beta);
        Factors { silence: beta + part, ack: part, loss: beta + part }
    }
}

/// A recovery.
#[derive(Clone, Copy, Debug)]
struct Recovery {
    factors: Factors,
    cwnd: f64,
    least: f64,
    /// Segments of the window before it that are neither delivered nor lost.
    left: f64,
    /// The byte with which it ends; `None` before its first ACK.
    end: Option<u64>,
}

impl Recovery {
    fn new(beta: f64, before: f64) -> Recovery {
        let factors = Factors::of(beta);
        // If tail drops are the only losses, at most two of three segments are lost.
        let least = before * (factors.silence - factors.ack / 3.0 - factors.loss * 2.0 / 3.0);
        Recovery { factors, cwnd: before * factors.silence, least: least.max(Window::MIN_CWND), left: before, end: None }
    }

    /// Reduces the window by `factor` for segments that are delivered or lost.
    fn reduce(&mut self, factor: f64, segments: f64) {
        let segments = segments.min(self.left);
        self.cwnd -= factor * segments;
        self.left -= segments;
    }

    fn window(&mut self) -> Window {
        self.cwnd = self.cwnd.max(self.least);
        Window { cwnd: self.cwnd, ssthresh: self.cwnd }
    }
}

/// Rapid Start.
#[derive(Clone, Debug)]
pub struct RapidStart {
    params: Params,
    /// The reciprocal of the RTTs of the last round trip in seconds.
    fastest: MaxFilter,
    /// Whether all RTTs of the last round trip have grown.
    queued: bool,
    /// The pacing of the first flight.
    pacing: Option<Pacing>,
    /// Whether an ACK has arrived.
    began: bool,
    /// Segments lost since the last ACK.
    lost: f64,
    recovery: Option<Recovery>,
}

impl RapidStart {
    fn observe(&mut self, ack: &Ack) {
        (self.pacing, self.began, self.lost) = (None, true, 0.0);
        let Some(rtt) = ack.rtt.filter(|&rtt| rtt > Duration::ZERO) else { return };
        self.fastest.update(ack.rtt_min.as_nanos(), ack.now.as_nanos(), 1.0 / rtt.as_secs_f64());
        let (floor, min) = (1.0 / self.fastest.max(), ack.rtt_min.as_secs_f64());
        self.queued = floor > (min + self.params.jitter.as_secs_f64()).min(min * self.params.jitter_ratio);
    }
}

impl StartUp for RapidStart {
    fn on_ack(&mut self, ack: &Ack, window: &mut Window) -> Phase {
        let Some(recovery) = &mut self.recovery else {
            self.observe(ack);
            return Phase::SlowStart;
        };
        let end = *recovery.end.get_or_insert(ack.snd_max);
        if ack.snd_una >= end && !ack.in_recovery {
            return Phase::Over;
        }
        recovery.reduce(recovery.factors.ack, ack.acked);
        *window = recovery.window();
        Phase::Hold
    }

    fn growth(&self, ack: &Ack, _classic: f64) -> f64 {
        ack.acked * if self.queued { 1.0 } else { self.params.growth }
    }

    fn on_congestion(&mut self, event: &CongestionEvent, reduced: &mut Window) -> bool {
        if self.recovery.is_some() {
            return false;
        }
        let beta = (reduced.cwnd / event.window.max(1.0)).clamp(0.0, 1.0);
        let mut recovery = Recovery::new(beta, event.window);
        recovery.reduce(recovery.factors.loss, self.lost);
        *reduced = recovery.window();
        (self.recovery, self.pacing) = (Some(recovery), None);
        true
    }

    fn on_lost(&mut self, segments: f64) {
        match &mut self.recovery {
            Some(recovery) => recovery.reduce(recovery.factors.loss, segments),
            None => self.lost += segments,
        }
    }

    fn on_flight_start(&mut self, window: Window, srtt: Duration) {
        if !self.began && srtt > Duration::ZERO {
            self.pacing = Some(Pacing::of_quantum(window.cwnd / srtt.as_secs_f64(), 1.0));
        }
    }

    fn pacing(&self) -> Option<Pacing> {
        self.pacing
    }

    fn needs(&self) -> StartUpNeeds {
        StartUpNeeds { pacing: true, losses: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Signal;
    use sojourn_units::Time;

    const MIN_RTT: Duration = Duration::from_millis(20);

    fn ack(ms: u64, rtt_ms: f64) -> Ack {
        let rtt = Duration::from_secs_f64(rtt_ms / 1e3);
        Ack { now: Time::ZERO + Duration::from_millis(ms), rtt: Some(rtt), rtt_min: MIN_RTT, srtt: rtt, ..Ack::ONE }
    }

    fn at(state: &mut RapidStart, ack: &Ack) -> f64 {
        assert_eq!(state.on_ack(ack, &mut Window { cwnd: 10.0, ssthresh: 1e9 }), Phase::SlowStart);
        state.growth(ack, 1.0)
    }

    #[test]
    fn the_window_triples_up_to_a_tenth_of_the_minimum_rtt_or_4_ms_and_doubles_above() {
        // A tenth of 20 ms is the smaller bound.
        for (rtt, growth) in [(20.0, 2.0), (22.0, 2.0), (22.1, 1.0)] {
            assert_eq!(at(&mut Params::default().start(false), &ack(100, rtt)), growth, "{rtt}");
        }
        // At 100 ms it is the 4 ms.
        for (rtt, growth) in [(104.0, 2.0), (104.1, 1.0)] {
            let ack = Ack { rtt_min: Duration::from_millis(100), ..ack(100, rtt) };
            assert_eq!(at(&mut Params::default().start(false), &ack), growth, "{rtt}");
        }
    }

    #[test]
    fn the_floor_is_the_minimum_of_the_last_round_trip() {
        let mut state = Params::default().start(false);
        assert_eq!(at(&mut state, &ack(100, 20.0)), 2.0);
        assert_eq!(at(&mut state, &ack(110, 30.0)), 2.0, "10 ms ago there was no queue");
        assert_eq!(at(&mut state, &ack(121, 30.0)), 1.0, "21 ms ago is before the last round trip");
        assert_eq!(at(&mut state, &ack(125, 20.0)), 2.0);
    }

    #[test]
    fn the_first_flight_is_paced_over_a_round_trip() {
        let mut state = Params::default().start(false);
        state.on_flight_start(Window { cwnd: 20.0, ssthresh: 1e9 }, Duration::from_millis(50));
        assert_eq!(state.pacing().map(|pacing| pacing.rate), Some(400.0));
        at(&mut state, &ack(100, 50.0));
        assert_eq!(state.pacing(), None);
        state.on_flight_start(Window { cwnd: 20.0, ssthresh: 1e9 }, Duration::from_millis(50));
        assert_eq!(state.pacing(), None, "a later flight is not the first");
    }

    #[test]
    fn the_reduction_factors_are_those_of_the_draft_for_reno_and_cubic() {
        let near = |beta, [silence, ack, loss]: [f64; 3]| {
            let Factors { silence: s, ack: a, loss: l } = Factors::of(beta);
            (s - silence).abs() + (a - ack).abs() + (l - loss).abs() < 1e-12
        };
        assert!(near(0.5, [29.0 / 36.0, 11.0 / 36.0, 29.0 / 36.0]));
        assert!(near(0.7, [53.0 / 60.0, 11.0 / 60.0, 53.0 / 60.0]));
    }

    /// The window after a recovery in which `lost` of 900 segments are lost.
    /// The controller's `beta` is 0.7.
    fn after(lost: u64) -> f64 {
        let mut state = Params::default().start(false);
        let event = CongestionEvent { now: Time::ZERO, window: 900.0, signal: Signal::Loss };
        let mut window = Window { cwnd: 630.0, ssthresh: 630.0 };
        state.on_lost(1.0);
        assert!(state.on_congestion(&event, &mut window));
        for segment in 1..900 {
            if segment < lost {
                state.on_lost(1.0);
            } else {
                let ack = Ack { in_recovery: true, snd_max: 900, ..Ack::ONE };
                assert_eq!(state.on_ack(&ack, &mut window), Phase::Hold);
            }
        }
        let last = Ack { snd_una: 900, snd_max: 900, ..Ack::ONE };
        assert_eq!(state.on_ack(&last, &mut window), Phase::Over);
        assert_eq!(window.cwnd, window.ssthresh);
        window.cwnd
    }

    #[test]
    fn after_recovery_the_window_is_the_delivered_part_times_beta() {
        for lost in [1, 300, 600] {
            let delivered = 900.0 - lost as f64;
            assert!((after(lost) - 0.7 * delivered).abs() < 1.0, "{lost}: {}", after(lost));
        }
    }

    #[test]
    fn the_delivery_of_retransmissions_does_not_reduce_the_window() {
        let mut recovery = Recovery::new(0.7, 90.0);
        recovery.reduce(recovery.factors.loss, 30.0);
        recovery.reduce(recovery.factors.ack, 60.0);
        let before = recovery.cwnd;
        recovery.reduce(recovery.factors.ack, 30.0);
        assert_eq!(recovery.cwnd, before);
    }

    #[test]
    fn no_recovery_takes_more_than_two_thirds_of_losses_would() {
        let least = 900.0 * (53.0 / 60.0 - 11.0 / 180.0 - 106.0 / 180.0);
        assert!((after(890) - least).abs() < 1e-9);
    }

    #[test]
    fn a_second_signal_is_the_controllers() {
        let mut state = Params::default().start(false);
        let event = CongestionEvent { now: Time::ZERO, window: 900.0, signal: Signal::Loss };
        let mut window = Window { cwnd: 450.0, ssthresh: 450.0 };
        assert!(state.on_congestion(&event, &mut window.clone()));
        assert!(!state.on_congestion(&event, &mut window));
        assert_eq!(window.cwnd, 450.0);
    }
}
