//! H-TCP as in Linux, with the names and the fixed-point numbers of its `tcp_htcp.c`.
//! Factors are in 128ths, times in ticks of a millisecond.

use crate::{Ack, CongestionEvent, Counted, Early, Event, Observation, Window, WindowLaw};
use sojourn_units::Time;

const HZ: u64 = 1000;
const SHIFT: u32 = 7;
const ONE: u64 = 1 << SHIFT;

/// The state that an undone reduction restores.
#[derive(Clone, Copy, Debug)]
struct Before {
    last_cong: u64,
    max_rtt: u64,
    old_max_b: u64,
}

/// `struct htcp`.
#[derive(Clone, Debug)]
pub struct Kernel {
    beta_min: u64,
    beta_max: u64,
    use_rtt_scaling: bool,
    use_bandwidth_switch: bool,
    alpha: u64,
    beta: u64,
    modeswitch: bool,
    pkts_acked: u64,
    packetcount: u64,
    min_rtt: u64,
    max_rtt: u64,
    /// The last congestion; `None` before the first ACK.
    last_cong: Option<u64>,
    before: Option<Before>,
    max_b: u64,
    old_max_b: u64,
    bi: u64,
    lasttime: u64,
    /// Whether a reduction or a timeout was being repaired after the last ACK.
    repairing: bool,
}

impl Kernel {
    /// The fraction of the window that a loss leaves, and the minimum RTT in seconds.
    pub(crate) fn beta_and_min_rtt(&self) -> (f64, f64) {
        (self.beta as f64 / ONE as f64, self.min_rtt as f64 / HZ as f64)
    }

    /// The state at the start of a connection.
    /// `beta` is the minimum and maximum fraction of the window that congestion leaves.
    pub fn new(beta: [f64; 2], use_rtt_scaling: bool, use_bandwidth_switch: bool) -> Kernel {
        let [beta_min, beta_max] = beta.map(|number| ((number * ONE as f64) as u64).clamp(1, ONE - 1));
        Kernel {
            beta_min,
            beta_max,
            use_rtt_scaling,
            use_bandwidth_switch,
            alpha: ONE,
            beta: beta_min,
            modeswitch: false,
            pkts_acked: 1,
            packetcount: 0,
            min_rtt: 0,
            max_rtt: 0,
            last_cong: None,
            before: None,
            max_b: 0,
            old_max_b: 0,
            bi: 0,
            lasttime: 0,
            repairing: false,
        }
    }

    fn cong_time(&self, now: u64) -> u64 {
        now.saturating_sub(self.last_cong.unwrap_or(now))
    }

    fn measure_rtt(&mut self, srtt: u64, open: bool) {
        if self.min_rtt == 0 || self.min_rtt > srtt {
            self.min_rtt = srtt;
        }
        if open {
            self.max_rtt = self.max_rtt.max(self.min_rtt);
            if srtt <= self.max_rtt + HZ / 50 {
                self.max_rtt = self.max_rtt.max(srtt);
            }
        }
    }

    /// `measure_achieved_throughput`, which precedes the change of state, and `htcp_state`.
    fn on_ack(&mut self, ack: &Ack, cwnd: f64) {
        let now = ack.now.as_millis();
        self.last_cong.get_or_insert(now);
        self.measure_throughput(ack, cwnd, now);
        self.repairing = ack.in_recovery || ack.after_timeout;
        if !self.repairing && self.before.take().is_some() {
            self.last_cong = Some(now);
        }
    }

    fn measure_throughput(&mut self, ack: &Ack, cwnd: f64, now: u64) {
        let acked = ack.advanced as u64;
        if ack.open {
            self.pkts_acked = acked;
        }
        if let Some(rtt) = ack.rtt {
            self.measure_rtt(rtt.as_nanos().div_ceil(1_000_000), ack.open);
        }
        if !self.use_bandwidth_switch {
            return;
        }
        if self.repairing {
            (self.packetcount, self.lasttime) = (0, now);
            return;
        }
        self.packetcount += acked;
        let enough = (cwnd as u64).saturating_sub((self.alpha >> SHIFT).max(1));
        let passed = now.saturating_sub(self.lasttime);
        if self.packetcount < enough || passed < self.min_rtt || self.min_rtt == 0 {
            return;
        }
        let current = self.packetcount * HZ / passed;
        if self.cong_time(now) / self.min_rtt <= 3 {
            (self.max_b, self.bi) = (current, current);
        } else {
            self.bi = (3 * self.bi + current) / 4;
            self.max_b = self.max_b.max(self.bi);
        }
        (self.packetcount, self.lasttime) = (0, now);
    }

    fn beta_update(&mut self) {
        if self.use_bandwidth_switch {
            let before = core::mem::replace(&mut self.old_max_b, self.max_b);
            if !(4 * before..=6 * before).contains(&(5 * self.max_b)) {
                (self.beta, self.modeswitch) = (self.beta_min, false);
                return;
            }
        }
        if self.modeswitch && self.min_rtt > HZ / 100 && self.max_rtt > 0 {
            self.beta = ((self.min_rtt << SHIFT) / self.max_rtt).clamp(self.beta_min, self.beta_max);
        } else {
            (self.beta, self.modeswitch) = (self.beta_min, true);
        }
    }

