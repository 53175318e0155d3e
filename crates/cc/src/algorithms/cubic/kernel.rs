//! CUBIC as in today's Linux, with the names of its `tcp_cubic.c`.
//! It uses whole numbers and a clock of 1 ms. It runs `HyStart` itself, with the delays that it filters.

use crate::{Ack, Detector, Window};
use sojourn_units::{Duration, Time};

const HZ: u64 = 1000;
/// A window that was never reduced grows by at least 1/20 per round trip.
const FIRST_CNT: u64 = 20;

/// `struct bictcp`. Windows are in segments.
/// Times are in milliseconds unless the name has another unit.
#[derive(Clone, Debug)]
pub struct Kernel {
    beta: u64,
    cube_rtt_scale: u64,
    hystart: Option<Detector>,
    cnt: u64,
    pub(super) last_max_cwnd: u64,
    last_cwnd: u64,
    last_time: u64,
    origin_point: u64,
    k: u64,
    /// The minimum delay; 0 before the first sample.
    delay_min_us: u64,
    /// The start of the epoch; `None` if Linux has 0.
    epoch_start: Option<u64>,
    ack_cnt: u64,
    tcp_cwnd: u64,
    /// `snd_nxt` at the last ACK.
    snd_nxt: u64,
}

impl Kernel {
    /// The state at the start of a connection.
    /// `beta` is in 1024ths, `scale` (C) in tenths of 1024ths.
    pub fn new(beta: u64, scale: u64, hystart: Option<Detector>) -> Kernel {
        Kernel {
            beta,
            cube_rtt_scale: scale * 10,
            hystart,
            cnt: 0,
            last_max_cwnd: 0,
            last_cwnd: 0,
            last_time: 0,
            origin_point: 0,
            k: 0,
            delay_min_us: 0,
            epoch_start: None,
            ack_cnt: 0,
            tcp_cwnd: 0,
            snd_nxt: 0,
        }
    }

    /// `cubictcp_cwnd_event_tx_start`: moves the epoch by a pause.
    /// The window thus continues at the same point of the curve.
    pub fn on_idle_end(&mut self, now: Time, idle: Duration) {
        self.epoch_start = self.epoch_start.map(|start| (start + idle.as_nanos() / 1_000_000).min(now.as_millis()));
    }

    /// `cubictcp_state` with the state `TCP_CA_Loss`.
    pub fn reset(&mut self, now: Time) {
        let Kernel { snd_nxt, beta, cube_rtt_scale, .. } = *self;
        *self = Kernel { snd_nxt, ..Kernel::new(beta, cube_rtt_scale / 10, self.hystart.take()) };
        if let Some(hystart) = &mut self.hystart {
            hystart.restart(now, snd_nxt);
        }
    }

    /// `cubictcp_acked`: returns whether slow start ends.
    pub fn observe(&mut self, ack: &Ack, window: Window) -> bool {
        self.snd_nxt = ack.snd_max;
        let Some(rtt) = ack.rtt else { return false };
        // Right after fast recovery, delays are not meaningful.
        if self.epoch_start.is_some_and(|start| ack.now.as_millis().saturating_sub(start) < HZ) {
            return false;
        }
        let delay_us = (rtt.as_nanos() / 1_000).max(1);
        if self.delay_min_us == 0 || self.delay_min_us > delay_us {
            self.delay_min_us = delay_us;
        }
        self.hystart.as_mut().is_some_and(|hystart| hystart.update(ack, window, delay_us, self.delay_min_us))
    }

    /// `bictcp_update`: the number of acknowledged segments that increase the window by one.
    pub fn update(&mut self, cwnd: u64, acked: u64, now: Time, friendly: bool) -> u64 {
        let now = now.as_millis();
        self.ack_cnt += acked;
        if self.last_cwnd == cwnd && now.saturating_sub(self.last_time) <= HZ / 32 {
            return self.cnt.max(2);
        }
        if self.epoch_start.is_none() || now != self.last_time {
            (self.last_cwnd, self.last_time) = (cwnd, now);
            let epoch_start = self.epoch_start.unwrap_or_else(|| self.start_epoch(cwnd, acked, now));
            self.cnt = self.cubic(cwnd, now - epoch_start);
        }
        if friendly {
            self.tcp_friendliness(cwnd);
        }
        self.cnt = self.cnt.max(2);
        self.cnt
    }

