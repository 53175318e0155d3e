//! FLOWER+: FLOWER with what the background bench showed to be better (`docs/background.md` has the numbers of each part).
//!
//! - The target is 60 ms, and the least window two segments.
//! - Above the target the window shrinks at least as that of LEDBAT++ does, in proportion to itself.
//! - A delay that falls faster than it usually does halves the window; FLOWER leaves one segment.
//! - A loss on its own halves, too, and only a second one soon after leaves the least.
//! - The first slow start ends at three quarters of the target.
//! - Now and then the window steps back, as LEDBAT++ does, so that all flows see the empty queue.

use super::flower::{Answer, Flower, Params as FlowerParams};
use crate::{Ack, CongestionEvent, DelayBased, DelayLaw, DelaySample, EstimatorParams, ParamError, Start, Window};
use sojourn_units::{Duration, Time};

/// Parameters of the law.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// How long packets are to wait; default 60 ms (as LEDBAT++).
    pub target: Duration,
    /// Whether to step back periodically; default true.
    pub slowdown: bool,
    /// How the queuing delay is estimated.
    pub delay: EstimatorParams,
}

impl Default for Params {
    fn default() -> Self {
        Params { target: Duration::from_millis(60), slowdown: true, delay: EstimatorParams::default() }
    }
}

impl Params {
    /// The controller, or which parameter is out of range.
    pub fn build(&self, start: Start) -> Result<DelayBased<FlowerPlus>, ParamError> {
        let plain = FlowerParams { target: self.target, delay: self.delay.clone(), ..FlowerParams::default() };
        let flower = plain.build(start)?.law().clone();
        let law = FlowerPlus { flower, slowdown: self.slowdown, pause: Pause::Never, srtt: Duration::ZERO, lost: None };
        Ok(DelayBased::new(start, self.delay.build()?, law))
    }
}

const LEAST: f64 = 2.0;
/// Round trips within which a second loss is more than chance.
const SOON: u64 = 30;
/// How many times as long as a slowdown the time to the next one is.
const APART: u64 = 9;

/// Segments that a round trip adds or takes whose delay was `above` the target by this part of it: what the rules say,
/// above the target at least what LEDBAT++ takes (section 4.2 of its draft), and never more than half the window.
fn step(window: f64, answer: Answer, above: f64) -> f64 {
    match answer {
        Answer::Reset => -window / 2.0,
        Answer::Change(change) if above > 0.0 => change.min(-window * above).max(-window / 2.0),
        Answer::Change(change) => change,
    }
}

/// Where the slowdown stands.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Pause {
    /// Slow start has not ended yet.
    Never,
    /// The next one begins then.
    Next(Time),
    /// At the least since then, until the second time.
    Holding(Time, Time),
    /// Growing back since then.
    Growing(Time),
}

/// The law.
#[derive(Clone, Debug)]
pub struct FlowerPlus {
    flower: Flower,
    slowdown: bool,
    pause: Pause,
    srtt: Duration,
    lost: Option<Time>,
}

impl FlowerPlus {
    /// The slow start of a connection or of a slowdown is over.
    fn settle(&mut self, now: Time) {
        self.flower.fuzzy = true;
        self.pause = match self.pause {
            Pause::Never => Pause::Next(now + self.srtt * 2),
            Pause::Holding(since, _) | Pause::Growing(since) => Pause::Next(now + now.since(since) * APART),
            next @ Pause::Next(_) => next,
        };
    }

    /// The slowdown, moved on; says whether it has the window.
    fn stepping_back(&mut self, window: &mut Window, ack: &Ack) -> bool {
        match self.pause {
            Pause::Next(at) if self.slowdown && ack.now >= at && window.cwnd > LEAST => {
                *window = Window { cwnd: LEAST, ssthresh: window.cwnd };
                self.pause = Pause::Holding(ack.now, ack.now + self.srtt * 2);
            }
            Pause::Holding(since, until) if ack.now >= until => self.pause = Pause::Growing(since),
            Pause::Growing(_) if ack.cwnd_limited && !ack.in_recovery => {
                window.cwnd += ack.acked;
                if window.cwnd >= window.ssthresh {
                    window.cwnd = window.ssthresh;
                    self.settle(ack.now);
                }
            }
            _ => {}
        }
        matches!(self.pause, Pause::Holding(..) | Pause::Growing(_))
    }
}

impl DelayLaw for FlowerPlus {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, sample: Option<DelaySample>) {
        self.srtt = ack.srtt;
        let stepping = self.flower.fuzzy && self.stepping_back(window, ack);
        // While stepping back the law learns, but leaves the window.
        let seen = Ack { in_recovery: ack.in_recovery || stepping, ..*ack };
        self.flower.start_slowly(window, &seen);
        if let Some((answer, queuing)) = self.flower.observe(&seen, sample) {
            window.cwnd += step(window.cwnd, answer, queuing / self.flower.target - 1.0);
        }
        window.cwnd = window.cwnd.max(LEAST);
        if !self.flower.fuzzy && sample.is_some_and(|sample| sample.queuing > 0.75 * self.flower.target) {
            window.ssthresh = window.cwnd;
            self.settle(ack.now);
        }
    }

    fn on_congestion(&mut self, window: &mut Window, event: &CongestionEvent) {
        let chance = self.lost.is_none_or(|then| event.now.since(then) > self.srtt * SOON);
        self.lost = Some(event.now);
        let cwnd = if chance { (event.window / 2.0).max(LEAST) } else { LEAST };
        *window = Window { cwnd, ssthresh: cwnd };
        self.settle(event.now);
    }

    fn on_rto(&mut self, window: &mut Window, now: Time, _in_use: f64) {
        self.lost = Some(now);
        *window = Window { cwnd: 1.0, ssthresh: LEAST };
        self.settle(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CongestionController, Signal};
    use proptest::prelude::*;

    const START: Start = Start { window: 2.0, ssthresh: 1e9 };

    fn loss(at: u64, window: f64) -> CongestionEvent {
        CongestionEvent { now: Time::ZERO + Duration::from_millis(at), window, signal: Signal::Loss }
    }

    #[test]
    fn a_loss_on_its_own_halves_and_a_second_one_soon_after_leaves_the_least() {
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
    fn above_the_target_the_window_shrinks_in_proportion_by_half_at_most_and_below_it_as_the_rules_say() {
        let change = |window, change, above| step(window, Answer::Change(change), above);
        assert_eq!((change(40.0, 0.7, -0.5), change(40.0, -0.3, 0.0)), (0.7, -0.3));
        // Half above the target: half of the window; a hundredth: the rules, which take more.
        assert_eq!((change(40.0, -1.0, 0.5), change(40.0, -1.0, 0.1), change(40.0, -1.0, 0.01)), (-20.0, -4.0, -1.0));
        assert_eq!((change(40.0, -1.0, 3.0), step(40.0, Answer::Reset, -0.5)), (-20.0, -20.0));
    }

    #[test]
    fn the_window_steps_back_for_a_tenth_of_the_time_at_most() {
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
            least += u64::from(cc.cwnd() <= LEAST);
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