    fn alpha_update(&mut self, now: u64) {
        let mut factor = 1;
        let since = self.cong_time(now);
        if since > HZ {
            let late = since - HZ;
            factor = 1 + (10 * late + (late / 2) * (late / 2) / HZ) / HZ;
        }
        if self.use_rtt_scaling && self.min_rtt > 0 {
            let scale = ((HZ << 3) / (10 * self.min_rtt)).clamp(1 << 2, 10 << 3);
            factor = ((factor << 3) / scale).max(1);
        }
        self.alpha = 2 * factor * (ONE - self.beta);
    }

    /// `htcp_recalc_ssthresh`, and `htcp_reset` of the following state.
    fn recalc_ssthresh(&mut self, cwnd: f64, now: Time) -> f64 {
        let now = now.as_millis();
        self.beta_update();
        self.alpha_update(now);
        if self.min_rtt > 0 && self.max_rtt > self.min_rtt {
            self.max_rtt = self.min_rtt + (self.max_rtt - self.min_rtt) * 95 / 100;
        }
        self.before = Some(Before { last_cong: self.last_cong.unwrap_or(now), max_rtt: self.max_rtt, old_max_b: self.old_max_b });
        self.last_cong = Some(now);
        self.repairing = true;
        ((cwnd as u64 * self.beta) >> SHIFT).max(2) as f64
    }

    /// `htcp_cwnd_undo`.
    fn undo(&mut self) {
        if let Some(before) = self.before.take() {
            (self.last_cong, self.max_rtt, self.old_max_b) = (Some(before.last_cong), before.max_rtt, before.old_max_b);
        }
    }
}

impl WindowLaw for Kernel {
    fn observe(&mut self, observation: Observation, window: &mut Window) -> Early {
        match observation {
            Observation::Ack(ack) => self.on_ack(ack, window.cwnd),
            Observation::Event(Event::Undo(_)) => self.undo(),
            _ => {}
        }
        Early::None
    }

    /// `htcp_cong_avoid` above the threshold.
    fn grow(&mut self, from: Counted, ack: &Ack) -> Counted {
        if from.in_slow_start {
            return from;
        }
        let acked = core::mem::replace(&mut self.pkts_acked, 1);
        if (from.count as u64 * self.alpha) >> SHIFT < from.cwnd as u64 {
            return Counted { count: from.count + acked as f64, ..from };
        }
        self.alpha_update(ack.now.as_millis());
        Counted { cwnd: from.cwnd + 1.0, count: 0.0, ..from }
    }

    fn growth_of_round(&self, _window: f64, _now: Time) -> f64 {
        self.alpha as f64 / ONE as f64
    }

    fn on_reduction(&mut self, event: &CongestionEvent) -> Window {
        let kept = self.recalc_ssthresh(event.window, event.now);
        Window { cwnd: kept, ssthresh: kept }
    }

    fn after_rto(&mut self, now: Time, window: f64) -> f64 {
        self.recalc_ssthresh(window, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_units::Duration;

    fn kernel(min_rtt: u64, max_rtt: u64) -> Kernel {
        Kernel { min_rtt, max_rtt, last_cong: Some(0), ..Kernel::new([0.5, 0.8], true, false) }
    }

    #[test]
    fn growth_is_that_of_the_last_increase() {
        let mut kernel = kernel(100, 100);
        let at = |millis| Ack { now: Time::ZERO + Duration::from_millis(millis), ..Ack::ONE };
        // Reno's growth in the first second. The ACK that opens the window does not count itself.
        let grown = kernel.grow(Counted::in_linux(10.0, 10.0), &at(2000));
        assert_eq!(grown, Counted::in_linux(11.0, 0.0));
        // 1 + (10 * 1000 + 500 * 500/1000)/1000 = 11, halved twice by beta: 2 * 11 * 64 of 128.
        assert_eq!(kernel.alpha, 11 * 128);
        assert_eq!(kernel.grow(grown, &at(2001)).count, 1.0);
        assert_eq!(kernel.grow(Counted::in_linux(11.0, 1.0), &at(2002)).cwnd, 12.0);
    }

    #[test]
    fn a_reduction_takes_whole_128ths_and_growth_stays_that_of_its_time() {
        let mut kernel = kernel(60, 100);
        let now = |seconds| Time::ZERO + Duration::from_secs(seconds);
        assert_eq!(kernel.recalc_ssthresh(100.0, now(2)), 50.0);
        // (60 << 7)/98 = 78 of 128.
        assert_eq!(kernel.recalc_ssthresh(100.0, now(4)), 60.0);
        // 1 + (10 * 1000 + 250)/1000 = 11, times 8/13 for 60 ms: 6, times 2 * 50.
        assert_eq!(kernel.alpha, 2 * 6 * 50);
    }

    #[test]
    fn an_undone_reduction_was_none() {
        let mut kernel = kernel(60, 100);
        kernel.recalc_ssthresh(100.0, Time::ZERO + Duration::from_secs(2));
        kernel.undo();
        assert_eq!(kernel.last_cong, Some(0));
    }

    #[test]
    fn the_greatest_round_trip_time_is_that_of_the_state_open() {
        let mut kernel = kernel(60, 60);
        let ack = |open| Ack { open, rtt: Some(Duration::from_millis(75)), ..Ack::ONE };
        kernel.on_ack(&ack(false), 10.0);
        assert_eq!(kernel.max_rtt, 60);
        kernel.on_ack(&ack(true), 10.0);
        assert_eq!(kernel.max_rtt, 75);
    }
}
