//! A controller that the caller supplies, such as one written in Python.
//! The caller replaces the name by a [`Decider`].
//!
//! It is called at every ACK, at most once per window at losses and at marks, and at timeouts. It returns a window and a pacing rate. The
//! endpoint changes its window only after a handshake and a timeout. Without a decider the window is constant.

use crate::{
    Ack, CongestionController, CongestionEvent, EcnNeed, Event, Needs, Pacing, ParamError, RateSample, Signal, Start, Variable, Window,
};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use core::mem::replace;
use sojourn_units::Time;

/// The decision of a decider.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Decision {
    /// The congestion window in segments.
    pub window: f64,
    /// Segments per second; `None` leaves pacing to ACKs.
    pub rate: Option<f64>,
}

/// A loss or a mark, as reported to a decider.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Reduction {
    /// The time of the report.
    pub now: Time,
    /// The window in use in segments.
    pub window: f64,
    /// Whether a timeout detected it.
    pub timeout: bool,
}

/// Decides about the window and the pacing rate of a connection.
/// `boxed_clone` copies all of its state.
pub trait Decider: fmt::Debug + Send + Sync {
    /// Handles an ACK.
    fn on_ack(&mut self, sample: &RateSample, last: Decision) -> Decision;
    /// Handles lost segments. Called at most once per window, except for timeouts.
    fn on_loss(&mut self, event: &Reduction, last: Decision) -> Decision;
    /// Handles a mark. Called at most once per window.
    fn on_mark(&mut self, event: &Reduction, last: Decision) -> Decision;
    /// A copy with all its state.
    fn boxed_clone(&self) -> Box<dyn Decider>;
}

/// Creates the decider of a new connection.
#[derive(Clone)]
pub struct Supplier(pub Arc<dyn Fn(Start) -> Box<dyn Decider> + Send + Sync>);

impl PartialEq for Supplier {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for Supplier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Supplier")
    }
}

/// No variables: window and threshold are the whole state.
pub(crate) const VARIABLES: &[Variable<External>] = &[];

/// Parameters of a controller that the caller supplies.
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Params {
    /// The name of the controller that the caller supplies; required.
    pub controller: String,
    /// The factory of deciders, after the caller has supplied it.
    #[cfg_attr(feature = "serde", serde(skip))]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub supplier: Option<Supplier>,
}

impl Params {
    /// Creates the controller of a new connection.
    ///
    /// # Errors
    /// None.
    pub fn build(&self, start: Start) -> Result<External, ParamError> {
        let decider = self.supplier.as_ref().map(|supplier| (supplier.0)(start));
        let last = Decision { window: start.window, rate: None };
        Ok(External(Box::new(State { decider, last, ssthresh: start.ssthresh, before: 0.0, lost_total: 0.0 })))
    }
}

/// A controller that the caller supplies.
#[derive(Debug)]
pub struct External(Box<State>);

#[derive(Debug)]
struct State {
    decider: Option<Box<dyn Decider>>,
    last: Decision,
    ssthresh: f64,
    /// The window before the last loss, which returns if that was spurious; 0 after a timeout.
    /// Without rate-limited recovery, the whole window would follow a timeout as a burst.
    before: f64,
    /// The number of segments known to be lost.
    lost_total: f64,
}

impl Clone for External {
    fn clone(&self) -> Self {
        let decider = self.0.decider.as_ref().map(|decider| decider.boxed_clone());
        External(Box::new(State { decider, ..*self.0 }))
    }
}

/// The minimum and maximum window in segments, and the minimum pacing rate in segments/s.
const LEAST: f64 = 1.0;
const LARGEST: f64 = 1e9;
const SLOWEST: f64 = 1e-3;

impl External {
    fn ask(&mut self, question: impl FnOnce(&mut dyn Decider, Decision) -> Decision) {
        let State { decider, last, .. } = &mut *self.0;
        if let Some(decider) = decider {
            let Decision { window, rate } = question(&mut **decider, *last);
            let window = if window.is_finite() { window.clamp(LEAST, LARGEST) } else { last.window };
            *last = Decision { window, rate: rate.filter(|rate| rate.is_finite()).map(|rate| rate.max(SLOWEST)) };
        }
    }

    fn time_out(&mut self, now: Time, window: f64) {
        self.ask(|decider, last| decider.on_loss(&Reduction { now, window, timeout: true }, last));
    }
}

impl CongestionController for External {
    /// All input comes from samples.
    fn on_ack(&mut self, _ack: &Ack) {}

    /// Losses that timers found are reported with the next ACK.
    fn on_sample(&mut self, sample: &RateSample) {
        let lost = sample.lost_total - replace(&mut self.0.lost_total, sample.lost_total);
        self.ask(|decider, last| decider.on_ack(&RateSample { newly_lost: lost, ..*sample }, last));
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        let congestion = Reduction { now: event.now, window: event.window, timeout: false };
        if event.signal == Signal::Loss {
            self.0.before = self.0.last.window;
        }
        self.ask(|decider, last| match event.signal {
            Signal::Loss => decider.on_loss(&congestion, last),
            Signal::Mark => decider.on_mark(&congestion, last),
        });
    }