    fn start_epoch(&mut self, cwnd: u64, acked: u64, now: u64) -> u64 {
        self.epoch_start = Some(now);
        (self.ack_cnt, self.tcp_cwnd) = (acked, cwnd);
        let cube_factor = (1 << 40) / self.cube_rtt_scale;
        (self.k, self.origin_point) = match self.last_max_cwnd {
            max if max <= cwnd => (0, cwnd),
            max => (libm::cbrt((cube_factor * (max - cwnd)) as f64) as u64, max),
        };
        now
    }

    /// The cubic function at `elapsed` milliseconds after the start of the epoch.
    fn cubic(&self, cwnd: u64, elapsed: u64) -> u64 {
        // From here on, times have 10 more bits (BICTCP_HZ).
        let t = ((elapsed + self.delay_min_us.div_ceil(1_000)) << 10) / HZ;
        let offs = t.abs_diff(self.k).min(1 << 17);
        let delta = (self.cube_rtt_scale * offs * offs * offs) >> 40;
        let target = if t < self.k { self.origin_point.saturating_sub(delta) } else { self.origin_point + delta };
        let cnt = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
        if self.last_max_cwnd == 0 { cnt.min(FIRST_CNT) } else { cnt }
    }

    fn tcp_friendliness(&mut self, cwnd: u64) {
        let beta_scale = 8 * (1024 + self.beta) / 3 / (1024 - self.beta);
        let delta = ((cwnd * beta_scale) >> 3).max(1);
        while self.ack_cnt > delta {
            self.ack_cnt -= delta;
            self.tcp_cwnd += 1;
        }
        if self.tcp_cwnd > cwnd {
            self.cnt = self.cnt.min(cwnd / (self.tcp_cwnd - cwnd));
        }
    }

    /// `cubictcp_recalc_ssthresh`.
    pub fn recalc_ssthresh(&mut self, cwnd: f64, converge: bool) -> f64 {
        let cwnd = cwnd as u64;
        self.epoch_start = None;
        self.last_max_cwnd = if converge && cwnd < self.last_max_cwnd { cwnd * (1024 + self.beta) / 2048 } else { cwnd };
        (cwnd * self.beta / 1024).max(2) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BETA: u64 = 717;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn before_the_first_loss_the_window_grows_by_a_twentieth_a_round_trip() {
        let mut law = Kernel::new(BETA, 41, None);
        assert_eq!(law.update(100, 1, at(1000), false), 20);
    }

    #[test]
    fn the_window_is_back_at_its_origin_after_k() {
        let mut law = Kernel::new(BETA, 41, None);
        assert_eq!(law.recalc_ssthresh(1000.0, true), 700.0);
        law.update(700, 1, at(0), false);
        // K = cbrt(300 / 0.4) = 9.086 s; units of 1/1024 s.
        assert!((law.k as f64 / 1024.0 - 9.086).abs() < 0.02, "{}", law.k);
        assert_eq!(law.update(999, 1, at(9_100), false), 999);
    }

    #[test]
    fn growth_is_half_a_segment_per_segment_at_most_and_a_timeout_forgets_everything() {
        let mut law = Kernel::new(BETA, 41, None);
        law.recalc_ssthresh(20.0, true);
        law.update(14, 1, at(1), false);
        assert_eq!(law.update(15, 1, at(60_000), false), 2);
        law.reset(at(60_001));
        assert_eq!((law.last_max_cwnd, law.delay_min_us, law.epoch_start), (0, 0, None));
    }

    #[test]
    fn after_a_pause_the_window_goes_on_where_it_was_on_the_curve() {
        let mut law = Kernel::new(BETA, 41, None);
        law.recalc_ssthresh(1000.0, true);
        law.update(700, 1, at(0), false);
        law.on_idle_end(at(60_000), Duration::from_secs(50));
        // K is 9.086 s. Only 10 s of the 60 count.
        let after = law.update(999, 1, at(60_000), false);
        assert!((500..=999).contains(&after), "{after}");
        law.on_idle_end(at(60_001), Duration::from_secs(50));
        assert_eq!(law.epoch_start, Some(60_001), "no epoch begins in the future");
    }
}
