//! Slow start below a threshold, a law above it: the frame of NewReno, CUBIC and their kin.

use crate::{Ack, Congestion, CongestionController, Start};
use sojourn_units::Time;

/// What distinguishes one classic controller from another: growth above the threshold and the cut.
pub trait WindowLaw {
    /// The window after this acknowledgement in congestion avoidance.
    fn grow(&mut self, cwnd: f64, ack: &Ack) -> f64;

    /// The new (threshold, window) after congestion with this window in use.
    fn cut(&mut self, event: &Congestion) -> (f64, f64);

    /// The new threshold after a timeout with this window in use.
    fn threshold_after_rto(&mut self, now: Time, window: f64) -> f64;
}

/// Slow start (RFC 5681 section 3.1) and a [`WindowLaw`].
#[derive(Clone, Debug)]
pub struct Classic<L> {
    cwnd: f64,
    ssthresh: f64,
    law: L,
}

impl<L: WindowLaw> Classic<L> {
    /// A controller at the start of a connection.
    pub fn new(start: Start, law: L) -> Self {
        Classic { cwnd: start.window, ssthresh: start.ssthresh, law }
    }
}

impl<L: WindowLaw> CongestionController for Classic<L> {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        self.cwnd = if self.cwnd < self.ssthresh { self.cwnd + ack.acked.min(1.0) } else { self.law.grow(self.cwnd, ack) };
    }

    fn on_congestion(&mut self, event: &Congestion) {
        (self.ssthresh, self.cwnd) = self.law.cut(event);
    }

    fn on_rto(&mut self, now: Time, window: f64) {
        self.ssthresh = self.law.threshold_after_rto(now, window);
        self.cwnd = 1.0;
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
}
