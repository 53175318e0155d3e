//! Controllers with slow start below a threshold and a window law above it, such as Reno and CUBIC.

use crate::{Ack, CongestionController, CongestionEvent, HyStart, Start, Window};
use sojourn_units::Time;

/// What differs between classic controllers: growth in congestion avoidance, and the reduction after congestion.
pub trait WindowLaw {
    /// The window in segments after an acknowledgment in congestion avoidance.
    fn grow(&mut self, cwnd: f64, ack: &Ack) -> f64;

    /// The window and threshold after congestion.
    fn on_reduction(&mut self, event: &CongestionEvent) -> Window;

    /// The slow-start threshold in segments after a timeout, with this window in use.
    fn ssthresh_after_rto(&mut self, now: Time, window: f64) -> f64;

    /// The smallest window that rate halving may reach, for this slow-start threshold.
    fn min_cwnd(&self, ssthresh: f64) -> f64 {
        ssthresh
    }

    /// Sees every acknowledgment before anything else, whether the window may grow or not.
    #[inline]
    fn observe(&mut self, _ack: &Ack) {}
}

/// Sums of fractions of a segment may fall short of a whole one by this much.
const ROUNDING: f64 = 1e-9;

/// Slow start (rfc5681#3.1) and a [`WindowLaw`].
#[derive(Clone, Debug)]
pub struct Classic<L> {
    cwnd: f64,
    ssthresh: f64,
    /// Ends the first slow start early, if asked for.
    hystart: Option<HyStart>,
    /// Where the window is whole: the fraction of the next segment that was gained (Linux `snd_cwnd_cnt`).
    cwnd_cnt: Option<f64>,
    law: L,
}

impl<L: WindowLaw> Classic<L> {
    /// A controller at the start of a connection.
    pub fn new(start: Start, law: L) -> Self {
        Classic { cwnd: start.window, ssthresh: start.ssthresh, hystart: None, cwnd_cnt: None, law }
    }

    /// The same controller with this first slow start; `None` is the standard one.
    #[must_use]
    pub fn with_hystart(self, hystart: Option<HyStart>) -> Self {
        Classic { hystart, ..self }
    }

    fn slow_start(&mut self, ack: &Ack) {
        let Some(hystart) = &mut self.hystart else {
            self.cwnd += ack.slow_start_growth();
            return;
        };
        self.cwnd += hystart.growth(ack);
        if hystart.done() {
            self.ssthresh = self.cwnd;
            self.hystart = None;
        }
    }
}

impl<L: WindowLaw> CongestionController for Classic<L> {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        self.law.observe(ack);
        if ack.in_recovery || !ack.cwnd_limited {
            return;
        }
        let slow_start = self.cwnd < self.ssthresh || (self.cwnd_cnt.is_some() && self.cwnd <= self.ssthresh);
        if slow_start {
            self.slow_start(ack);
            self.cwnd_cnt = self.cwnd_cnt.map(|_| 0.0);
            return;
        }
        let grown = self.law.grow(self.cwnd, ack);
        let Some(cwnd_cnt) = &mut self.cwnd_cnt else {
            self.cwnd = grown;
            return;
        };
        *cwnd_cnt += grown - self.cwnd;
        let whole = libm::floor(*cwnd_cnt + ROUNDING);
        *cwnd_cnt -= whole;
        self.cwnd += whole;
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.hystart = None;
        let mut window = self.law.on_reduction(event);
        if let Some(cwnd_cnt) = &mut self.cwnd_cnt {
            *cwnd_cnt = 0.0;
            window = Window { cwnd: libm::floor(window.cwnd).max(1.0), ssthresh: libm::floor(window.ssthresh) };
        }
        (self.cwnd, self.ssthresh) = (window.cwnd, window.ssthresh);
    }

    fn on_rto(&mut self, now: Time, window: f64) {
        self.hystart = None;
        self.ssthresh = self.law.ssthresh_after_rto(now, window);
        self.cwnd = 1.0;
        self.cwnd_cnt = self.cwnd_cnt.map(|_| 0.0);
    }

    #[inline]
    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn set_cwnd(&mut self, cwnd: f64) {
        self.cwnd = cwnd;
    }

    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    fn min_cwnd(&self) -> f64 {
        self.law.min_cwnd(self.ssthresh)
    }

    fn use_whole_segments(&mut self) {
        self.cwnd_cnt = Some(0.0);
    }
}
