//! FLOWER+: FLOWER with changes that improve it in the background bench.
//! `docs/background.md` has the numbers of each change.
//!
//! - The target is 60 ms, and the smallest window is two segments.
//! - Above the target the window shrinks at least as fast as with LEDBAT++, in proportion to the window.
//! - Where FLOWER resets the window to one segment, FLOWER+ halves it.
//! - A single loss halves the window too; a second one soon after leaves the smallest window.
//! - The first slow start ends at three quarters of the target.
//! - Periodic slowdowns, as with LEDBAT++, let all flows see the empty queue.

use super::flower::{Answer, FlowerLaw, Params as FlowerParams};
use crate::{
    Ack, CongestionEvent, DelayBased, DelayLaw, DelaySample, EstimatorParams, MARK_GAIN, Marks, ParamError, Slowdown, Start, Variable,
    Window,
};
use alloc::boxed::Box;
use sojourn_units::{Duration, Time};

/// FLOWER+.
pub type FlowerPlus = Box<DelayBased<FlowerPlusLaw>>;

/// The traceable variables.
pub(crate) const VARIABLES: &[Variable<FlowerPlus>] = &[DelayBased::QUEUING_DELAY];

/// Parameters of FLOWER+.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Params {
    /// The target queuing delay, 1 ms to 10 s; default 60 ms, as in LEDBAT++.
    pub target: Duration,
    /// Whether to slow down periodically; default true.
    pub slowdown: bool,
    /// Response to counted marks, 0 to 100; default 4. Prague uses 1/2.
    /// It is the window reduction per round trip divided by the marked fraction. With 0, marks count as losses.
    pub mark_gain: f64,
    /// Parameters of the estimator of the queuing delay.
    pub delay: EstimatorParams,
}

impl Default for Params {
    fn default() -> Self {
        Params { target: Duration::from_millis(60), slowdown: true, mark_gain: MARK_GAIN, delay: EstimatorParams::default() }
    }
}

impl Params {
    /// Creates the controller of a new connection.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn build(&self, start: Start) -> Result<DelayBased<FlowerPlusLaw>, ParamError> {
        let plain = FlowerParams { target: self.target, delay: self.delay.clone(), ..FlowerParams::default() };
        let flower = plain.build(start)?.law().clone();
        let law = FlowerPlusLaw { flower, slowdown: Slowdown::new(self.slowdown), srtt: Duration::ZERO, last_loss: None };
        Ok(DelayBased::new(start, self.delay.build()?, law).with_marks(Marks::new(self.mark_gain, start)?))
    }
}

/// A second loss within this number of round trips is taken for congestion.
const LOSS_MEMORY: u64 = 30;

/// Segments that a round trip adds or, if negative, removes.
/// `above` is the excess of its delay over the target, relative to the target. The rules determine the change. Above the target the window
/// shrinks at least as with LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus#4.2), but at most by half.
fn step(window: f64, answer: Answer, above: f64) -> f64 {
    match answer {
        Answer::Reset => -window / 2.0,
        Answer::Change(change) if above > 0.0 => change.min(-window * above).max(-window / 2.0),
        Answer::Change(change) => change,
    }
}

/// The delay law.
#[derive(Clone, Debug)]
pub struct FlowerPlusLaw {
    flower: FlowerLaw,
    slowdown: Slowdown,
    srtt: Duration,
    last_loss: Option<Time>,
}

impl FlowerPlusLaw {
    /// Ends the slow start of a connection or of a slowdown.
    fn end_slow_start(&mut self, now: Time) {
        self.flower.slow_start_over = true;
        self.slowdown.end_slow_start(now, self.srtt * 2);
    }

    /// Advances the slowdown. Returns whether it continues.
    fn slow_down(&mut self, window: &mut Window, ack: &Ack) -> bool {
        if self.slowdown.is_growing() {
            if ack.cwnd_limited && !ack.in_recovery {
                window.cwnd += ack.acked;
                if window.cwnd >= window.ssthresh {
                    window.cwnd = window.ssthresh;
                    self.end_slow_start(ack.now);
                }
            }
        } else if self.slowdown.is_due(ack.now) && window.cwnd > Window::MIN_CWND {
            self.slowdown.start(window, ack);
        } else {
            self.slowdown.release(ack.now);
        }
        self.slowdown.is_holding() || self.slowdown.is_growing()
    }
}

