//! BBR version 3 (draft-ietf-ccwg-bbr, the working group's text of August 2026).
//! A model of the path sets pacing rate and window. The model consists of the maximum delivery rate, the minimum round-trip time, and the
//! data in flight at which losses began.
//!
//! `machine.rs` has the states, `model.rs` the model of the path, this file the pacing rate and the window. Data is counted in segments, so
//! `C.SMSS` is 1. Differences: except with RACK-TLP, losses that an ACK reveals are handled after its sample. A round without a rate does
//! not change the detection of a full pipe. The draft requires a response to marks but specifies none (draft-ietf-ccwg-bbr#3.7): here a
//! window with a mark counts as a round trip with a loss.

mod machine;
mod model;
mod states;
#[cfg(test)]
mod tests;

use crate::bounds::Bounds;
use crate::controller::same_stream;
use crate::max_filter::MaxFilter;
use crate::variable::{if_finite, if_known};
use crate::{
    Ack, CongestionController, CongestionEvent, Event, LossState, LostSegment, Needs, Pacing, ParamError, RateSample, Signal, Start,
    Variable, Window,
};
use alloc::boxed::Box;
use sojourn_units::{Duration, Stream, Time, range};
use states::{AckPhase, State};

/// The traceable variables.
pub(crate) const VARIABLES: &[Variable<Bbr3>] = &[
    Variable::new("state", "", "0 Startup, 1 Drain, 2 ProbeBW_DOWN, 3 ProbeBW_CRUISE, 4 ProbeBW_REFILL, 5 ProbeBW_UP, 6 ProbeRTT", |cc| {
        f64::from(cc.0.state as u8)
    }),
    Variable::new("max_bw", "segments/s", "the highest delivery rate of the last two probing cycles", |cc| cc.0.max_bw()),
    Variable::new("min_rtt", "s", "the smallest round-trip time", |cc| if_known(cc.0.min_rtt)),
    Variable::new("bw_shortterm", "segments/s", "the bound on the bandwidth after recent losses", |cc| if_finite(cc.0.bw_shortterm)),
    Variable::new("inflight_shortterm", "segments", "the bound on the data in flight after recent losses", |cc| {
        if_finite(cc.0.inflight_shortterm)
    }),
    Variable::new("inflight_longterm", "segments", "the data in flight at which losses began", |cc| if_finite(cc.0.inflight_longterm)),
    Variable::new("extra_acked", "segments", "data acknowledged beyond the estimated bandwidth", |cc| cc.0.extra_acked.max()),
    Variable::new("full_bw_count", "", "rounds in which the delivery rate did not grow by a quarter", |cc| f64::from(cc.0.full_bw_count)),
    Variable::new("full_bw_reached", "", "1 once the delivery rate has stopped growing, else 0", |cc| {
        f64::from(u8::from(cc.0.full_bw_reached))
    }),
    Variable::new("round", "", "rounds since the connection began", |cc| cc.0.round_count as f64),
    Variable::new("bw_probe_wait", "s", "the time between two probes for bandwidth", |cc| cc.0.bw_probe_wait.as_secs_f64()),
    Variable::new("pacing_gain", "", "the pacing gain", |cc| cc.0.pacing_gain()),
    Variable::new("cwnd_gain", "", "the window gain", |cc| cc.0.cwnd_gain()),
];

