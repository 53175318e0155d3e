//! Delay-based controllers: an estimator of the queuing delay that all share, and a law each.

mod estimator;

pub use estimator::{Estimator, EstimatorParams};

use crate::{Ack, CongestionController, CongestionEvent, Source, Start, Window};
use sojourn_units::Time;

/// The delays that an acknowledgment shows, in milliseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DelaySample {
    /// The queuing delay.
    pub queuing: f64,
    /// The base delay: the smallest delay known. It is absolute only where it is a round trip (see [`Estimator::source`]).
    pub base: f64,
}

/// What differs between delay-based controllers.
pub trait DelayLaw {
    /// Data was acknowledged. `sample` is `None` if the acknowledgment shows no delay.
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, sample: Option<DelaySample>);

    /// Congestion was signaled.
    fn on_congestion(&mut self, window: &mut Window, event: &CongestionEvent);

    /// The smallest window that rate halving may reach, in segments.
    fn min_cwnd(&self, window: &Window) -> f64 {
        window.cwnd
    }

    /// The retransmission timer expired, with a window of `in_use` segments.
    fn on_rto(&mut self, window: &mut Window, now: Time, in_use: f64);
}

/// An [`Estimator`] and a [`DelayLaw`].
#[derive(Clone, Debug)]
pub struct DelayBased<L> {
    window: Window,
    estimator: Estimator,
    law: L,
}

impl<L: DelayLaw> DelayBased<L> {
    /// A controller at the start of a connection.
    pub fn new(start: Start, estimator: Estimator, law: L) -> Self {
        DelayBased { window: Window { cwnd: start.window, ssthresh: start.ssthresh }, estimator, law }
    }

    /// The law and its state.
    pub fn law(&self) -> &L {
        &self.law
    }
}

impl<L: DelayLaw> CongestionController for DelayBased<L> {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        let sample = self.estimator.sample(ack);
        self.law.on_ack(&mut self.window, ack, sample);
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.law.on_congestion(&mut self.window, event);
    }

    fn on_rto(&mut self, now: Time, window: f64) {
        self.law.on_rto(&mut self.window, now, window);
    }

    #[inline]
    fn cwnd(&self) -> f64 {
        self.window.cwnd
    }

    fn set_cwnd(&mut self, cwnd: f64) {
        self.window.cwnd = cwnd.max(1.0);
    }

    fn ssthresh(&self) -> f64 {
        self.window.ssthresh
    }

    fn min_cwnd(&self) -> f64 {
        self.law.min_cwnd(&self.window)
    }

    fn memory(&self) -> usize {
        size_of::<Self>()
    }

    fn delay_source(&self) -> Option<Source> {
        Some(self.estimator.source())
    }
}
