//! Prague (draft-briscoe-iccrg-prague-congestion-control): a DCTCP for the Internet.
//! Its window is fractional, unmarked segments continue to open it, it is paced, and with short RTTs it grows as if they were longer.
//!
//! As in the L4S team's Linux (`tcp_prague.c`), the first mark halves the window, the estimate starts at 0 with it, and an RTT below the
//! target counts as the target some time after slow start. If its receiver does not count marks, it is Reno
//! (draft-briscoe-iccrg-prague-congestion-control#2.3.3). With `ecn_fallback` it detects queues of RFC 3168 on the path. If it finds one,
//! it reduces its window as a classic sender does.

use crate::bounds::Bounds;
use crate::classic_ecn::ClassicEcn;
use crate::{Ack, CongestionController, CongestionEvent, EcnNeed, Needs, Pacing, ParamError, Signal, Start, Variable, Window};
use alloc::boxed::Box;
use core::mem::replace;
use sojourn_units::{Duration, Time, range};

/// The traceable variables.
pub(crate) const VARIABLES: &[Variable<Prague>] = &[
    Variable::new("alpha", "0..1", "the smoothed share of marked segments", |cc| cc.alpha.unwrap_or(f64::NAN)),
    Variable::new("classic_ecn", "0..17", "evidence of a classic queue; above 9 the queue counts as classic", |cc| {
        cc.classic_ecn.as_ref().map_or(f64::NAN, ClassicEcn::score)
    }),
];

/// Parameters of Prague.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Params {
    /// Weight of the newest round trip, above 0 and at most 1; default 0.0625.
    /// It applies to the estimate of the marked fraction. Source: draft-briscoe-iccrg-prague-congestion-control#2.4.2.
    pub g: f64,
    /// Virtual RTT for flows with a shorter RTT, zero or more; default "25 ms".
    /// "0 s" disables it (draft-briscoe-iccrg-prague-congestion-control#2.4.4).
    pub target_rtt: Duration,
    /// Round trips after slow start before `target_rtt` applies, 0 or more; default 500.
    /// Source: draft-briscoe-iccrg-prague-congestion-control#2.4.4.
    pub transition: u32,
    /// Longest burst of segments sent back to back, above zero; default "250 us".
    /// Source: draft-briscoe-iccrg-prague-congestion-control#2.4.5.
    pub burst: Duration,
    /// Whether it detects classic ECN queues; default false, as in the L4S team's Linux.
    /// It then reduces its window by 0.31 per round trip with marks (`prague_ecn_fallback`, briscoe-2019).
    pub ecn_fallback: bool,
}

impl Default for Params {
    fn default() -> Self {
        let (target_rtt, burst) = (Duration::from_millis(25), Duration::from_micros(250));
        Params { g: 0.0625, target_rtt, transition: 500, burst, ecn_fallback: false }
    }
}

impl Params {
    /// Creates the controller of a new connection.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn build(&self, start: Start) -> Result<Prague, ParamError> {
        ParamError::unless(self.g > 0.0 && self.g <= 1.0, "g", &self.g, "a number above 0 and at most 1")?;
        range::time("target_rtt", self.target_rtt)?;
        range::positive_time("burst", self.burst)?;
        Ok(Box::new(State {
            params: self.clone(),
            window: Window { cwnd: start.window, ssthresh: start.ssthresh },
            alpha: None,
            reduced: false,
            round_end: 0,
            rounds: 0,
            last_estimate: Time::ZERO,
            last_reduction: Time::ZERO,
            acked: 0.0,
            marked: 0.0,
            in_loss: false,
            srtt: Duration::ZERO,
            in_flight: 0.0,
            counts: start.ecn.counts_for(EcnNeed::Scalable),
            classic_ecn: self.ecn_fallback.then_some(ClassicEcn::NEW),
        }))
    }
}

/// The pacing rate in windows per round trip in the first half of slow start.
/// Source: Linux `prague_update_pacing_rate`.
const SLOW_START_PACE: f64 = 2.0;

/// RTTs above this are not scaled (Linux `MAX_SCALED_RTT`).
const MAX_SCALED_RTT: Duration = Duration::from_millis(100);

/// Prague.
pub type Prague = Box<State>;

