//! The path model of BBR version 3 (draft-ietf-ccwg-bbr#5.5).

use super::states::{AckPhase, State};
use super::{Bbr, LostSegment, RateSample};
use crate::bounds::Bounds;

/// The length of the filter of extra ACKed data, in rounds, in Startup and after it.
/// Source: draft-ietf-ccwg-bbr#5.5.9.
const STARTUP_EXTRA_ROUNDS: u64 = 1;
const EXTRA_ACKED_ROUNDS: u64 = 10;

impl Bbr {
    /// `BBR.max_bw`: of the previous and the current cycle (draft-ietf-ccwg-bbr#5.5.3).
    pub(super) fn max_bw(&self) -> f64 {
        self.max_bw_filter[0].at_least(self.max_bw_filter[1])
    }

    /// `AdvanceMaxBwFilter` (draft-ietf-ccwg-bbr#5.5.6); a cycle without a sample does not count.
    #[cold]
    fn advance_max_bw_filter(&mut self) {
        if self.max_bw_filter[1] > 0.0 {
            self.max_bw_filter = [self.max_bw_filter[1], 0.0];
        }
    }

    /// `UpdateMaxBw`, `UpdateRound` (draft-ietf-ccwg-bbr#5.5.5, draft-ietf-ccwg-bbr#5.5.1).
    fn update_max_bw(&mut self, sample: &RateSample) {
        self.round_start = sample.prior_delivered.is_some_and(|prior| prior >= self.next_round_delivered);
        if self.round_start {
            self.start_round();
            self.round_count += 1;
            self.rounds_since_probe_up += 1;
        }
        if sample.delivery_rate > 0.0 && (sample.delivery_rate >= self.max_bw() || !sample.is_app_limited) {
            self.max_bw_filter[1] = self.max_bw_filter[1].at_least(sample.delivery_rate);
        }
    }

    /// `UpdateLatestDeliverySignals` (draft-ietf-ccwg-bbr#5.5.10.3).
    pub(super) fn update_latest_delivery_signals(&mut self, sample: &RateSample) {
        self.bw_latest = self.bw_latest.at_least(sample.delivery_rate);
        self.inflight_latest = self.inflight_latest.at_least(sample.delivered);
        self.loss_round_start = sample.prior_delivered.is_some_and(|prior| prior >= self.loss_round_delivered);
        if self.loss_round_start {
            self.loss_round_delivered = self.delivered;
        }
    }

    /// `AdvanceLatestDeliverySignals` (draft-ietf-ccwg-bbr#5.5.10.3).
    pub(super) fn advance_latest_delivery_signals(&mut self, sample: &RateSample) {
        if self.loss_round_start {
            self.bw_latest = sample.delivery_rate;
            self.inflight_latest = sample.delivered;
        }
    }

    /// `ResetCongestionSignals` (draft-ietf-ccwg-bbr#5.5.10.3).
    pub(super) fn reset_congestion_signals(&mut self) {
        self.is_loss_in_round = false;
        self.bw_latest = 0.0;
        self.inflight_latest = 0.0;
    }

    /// `UpdateCongestionSignals`, `AdaptLowerBoundsFromCongestion`.
    /// Source: draft-ietf-ccwg-bbr#5.5.10.3.
    pub(super) fn update_congestion_signals(&mut self, sample: &RateSample) {
        self.update_max_bw(sample);
        if !self.loss_round_start {
            return;
        }
        if self.is_loss_in_round && !self.state.is_probing() {
            self.lower_short_term_model();
        }
        self.is_loss_in_round = false;
    }

    /// `InitLowerBounds`, `LossLowerBounds` (draft-ietf-ccwg-bbr#5.5.10.3).
    #[cold]
    fn lower_short_term_model(&mut self) {
        if self.bw_shortterm.is_infinite() {
            self.bw_shortterm = self.max_bw();
        }
        if self.inflight_shortterm.is_infinite() {
            self.inflight_shortterm = self.cwnd;
        }
        self.bw_shortterm = self.bw_latest.at_least(self.params.beta * self.bw_shortterm);
        self.inflight_shortterm = self.inflight_latest.at_least(self.params.beta * self.inflight_shortterm);
    }