/// Parameters of BBR version 3.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Params {
    /// Pacing gain in Startup, above 1 and at most 10; default 2.77.
    /// The default is 4 ln 2 (draft-ietf-ccwg-bbr#2.5).
    pub startup_gain: f64,
    /// The window in bandwidth-delay products, 1 to 10; default 2 (draft-ietf-ccwg-bbr#2.6).
    pub cwnd_gain: f64,
    /// Loss rate per round trip that ends probing, above 0 and below 1; default 0.02.
    /// Probing is for bandwidth (draft-ietf-ccwg-bbr#2.8).
    pub loss_threshold: f64,
    /// Least factor that losses apply to the short-term model, above 0 and below 1; default 0.7.
    /// It is applied per round trip with losses (draft-ietf-ccwg-bbr#2.8).
    pub beta: f64,
    /// Fraction of `inflight_longterm` left free, 0 or more and below 1; default 0.15.
    /// It is left to other flows (draft-ietf-ccwg-bbr#2.8).
    pub headroom: f64,
    /// Lifetime of the minimum RTT, above zero; default "10 s" (draft-ietf-ccwg-bbr#2.16.1).
    pub min_rtt_window: Duration,
    /// Time between two ProbeRTT phases, above zero; default "5 s" (draft-ietf-ccwg-bbr#2.16.2).
    pub probe_rtt_interval: Duration,
    /// Minimum length of ProbeRTT, above zero; default "200 ms" (draft-ietf-ccwg-bbr#2.16.2).
    pub probe_rtt: Duration,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            startup_gain: 2.77,
            cwnd_gain: 2.0,
            loss_threshold: 0.02,
            beta: 0.7,
            headroom: 0.15,
            min_rtt_window: Duration::from_secs(10),
            probe_rtt_interval: Duration::from_secs(5),
            probe_rtt: Duration::from_millis(200),
        }
    }
}

impl Params {
    /// Creates the controller of a new connection.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn build(&self, start: Start) -> Result<Bbr3, ParamError> {
        let gain = self.startup_gain > 1.0 && self.startup_gain <= 10.0;
        ParamError::unless(gain, "startup_gain", &self.startup_gain, "a number above 1 and at most 10")?;
        ParamError::unless((1.0..=10.0).contains(&self.cwnd_gain), "cwnd_gain", &self.cwnd_gain, "a number, 1 to 10")?;
        for (name, value) in [("loss_threshold", self.loss_threshold), ("beta", self.beta)] {
            ParamError::unless(value > 0.0 && value < 1.0, name, &value, "a fraction above 0 and below 1")?;
        }
        let headroom = (0.0..1.0).contains(&self.headroom);
        ParamError::unless(headroom, "headroom", &self.headroom, "a fraction, 0 or more and below 1")?;
        range::positive_time("min_rtt_window", self.min_rtt_window)?;
        range::positive_time("probe_rtt_interval", self.probe_rtt_interval)?;
        range::positive_time("probe_rtt", self.probe_rtt)?;
        Ok(Bbr3(Box::new(Bbr::new(self.clone(), start))))
    }
}

/// `BBR.MinPipeCwnd` (draft-ietf-ccwg-bbr#2.8).
const MIN_PIPE_CWND: f64 = 4.0;
/// The pacing rate divided by the bandwidth (draft-ietf-ccwg-bbr#2.5).
const PACING_MARGIN: f64 = 0.99;
/// `BBR.ProbeRTTCwndGain` (draft-ietf-ccwg-bbr#2.16.2).
const PROBE_RTT_CWND_GAIN: f64 = 0.5;
/// The number of quanta that hosts hold back for offloading (draft-ietf-ccwg-bbr#5.5.8.1).
const OFFLOAD_QUANTA: f64 = 3.0;
/// The round-trip time assumed before the first sample (draft-ietf-ccwg-bbr#5.6.2).
const NOMINAL_RTT: f64 = 1e-3;

/// BBR version 3.
#[derive(Clone, Debug)]
pub struct Bbr3(Box<Bbr>);

