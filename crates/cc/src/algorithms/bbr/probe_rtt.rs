//! The minimum round-trip time, and the phase with a small window that measures it.

use super::{MIN_CWND, Mode, State};
use crate::RateSample;
use sojourn_units::{Duration, Time};

impl State {
    /// `bbr_update_min_rtt`: times in ticks of a millisecond, round-trip times in microseconds.
    pub(super) fn update_min_rtt(&mut self, sample: &RateSample) {
        let expired = sample.now.as_millis() > (self.min_rtt_stamp + self.params.min_rtt_window).as_millis();
        let is_less = |rtt: Duration| self.min_rtt.is_none_or(|min| rtt.as_nanos() / 1000 < min.as_nanos() / 1000);
        if let Some(rtt) = sample.rtt.filter(|&rtt| is_less(rtt) || (expired && !sample.may_be_delayed)) {
            (self.min_rtt, self.min_rtt_stamp) = (Some(rtt), sample.now);
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd();
            self.probe_rtt_done = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(sample);
        }
        if sample.delivered > 0.0 {
            self.idle_restart = false;
        }
    }

    fn probe_rtt(&mut self, sample: &RateSample) {
        if self.probe_rtt_done.is_none() && sample.in_flight <= MIN_CWND {
            self.probe_rtt_done = Some(sample.now + self.params.probe_rtt);
            self.probe_rtt_round_done = false;
            self.next_round_delivered = sample.delivered_total;
        } else if self.probe_rtt_done.is_some() {
            self.probe_rtt_round_done |= self.round_start;
            if self.probe_rtt_round_done {
                self.check_probe_rtt_done(sample.now);
            }
        }
    }

    /// `bbr_check_probe_rtt_done`, `bbr_reset_mode`.
    pub(super) fn check_probe_rtt_done(&mut self, now: Time) {
        if self.probe_rtt_done.is_none_or(|done| now.as_millis() <= done.as_millis()) {
            return;
        }
        self.min_rtt_stamp = now;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        if self.full.reached { self.enter_probe_bw(now) } else { self.mode = Mode::Startup }
    }
}