/// The state of Prague.
#[derive(Clone, Debug)]
pub struct State {
    params: Params,
    window: Window,
    /// The estimated fraction of marked segments; `None` before the first mark.
    alpha: Option<f64>,
    /// Whether a mark has reduced the window.
    reduced: bool,
    /// The round trip ends when this byte is acknowledged.
    round_end: u64,
    /// Round trips since slow start.
    rounds: u32,
    last_estimate: Time,
    last_reduction: Time,
    /// Segments acknowledged since the last estimate, and how many of them were marked.
    acked: f64,
    marked: f64,
    /// Whether the window was reduced for a loss that is being repaired.
    in_loss: bool,
    srtt: Duration,
    in_flight: f64,
    /// Whether the feedback counts marks. If not, it is Reno.
    counts: bool,
    /// The detection of a classic queue, if enabled.
    classic_ecn: Option<ClassicEcn>,
}

impl State {
    /// The factor by which the RTT counts as longer; 1 if it is not scaled.
    fn stretch(&self) -> f64 {
        let scaled = self.rounds >= self.params.transition && self.srtt > Duration::ZERO && self.srtt <= MAX_SCALED_RTT;
        if scaled { (self.params.target_rtt.as_secs_f64() / self.srtt.as_secs_f64()).max(1.0) } else { 1.0 }
    }

    /// The RTT that determines growth.
    fn virtual_rtt(&self) -> Duration {
        if self.stretch() > 1.0 { self.params.target_rtt } else { Duration::ZERO }
    }

    /// Updates the estimate of the marked fraction.
    /// Called once per round trip, and at most once per target RTT.
    fn end_round(&mut self, ack: &Ack) {
        if ack.snd_una < self.round_end || ack.now.since(self.last_estimate) < self.virtual_rtt() || self.acked <= 0.0 {
            return;
        }
        if let Some(alpha) = &mut self.alpha {
            *alpha += self.params.g * ((self.marked / self.acked).min(1.0) - *alpha);
            if let Some(classic_ecn) = &mut self.classic_ecn {
                classic_ecn.on_round(ack.rtt_min);
            }
        }
        if self.window.cwnd >= self.window.ssthresh {
            self.rounds = self.rounds.saturating_add(1);
        }
        self.round_end = ack.snd_max;
        self.last_estimate = ack.now;
        (self.acked, self.marked) = (0.0, 0.0);
    }

    /// Opens the window by unmarked acknowledged segments.
    /// In avoidance it grows by a segment per round trip, or by less if the RTT counts as longer. The rate then grows as that of a flow
    /// with the target RTT.
    fn grow(&mut self, ack: &Ack) {
        let unmarked = ack.acked - ack.marked;
        if unmarked <= 0.0 || self.in_loss || !ack.cwnd_limited {
            return;
        }
        if self.window.cwnd < self.window.ssthresh {
            let limit = if ack.abc_limit > 0.0 { ack.abc_limit } else { 1.0 };
            self.window.cwnd += unmarked.min(limit);
            return;
        }
        let stretch = self.stretch();
        self.window.cwnd += unmarked / (self.window.cwnd * stretch * stretch);
    }
}

