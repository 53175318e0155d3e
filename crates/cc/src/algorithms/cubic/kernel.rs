//! CUBIC as in today's Linux, with the names of its `tcp_cubic.c`.
//! It uses whole numbers, a clock of 1 ms, and its own `HyStart`.

use crate::{Ack, Window};
use sojourn_units::{Duration, Time};

const HZ: u64 = 1000;
/// A window that was never reduced grows by at least 1/20 per round trip.
const FIRST_CNT: u64 = 20;
/// `HYSTART_MIN_SAMPLES`.
const MIN_SAMPLES: u32 = 8;
/// `HYSTART_DELAY_MIN`, in us.
const DELAY_MIN_US: u64 = 4_000;
/// `HYSTART_DELAY_MAX`, in us.
const DELAY_MAX_US: u64 = 16_000;
/// The window in segments below which `HyStart` is off (`hystart_low_window`).
const LOW_WINDOW: f64 = 16.0;
/// `hystart_ack_delta_us`.
const ACK_DELTA_US: u64 = 2_000;
/// The longest `hystart_ack_delay`, in us.
const MAX_ACK_DELAY_US: u64 = 1_000;
/// The segments whose time at the pacing rate is a `hystart_ack_delay`.
/// They are four times `sk_gso_max_size`, in segments of 1,448 bytes.
const ACK_DELAY_SEGMENTS: f64 = 4.0 * 45.0;

fn micros(time: Time) -> u64 {
    time.as_nanos() / 1_000
}

/// `hystart_ack_delay`: the time in us for which ACKs may be held back.
fn ack_delay_us(ack: &Ack, window: Window) -> u64 {
    MAX_ACK_DELAY_US.min((ACK_DELAY_SEGMENTS / window.pace(ack.in_flight, ack.srtt) * 1e6) as u64)
}

/// `struct bictcp`. Windows are in segments.
/// Times are in milliseconds unless the name has another unit.
#[derive(Clone, Debug)]
pub struct Kernel {
    beta: u64,
    cube_rtt_scale: u64,
    hystart: Option<HyStart>,
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

/// The part of `struct bictcp` that ends slow start.
#[derive(Clone, Debug, Default)]
struct HyStart {
    found: bool,
    /// Whether the sender is paced, `sk_pacing_status`.
    paced: bool,
    sample_cnt: u32,
    round_start_us: u64,
    end_seq: u64,
    last_ack_us: u64,
    curr_rtt_us: u64,
}

impl HyStart {
    /// `bictcp_hystart_reset`.
    fn reset(&mut self, now: Time, snd_nxt: u64) {
        let now_us = micros(now);
        *self = HyStart {
            found: self.found,
            paced: self.paced,
            sample_cnt: 0,
            round_start_us: now_us,
            last_ack_us: now_us,
            end_seq: snd_nxt,
            curr_rtt_us: u64::MAX,
        };
    }

    /// `hystart_update`: returns whether an ACK train or a grown delay ends slow start.
    fn update(&mut self, ack: &Ack, window: Window, delay_us: u64, delay_min_us: u64) -> bool {
        if ack.snd_una > self.end_seq {
            self.reset(ack.now, ack.snd_max);
        }
        if window.cwnd < LOW_WINDOW {
            return false;
        }
        let now_us = micros(ack.now);
        if now_us - self.last_ack_us <= ACK_DELTA_US {
            self.last_ack_us = now_us;
            let threshold = delay_min_us + ack_delay_us(ack, window);
            // Pacing may have held segments back for half a round trip.
            self.found = now_us - self.round_start_us > if self.paced { threshold } else { threshold / 2 };
        }
        self.curr_rtt_us = self.curr_rtt_us.min(delay_us);
        if self.sample_cnt < MIN_SAMPLES {
            self.sample_cnt += 1;
        } else {
            self.found |= self.curr_rtt_us > delay_min_us + (delay_min_us / 8).clamp(DELAY_MIN_US, DELAY_MAX_US);
        }
        self.found
    }
}

impl Kernel {
    /// The state at the start of a connection.
    /// `beta` is in 1024ths, `scale` (C) in tenths of 1024ths. `hystart` is whether the sender is paced, or `None` without `HyStart`.
    pub fn new(beta: u64, scale: u64, hystart: Option<bool>) -> Kernel {
        Kernel {
            beta,
            cube_rtt_scale: scale * 10,
            hystart: hystart.map(|paced| HyStart { paced, ..HyStart::default() }),
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
        let hystart = self.hystart.take().map(|hystart| HyStart { found: false, ..hystart });
        *self = Kernel { snd_nxt, hystart, ..Kernel::new(beta, cube_rtt_scale / 10, None) };
        if let Some(hystart) = &mut self.hystart {
            hystart.reset(now, snd_nxt);
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
        let delay_min_us = self.delay_min_us;
        let searching = self.hystart.as_mut().filter(|hystart| !hystart.found && window.cwnd < window.ssthresh);
        searching.is_some_and(|hystart| hystart.update(ack, window, delay_us, delay_min_us))
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

    #[test]
    fn delayed_acks_are_allowed_a_millisecond_or_the_time_of_four_large_segments_at_the_pace() {
        let delay = |cwnd| {
            let ack = Ack { srtt: Duration::from_millis(1), ..Ack::ONE };
            ack_delay_us(&ack, Window { cwnd, ssthresh: 1e9 })
        };
        // At twice the window per round trip, 180 segments take 1 ms with a window of 90.
        assert_eq!([delay(20.0), delay(90.0), delay(900.0)], [1_000, 1_000, 100]);
    }

    /// The round in which slow start ends, with ACKs `gap_us` apart and these delays.
    fn ends(gap_us: u64, acks: u64, delays_ms: &[u64]) -> Option<usize> {
        ends_of(Kernel::new(BETA, 41, Some(false)), gap_us, acks, delays_ms)
    }

    fn ends_of(mut law: Kernel, gap_us: u64, acks: u64, delays_ms: &[u64]) -> Option<usize> {
        let window = Window { cwnd: 20.0, ssthresh: 1e9 };
        delays_ms.iter().position(|&delay| {
            let first = law.snd_nxt + 1;
            (0..acks).fold(false, |ended, number| {
                let now = Time::from_nanos(first * 100_000_000 + number * gap_us * 1_000);
                let delay = Duration::from_millis(delay);
                let ack = Ack { now, rtt: Some(delay), srtt: delay, snd_una: first, snd_max: first, ..Ack::ONE };
                law.observe(&ack, window) || ended
            })
        })
    }

    #[test]
    fn slow_start_ends_when_the_delay_grew_by_an_eighth_or_acks_come_in_a_train_of_half_the_delay() {
        assert_eq!(ends(5_000, 10, &[100, 100, 112, 113]), Some(3));
        assert_eq!(ends(5_000, 8, &[100, 100, 112, 113]), None);
        assert_eq!(ends(1_000, 51, &[100, 100]), None);
        assert_eq!(ends(1_000, 53, &[100, 100]), Some(0));
    }

    #[test]
    fn a_paced_sender_ends_it_at_a_train_of_the_whole_delay() {
        let paced = || {
            let mut law = Kernel::new(BETA, 41, Some(true));
            law.reset(at(0));
            law
        };
        assert_eq!(ends_of(paced(), 1_000, 101, &[100]), None);
        assert_eq!(ends_of(paced(), 1_000, 103, &[100]), Some(0));
    }
}