/// The state, with the draft's names.
#[derive(Clone, Debug)]
struct Bbr {
    params: Params,
    initialized: bool,
    initial_cwnd: f64,
    cwnd: f64,
    prior_cwnd: f64,
    pacing_rate: f64,
    loss_state: LossState,
    // The state machine (draft-ietf-ccwg-bbr#2.7, draft-ietf-ccwg-bbr#2.14).
    state: State,
    round_count: u64,
    round_start: bool,
    next_round_delivered: f64,
    delivered: f64,
    idle_restart: bool,
    drain_start_round: u64,
    ack_phase: AckPhase,
    is_bw_probe_sample: bool,
    bw_probe_up_acked: f64,
    probe_up_acked_per_inc: f64,
    bw_probe_up_rounds: u32,
    rounds_since_probe_up: u64,
    bw_probe_wait: Duration,
    cycle_stamp: Time,
    prev_probe_too_high: bool,
    prev_probe_precautionary: bool,
    // The pipe (draft-ietf-ccwg-bbr#2.13).
    full_bw_reached: bool,
    full_bw_now: bool,
    full_bw: f64,
    full_bw_count: u32,
    // The model of the path (draft-ietf-ccwg-bbr#2.9 to draft-ietf-ccwg-bbr#2.12).
    /// The maximum delivery rates of the previous and the current cycle.
    max_bw_filter: [f64; 2],
    bw: f64,
    bw_shortterm: f64,
    bw_latest: f64,
    inflight_shortterm: f64,
    inflight_longterm: f64,
    inflight_latest: f64,
    is_loss_in_round: bool,
    loss_round_delivered: f64,
    loss_round_start: bool,
    /// Discontiguous ranges lost in this round trip (draft-ietf-ccwg-bbr#5.3.1.3).
    lost_ranges: u32,
    extra_acked_interval_start: Time,
    extra_acked_delivered: f64,
    extra_acked: MaxFilter,
    // The minimum round-trip time (draft-ietf-ccwg-bbr#2.16).
    min_rtt: Duration,
    min_rtt_stamp: Time,
    probe_rtt_min_delay: Duration,
    probe_rtt_min_stamp: Time,
    probe_rtt_expired: bool,
    probe_rtt_done_stamp: Option<Time>,
    probe_rtt_round_done: bool,
    // The state that a spurious recovery restores (draft-ietf-ccwg-bbr#2.15).
    /// Whether the current losses have saved the state.
    has_saved: bool,
    undo_state: Option<State>,
    undo_bw_shortterm: f64,
    undo_inflight_shortterm: f64,
    undo_inflight_longterm: f64,
    random: Stream,
}

impl Bbr {
    fn new(params: Params, start: Start) -> Self {
        Bbr {
            pacing_rate: params.startup_gain * start.window / NOMINAL_RTT,
            params,
            initialized: false,
            initial_cwnd: start.window,
            cwnd: start.window,
            prior_cwnd: 0.0,
            loss_state: LossState::Open,
            state: State::Startup,
            round_count: 0,
            round_start: false,
            next_round_delivered: 0.0,
            delivered: 0.0,
            idle_restart: false,
            drain_start_round: 0,
            ack_phase: AckPhase::Init,
            is_bw_probe_sample: false,
            bw_probe_up_acked: 0.0,
            probe_up_acked_per_inc: f64::INFINITY,
            bw_probe_up_rounds: 0,
            rounds_since_probe_up: 0,
            bw_probe_wait: Duration::ZERO,
            cycle_stamp: Time::ZERO,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
            full_bw_reached: false,
            full_bw_now: false,
            full_bw: 0.0,
            full_bw_count: 0,
            max_bw_filter: [0.0; 2],
            bw: 0.0,
            bw_shortterm: f64::INFINITY,
            bw_latest: 0.0,
            inflight_shortterm: f64::INFINITY,
            inflight_longterm: f64::INFINITY,
            inflight_latest: 0.0,
            is_loss_in_round: false,
            loss_round_delivered: 0.0,
            loss_round_start: false,
            lost_ranges: 0,
            extra_acked_interval_start: Time::ZERO,
            extra_acked_delivered: 0.0,
            extra_acked: MaxFilter::default(),
            min_rtt: Duration::MAX,
            min_rtt_stamp: Time::ZERO,
            probe_rtt_min_delay: Duration::MAX,
            probe_rtt_min_stamp: Time::ZERO,
            probe_rtt_expired: false,
            probe_rtt_done_stamp: None,
            probe_rtt_round_done: false,
            has_saved: false,
            undo_state: None,
            undo_bw_shortterm: 0.0,
            undo_inflight_shortterm: 0.0,
            undo_inflight_longterm: 0.0,
            random: same_stream(),
        }
    }

    /// The part of `OnInit` that requires the time and the round-trip time.
    /// Sources: draft-ietf-ccwg-bbr#5.2.1, draft-ietf-ccwg-bbr#5.6.2.
    fn initialize(&mut self, now: Time, srtt: Duration) {
        if core::mem::replace(&mut self.initialized, true) {
            return;
        }
        (self.min_rtt_stamp, self.probe_rtt_min_stamp, self.extra_acked_interval_start) = (now, now, now);
        if srtt > Duration::ZERO {
            (self.min_rtt, self.probe_rtt_min_delay) = (srtt, srtt);
        }
        let rtt = if srtt > Duration::ZERO { srtt.as_secs_f64() } else { NOMINAL_RTT };
        self.pacing_rate = self.params.startup_gain * self.initial_cwnd / rtt;
    }