impl DelayLaw for FlowerPlusLaw {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, sample: Option<DelaySample>) {
        self.srtt = ack.srtt;
        let slowing_down = self.flower.slow_start_over && self.slow_down(window, ack);
        // During a slowdown the law learns, but does not change the window.
        let seen = Ack { in_recovery: ack.in_recovery || slowing_down, ..*ack };
        self.flower.slow_start(window, &seen);
        if let Some(round_trip) = self.flower.observe(&seen, sample) {
            window.cwnd += step(window.cwnd, round_trip.answer, round_trip.queuing / self.flower.target - 1.0);
        }
        window.cwnd = window.cwnd.max(Window::MIN_CWND);
        if !self.flower.slow_start_over && sample.is_some_and(|sample| sample.queuing > 0.75 * self.flower.target) {
            window.ssthresh = window.cwnd;
            self.end_slow_start(ack.now);
        }
    }

    fn on_congestion(&mut self, window: &mut Window, event: &CongestionEvent) {
        let single = self.last_loss.is_none_or(|then| event.now.since(then) > self.srtt * LOSS_MEMORY);
        self.last_loss = Some(event.now);
        let cwnd = if single { (event.window / 2.0).max(Window::MIN_CWND) } else { Window::MIN_CWND };
        *window = Window { cwnd, ssthresh: cwnd };
        self.end_slow_start(event.now);
    }

    fn on_marks(&mut self, now: Time) -> bool {
        // If a slowdown holds the window, slow start has already ended.
        self.flower.slow_start_over = true;
        self.slowdown.on_marks(now, self.srtt * 2)
    }

    fn on_rto(&mut self, window: &mut Window, now: Time, _in_use: f64) {
        self.last_loss = Some(now);
        *window = Window { cwnd: 1.0, ssthresh: Window::MIN_CWND };
        self.end_slow_start(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CongestionController, Signal};
    use proptest::prelude::*;

    const START: Start = Start::new(2.0, 1e9);

    fn loss(at: u64, window: f64) -> CongestionEvent {
        CongestionEvent { now: Time::ZERO + Duration::from_millis(at), window, signal: Signal::Loss }
    }

    #[test]
    fn a_single_loss_halves_and_a_second_one_soon_after_leaves_the_smallest_window() {
        let mut cc = Params::default().build(START).unwrap();
        let srtt = Duration::from_millis(100);
        cc.on_ack(&Ack { srtt, ..Ack::ONE });
        cc.on_congestion(&loss(0, 40.0));
        assert_eq!(cc.cwnd(), 20.0);
        cc.on_congestion(&loss(500, 20.0));
        assert_eq!(cc.cwnd(), 2.0);
        cc.on_congestion(&loss(5_000, 12.0));
        assert_eq!(cc.cwnd(), 6.0);
    }

    #[test]
    fn above_the_target_the_window_shrinks_in_proportion_by_at_most_half_and_below_it_as_the_rules_say() {
        let change = |window, change, above| step(window, Answer::Change(change), above);
        assert_eq!((change(40.0, 0.7, -0.5), change(40.0, -0.3, 0.0)), (0.7, -0.3));
        // Half above the target: half of the window. A hundredth above: the rules, which remove more.
        assert_eq!((change(40.0, -1.0, 0.5), change(40.0, -1.0, 0.1), change(40.0, -1.0, 0.01)), (-20.0, -4.0, -1.0));
        assert_eq!((change(40.0, -1.0, 3.0), step(40.0, Answer::Reset, -0.5)), (-20.0, -20.0));
    }

    #[test]
    fn slowdowns_take_a_tenth_of_the_time_at_most() {
        let mut cc = Params::default().build(START).unwrap();
        let (mut una, mut least, rounds) = (0, 0, 3000);
        for round in 0..rounds {
            let (now, window) = (Time::ZERO + Duration::from_millis(100) * round, cc.cwnd() as u64);
            let delay = if window > 30 { 50_000_000 } else { 0 };
            for _ in 0..window {
                una += 1;
                let srtt = Duration::from_millis(100);
                cc.on_ack(&Ack { now, srtt, rtt: Some(srtt), one_way_delay: Some(delay), snd_una: una, snd_max: una + window, ..Ack::ONE });
            }
            least += u64::from(cc.cwnd() <= Window::MIN_CWND);
        }
        assert!(least > 10 && least < rounds / 5, "{least}");
    }

    proptest! {
        #[test]
        fn any_delays_leave_a_window_that_is_finite_and_not_below_one_segment(
            acks in prop::collection::vec((prop::option::of(any::<i64>()), 0u64..20_000_000_000, any::<bool>(), 0u8..20), 1..300)
        ) {
            let mut cc = Params::default().build(START).unwrap();
            for (i, &(delay, rtt, limited, event)) in acks.iter().enumerate() {
                let (i, rtt) = (i as u64, Duration::from_nanos(rtt));
                match event {
                    0 => cc.on_congestion(&loss(i * 10, cc.cwnd())),
                    1 => cc.on_rto(Time::ZERO + Duration::from_millis(i * 10), cc.cwnd()),
                    _ => cc.on_ack(&Ack {
                        now: Time::ZERO + Duration::from_millis(i * 10),
                        one_way_delay: delay,
                        rtt: Some(rtt),
                        srtt: rtt,
                        cwnd_limited: limited,
                        snd_una: i + 1,
                        snd_max: i + 2,
                        ..Ack::ONE
                    }),
                }
                prop_assert!(cc.cwnd().is_finite() && cc.cwnd() >= 1.0);
            }
        }
    }
}
