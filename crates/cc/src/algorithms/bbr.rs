//! BBR version 1, as in Linux 7 (`tcp_bbr.c`).
//! It paces at the maximum delivery rate of ten round trips and limits the data in flight to twice the bandwidth-delay product
//! (draft-cardwell-iccrg-bbr-congestion-control of 2017).
//!
//! Difference: rates and windows are not rounded to fixed-point numbers.

mod extra_acked;
mod full_pipe;
mod policer;
mod probe_rtt;

use crate::controller::same_stream;
use crate::max_filter::MaxFilter;
use crate::{
    Ack, CongestionController, CongestionEvent, Event, LossState, Needs, Pacing, ParamError, RateSample, Signal, Start, Variable, Window,
};
use alloc::boxed::Box;
use extra_acked::ExtraAcked;
use full_pipe::FullPipe;
use policer::{Policer, Verdict};
use sojourn_units::{Duration, Stream, Time};

/// The traceable variables.
pub(crate) const VARIABLES: &[Variable<Bbr>] = &[
    Variable::new("mode", "", "0 STARTUP, 1 DRAIN, 2 PROBE_BW, 3 PROBE_RTT", |cc| f64::from(cc.0.mode as u8)),
    Variable::new("bw", "segments/s", "the highest delivery rate of the last ten round trips", |cc| cc.0.bw.max()),
    Variable::new("min_rtt", "s", "the smallest round-trip time", |cc| cc.0.min_rtt.map_or(f64::NAN, Duration::as_secs_f64)),
    Variable::new("extra_acked", "segments", "data acknowledged beyond the estimated bandwidth", |cc| cc.0.extra.most()),
    Variable::new("pacing_gain", "", "the pacing gain", |cc| cc.0.pacing_gain),
];

/// Parameters of BBR version 1.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Params {
    /// Gain of pacing rate and window in STARTUP, above 1 and at most 10; default 2.885.
    /// The default is 2/ln 2 (Linux `bbr_high_gain`).
    pub high_gain: f64,
    /// The window in bandwidth-delay products in PROBE_BW, 1 to 10; default 2.
    /// Source: Linux `bbr_cwnd_gain`.
    pub cwnd_gain: f64,
    /// Pacing gain while probing for bandwidth, above 1 and below 2; default 1.25.
    /// The drain phase uses 2 minus this gain (Linux `bbr_pacing_gain`).
    pub probe_gain: f64,
    /// Lifetime of the minimum RTT, above zero; default "10 s" (Linux `bbr_min_rtt_win_sec`).
    /// PROBE_RTT then measures it again.
    pub min_rtt_window: Duration,
    /// Minimum length of PROBE_RTT, above zero; default "200 ms" (Linux `bbr_probe_rtt_mode_ms`).
    pub probe_rtt: Duration,
    /// Whether it detects token-bucket policers and limits itself to their rate; default true.
    /// Source: Linux `bbr_lt_bw_sampling`.
    pub policers: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            high_gain: 2.885,
            cwnd_gain: 2.0,
            probe_gain: 1.25,
            min_rtt_window: Duration::from_secs(10),
            probe_rtt: Duration::from_millis(200),
            policers: true,
        }
    }
}

impl Params {
    /// Creates the controller of a new connection.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn build(&self, start: Start) -> Result<Bbr, ParamError> {
        let high = self.high_gain > 1.0 && self.high_gain <= 10.0;
        ParamError::unless(high, "high_gain", &self.high_gain, "a number above 1 and at most 10")?;
        ParamError::unless((1.0..=10.0).contains(&self.cwnd_gain), "cwnd_gain", &self.cwnd_gain, "a number, 1 to 10")?;
        let probe = self.probe_gain > 1.0 && self.probe_gain < 2.0;
        ParamError::unless(probe, "probe_gain", &self.probe_gain, "a number above 1 and below 2")?;
        sojourn_units::range::positive_time("min_rtt_window", self.min_rtt_window)?;
        sojourn_units::range::positive_time("probe_rtt", self.probe_rtt)?;
        Ok(Bbr(Box::new(State::new(self.clone(), start))))
    }
}

