//! Delay-based controllers: a shared estimator of the queuing delay, and one law each.

mod estimator;
mod marks;
mod slowdown;

pub use estimator::{Estimator, EstimatorParams};
pub use marks::Marks;
pub(crate) use marks::{MARK_GAIN, growth};
pub(crate) use slowdown::Slowdown;

use crate::{Ack, CongestionController, CongestionEvent, EcnNeed, Floor, Needs, Pacing, Signal, Start, Variable, Window};
use alloc::boxed::Box;
use sojourn_units::Time;

/// The delays in an ACK, in milliseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DelaySample {
    /// The queuing delay.
    pub queuing: f64,
    /// The base delay: the minimum delay known.
    /// It is absolute only if it is a round trip (see [`Estimator::source`]).
    pub base: f64,
}

/// The law of a delay-based controller.
pub trait DelayLaw {
    /// Handles acknowledged data. `sample` is `None` if the ACK has no delay.
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, sample: Option<DelaySample>);

    /// Handles a congestion signal.
    fn on_congestion(&mut self, window: &mut Window, event: &CongestionEvent);

    /// Handles counted marks in a window or in slow start.
    /// Returns true if they reduce the window, false if the law has its own reaction.
    fn on_marks(&mut self, _now: Time) -> bool {
        true
    }

    /// The minimum window that rate halving may reach.
    fn floor(&self) -> Floor {
        Floor::Window
    }

    /// Handles a retransmission timeout with a window of `in_use` segments.
    fn on_rto(&mut self, window: &mut Window, now: Time, in_use: f64);
}

/// An [`Estimator`] and a [`DelayLaw`].
#[derive(Clone, Debug)]
pub struct DelayBased<L> {
    window: Window,
    estimator: Estimator,
    /// The reaction to marks, if they are counted.
    marks: Option<Marks>,
    law: L,
}

impl<L: DelayLaw> DelayBased<L> {
    /// A controller at the start of a connection.
    pub fn new(start: Start, estimator: Estimator, law: L) -> Self {
        DelayBased { window: Window { cwnd: start.window, ssthresh: start.ssthresh }, estimator, marks: None, law }
    }

    /// Sets the reaction to counted marks.
    #[must_use]
    pub(crate) fn with_marks(self, marks: Option<Marks>) -> Self {
        DelayBased { marks, ..self }
    }

    /// The law and its state.
    pub fn law(&self) -> &L {
        &self.law
    }

    /// The variable that all delay-based controllers have.
    pub(crate) const QUEUING_DELAY: Variable<Box<Self>> =
        Variable::new("queuing_delay", "s", "the queuing delay that the controller measures", |cc| {
            cc.estimator.queuing().map_or(f64::NAN, |ns| ns * 1e-9)
        });
}

impl<L: DelayLaw> CongestionController for DelayBased<L> {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        let sample = self.estimator.sample(ack);
        self.law.on_ack(&mut self.window, ack, sample);
        if let Some(marks) = &mut self.marks {
            marks.on_ack(&mut self.window, ack);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        if let Some(marks) = self.marks.as_mut().filter(|_| event.signal == Signal::Mark) {
            if self.law.on_marks(event.now) {
                marks.reduce(&mut self.window);
            }
            return;
        }
        self.law.on_congestion(&mut self.window, event);
    }

    fn on_rto(&mut self, now: Time, window: f64) {
        self.law.on_rto(&mut self.window, now, window);
    }

    #[inline]
    fn window(&self) -> Window {
        self.window
    }

    fn set_cwnd(&mut self, cwnd: f64) {
        self.window.cwnd = cwnd.max(1.0);
    }

    fn memory(&self) -> usize {
        size_of::<Self>()
    }

    /// It paces itself if marks are counted.
    fn needs(&self) -> Needs {
        let ecn = if self.marks.is_some() { EcnNeed::CountIfThere } else { EcnNeed::None };
        let delays = Some(self.estimator.source());
        Needs { pacing: self.marks.is_some(), ecn, delays, floor: self.law.floor(), ..Needs::default() }
    }

    fn pacing(&self) -> Option<Pacing> {
        self.marks.as_ref().and_then(|marks| marks.pacing(&self.window))
    }
}
