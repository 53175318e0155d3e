//! Westwood+ as in Linux, with the names of its `tcp_westwood.c`.
//! It counts whole bytes per tick of a millisecond, and whole ticks. A reduction is Reno's. When it is over, the window is set to the
//! measured BDP.

use crate::{Ack, CongestionEvent, Counted, Early, Event, Observation, Window, WindowLaw};
use sojourn_units::{Duration, Time};

/// `TCP_WESTWOOD_INIT_RTT`, in ms.
const INIT_RTT: u64 = 20_000;

/// `struct westwood`.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// `TCP_WESTWOOD_RTT_MIN`, in ms.
    least: u64,
    weight: f64,
    bw_ns_est: u64,
    bw_est: u64,
    rtt_win_sx: u64,
    bk: u64,
    /// The first unacknowledged byte; `None` before the first ACK.
    snd_una: Option<u64>,
    accounted: u64,
    rtt: u64,
    rtt_min: u64,
    reset_rtt_min: bool,
    /// The largest segment seen, in bytes.
    mss: u64,
}

impl Kernel {
    /// The state at the start of a connection.
    /// `least` is the minimum time of a measurement, `weight` the weight of the newest one.
    pub fn new(least: Duration, weight: f64) -> Kernel {
        Kernel {
            least: least.as_nanos() / 1_000_000,
            weight,
            bw_ns_est: 0,
            bw_est: 0,
            rtt_win_sx: 0,
            bk: 0,
            snd_una: None,
            accounted: 0,
            rtt: INIT_RTT,
            rtt_min: INIT_RTT,
            reset_rtt_min: true,
            mss: 1,
        }
    }

    /// `westwood_do_filter`.
    fn filter(&self, old: u64, new: u64) -> u64 {
        ((1.0 - self.weight) * old as f64 + self.weight * new as f64) as u64
    }

    /// `westwood_update_window`.
    fn update_window(&mut self, now: u64) {
        let delta = now.saturating_sub(self.rtt_win_sx);
        if self.rtt == 0 || delta <= self.rtt.max(self.least) {
            return;
        }
        let sample = self.bk / delta;
        if self.bw_ns_est == 0 && self.bw_est == 0 {
            (self.bw_ns_est, self.bw_est) = (sample, sample);
        } else {
            self.bw_ns_est = self.filter(self.bw_ns_est, sample);
            self.bw_est = self.filter(self.bw_est, self.bw_ns_est);
        }
        (self.bk, self.rtt_win_sx) = (0, now);
    }

    /// `westwood_acked_count`: the acknowledged bytes that count.
    /// Header prediction (`westwood_fast_bw`) is off if windows are scaled and constant. A duplicate ACK counts as a segment, which a later
    /// ACK of several segments counts no more.
    fn acked_count(&mut self, advanced: u64) -> u64 {
        if advanced == 0 {
            self.accounted = self.accounted.saturating_add(self.mss);
            return self.mss;
        }
        if advanced <= self.mss {
            return advanced;
        }
        if self.accounted >= advanced {
            self.accounted -= advanced;
            return self.mss;
        }
        advanced - core::mem::take(&mut self.accounted)
    }

    /// `tcp_westwood_pkts_acked`, `tcp_westwood_ack`.
    fn on_ack(&mut self, ack: &Ack) {
        let now = ack.now.as_millis();
        if let Some(rtt) = ack.rtt {
            self.rtt = rtt.as_nanos().div_ceil(1_000_000);
        }
        let Some(before) = self.snd_una.replace(ack.snd_una) else {
            // The window starts when the connection opens, a round trip earlier.
            self.rtt_win_sx = now.saturating_sub(ack.rtt.map_or(0, |_| self.rtt));
            if ack.advanced == 0.0 && ack.in_flight > 0.0 {
                // A duplicate ACK counts as a segment, whose size is not known yet.
                self.mss = (ack.snd_max.saturating_sub(ack.snd_una) / ack.in_flight as u64).max(1);
            }
            self.count(ack, ack.snd_una, 0, now);
            return;
        };
        let advanced = ack.snd_una.saturating_sub(before);
        self.count(ack, advanced, advanced, now);
    }