    /// `ResetShortTermModel` (draft-ietf-ccwg-bbr#5.5.10.3).
    pub(super) fn reset_short_term_model(&mut self) {
        (self.bw_shortterm, self.inflight_shortterm) = (f64::INFINITY, f64::INFINITY);
    }

    /// `BoundBWForModel` (draft-ietf-ccwg-bbr#5.5.10.3).
    pub(super) fn bound_bw_for_model(&mut self) {
        self.bw = self.max_bw().at_most(self.bw_shortterm);
    }

    /// `UpdateACKAggregation` (draft-ietf-ccwg-bbr#5.5.9).
    pub(super) fn update_ack_aggregation(&mut self, sample: &RateSample) {
        let mut expected = self.bw * sample.now.since(self.extra_acked_interval_start).as_secs_f64();
        if self.extra_acked_delivered <= expected {
            self.extra_acked_delivered = 0.0;
            self.extra_acked_interval_start = sample.now;
            expected = 0.0;
        }
        self.extra_acked_delivered += sample.newly_acked;
        let extra = (self.extra_acked_delivered - expected).at_most(self.cwnd);
        let rounds = if self.full_bw_reached { EXTRA_ACKED_ROUNDS } else { STARTUP_EXTRA_ROUNDS };
        self.extra_acked.update(rounds, self.round_count, extra);
    }

    /// `UpdateMinRTT` (draft-ietf-ccwg-bbr#5.3.4.3).
    pub(super) fn update_min_rtt(&mut self, sample: &RateSample) {
        self.probe_rtt_expired = sample.now > self.probe_rtt_min_stamp + self.params.probe_rtt_interval;
        if let Some(rtt) = sample.rtt.filter(|&rtt| rtt < self.probe_rtt_min_delay || self.probe_rtt_expired) {
            (self.probe_rtt_min_delay, self.probe_rtt_min_stamp) = (rtt, sample.now);
        }
        let min_rtt_expired = sample.now > self.min_rtt_stamp + self.params.min_rtt_window;
        if self.probe_rtt_min_delay < self.min_rtt || min_rtt_expired {
            (self.min_rtt, self.min_rtt_stamp) = (self.probe_rtt_min_delay, self.probe_rtt_min_stamp);
        }
    }