impl CongestionController for State {
    fn memory(&self) -> usize {
        size_of::<Self>()
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.in_loss &= ack.in_recovery;
        (self.srtt, self.in_flight) = (ack.srtt, ack.in_flight);
        if ack.marked > 0.0 {
            self.alpha = self.alpha.or(Some(0.0));
        }
        self.acked += ack.acked;
        self.marked += ack.marked;
        if let (Some(classic_ecn), Some(rtt)) = (&mut self.classic_ecn, ack.rtt) {
            classic_ecn.on_rtt(rtt);
        }
        self.grow(ack);
        self.end_round(ack);
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        if let Some(classic_ecn) = &mut self.classic_ecn {
            classic_ecn.on_reduction(self.window.ssthresh);
        }
        if event.signal == Signal::Loss || !self.counts {
            self.in_loss = event.signal == Signal::Loss;
            self.window = Window::reduced(event.window / 2.0);
            return;
        }
        if event.now.since(self.last_reduction) < self.virtual_rtt() {
            return;
        }
        self.last_reduction = event.now;
        let slow_start = self.window.cwnd < self.window.ssthresh;
        // The first mark comes before an estimate, and counts as a whole marked window (Linux `prague_alpha_mode` 0).
        let estimate = *self.alpha.get_or_insert(0.0);
        let measured = if replace(&mut self.reduced, true) { estimate } else { 1.0 };
        let alpha = self.classic_ecn.as_ref().map_or(measured, |classic_ecn| classic_ecn.fall_back(measured));
        self.window.cwnd = (self.window.cwnd * (1.0 - alpha / 2.0)).max(Window::MIN_CWND);
        if slow_start || alpha > 0.0 {
            self.window.ssthresh = self.window.cwnd;
        }
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

    fn needs(&self) -> Needs {
        Needs { pacing: true, ecn: EcnNeed::Scalable, grows_on_marks: true, ..Needs::default() }
    }

    /// One window per round trip, in bursts of limited duration.
    /// Source: Linux `prague_update_pacing_rate`.
    fn pacing(&self) -> Option<Pacing> {
        if self.srtt == Duration::ZERO {
            return None;
        }
        let factor = if self.window.cwnd < self.window.ssthresh / 2.0 { SLOW_START_PACE } else { 1.0 };
        let rate = factor * self.window.cwnd.at_least(self.in_flight) / self.srtt.as_secs_f64();
        Some(Pacing::with_quantum_of(rate, self.params.burst.as_secs_f64(), 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    const MS: Duration = Duration::from_millis(1);
    const START: Start = Start::new(20.0, 10.0);

    fn prague(params: &Params) -> Prague {
        params.build(START).unwrap()
    }

    /// The windows after rounds of one window each with this RTT.
    /// Each ACK reports `marked` marked segments.
    fn rounds(cc: &mut Prague, count: u64, rtt: Duration, marked: f64) -> Vec<f64> {
        let round = |round: u64| {
            let now = Time::ZERO + rtt * round;
            let acked = cc.cwnd();
            let ack = Ack { now, acked, marked: marked * acked, srtt: rtt, snd_una: round, snd_max: round, ..Ack::ONE };
            cc.on_ack(&ack);
            if marked > 0.0 {
                cc.on_congestion(&CongestionEvent { now, window: cc.cwnd(), signal: Signal::Mark });
            }
            cc.cwnd()
        };
        (1..=count).map(round).collect()
    }

    #[test]
    fn without_marks_it_grows_by_a_segment_a_round_trip() {
        let windows = rounds(&mut prague(&Params::default()), 10, MS * 30, 0.0);
        assert_eq!(windows[9], 30.0);
    }

    #[test]
    fn with_a_steady_part_p_of_marks_the_window_settles_where_growth_and_reduction_balance() {
        // (1 - p) segments per round are added and p/2 of the window is removed: w = 2 (1 - p)/p.
        for part in [0.05, 0.1, 0.4] {
            let last = *rounds(&mut prague(&Params::default()), 2000, MS * 30, part).last().unwrap();
            let expected = 2.0 * (1.0 - part) / part * (1.0 - part / 2.0);
            assert!((last - expected).abs() < 0.05 * expected, "{part}: {last} for {expected}");
        }
    }

    #[test]
    fn once_old_a_flow_with_a_short_round_trip_gains_as_much_rate_as_one_with_the_target() {
        // A segment per round trip of 25 ms is a gain of 1600 segments/s². So with 5 ms it must be 0.04 segments per round trip.
        let mut cc = prague(&Params { transition: 0, ..Params::default() });
        let windows = rounds(&mut cc, 100, MS * 5, 0.0);
        assert!((windows[99] - 20.0 - 100.0 / 25.0).abs() < 0.05, "{}", windows[99]);
        let long = rounds(&mut prague(&Params { transition: 0, ..Params::default() }), 100, MS * 50, 0.0);
        assert_eq!(long[99], 120.0);
    }

    #[test]
    fn over_a_queue_whose_delay_varies_by_milliseconds_it_falls_back_to_a_classic_reduction_if_asked() {
        let kept = |ecn_fallback| {
            let mut cc = prague(&Params { ecn_fallback, ..Params::default() });
            cc.on_ack(&Ack { marked: 1.0, ..Ack::ONE });
            cc.on_congestion(&CongestionEvent { now: Time::ZERO, window: 20.0, signal: Signal::Mark });
            for round in 1..=100 {
                for sample in 0..100u64 {
                    let rtt = MS * (20 + sample / 5);
                    let now = Time::ZERO + MS * (30 * round);
                    let (snd_una, snd_max) = (round, round + u64::from(sample == 0));
                    let ack =
                        Ack { now, rtt: Some(rtt), srtt: MS * 30, rtt_min: MS * 10, cwnd_limited: false, snd_una, snd_max, ..Ack::ONE };
                    cc.on_ack(&ack);
                }
            }
            let before = cc.cwnd();
            cc.on_congestion(&CongestionEvent { now: Time::from_secs_f64(9.0), window: before, signal: Signal::Mark });
            cc.cwnd() / before
        };
        // 0.625 / 2. Without the fallback almost no segment was marked.
        assert!((kept(true) - (1.0 - 0.3125)).abs() < 1e-9, "{}", kept(true));
        assert!(kept(false) > 0.99, "{}", kept(false));
    }

    #[test]
    fn without_counts_or_for_a_loss_it_halves() {
        let reduced = |signal, classic: bool| {
            let mut cc = Params::default().build(if classic { START.echoing() } else { START }).unwrap();
            cc.on_congestion(&CongestionEvent { now: Time::ZERO, window: 20.0, signal });
            cc.cwnd()
        };
        assert_eq!([reduced(Signal::Loss, false), reduced(Signal::Mark, true)], [10.0, 10.0]);
    }

    #[test]
    fn it_grows_only_for_what_is_not_marked_while_its_window_is_full_and_no_loss_is_being_repaired() {
        let grows = |ack: Ack, loss: bool| {
            let mut cc = prague(&Params::default());
            if loss {
                cc.on_congestion(&CongestionEvent { now: Time::ZERO, window: 40.0, signal: Signal::Loss });
            }
            cc.on_ack(&ack);
            cc.cwnd() > 20.0
        };
        assert!(grows(Ack::ONE, false));
        assert!(grows(Ack::ONE, true), "the loss is repaired");
        assert!(!grows(Ack { in_recovery: true, ..Ack::ONE }, true));
        assert!(!grows(Ack { cwnd_limited: false, ..Ack::ONE }, false));
        assert!(!grows(Ack { marked: 1.0, ..Ack::ONE }, false));
    }

    #[test]
    fn the_estimate_moves_once_a_round_trip_and_no_more_often_than_once_in_the_target() {
        for (rtt, estimates) in [(MS * 50, 20), (MS * 25, 20), (MS * 5, 4)] {
            let mut cc = prague(&Params { transition: 0, g: 0.5, ..Params::default() });
            for round in 1..=20 {
                let now = Time::ZERO + rtt * round;
                cc.on_ack(&Ack { now, acked: 10.0, marked: 10.0, srtt: rtt, snd_una: round, snd_max: round, ..Ack::ONE });
            }
            assert_eq!(cc.alpha, Some(1.0 - 0.5f64.powi(estimates)), "{rtt:?}");
        }
    }

    #[test]
    fn a_round_in_which_nothing_was_acknowledged_says_nothing_of_marks() {
        let mut cc = prague(&Params::default());
        cc.on_ack(&Ack { acked: 2.0, marked: 2.0, snd_una: 1, snd_max: 1, ..Ack::ONE });
        let known = cc.alpha;
        cc.on_ack(&Ack { acked: 0.0, snd_una: 2, snd_max: 2, ..Ack::ONE });
        assert_eq!(cc.alpha, known);
    }

    #[test]
    fn a_target_does_not_make_long_round_trips_count_as_longer() {
        let grown = |ms| {
            let mut cc = prague(&Params { transition: 0, target_rtt: MS * 200, ..Params::default() });
            rounds(&mut cc, 1, MS * ms, 0.0)[0] - 20.0
        };
        assert_eq!([grown(100), grown(101)], [0.25, 1.0]);
    }

    #[test]
    fn the_first_mark_halves_the_window_and_a_later_one_without_an_estimate_changes_nothing() {
        let mut cc = Params::default().build(Start::new(20.0, 100.0)).unwrap();
        let mark = |cc: &mut Prague| cc.on_congestion(&CongestionEvent { now: Time::ZERO, window: 20.0, signal: Signal::Mark });
        mark(&mut cc);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (10.0, 10.0));
        cc.set_cwnd(30.0);
        mark(&mut cc);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (30.0, 10.0));
    }

    #[test]
    fn its_pace_is_twice_the_window_a_round_trip_in_the_first_half_of_slow_start() {
        let pace = |ssthresh| {
            let mut cc = Params::default().build(Start::new(20.0, ssthresh)).unwrap();
            cc.on_ack(&Ack { srtt: MS * 10, acked: 0.0, in_flight: 10.0, ..Ack::ONE });
            cc.pacing().unwrap().rate
        };
        assert_eq!([41.0, 39.0, 10.0].map(pace), [4000.0, 2000.0, 2000.0]);
        assert!(prague(&Params::default()).pacing().is_none(), "there is no round-trip time");
    }
}
