//! CUBIC v2.1, as in Linux 2.6.22 and in ns-2.35's TCP-Linux.

use crate::Ack;
use sojourn_units::{Duration, Time};

/// Version 2.1, with the names of Linux's `tcp_cubic.c`.
/// Windows are in segments, times in milliseconds.
#[derive(Clone, Debug)]
pub struct V21 {
    beta: u64,
    cube_rtt_scale: u64,
    cube_factor: u64,
    beta_scale: u64,
    ssthresh: u64,
    snd_cwnd_cnt: u64,
    cnt: u64,
    pub(super) last_max_cwnd: u64,
    loss_cwnd: u64,
    last_cwnd: u64,
    last_time: u64,
    origin_point: u64,
    k: u64,
    /// The minimum delay in milliseconds times 8; 0 is none.
    delay_min: u64,
    epoch_start: u64,
    ack_cnt: u64,
    tcp_cwnd: u64,
    /// Segments per acknowledgment, times 16.
    delayed_ack: u64,
}

const HZ: u64 = 1000;
const MAX_INCREMENT: u64 = 16;

/// The time in milliseconds since a segment was sent.
/// Like TCP-Linux it rounds the echoed timestamp and truncates the clock.
fn delay(now: Time, rtt: Duration) -> u64 {
    now.as_millis().saturating_sub((now.as_nanos().saturating_sub(rtt.as_nanos()) + 500_000) / 1_000_000)
}

impl V21 {
    pub fn new(beta: u64, scale: u64) -> V21 {
        V21 {
            beta,
            cube_rtt_scale: scale * 10,
            cube_factor: (1 << 40) / (scale * 10),
            beta_scale: 8 * (1024 + beta) / 3 / (1024 - beta),
            ssthresh: 0,
            snd_cwnd_cnt: 0,
            cnt: 0,
            last_max_cwnd: 0,
            loss_cwnd: 0,
            last_cwnd: 0,
            last_time: 0,
            origin_point: 0,
            k: 0,
            delay_min: 0,
            epoch_start: 0,
            ack_cnt: 0,
            tcp_cwnd: 0,
            delayed_ack: 32,
        }
    }

    /// `bictcp_reset`: resets everything except the parameters.
    pub fn reset(&mut self) {
        let fresh = V21::new(self.beta, self.cube_rtt_scale / 10);
        *self = V21 { ssthresh: self.ssthresh, ..fresh };
    }

    /// `bictcp_acked` and `measure_delay`.
    pub fn observe(&mut self, ack: &Ack) {
        if ack.in_recovery || ack.after_timeout || ack.acked == 0.0 {
            return;
        }
        self.delayed_ack = (self.delayed_ack + ack.acked as u64).saturating_sub(self.delayed_ack >> 4);
        let settled = ack.now.as_millis().saturating_sub(self.epoch_start) >= HZ;
        if let Some(rtt) = ack.rtt.filter(|_| settled) {
            let delay = (delay(ack.now, rtt) << 3).max(1);
            self.delay_min = if self.delay_min == 0 { delay } else { self.delay_min.min(delay) };
        }
    }

    pub fn grow(&mut self, cwnd: f64, ack: &Ack, friendly: bool) -> f64 {
        let cwnd = (cwnd as u64).max(1);
        if cwnd <= self.ssthresh {
            return (cwnd + 1) as f64;
        }
        self.update(cwnd, ack.now.as_millis(), friendly);
        if self.snd_cwnd_cnt >= self.cnt {
            self.snd_cwnd_cnt = 0;
            (cwnd + 1) as f64
        } else {
            self.snd_cwnd_cnt += 1;
            cwnd as f64
        }
    }

    /// `bictcp_update`: computes `cnt`, the number of ACKs that add a segment.
    fn update(&mut self, cwnd: u64, now: u64, friendly: bool) {
        self.ack_cnt += 1;
        if self.last_cwnd == cwnd && now - self.last_time <= HZ / 32 {
            return;
        }
        self.last_cwnd = cwnd;
        self.last_time = now;
        if self.epoch_start == 0 {
            self.start_epoch(cwnd, now);
        }
        let t = ((now + (self.delay_min >> 3) - self.epoch_start) << 10) / HZ;
        let offs = t.abs_diff(self.k).min(1 << 17);
        let delta = (self.cube_rtt_scale * offs * offs * offs) >> 40;
        let target = if t < self.k { self.origin_point.saturating_sub(delta) } else { self.origin_point + delta };
        self.cnt = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
        if self.delay_min > 0 && t >= self.k {
            self.cnt = self.cnt.max(cwnd * HZ * 8 / (10 * MAX_INCREMENT * self.delay_min));
        }
        if self.loss_cwnd == 0 {
            self.cnt = 50;
        }
        if friendly {
            self.tcp_friendliness(cwnd);
        }
        self.cnt = ((self.cnt << 4) / self.delayed_ack.max(1)).max(1);
    }

    fn start_epoch(&mut self, cwnd: u64, now: u64) {
        self.epoch_start = now;
        self.ack_cnt = 1;
        self.tcp_cwnd = cwnd;
        (self.k, self.origin_point) = match self.last_max_cwnd {
            max if max <= cwnd => (0, cwnd),
            max => (libm::cbrt((self.cube_factor * (max - cwnd)) as f64) as u64, max),
        };
    }

    fn tcp_friendliness(&mut self, cwnd: u64) {
        let delta = ((cwnd * self.beta_scale) >> 3).max(1);
        while self.ack_cnt > delta {
            self.ack_cnt -= delta;
            self.tcp_cwnd += 1;
        }
        if self.tcp_cwnd > cwnd {
            self.cnt = self.cnt.min(cwnd / (self.tcp_cwnd - cwnd));
        }
    }

    /// `bictcp_recalc_ssthresh`.
    pub fn recalc_ssthresh(&mut self, window: f64, converge: bool) -> f64 {
        let window = window as u64;
        self.epoch_start = 0;
        self.last_max_cwnd = if converge && window < self.last_max_cwnd { window * (1024 + self.beta) / 2048 } else { window };
        self.loss_cwnd = window;
        self.snd_cwnd_cnt = 0;
        self.ssthresh = (window * self.beta / 1024).max(2);
        self.ssthresh as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_constants_of_v2_1_are_those_of_the_kernel() {
        let law = V21::new(819, 41);
        assert_eq!((law.beta_scale, law.cube_rtt_scale, law.cube_factor), (23, 410, 2_681_735_677));
        let mut law = law;
        assert_eq!(law.recalc_ssthresh(100.0, true), 79.0);
        assert_eq!(law.recalc_ssthresh(80.0, true), 63.0);
        assert_eq!(law.last_max_cwnd, 71);
    }

    #[test]
    fn v2_1_takes_a_sink_that_acknowledges_every_segment_for_one_that_delays() {
        let mut law = V21::new(819, 41);
        (0..100).for_each(|_| law.observe(&Ack::ONE));
        assert_eq!(law.delayed_ack, 31);
    }
}
