//! Congestion controllers in Python, called on every ACK, loss and mark.

use crate::trouble::{Trouble, copied, is_truth_value, make, noted, one_line};
use pyo3::prelude::*;
use pyo3::types::PyAny;
use sojourn_cc::algorithms::external::{Decider, Decision, Reduction, Supplier};
use sojourn_cc::{LossState, RateSample};
use sojourn_units::Time;
use std::fmt;
use std::sync::Arc;

/// The input of a controller on an ACK. Data is in segments, times are in seconds.
#[pyclass(name = "AckSample", frozen, get_all, module = "sojourn")]
pub struct PyAck {
    /// The arrival time.
    now: f64,
    /// The congestion window that the controller chose last.
    window: f64,
    /// RTT of the newest segment that it acknowledges; None if that was retransmitted.
    rtt: Option<f64>,
    /// The smoothed round-trip time before it; 0 before the first sample.
    srtt: f64,
    /// Newly acknowledged segments.
    acked: f64,
    /// Segments declared lost since the last ACK.
    lost: f64,
    /// Newly reported marked segments with `ecn` "accurate" or "l4s"; else 0.
    /// Otherwise only `on_mark` reports marks, including with "dctcp".
    marked: f64,
    /// Segments in flight after the ACK.
    in_flight: f64,
    /// Segments delivered since the connection opened.
    delivered: f64,
    /// Delivery rate in segments per second; 0 without a sample.
    delivery_rate: f64,
    /// Whether the sender was application-limited when that segment was sent.
    app_limited: bool,
    /// Whether the sender was cwnd-limited in the last round trip.
    cwnd_limited: bool,
    /// Whether loss recovery is active.
    in_recovery: bool,
}

/// The input of a controller on a loss or a mark.
#[pyclass(name = "CongestionEvent", frozen, get_all, module = "sojourn")]
pub struct PyCongestionEvent {
    /// The time in seconds.
    now: f64,
    /// The effective window in segments: the controller's, or the receive window if smaller.
    window: f64,
    /// Whether a timeout detected the loss.
    timeout: bool,
}

/// A controller in Python.
pub struct PyController {
    /// The name in messages: `FILE: controllers.NAME`.
    pub place: Arc<str>,
    pub object: Py<PyAny>,
    pub trouble: Trouble,
}

impl fmt::Debug for PyController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place)
    }
}

const EXPECTED: &str =
    "a window of 1 to 1e9 segments, (window, pace) with a pace above 0 in segments a second or None for no pace, or None to keep both";

/// The callback for a call of a controller or a law that hangs.
/// The run ends with this message.
#[pyclass(frozen, module = "sojourn")]
pub struct Alarm {
    /// The name in messages.
    pub place: Arc<str>,
    /// The destination of the message.
    pub trouble: Trouble,
}

#[pymethods]
impl Alarm {
    fn __call__(&self, said: &str) {
        self.trouble.hang(crate::refused(format!("{}: {said}", self.place)));
    }

    /// Returns the same alarm: copies of a controller share it.
    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }
}

/// A finite number other than a bool.
fn number(answer: &Bound<'_, PyAny>) -> Option<f64> {
    if is_truth_value(answer) { None } else { answer.extract::<f64>().ok().filter(|number| number.is_finite()) }
}

/// The decision in an answer; `None` if it is invalid.
fn decision(answer: &Bound<'_, PyAny>, last: Decision) -> Option<Decision> {
    if answer.is_none() {
        return Some(last);
    }
    let window = |of: &Bound<'_, PyAny>| number(of).filter(|window| (1.0..=1e9).contains(window));
    if let Some(window) = window(answer) {
        return Some(Decision { window, ..last });
    }
    let (first, second) = answer.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>().ok()?;
    let rate = if second.is_none() { None } else { Some(number(&second).filter(|&rate| rate > 0.0)?) };
    Some(Decision { window: window(&first)?, rate })
}

impl PyController {
    fn ask<A>(&self, method: &str, now: Time, last: Decision, argument: A) -> Decision
    where
        A: for<'py> IntoPyObject<'py>,
    {
        if self.trouble.is_set() {
            return last;
        }
        let when = || format!("at {} s", now.as_nanos() as f64 / 1e9);
        let asked = Python::attach(|py| {
            let answer = self.object.bind(py).call_method1(method, (argument,)).map_err(|error| noted(py, error, &self.place, &when()))?;
            decision(&answer, last).ok_or_else(|| {
                let got = answer.repr().map_or_else(|_| answer.get_type().to_string(), |text| text.to_string());
                crate::refused(format!("{}: {method} {}: expected {EXPECTED}, got {}", self.place, when(), one_line(&got)))
            })
        });
        asked.unwrap_or_else(|error| {
            self.trouble.set(error);
            last
        })
    }
}

impl Decider for PyController {
    fn on_ack(&mut self, s: &RateSample, last: Decision) -> Decision {
        let sample = PyAck {
            now: s.now.as_secs_f64(),
            window: last.window,
            rtt: s.rtt.map(|rtt| rtt.as_secs_f64()),
            srtt: s.srtt.as_secs_f64(),
            acked: s.newly_acked,
            lost: s.newly_lost,
            marked: s.marked,
            in_flight: s.in_flight,
            delivered: s.delivered_total,
            delivery_rate: s.delivery_rate,
            app_limited: s.is_app_limited,
            cwnd_limited: s.is_cwnd_limited,
            in_recovery: s.state != LossState::Open,
        };
        self.ask("on_ack", s.now, last, sample)
    }

    fn on_loss(&mut self, event: &Reduction, last: Decision) -> Decision {
        let Reduction { now, window, timeout } = *event;
        self.ask("on_loss", now, last, PyCongestionEvent { now: now.as_secs_f64(), window, timeout })
    }

    fn on_mark(&mut self, event: &Reduction, last: Decision) -> Decision {
        let Reduction { now, window, timeout } = *event;
        self.ask("on_mark", now, last, PyCongestionEvent { now: now.as_secs_f64(), window, timeout })
    }

    fn boxed_clone(&self) -> Box<dyn Decider> {
        let object = Python::attach(|py| copied(py, &self.object, &self.place, &self.trouble));
        Box::new(PyController { place: Arc::clone(&self.place), object, trouble: self.trouble.clone() })
    }
}

/// The factory of controllers: a callable that gets the callback for hanging calls.
pub fn supplier(place: Arc<str>, factory: Py<PyAny>, trouble: Trouble) -> Supplier {
    Supplier(Arc::new(move |_| {
        let object = make(&place, &factory, &trouble, (Alarm { place: Arc::clone(&place), trouble: trouble.clone() },));
        Box::new(PyController { place: Arc::clone(&place), object, trouble: trouble.clone() })
    }))
}
