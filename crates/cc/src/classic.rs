//! Slow start below a threshold, a law above it: the frame of NewReno, CUBIC and their kin.

use crate::{Ack, Congestion, CongestionController, HyStart, Start};
use sojourn_units::Time;

/// What distinguishes one classic controller from another: growth above the threshold and the cut.
pub trait WindowLaw {
    /// The window after this acknowledgement in congestion avoidance.
    fn grow(&mut self, cwnd: f64, ack: &Ack) -> f64;

    /// The new (threshold, window) after congestion with this window in use.
    fn cut(&mut self, event: &Congestion) -> (f64, f64);

    /// The new threshold after a timeout with this window in use.
    fn threshold_after_rto(&mut self, now: Time, window: f64) -> f64;

    /// The window that recovery may shrink to where it halves the rate, for this threshold.
    fn recovery_window(&self, ssthresh: f64) -> f64 {
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
    /// Where windows are whole: what was gained of the next segment.
    gained: Option<f64>,
    law: L,
}

impl<L: WindowLaw> Classic<L> {
    /// A controller at the start of a connection.
    pub fn new(start: Start, law: L) -> Self {
        Classic { cwnd: start.window, ssthresh: start.ssthresh, hystart: None, gained: None, law }
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
        if ack.recovering || !ack.window_limited {
            return;
        }
        let slow_start = self.cwnd < self.ssthresh || (self.gained.is_some() && self.cwnd <= self.ssthresh);
        if slow_start {
            self.slow_start(ack);
            self.gained = self.gained.map(|_| 0.0);
            return;
        }
        let grown = self.law.grow(self.cwnd, ack);
        let Some(gained) = &mut self.gained else {
            self.cwnd = grown;
            return;
        };
        *gained += grown - self.cwnd;
        let whole = libm::floor(*gained + ROUNDING);
        *gained -= whole;
        self.cwnd += whole;
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.hystart = None;
        (self.ssthresh, self.cwnd) = self.law.cut(event);
        if self.gained.is_some() {
            (self.ssthresh, self.cwnd, self.gained) = (libm::floor(self.ssthresh), libm::floor(self.cwnd).max(1.0), Some(0.0));
        }
    }

    fn on_rto(&mut self, now: Time, window: f64) {
        self.hystart = None;
        self.ssthresh = self.law.threshold_after_rto(now, window);
        self.cwnd = 1.0;
        self.gained = self.gained.map(|_| 0.0);
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

    fn recovery_window(&self) -> f64 {
        self.law.recovery_window(self.ssthresh)
    }

    fn count_whole(&mut self) {
        self.gained = Some(0.0);
    }
}
