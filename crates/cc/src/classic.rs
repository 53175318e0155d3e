//! Slow start below a threshold, a law above it: the frame of NewReno, CUBIC and their kin.

use crate::{Ack, CongestionController, CongestionEvent, HyStart, Start, Window};
use sojourn_units::Time;

/// What distinguishes one classic controller from another: growth above the threshold and the cut.
pub trait WindowLaw {
    /// The window after this acknowledgement in congestion avoidance.
    fn grow(&mut self, cwnd: f64, ack: &Ack) -> f64;

    /// The window and threshold after congestion.
    fn on_reduction(&mut self, event: &CongestionEvent) -> Window;

    /// The new threshold after a timeout with this window in use.
    fn ssthresh_after_rto(&mut self, now: Time, window: f64) -> f64;

    /// The window that recovery may shrink to where it halves the rate, for this threshold.
    fn min_cwnd(&self, ssthresh: f64) -> f64 {
        ssthresh
    }

    /// Sees every acknowledgement first, whether the window may grow or not.
    #[inline]
    fn observe(&mut self, _ack: &Ack) {}
}

/// What sums of parts of a segment may lack of a whole one.
const ROUNDING: f64 = 1e-9;

/// Slow start (RFC 5681 section 3.1) and a [`WindowLaw`].
#[derive(Clone, Debug)]
pub struct Classic<L> {
    cwnd: f64,
    ssthresh: f64,
    /// Ends the first slow start early, where asked for.
    hystart: Option<HyStart>,
    /// Where windows are whole: what was cwnd_cnt of the next segment.
    cwnd_cnt: Option<f64>,
    law: L,
}

impl<L: WindowLaw> Classic<L> {
    /// A controller at the start of a connection.
    pub fn new(start: Start, law: L) -> Self {
        Classic { cwnd: start.window, ssthresh: start.ssthresh, hystart: None, cwnd_cnt: None, law }
    }

    /// The same controller with another first slow start.
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
