//! The external laws and controllers of the hunt.

use crate::schema::LAW;
use sojourn_aqm::{AnyLaw, Law, Needs, Sample};
use sojourn_cc::RateSample;
use sojourn_cc::algorithms::external::{Decider, Decision, Reduction, Supplier};
use sojourn_lab::Laws;
use sojourn_units::{Duration, Probability};
use std::sync::Arc;

/// The external laws of the hunt.
pub fn laws() -> Laws {
    let law = Arc::new(|interval| Box::new(Linear(interval)) as Box<dyn AnyLaw>) as _;
    let controller = Supplier(Arc::new(|_| Box::new(Steady) as Box<dyn Decider>));
    Laws { queues: [(LAW.to_string(), law)].into(), controllers: [(LAW.to_string(), controller)].into() }
}

/// A law whose probability is proportional to the queue.
#[derive(Clone)]
struct Linear(Duration);

impl Law for Linear {
    fn interval(&self) -> Duration {
        self.0
    }
    fn step(&mut self, sample: &Sample) -> Probability {
        Probability::clamped(sample.backlog_packets / 100.0)
    }
    fn needs(&self) -> Needs {
        Needs { departures: true, ..Needs::default() }
    }
}

/// An external controller.
/// It halves its window on a loss or mark, else grows by a segment per round trip.
#[derive(Clone, Debug)]
struct Steady;

impl Decider for Steady {
    fn on_ack(&mut self, sample: &RateSample, last: Decision) -> Decision {
        let window = last.window + sample.newly_acked / last.window.max(1.0);
        Decision { window, rate: sample.rtt.map(|rtt| 2.0 * window / rtt.as_secs_f64().max(1e-6)) }
    }
    fn on_loss(&mut self, event: &Reduction, last: Decision) -> Decision {
        Decision { window: if event.timeout { 1.0 } else { event.window / 2.0 }, ..last }
    }
    fn on_mark(&mut self, event: &Reduction, last: Decision) -> Decision {
        self.on_loss(event, last)
    }
    fn boxed_clone(&self) -> Box<dyn Decider> {
        Box::new(self.clone())
    }
}