    fn on_rto(&mut self, now: Time, window: f64) {
        self.0.before = 0.0;
        self.time_out(now, window);
    }

    fn on_event(&mut self, event: &Event) {
        match event {
            Event::RepeatedRto { now } => self.time_out(*now, self.0.last.window),
            Event::SpuriousRecovery => self.set_cwnd(self.0.last.window.max(self.0.before)),
            // The window is the answer to the timeout.
            Event::RtoRestart { .. } => {}
            _ => event.apply(self),
        }
    }

    fn window(&self) -> Window {
        Window { cwnd: self.0.last.window, ssthresh: self.0.ssthresh }
    }

    fn set_cwnd(&mut self, cwnd: f64) {
        self.0.last.window = cwnd;
    }

    fn memory(&self) -> usize {
        size_of::<State>()
    }

    fn needs(&self) -> Needs {
        Needs { pacing: true, rate_samples: true, ecn: EcnNeed::CountIfThere, ..Needs::default() }
    }

    fn pacing(&self) -> Option<Pacing> {
        self.0.last.rate.map(Pacing::as_drafted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::tests::SAMPLE;

    /// A decider for tests: one more segment per ACK, half for a loss, no change for a mark.
    /// It paces one window per round trip.
    #[derive(Clone, Debug)]
    struct Simple;

    impl Decider for Simple {
        fn on_ack(&mut self, sample: &RateSample, last: Decision) -> Decision {
            let window = last.window + 1.0;
            Decision { window, rate: sample.rtt.map(|rtt| window / rtt.as_secs_f64()) }
        }
        fn on_loss(&mut self, event: &Reduction, last: Decision) -> Decision {
            Decision { window: if event.timeout { 0.0 } else { event.window / 2.0 }, ..last }
        }
        fn on_mark(&mut self, _: &Reduction, _: Decision) -> Decision {
            Decision { window: f64::NAN, rate: Some(f64::NAN) }
        }
        fn boxed_clone(&self) -> Box<dyn Decider> {
            Box::new(self.clone())
        }
    }

    #[test]
    fn the_deciders_answers_are_the_window_and_the_pace_within_bounds() {
        let supplier = Supplier(Arc::new(|_| Box::new(Simple)));
        let params = Params { controller: "simple".into(), supplier: Some(supplier) };
        let mut cc = params.build(Start::new(9.0, 1e9)).unwrap();
        assert_eq!((cc.cwnd(), cc.pacing()), (9.0, None));
        cc.on_sample(&SAMPLE);
        assert_eq!((cc.cwnd(), cc.pacing().map(|pace| pace.rate)), (10.0, Some(100.0)));
        let event = |signal| CongestionEvent { now: Time::ZERO, window: 10.0, signal };
        cc.on_congestion(&event(Signal::Loss));
        assert_eq!(cc.cwnd(), 5.0);
        cc.on_congestion(&event(Signal::Mark));
        assert_eq!((cc.cwnd(), cc.pacing()), (5.0, None), "what is no number changes nothing");
        let mut spurious = cc.clone();
        spurious.on_event(&Event::SpuriousRecovery);
        assert_eq!(spurious.cwnd(), 10.0, "a spurious loss returns the window");
        spurious.on_rto(Time::ZERO, 10.0);
        spurious.on_event(&Event::SpuriousRecovery);
        assert_eq!(spurious.cwnd(), 1.0, "a spurious timeout does not");
        for told in
            [|cc: &mut External| cc.on_rto(Time::ZERO, 5.0), |cc: &mut External| cc.on_event(&Event::RepeatedRto { now: Time::ZERO })]
        {
            let mut copy = cc.clone();
            told(&mut copy);
            copy.on_event(&Event::RtoRestart { in_flight: 7.0 });
            assert_eq!(copy.cwnd(), 1.0, "its window is its answer");
        }
    }

    /// A decider whose window is the number of reported losses plus one.
    #[derive(Clone, Debug)]
    struct Counting;

    impl Decider for Counting {
        fn on_ack(&mut self, sample: &RateSample, last: Decision) -> Decision {
            Decision { window: sample.newly_lost + 1.0, ..last }
        }
        fn on_loss(&mut self, _: &Reduction, last: Decision) -> Decision {
            last
        }
        fn on_mark(&mut self, _: &Reduction, last: Decision) -> Decision {
            last
        }
        fn boxed_clone(&self) -> Box<dyn Decider> {
            Box::new(self.clone())
        }
    }

    #[test]
    fn with_an_ack_it_is_told_also_of_losses_that_a_timer_found_before() {
        let supplier = Supplier(Arc::new(|_| Box::new(Counting)));
        let mut cc = Params { controller: "counting".into(), supplier: Some(supplier) }.build(Start::new(9.0, 1e9)).unwrap();
        for (lost_total, expected) in [(3.0, 4.0), (3.0, 1.0), (5.0, 3.0)] {
            cc.on_sample(&RateSample { lost_total, newly_lost: 0.0, ..SAMPLE });
            assert_eq!(cc.cwnd(), expected);
        }
    }
}