/// The length of the bandwidth filter in rounds (Linux `bbr_bw_rtts`).
const BW_ROUNDS: u64 = 10;
/// The number of phases in the gain cycle (Linux `CYCLE_LEN`).
/// One phase probes, one drains, the others cruise.
const CYCLE: u32 = 8;
/// The minimum window in segments (Linux `bbr_cwnd_min_target`).
const MIN_CWND: f64 = 4.0;
/// The pacing rate divided by the bandwidth (Linux `bbr_pacing_margin_percent`).
const MARGIN: f64 = 0.99;
/// The maximum extra ACKed data that counts, in seconds of bandwidth.
/// Source: Linux `bbr_extra_acked_max_us`.
const EXTRA_TIME: f64 = 0.1;
/// The rate in segments per second below which a quantum is one segment.
/// It is 1.2 Mbit/s in segments of 1,448 bytes (Linux `bbr_min_tso_rate`).
const SMALL_RATE: f64 = 1.2e6 / 8.0 / 1448.0;
/// The duration of a quantum (Linux `sk_pacing_shift`).
const QUANTUM_TIME: f64 = 1.0 / 1024.0;
/// The round-trip time assumed before the first sample.
const NOMINAL_RTT: f64 = 1e-3;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// BBR version 1.
#[derive(Clone, Debug)]
pub struct Bbr(Box<State>);

#[derive(Clone, Debug)]
struct State {
    params: Params,
    initial_cwnd: f64,
    cwnd: f64,
    /// Segments per second.
    pacing_rate: f64,
    pacing_gain: f64,
    mode: Mode,
    bw: MaxFilter,
    round: u64,
    round_start: bool,
    next_round_delivered: f64,
    min_rtt: Option<Duration>,
    min_rtt_stamp: Time,
    has_seen_rtt: bool,
    probe_rtt_done: Option<Time>,
    probe_rtt_round_done: bool,
    idle_restart: bool,
    cycle: u32,
    cycle_stamp: Time,
    full: FullPipe,
    prior_cwnd: f64,
    loss_state: LossState,
    packet_conservation: bool,
    extra: ExtraAcked,
    policer: Policer,
    /// Whether the connection has started to send.
    started: bool,
    random: Stream,
}

impl State {
    fn new(params: Params, start: Start) -> Self {
        State {
            pacing_rate: params.high_gain * start.window / NOMINAL_RTT * MARGIN,
            pacing_gain: params.high_gain,
            params,
            initial_cwnd: start.window,
            cwnd: start.window,
            mode: Mode::Startup,
            bw: MaxFilter::default(),
            round: 0,
            round_start: false,
            next_round_delivered: 0.0,
            min_rtt: None,
            min_rtt_stamp: Time::ZERO,
            has_seen_rtt: false,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            idle_restart: false,
            cycle: 0,
            cycle_stamp: Time::ZERO,
            full: FullPipe::default(),
            prior_cwnd: 0.0,
            loss_state: LossState::Open,
            packet_conservation: false,
            extra: ExtraAcked::default(),
            policer: Policer::default(),
            started: false,
            random: same_stream(),
        }
    }

    /// The part of `bbr_init` that requires the time and the handshake's round-trip time.
    fn initialize(&mut self, now: Time, srtt: Duration) {
        if !core::mem::replace(&mut self.started, true) {
            (self.min_rtt, self.min_rtt_stamp) = ((srtt > Duration::ZERO).then_some(srtt), now);
            self.extra.restart(now);
        }
    }

    /// The bandwidth in use: that of a policer, else the maximum of the last rounds.
    fn bandwidth(&self) -> f64 {
        self.policer.rate().unwrap_or(self.bw.max())
    }

    /// `bbr_bdp`, in segments.
    fn bdp(&self, bw: f64, gain: f64) -> f64 {
        self.min_rtt.map_or(self.initial_cwnd, |rtt| libm::ceil(bw * rtt.as_secs_f64() * gain))
    }

    /// The pacing rate, with the quantum of `bbr_tso_segs_goal`.
    fn pacing(&self) -> Pacing {
        let least = if self.pacing_rate < SMALL_RATE { 1.0 } else { 2.0 };
        Pacing::with_quantum_of(self.pacing_rate, QUANTUM_TIME, least)
    }

    /// `bbr_quantization_budget`.
    fn quantized(&self, segments: f64) -> f64 {
        let even = libm::ceil((segments + 3.0 * self.pacing().quantum()) / 2.0) * 2.0;
        if self.mode == Mode::ProbeBw && self.cycle == 0 { even + 2.0 } else { even }
    }

    /// `bbr_inflight`.
    fn inflight(&self, gain: f64) -> f64 {
        self.quantized(self.bdp(self.bw.max(), gain))
    }

    /// Segments in flight when the next quantum departs, with `in_flight` segments now.
    /// Source: `bbr_packets_in_net_at_edt`.
    fn in_flight_at_departure(&self, sample: &RateSample, in_flight: f64) -> f64 {
        let leaving = if self.pacing_gain > 1.0 { self.pacing().quantum() } else { 0.0 };
        let delivered = libm::floor(self.bandwidth() * sample.pacing_delay.as_secs_f64());
        (in_flight + leaving - delivered).max(0.0)
    }