    /// Processes an ACK of `bytes` bytes, of which `counted` count.
    fn count(&mut self, ack: &Ack, bytes: u64, counted: u64, now: u64) {
        if ack.advanced >= 1.0 {
            self.mss = self.mss.max(bytes / ack.advanced as u64);
        }
        self.update_window(now);
        self.bk = self.bk.saturating_add(self.acked_count(counted));
        self.update_rtt_min();
    }

    fn update_rtt_min(&mut self) {
        self.rtt_min = if core::mem::take(&mut self.reset_rtt_min) { self.rtt } else { self.rtt.min(self.rtt_min) };
    }

    /// `tcp_westwood_bw_rttmin`.
    fn bw_rttmin(&self) -> f64 {
        (self.bw_est.saturating_mul(self.rtt_min) / self.mss).max(2) as f64
    }
}

impl WindowLaw for Kernel {
    fn observe(&mut self, observation: Observation, window: &mut Window) -> Early {
        match observation {
            Observation::Ack(ack) => self.on_ack(ack),
            // `CA_EVENT_COMPLETE_CWR`
            Observation::Event(Event::ReductionEnd) => *window = Window { cwnd: self.bw_rttmin(), ssthresh: self.bw_rttmin() },
            _ => {}
        }
        Early::None
    }

    #[inline]
    fn grow(&mut self, from: Counted, ack: &Ack) -> Counted {
        from.by(1.0, ack)
    }

    /// Until the end of the reduction it is Reno.
    fn on_reduction(&mut self, event: &CongestionEvent) -> Window {
        Window::reduced(libm::floor(event.window / 2.0))
    }

    /// `CA_EVENT_LOSS`.
    fn after_rto(&mut self, _now: Time, _window: f64) -> f64 {
        self.reset_rtt_min = true;
        self.bw_rttmin()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel() -> Kernel {
        Kernel::new(Duration::from_millis(50), 0.125)
    }

    #[test]
    fn the_bandwidth_is_filtered_twice_in_whole_bytes_a_millisecond() {
        let mut kernel = kernel();
        // 1448 B every 2 ms, and an RTT of 60 ms: 724 B/ms, of which whole intervals of 62 ms see 723 and less.
        for i in 1..3000u64 {
            let (now, rtt) = (Time::ZERO + Duration::from_millis(2 * i), Some(Duration::from_micros(59_500)));
            kernel.on_ack(&Ack { now, rtt, snd_una: 1448 * i, ..Ack::ONE });
        }
        assert_eq!((kernel.mss, kernel.rtt_min), (1448, 60));
        assert!((710..=724).contains(&kernel.bw_est), "{}", kernel.bw_est);
        assert_eq!(kernel.bw_rttmin(), (kernel.bw_est * 60 / 1448) as f64);
    }

    #[test]
    fn duplicate_acks_count_once() {
        let mut kernel = Kernel { mss: 1000, ..kernel() };
        assert_eq!([0, 0, 0].map(|advanced| kernel.acked_count(advanced)), [1000; 3]);
        assert_eq!(kernel.acked_count(2000), 1000);
        assert_eq!(kernel.acked_count(5000), 4000);
        assert_eq!(kernel.acked_count(5000), 5000);
    }

    #[test]
    fn the_first_window_begins_a_round_trip_before_the_first_acknowledgment() {
        let mut kernel = kernel();
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let rtt = Some(Duration::from_millis(60));
        for (ms, bytes) in [(160, 14_480), (221, 28_960)] {
            kernel.on_ack(&Ack { now: at(ms), rtt, snd_una: bytes, acked: 10.0, advanced: 10.0, ..Ack::ONE });
        }
        // Since 100 ms. The first ACK counts a segment, as a duplicate does.
        assert_eq!((kernel.rtt_win_sx, kernel.bw_est), (221, 1448 / 121));
    }

    #[test]
    fn a_duplicate_that_comes_first_counts_a_segment() {
        let mut kernel = kernel();
        kernel.on_ack(&Ack { advanced: 0.0, snd_max: 14_480, in_flight: 10.0, ..Ack::ONE });
        assert_eq!((kernel.mss, kernel.bk), (1448, 1448));
    }
}