    /// `AdaptLongTermModel` (draft-ietf-ccwg-bbr#5.3.3.9). Returns whether it selected a state.
    pub(super) fn adapt_long_term_model(&mut self, sample: &RateSample) -> bool {
        if self.ack_phase == AckPhase::ProbeStarting && self.round_start {
            self.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.ack_phase == AckPhase::ProbeStopping && self.round_start {
            self.is_bw_probe_sample = false;
            self.ack_phase = AckPhase::Init;
            if self.state.is_probe_bw() && !sample.is_app_limited {
                self.advance_max_bw_filter();
            }
            if self.state.is_probe_bw() && self.prev_probe_precautionary && !self.prev_probe_too_high {
                self.start_probe_bw_refill();
                return true;
            }
        }
        if !self.is_inflight_too_high_for(sample) && self.inflight_longterm.is_finite() {
            self.inflight_longterm = self.inflight_longterm.at_least(sample.tx_in_flight);
            if self.state == State::ProbeBwUp {
                self.probe_inflight_longterm_upward(sample);
            }
        }
        false
    }

    /// `ProbeInflightLongtermUpward` (draft-ietf-ccwg-bbr#5.3.3.9).
    fn probe_inflight_longterm_upward(&mut self, sample: &RateSample) {
        if !sample.is_cwnd_limited || self.cwnd < self.inflight_longterm {
            return;
        }
        self.bw_probe_up_acked += sample.newly_acked;
        if self.bw_probe_up_acked >= self.probe_up_acked_per_inc {
            let delta = libm::floor(self.bw_probe_up_acked / self.probe_up_acked_per_inc);
            self.bw_probe_up_acked -= delta * self.probe_up_acked_per_inc;
            self.inflight_longterm += delta;
        }
        if self.round_start {
            self.raise_inflight_longterm_slope();
        }
    }

    /// `IsInflightTooHigh` (draft-ietf-ccwg-bbr#5.5.10.2).
    fn is_inflight_too_high(&self, lost: f64, tx_in_flight: f64, selective_acks: bool) -> bool {
        lost > tx_in_flight * self.params.loss_threshold || (lost > 0.0 && !selective_acks)
    }

    /// `IsInflightTooHigh` for the newest segment that an ACK delivered.
    pub(super) fn is_inflight_too_high_for(&self, sample: &RateSample) -> bool {
        self.is_inflight_too_high(sample.lost, sample.tx_in_flight, sample.selective_acks)
    }

    /// `NoteLoss` (draft-ietf-ccwg-bbr#5.5.10.2).
    pub(super) fn note_loss(&mut self) {
        if !self.is_loss_in_round {
            self.loss_round_delivered = self.delivered;
            self.save_state_upon_loss();
        }
        self.is_loss_in_round = true;
    }

    /// `HandleLostPacket` (draft-ietf-ccwg-bbr#5.5.10.2).
    pub(super) fn handle_lost_segment(&mut self, lost: &LostSegment) {
        self.delivered = lost.delivered_total;
        self.lost_ranges += u32::from(!lost.contiguous || self.lost_ranges == 0);
        self.note_loss();
        if self.is_bw_probe_sample && self.is_inflight_too_high(lost.lost, lost.tx_in_flight, lost.selective_acks) {
            let tx_in_flight = self.inflight_at_loss(lost);
            self.handle_inflight_too_high(tx_in_flight, lost);
        }
    }

    /// `InflightAtLoss` (draft-ietf-ccwg-bbr#5.5.10.2).
    pub(super) fn inflight_at_loss(&self, lost: &LostSegment) -> f64 {
        let inflight_prev = lost.tx_in_flight - lost.size;
        let lost_prev = lost.lost - lost.size;
        let threshold = self.params.loss_threshold;
        inflight_prev + (threshold * inflight_prev - lost_prev) / (1.0 - threshold)
    }

    /// `HandleInflightTooHigh` (draft-ietf-ccwg-bbr#5.5.10.2).
    #[cold]
    fn handle_inflight_too_high(&mut self, tx_in_flight: f64, lost: &LostSegment) {
        self.prev_probe_too_high = true;
        self.is_bw_probe_sample = false;
        if !lost.is_app_limited {
            self.inflight_longterm = tx_in_flight.at_least(self.target_inflight() * self.params.beta);
        }
        if self.state == State::ProbeBwUp {
            self.undo_state = Some(State::ProbeBwUp);
            self.start_probe_bw_down(lost.now);
        }
    }

    /// `SaveStateUponLoss` (draft-ietf-ccwg-bbr#5.5.11.1), once for the losses of a recovery.
    /// Later losses, and the start of the recovery, would save the model as the first loss changed it.
    #[cold]
    pub(super) fn save_state_upon_loss(&mut self) {
        self.save_cwnd();
        if core::mem::replace(&mut self.has_saved, true) {
            return;
        }
        self.undo_state = None;
        self.undo_bw_shortterm = self.bw_shortterm;
        self.undo_inflight_shortterm = self.inflight_shortterm;
        self.undo_inflight_longterm = self.inflight_longterm;
    }

    /// `HandleSpuriousLossDetection` (draft-ietf-ccwg-bbr#5.5.11.2).
    #[cold]
    pub(super) fn handle_spurious_loss_detection(&mut self) {
        self.restore_cwnd();
        self.is_loss_in_round = false;
        self.reset_full_bw();
        self.bw_shortterm = self.bw_shortterm.at_least(self.undo_bw_shortterm);
        self.inflight_shortterm = self.inflight_shortterm.at_least(self.undo_inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.at_least(self.undo_inflight_longterm);
        match self.undo_state.take() {
            Some(State::Startup) if self.state != State::Startup => {
                self.full_bw_reached = false;
                if self.state != State::ProbeRtt {
                    self.state = State::Startup;
                }
            }
            Some(State::ProbeBwUp) if !matches!(self.state, State::ProbeBwUp | State::ProbeRtt) => self.start_probe_bw_refill(),
            _ => {}
        }
    }
}
