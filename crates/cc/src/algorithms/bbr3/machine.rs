//! The state transitions of BBR version 3 (draft-ietf-ccwg-bbr#5.3).

use super::states::{AckPhase, State};
use super::{Bbr, LossState, PROBE_RTT_CWND_GAIN, RateSample};
use crate::bounds::Bounds;
use sojourn_units::{Duration, Time};

/// The growth of the delivery rate that shows that the pipe is not full.
/// Also the number of rounds without it (draft-ietf-ccwg-bbr#5.3.1.2).
const FULL_BW_GROWTH: f64 = 1.25;
const FULL_BW_ROUNDS: u32 = 3;
/// `BBRStartupFullLossCnt` (draft-ietf-ccwg-bbr#5.3.1.3).
const STARTUP_FULL_LOSSES: u32 = 6;
/// The number of rounds after which Drain ends in any case (draft-ietf-ccwg-bbr#5.3.2).
const DRAIN_ROUNDS: u64 = 3;
/// The maximum number of rounds between two probes (draft-ietf-ccwg-bbr#5.3.3.8.3).
/// It leaves room for Reno and CUBIC.
const RENO_ROUNDS: f64 = 63.0;
/// The maximum exponent of the growth of `inflight_longterm` (draft-ietf-ccwg-bbr#5.3.3.9).
const MAX_UP_ROUNDS: u32 = 30;