    /// `SetPacingRateWithGain` (draft-ietf-ccwg-bbr#5.6.2).
    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.bw * PACING_MARGIN;
        if self.bw > 0.0 && (self.full_bw_reached || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    /// The pacing rate, with `C.send_quantum` (draft-ietf-ccwg-bbr#5.6.3).
    fn pacing(&self) -> Pacing {
        Pacing::as_drafted(self.pacing_rate)
    }

    /// `BDPMultiple` (draft-ietf-ccwg-bbr#5.6.4.2).
    fn bdp_multiple(&self, bw: f64, gain: f64) -> f64 {
        if self.min_rtt == Duration::MAX { self.initial_cwnd } else { gain * bw * self.min_rtt.as_secs_f64() }
    }

    /// `QuantizationBudget` (draft-ietf-ccwg-bbr#5.6.4.2).
    fn quantization_budget(&self, inflight_cap: f64) -> f64 {
        let cap = inflight_cap.at_least(OFFLOAD_QUANTA * self.pacing().quantum()).at_least(MIN_PIPE_CWND);
        if self.state == State::ProbeBwUp { cap + 2.0 } else { cap }
    }

    /// `Inflight` (draft-ietf-ccwg-bbr#5.6.4.2).
    fn inflight(&self, bw: f64, gain: f64) -> f64 {
        self.quantization_budget(self.bdp_multiple(bw, gain))
    }

    /// `UpdateMaxInflight` (draft-ietf-ccwg-bbr#5.6.4.2).
    fn max_inflight(&self) -> f64 {
        self.quantization_budget(self.bdp_multiple(self.bw, self.cwnd_gain()) + self.extra_acked.max())
    }

    /// `TargetInflight` (draft-ietf-ccwg-bbr#5.3.3.8.3).
    fn target_inflight(&self) -> f64 {
        self.bdp_multiple(self.bw, 1.0).at_most(self.cwnd)
    }

    /// `InflightWithHeadroom` (draft-ietf-ccwg-bbr#5.3.3.9).
    fn inflight_with_headroom(&self) -> f64 {
        let headroom = (self.params.headroom * self.inflight_longterm).at_least(1.0);
        if self.inflight_longterm.is_finite() { (self.inflight_longterm - headroom).at_least(MIN_PIPE_CWND) } else { f64::INFINITY }
    }

    /// `SaveCwnd` (draft-ietf-ccwg-bbr#5.6.4.4).
    fn save_cwnd(&mut self) {
        let good = self.loss_state == LossState::Open && self.state != State::ProbeRtt;
        self.prior_cwnd = if good { self.cwnd } else { self.prior_cwnd.at_least(self.cwnd) };
    }

    /// `RestoreCwnd` (draft-ietf-ccwg-bbr#5.6.4.4).
    fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.at_least(self.prior_cwnd);
    }

    /// `SetCwnd` (draft-ietf-ccwg-bbr#5.6.4.6).
    fn set_cwnd(&mut self, sample: &RateSample) {
        let max_inflight = self.max_inflight();
        if self.full_bw_reached {
            self.cwnd = (self.cwnd + sample.newly_acked).at_most(max_inflight);
        } else if self.cwnd < max_inflight || sample.delivered_total < self.initial_cwnd {
            self.cwnd += sample.newly_acked;
        }
        self.cwnd = self.cwnd.at_least(MIN_PIPE_CWND);
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.at_most(self.probe_rtt_cwnd());
        }
        self.bound_cwnd_for_model();
    }

    /// `ProbeRTTCwnd` (draft-ietf-ccwg-bbr#5.6.4.5).
    fn probe_rtt_cwnd(&self) -> f64 {
        self.bdp_multiple(self.bw, PROBE_RTT_CWND_GAIN).at_least(MIN_PIPE_CWND)
    }

    /// `BoundCwndForModel` (draft-ietf-ccwg-bbr#5.6.4.7).
    fn bound_cwnd_for_model(&mut self) {
        let cap = match self.state {
            State::ProbeRtt | State::ProbeBwCruise => self.inflight_with_headroom(),
            state if state.is_probe_bw() => self.inflight_longterm,
            _ => f64::INFINITY,
        };
        self.cwnd = self.cwnd.at_most(cap.at_most(self.inflight_shortterm).at_least(MIN_PIPE_CWND));
    }

    /// `HandleRestartFromIdle` (draft-ietf-ccwg-bbr#5.4.1).
    fn on_restart(&mut self, now: Time, srtt: Duration, app_limited: bool) {
        self.initialize(now, srtt);
        if !app_limited {
            return;
        }
        self.idle_restart = true;
        self.extra_acked_interval_start = now;
        if self.state.is_probe_bw() {
            self.set_pacing_rate(1.0);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(now);
        }
    }

    /// `OnEnterRTO` (draft-ietf-ccwg-bbr#5.6.4.4); the endpoint knows what is in flight.
    fn enter_rto(&mut self) {
        self.save_state_upon_loss();
        self.loss_state = LossState::Timeout;
    }
}

