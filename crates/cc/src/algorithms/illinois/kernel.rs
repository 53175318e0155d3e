//! TCP Illinois as in Linux, with the names and fixed-point numbers of its `tcp_illinois.c`.
//! Growth is in 128ths of a segment, reductions in 64ths of the window, times in microseconds.

use crate::{Ack, CongestionEvent, Counted, Early, Observation, Window, WindowLaw};
use sojourn_units::Time;

const ALPHA_SHIFT: u32 = 7;
const ALPHA_BASE: u64 = 1 << ALPHA_SHIFT;
const BETA_SHIFT: u32 = 6;
/// The longest RTT that counts.
const RTT_MAX: u64 = u32::MAX as u64 / 1280;

/// `struct illinois`.
#[derive(Clone, Debug)]
pub struct Kernel {
    alpha_min: u64,
    alpha_max: u64,
    beta_min: u64,
    beta_max: u64,
    win_thresh: f64,
    theta: u32,
    sum_rtt: u64,
    cnt_rtt: u64,
    base_rtt: u64,
    max_rtt: u64,
    end_seq: u64,
    alpha: u64,
    beta: u64,
    rtt_above: bool,
    rtt_low: u32,
    /// `snd_nxt` at the last ACK.
    snd_nxt: u64,
}

impl Kernel {
    /// The growth per round trip in segments, and the fraction of the window that a loss removes.
    pub(crate) fn increase_and_decrease(&self) -> (f64, f64) {
        (self.alpha as f64 / ALPHA_BASE as f64, self.beta as f64 / f64::from(1 << BETA_SHIFT))
    }

    /// The state at the start of a connection, with minima and maxima of growth and reduction.
    pub fn new(alpha: [f64; 2], beta: [f64; 2], win_thresh: f64, theta: u32) -> Kernel {
        let scaled = |number: f64, shift: u32| ((number * f64::from(1 << shift)) as u64).max(1);
        let [alpha_min, alpha_max] = alpha.map(|number| scaled(number, ALPHA_SHIFT));
        let [beta_min, beta_max] = beta.map(|number| scaled(number, BETA_SHIFT));
        Kernel {
            alpha_min,
            alpha_max,
            beta_min,
            beta_max,
            win_thresh,
            theta,
            sum_rtt: 0,
            cnt_rtt: 0,
            base_rtt: u64::MAX,
            max_rtt: 0,
            end_seq: 0,
            alpha: alpha_max,
            beta: beta_max,
            rtt_above: false,
            rtt_low: 0,
            snd_nxt: 0,
        }
    }

    fn rtt_reset(&mut self) {
        (self.end_seq, self.cnt_rtt, self.sum_rtt) = (self.snd_nxt, 0, 0);
    }

    /// `tcp_illinois_acked`, and the part of `tcp_illinois_cong_avoid` that keeps the window.
    fn on_ack(&mut self, ack: &Ack, cwnd: f64) {
        self.snd_nxt = ack.snd_max;
        if let Some(rtt) = ack.rtt {
            let rtt = (rtt.as_nanos() / 1000).min(RTT_MAX);
            self.base_rtt = self.base_rtt.min(rtt);
            self.max_rtt = self.max_rtt.max(rtt);
            self.cnt_rtt += 1;
            self.sum_rtt += rtt;
        }
        if !ack.in_recovery && ack.snd_una > self.end_seq {
            self.update_params(cwnd);
        }
    }

    fn update_params(&mut self, cwnd: f64) {
        if cwnd < self.win_thresh {
            (self.alpha, self.beta) = (ALPHA_BASE, self.beta_max);
        } else if let Some(mean) = self.sum_rtt.checked_div(self.cnt_rtt) {
            let (dm, da) = (self.max_rtt - self.base_rtt, mean - self.base_rtt);
            self.alpha = self.alpha(da, dm);
            self.beta = self.beta(da, dm);
        }
        self.rtt_reset();
    }