impl Bbr {
    /// The pacing gain in each state (draft-ietf-ccwg-bbr#5.6.1).
    pub(super) fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => self.params.startup_gain,
            State::Drain => 0.5,
            State::ProbeBwDown => 0.9,
            State::ProbeBwUp => 1.25,
            State::ProbeBwCruise | State::ProbeBwRefill | State::ProbeRtt => 1.0,
        }
    }

    /// The window gain in each state (draft-ietf-ccwg-bbr#5.6.1).
    /// In ProbeBW_UP it is an eighth larger than in the others.
    pub(super) fn cwnd_gain(&self) -> f64 {
        match self.state {
            State::ProbeBwUp => self.params.cwnd_gain * 1.125,
            State::ProbeRtt => PROBE_RTT_CWND_GAIN,
            _ => self.params.cwnd_gain,
        }
    }

    /// `StartRound` (draft-ietf-ccwg-bbr#5.5.1).
    pub(super) fn start_round(&mut self) {
        self.next_round_delivered = self.delivered;
    }

    /// `ResetFullBW` (draft-ietf-ccwg-bbr#5.3.1.2).
    pub(super) fn reset_full_bw(&mut self) {
        (self.full_bw, self.full_bw_count, self.full_bw_now) = (0.0, 0, false);
    }

    /// `CheckFullBWReached` (draft-ietf-ccwg-bbr#5.3.1.2).
    pub(super) fn check_full_bw_reached(&mut self, sample: &RateSample) {
        if self.full_bw_now || !self.round_start || sample.is_app_limited || sample.delivery_rate <= 0.0 {
            return;
        }
        if sample.delivery_rate >= self.full_bw * FULL_BW_GROWTH {
            self.reset_full_bw();
            self.full_bw = sample.delivery_rate;
            return;
        }
        self.full_bw_count += 1;
        self.full_bw_now = self.full_bw_count >= FULL_BW_ROUNDS;
        self.full_bw_reached |= self.full_bw_now;
    }

    /// `CheckStartupDone` (draft-ietf-ccwg-bbr#5.3.1.1).
    pub(super) fn check_startup_done(&mut self, sample: &RateSample) {
        self.check_startup_high_loss(sample);
        if self.state == State::Startup && self.full_bw_reached {
            self.state = State::Drain;
            self.drain_start_round = self.round_count;
        }
    }

    /// `CheckStartupHighLoss` (draft-ietf-ccwg-bbr#5.3.1.3).
    /// Applies with SACK, at the end of a round trip of recovery.
    fn check_startup_high_loss(&mut self, sample: &RateSample) {
        if self.state == State::Startup && !self.full_bw_reached {
            let lossy = match sample.selective_acks {
                true => self.loss_round_start && self.lost_ranges >= STARTUP_FULL_LOSSES && self.is_inflight_too_high_for(sample),
                false => sample.newly_lost > 0.0,
            };
            if lossy && sample.state == LossState::Recovery {
                self.undo_state = Some(State::Startup);
                (self.full_bw_reached, self.full_bw_now) = (true, true);
                self.inflight_longterm = self.bdp_multiple(self.bw, 1.0).at_least(self.inflight_latest);
            }
        }
        if self.loss_round_start {
            self.lost_ranges = 0;
        }
    }

    /// `CheckDrainDone` (draft-ietf-ccwg-bbr#5.3.2).
    pub(super) fn check_drain_done(&mut self, sample: &RateSample) {
        let drained = || sample.in_flight <= self.inflight(self.bw, 1.0);
        if self.state == State::Drain && (self.round_count > self.drain_start_round + DRAIN_ROUNDS || drained()) {
            self.start_probe_bw_down(sample.now);
        }
    }

    /// `StartProbeBW_DOWN` (draft-ietf-ccwg-bbr#5.3.3.9).
    #[cold]
    pub(super) fn start_probe_bw_down(&mut self, now: Time) {
        self.reset_congestion_signals();
        self.probe_up_acked_per_inc = f64::INFINITY;
        self.pick_probe_wait();
        self.cycle_stamp = now;
        self.ack_phase = AckPhase::ProbeStopping;
        self.start_round();
        self.state = State::ProbeBwDown;
    }

    /// `PickProbeWait` (draft-ietf-ccwg-bbr#5.3.3.8.3).
    #[cold]
    fn pick_probe_wait(&mut self) {
        self.rounds_since_probe_up = self.random.below(2);
        self.bw_probe_wait = Duration::from_secs_f64(2.0 + self.random.unit());
    }

    /// `StartProbeBW_REFILL` (draft-ietf-ccwg-bbr#5.3.3.9).
    #[cold]
    pub(super) fn start_probe_bw_refill(&mut self) {
        self.reset_short_term_model();
        self.bw_probe_up_rounds = 0;
        self.bw_probe_up_acked = 0.0;
        self.prev_probe_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.state = State::ProbeBwRefill;
    }

    /// `StartProbeBW_UP` (draft-ietf-ccwg-bbr#5.3.3.9).
    #[cold]
    fn start_probe_bw_up(&mut self, sample: &RateSample) {
        self.ack_phase = AckPhase::ProbeStarting;
        self.start_round();
        self.reset_full_bw();
        self.full_bw = sample.delivery_rate;
        self.state = State::ProbeBwUp;
        self.raise_inflight_longterm_slope();
    }

    /// `UpdateProbeBWCyclePhase` (draft-ietf-ccwg-bbr#5.3.3.9).
    pub(super) fn update_probe_bw_cycle_phase(&mut self, sample: &RateSample) {
        if !self.full_bw_reached || self.adapt_long_term_model(sample) {
            return;
        }
        match self.state {
            State::ProbeBwDown => {
                let probes = self.probe_if_due(sample.now);
                if !probes && self.is_time_to_cruise(sample) {
                    self.state = State::ProbeBwCruise;
                }
            }
            State::ProbeBwCruise => {
                self.probe_if_due(sample.now);
            }
            State::ProbeBwRefill if self.round_start => {
                self.is_bw_probe_sample = true;
                self.start_probe_bw_up(sample);
            }
            State::ProbeBwUp => {
                let goes_down = self.is_time_to_go_down(sample);
                if goes_down {
                    self.prev_probe_too_high = false;
                    self.start_probe_bw_down(sample.now);
                }
            }
            _ => {}
        }
    }

    /// `IsTimeToProbeBW`, `IsRenoCoexistenceProbeTime` (draft-ietf-ccwg-bbr#5.3.3.8.3).
    /// Returns whether it started to probe.
    fn probe_if_due(&mut self, now: Time) -> bool {
        let reno_rounds = self.target_inflight().at_most(RENO_ROUNDS);
        let due = now > self.cycle_stamp + self.bw_probe_wait || self.rounds_since_probe_up as f64 >= reno_rounds;
        if due {
            self.start_probe_bw_refill();
        }
        due
    }

    /// `IsTimeToCruise` (draft-ietf-ccwg-bbr#5.3.3.9).
    fn is_time_to_cruise(&self, sample: &RateSample) -> bool {
        sample.in_flight <= self.inflight_with_headroom() && sample.in_flight <= self.inflight(self.max_bw(), 1.0)
    }

    /// `IsTimeToGoDown` (draft-ietf-ccwg-bbr#5.3.3.9).
    fn is_time_to_go_down(&mut self, sample: &RateSample) -> bool {
        if self.prev_probe_too_high && sample.in_flight >= self.inflight_longterm {
            self.prev_probe_precautionary = true;
            return true;
        }
        if sample.is_cwnd_limited && self.cwnd >= self.inflight_longterm {
            self.reset_full_bw();
            self.full_bw = sample.delivery_rate;
            return false;
        }
        self.full_bw_now
    }

    /// `RaiseInflightLongtermSlope` (draft-ietf-ccwg-bbr#5.3.3.9).
    #[cold]
    pub(super) fn raise_inflight_longterm_slope(&mut self) {
        let growth_this_round = f64::from(1u32 << self.bw_probe_up_rounds);
        self.bw_probe_up_rounds = (self.bw_probe_up_rounds + 1).min(MAX_UP_ROUNDS);
        self.probe_up_acked_per_inc = (self.cwnd / growth_this_round).at_least(1.0);
    }

    /// `CheckProbeRTT` (draft-ietf-ccwg-bbr#5.3.4.3).
    pub(super) fn check_probe_rtt(&mut self, sample: &RateSample) {
        if self.state != State::ProbeRtt && self.probe_rtt_expired && !self.idle_restart {
            self.state = State::ProbeRtt;
            self.save_cwnd();
            self.probe_rtt_done_stamp = None;
            self.ack_phase = AckPhase::ProbeStopping;
            self.start_round();
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(sample);
        }
        if sample.delivered > 0.0 {
            self.idle_restart = false;
        }
    }

    /// `HandleProbeRTT` (draft-ietf-ccwg-bbr#5.3.4.3).
    #[cold]
    fn handle_probe_rtt(&mut self, sample: &RateSample) {
        if self.probe_rtt_done_stamp.is_none() {
            if sample.in_flight <= self.probe_rtt_cwnd() {
                self.probe_rtt_done_stamp = Some(sample.now + self.params.probe_rtt);
                self.probe_rtt_round_done = false;
                self.start_round();
            }
            return;
        }
        self.probe_rtt_round_done |= self.round_start;
        if self.probe_rtt_round_done {
            self.check_probe_rtt_done(sample.now);
        }
    }

    /// `CheckProbeRTTDone`, `ExitProbeRTT`.
    /// Sources: draft-ietf-ccwg-bbr#5.3.4.3, draft-ietf-ccwg-bbr#5.3.4.4.
    #[cold]
    pub(super) fn check_probe_rtt_done(&mut self, now: Time) {
        if self.probe_rtt_done_stamp.is_none_or(|done| now <= done) {
            return;
        }
        self.probe_rtt_min_stamp = now;
        self.restore_cwnd();
        self.reset_short_term_model();
        if self.full_bw_reached {
            self.start_probe_bw_down(now);
            self.state = State::ProbeBwCruise;
        } else {
            self.state = State::Startup;
        }
    }
}