    /// `bbr_set_pacing_rate`.
    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = self.bandwidth() * gain * MARGIN;
        if self.full.reached || rate > self.pacing_rate {
            self.pacing_rate = rate.max(f64::MIN_POSITIVE);
        }
    }

    /// `bbr_init_pacing_rate_from_rtt`, called once a round-trip time is known.
    fn init_pacing_rate(&mut self, srtt: Duration) {
        if !self.has_seen_rtt && srtt > Duration::ZERO {
            self.has_seen_rtt = true;
            self.pacing_rate = self.params.high_gain * self.cwnd / srtt.as_secs_f64() * MARGIN;
        }
    }

    /// `bbr_save_cwnd`.
    fn save_cwnd(&mut self) {
        let good = self.loss_state == LossState::Open && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if good { self.cwnd } else { self.prior_cwnd.max(self.cwnd) };
    }

    /// `bbr_update_bw`.
    fn update_bandwidth(&mut self, sample: &RateSample) {
        self.round_start = false;
        let (Some(prior_delivered), true) = (sample.prior_delivered, sample.delivery_rate > 0.0) else { return };
        if prior_delivered >= self.next_round_delivered {
            self.next_round_delivered = sample.delivered_total;
            self.round += 1;
            self.round_start = true;
            self.packet_conservation = false;
        }
        self.look_for_policer(sample);
        if !sample.is_app_limited || sample.delivery_rate >= self.bw.max() {
            self.bw.update(BW_ROUNDS, self.round, sample.delivery_rate);
        }
    }

    fn look_for_policer(&mut self, sample: &RateSample) {
        if !self.params.policers {
            return;
        }
        match self.policer.on_sample(sample, self.round_start, self.mode == Mode::ProbeBw) {
            Verdict::None => {}
            Verdict::Found => self.pacing_gain = 1.0,
            Verdict::Over => self.enter_probe_bw(sample.now),
        }
    }

    /// `bbr_is_next_cycle_phase`, `bbr_advance_cycle_phase`.
    fn update_cycle(&mut self, sample: &RateSample) {
        let Some(min_rtt) = self.min_rtt.filter(|_| self.mode == Mode::ProbeBw) else { return };
        let full_length = sample.now.since(self.cycle_stamp) > min_rtt;
        let next = if self.pacing_gain > 1.0 {
            let in_flight = self.in_flight_at_departure(sample, sample.prior_in_flight);
            full_length && (sample.newly_lost > 0.0 || in_flight >= self.inflight(self.pacing_gain))
        } else if self.pacing_gain < 1.0 {
            full_length || self.in_flight_at_departure(sample, sample.prior_in_flight) <= self.inflight(1.0)
        } else {
            full_length
        };
        if next {
            self.cycle = (self.cycle + 1) % CYCLE;
            self.cycle_stamp = sample.now;
        }
    }

    /// `bbr_check_drain`.
    fn check_drain(&mut self, sample: &RateSample) {
        if self.mode == Mode::Startup && self.full.reached {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && self.in_flight_at_departure(sample, sample.in_flight) <= self.inflight(1.0) {
            self.enter_probe_bw(sample.now);
        }
    }

    /// `bbr_reset_probe_bw_mode`: starts at any phase except the draining one.
    fn enter_probe_bw(&mut self, now: Time) {
        self.mode = Mode::ProbeBw;
        self.cycle = (CYCLE - self.random.below(u64::from(CYCLE) - 1) as u32) % CYCLE;
        self.cycle_stamp = now;
    }

    /// `bbr_update_gains`: returns the window gain, and sets the pacing gain.
    fn update_gains(&mut self) -> f64 {
        let Params { high_gain, cwnd_gain, probe_gain, .. } = self.params;
        let cruise = if self.policer.rate().is_some() { 1.0 } else { self.cycle_gain(probe_gain) };
        let (pacing, cwnd) = match self.mode {
            Mode::Startup => (high_gain, high_gain),
            Mode::Drain => (1.0 / high_gain, high_gain),
            Mode::ProbeBw => (cruise, cwnd_gain),
            Mode::ProbeRtt => (1.0, 1.0),
        };
        self.pacing_gain = pacing;
        cwnd
    }

    fn cycle_gain(&self, probe_gain: f64) -> f64 {
        match self.cycle {
            0 => probe_gain,
            1 => 2.0 - probe_gain,
            _ => 1.0,
        }
    }

    /// `bbr_set_cwnd`.
    fn set_cwnd(&mut self, sample: &RateSample, gain: f64) {
        if sample.newly_acked > 0.0 && !self.conserve_or_restore(sample) {
            let bandwidth = self.bandwidth();
            let extra = if self.full.reached { self.extra.most().min(bandwidth * EXTRA_TIME) } else { 0.0 };
            let target = self.quantized(self.bdp(bandwidth, gain) + extra);
            if self.full.reached {
                self.cwnd = (self.cwnd + sample.newly_acked).min(target);
            } else if self.cwnd < target || sample.delivered_total < self.initial_cwnd {
                self.cwnd += sample.newly_acked;
            }
            self.cwnd = self.cwnd.max(MIN_CWND);
        }
        if self.mode == Mode::ProbeRtt {
            self.cwnd = self.cwnd.min(MIN_CWND);
        }
    }

    /// `bbr_set_cwnd_to_recover_or_restore`.
    /// Returns whether the window follows the packets that leave the network.
    fn conserve_or_restore(&mut self, sample: &RateSample) -> bool {
        let before = core::mem::replace(&mut self.loss_state, sample.state);
        if sample.newly_lost > 0.0 {
            self.cwnd = (self.cwnd - sample.newly_lost).max(1.0);
        }
        if sample.state == LossState::Recovery && before != LossState::Recovery {
            self.packet_conservation = true;
            self.next_round_delivered = sample.delivered_total;
            self.cwnd = sample.in_flight + sample.newly_acked;
        } else if before != LossState::Open && sample.state == LossState::Open {
            self.cwnd = self.cwnd.max(self.prior_cwnd);
            self.packet_conservation = false;
        }
        if self.packet_conservation {
            self.cwnd = self.cwnd.max(sample.in_flight + sample.newly_acked);
        }
        self.packet_conservation
    }

    /// `bbr_cwnd_event_tx_start`.
    fn on_restart(&mut self, now: Time, srtt: Duration, app_limited: bool) {
        self.initialize(now, srtt);
        self.init_pacing_rate(srtt);
        if !app_limited {
            return;
        }
        self.idle_restart = true;
        self.extra.restart(now);
        match self.mode {
            Mode::ProbeBw => self.set_pacing_rate(1.0),
            Mode::ProbeRtt => self.check_probe_rtt_done(now),
            Mode::Startup | Mode::Drain => {}
        }
    }

    /// `bbr_set_state` of `TCP_CA_Loss`.
    fn enter_loss(&mut self) {
        self.loss_state = LossState::Timeout;
        self.full.forget_bandwidth();
    }
}