    fn alpha(&mut self, da: u64, dm: u64) -> u64 {
        let d1 = dm / 100;
        if da <= d1 {
            if self.rtt_above {
                self.rtt_low += 1;
                if self.rtt_low < self.theta {
                    return self.alpha;
                }
            }
            (self.rtt_low, self.rtt_above) = (0, false);
            return self.alpha_max;
        }
        self.rtt_above = true;
        let (dm, da) = (dm - d1, da - d1);
        dm * self.alpha_max / (dm + da * (self.alpha_max - self.alpha_min) / self.alpha_min)
    }

    fn beta(&self, da: u64, dm: u64) -> u64 {
        let (d2, d3) = (dm / 10, 8 * dm / 10);
        match da {
            _ if da <= d2 => self.beta_min,
            _ if da >= d3 || d3 <= d2 => self.beta_max,
            _ => (self.beta_min * (d3 - da) + self.beta_max * (da - d2)) / (d3 - d2),
        }
    }

    /// `tcp_illinois_ssthresh`.
    fn ssthresh(&self, cwnd: f64) -> f64 {
        let cwnd = cwnd as u64;
        cwnd.saturating_sub((cwnd * self.beta) >> BETA_SHIFT).max(2) as f64
    }
}

impl WindowLaw for Kernel {
    fn observe(&mut self, observation: Observation, window: &mut Window) -> Early {
        if let Observation::Ack(ack) = observation {
            self.on_ack(ack, window.cwnd);
        }
        Early::None
    }

    /// `tcp_illinois_cong_avoid` above the threshold.
    /// If an ACK ends a recovery, all segments below its number count.
    fn grow(&mut self, from: Counted, ack: &Ack) -> Counted {
        if from.in_slow_start {
            return from;
        }
        let count = from.count + ack.advanced;
        let delta = (count as u64 * self.alpha) >> ALPHA_SHIFT;
        let increase = delta / (from.cwnd as u64).max(1);
        if increase == 0 { Counted { count, ..from } } else { Counted { cwnd: from.cwnd + increase as f64, count: 0.0, ..from } }
    }

    fn growth_of_round(&self, _window: f64, _now: Time) -> f64 {
        self.increase_and_decrease().0
    }

    fn on_reduction(&mut self, event: &CongestionEvent) -> Window {
        let kept = self.ssthresh(event.window);
        Window { cwnd: kept, ssthresh: kept }
    }

    /// `tcp_illinois_state` with `TCP_CA_Loss`.
    fn after_rto(&mut self, _now: Time, window: f64) -> f64 {
        let kept = self.ssthresh(window);
        (self.alpha, self.beta) = (ALPHA_BASE, self.beta_max);
        (self.rtt_low, self.rtt_above) = (0, false);
        self.rtt_reset();
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_units::Duration;

    fn kernel() -> Kernel {
        Kernel::new([0.3, 10.0], [0.125, 0.5], 15.0, 5)
    }

    #[test]
    fn of_a_window_that_one_ack_acknowledges_all_segments_count() {
        let mut kernel = kernel();
        let from = Counted::in_linux(40.0, 0.0);
        // 30 segments at 10 a round trip of 40: 300/40.
        let grown = kernel.grow(from, &Ack { advanced: 30.0, ..Ack::ONE });
        assert_eq!(grown, Counted::in_linux(47.0, 0.0));
        assert_eq!(kernel.grow(from, &Ack { advanced: 3.0, ..Ack::ONE }), Counted::in_linux(40.0, 3.0));
    }

    #[test]
    fn a_reduction_takes_whole_64ths_and_the_delays_of_a_recovery_wait_for_its_end() {
        let mut kernel = kernel();
        let ack = |rtt, snd_una| Ack { rtt: Some(Duration::from_millis(rtt)), snd_una, snd_max: snd_una + 1, ..Ack::ONE };
        [ack(100, 1), ack(200, 3), ack(150, 5)].iter().for_each(|ack| kernel.on_ack(ack, 50.0));
        // beta(50 ms of 100) = (8*30 + 32*40)/70 = 21 of 64: 50 - 16.
        assert_eq!((kernel.beta, kernel.ssthresh(50.0)), (21, 34.0));
        kernel.on_ack(&Ack { in_recovery: true, ..ack(200, 7) }, 50.0);
        assert_eq!(kernel.beta, 21);
        kernel.on_ack(&ack(200, 9), 50.0);
        assert_eq!(kernel.beta, 32);
    }
}