impl CongestionController for Bbr3 {
    /// Samples say everything.
    fn on_ack(&mut self, _ack: &Ack) {}

    /// `UpdateOnACK` (draft-ietf-ccwg-bbr#5.2.3).
    fn on_sample(&mut self, sample: &RateSample) {
        let bbr = &mut *self.0;
        bbr.initialize(sample.now, sample.srtt);
        bbr.delivered = sample.delivered_total;
        let before = core::mem::replace(&mut bbr.loss_state, sample.state);
        if sample.state == LossState::Open {
            bbr.has_saved = false;
            if before != LossState::Open {
                bbr.restore_cwnd();
            }
        }
        bbr.update_latest_delivery_signals(sample);
        bbr.update_congestion_signals(sample);
        bbr.update_ack_aggregation(sample);
        bbr.check_full_bw_reached(sample);
        bbr.check_startup_done(sample);
        bbr.check_drain_done(sample);
        bbr.update_probe_bw_cycle_phase(sample);
        bbr.update_min_rtt(sample);
        bbr.check_probe_rtt(sample);
        bbr.advance_latest_delivery_signals(sample);
        bbr.bound_bw_for_model();
        bbr.set_pacing_rate(bbr.pacing_gain());
        bbr.set_cwnd(sample);
    }

    fn on_lost(&mut self, lost: &LostSegment) {
        self.0.handle_lost_segment(lost);
    }

    fn on_event(&mut self, event: &Event) {
        let bbr = &mut *self.0;
        match event {
            Event::Random(random) => bbr.random = random.clone(),
            Event::FlightStart { now, srtt, app_limited } => bbr.on_restart(*now, *srtt, *app_limited),
            Event::RepeatedRto { .. } => bbr.enter_rto(),
            Event::SpuriousRecovery => bbr.handle_spurious_loss_detection(),
            _ => event.apply(self),
        }
    }

    /// `OnEnterFastRecovery` (draft-ietf-ccwg-bbr#5.6.4.4).
    /// Includes a loss that a tail loss probe repaired (draft-ietf-ccwg-bbr#5.5.10.3), which is reported nowhere else.
    fn on_congestion(&mut self, event: &CongestionEvent) {
        if event.signal == Signal::Loss {
            self.0.save_state_upon_loss();
        }
        self.0.note_loss();
    }

    fn on_rto(&mut self, _now: Time, _window: f64) {
        self.0.enter_rto();
        self.0.cwnd = 1.0;
    }

    fn window(&self) -> Window {
        Window { cwnd: self.0.cwnd, ssthresh: f64::INFINITY }
    }

    /// Called after a handshake or a timeout.
    fn set_cwnd(&mut self, cwnd: f64) {
        self.0.cwnd = cwnd;
        if !self.0.initialized {
            self.0.initial_cwnd = cwnd;
        }
    }

    fn memory(&self) -> usize {
        size_of::<Bbr>()
    }

    fn needs(&self) -> Needs {
        Needs { pacing: true, rate_samples: true, random: true, limits_samples: self.0.state == State::ProbeRtt, ..Needs::default() }
    }

    fn pacing(&self) -> Option<Pacing> {
        Some(self.0.pacing())
    }
}