impl CongestionController for Bbr {
    /// All input comes from samples.
    fn on_ack(&mut self, _ack: &Ack) {}

    fn on_sample(&mut self, sample: &RateSample) {
        let state = &mut *self.0;
        state.initialize(sample.now, Duration::ZERO);
        state.update_bandwidth(sample);
        let (bandwidth, cwnd, round_start) = (state.bandwidth(), state.cwnd, state.round_start);
        state.extra.on_sample(sample, bandwidth, cwnd, round_start);
        state.update_cycle(sample);
        if round_start && !sample.is_app_limited {
            state.full.on_round(state.bw.max());
        }
        state.check_drain(sample);
        state.update_min_rtt(sample);
        let cwnd_gain = state.update_gains();
        state.init_pacing_rate(sample.srtt);
        state.set_pacing_rate(state.pacing_gain);
        state.set_cwnd(sample, cwnd_gain);
    }

    fn on_event(&mut self, event: &Event) {
        let state = &mut *self.0;
        match event {
            Event::Random(random) => state.random = random.clone(),
            Event::FlightStart { now, srtt, app_limited } => state.on_restart(*now, *srtt, *app_limited),
            Event::RepeatedRto { .. } => state.enter_loss(),
            // `bbr_undo_cwnd`
            Event::SpuriousRecovery => {
                state.full.restart();
                state.policer.reset();
            }
            _ => event.apply(self),
        }
    }

    /// `bbr_ssthresh`: saves the window at a loss. Marks are ignored.
    fn on_congestion(&mut self, event: &CongestionEvent) {
        if event.signal == Signal::Loss {
            self.0.save_cwnd();
        }
    }

    /// `bbr_ssthresh`, then `bbr_set_state`.
    fn on_rto(&mut self, _now: Time, _window: f64) {
        self.0.save_cwnd();
        self.0.enter_loss();
        self.0.cwnd = 1.0;
    }

    fn window(&self) -> Window {
        Window { cwnd: self.0.cwnd, ssthresh: f64::INFINITY }
    }

    /// Called after a handshake or a timeout.
    fn set_cwnd(&mut self, cwnd: f64) {
        self.0.cwnd = cwnd;
        if !self.0.started {
            self.0.initial_cwnd = cwnd;
        }
    }

    fn memory(&self) -> usize {
        size_of::<State>()
    }

    fn needs(&self) -> Needs {
        Needs { pacing: true, rate_samples: true, random: true, limits_samples: self.0.mode == Mode::ProbeRtt, ..Needs::default() }
    }

    fn pacing(&self) -> Option<Pacing> {
        Some(self.0.pacing())
    }
}

#[cfg(test)]
mod tests;
