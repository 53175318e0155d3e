//! Congestion controllers written in Python: asked at every ACK, and at losses and marks.

use crate::trouble::{Trouble, copied, is_truth_value, make, noted, one_line};
use pyo3::prelude::*;
use pyo3::types::PyAny;
use sojourn_cc::algorithms::external::{Decider, Decision, Reduction, Supplier};
use sojourn_cc::{LossState, RateSample};
use sojourn_units::Time;
use std::fmt;
use std::sync::Arc;

/// What a controller is told of an ACK. Data is counted in segments, times are in seconds.
#[pyclass(name = "AckSample", frozen, get_all, module = "sojourn")]
pub struct PyAck {
    /// When it arrived.
    now: f64,
    /// The congestion window that the controller chose last.
    window: f64,
    /// Round-trip time of the newest segment that it delivered; None if that was sent more than once.
    rtt: Option<f64>,
    /// Smoothed round-trip time before it, 0 before the first sample.
    srtt: f64,
    /// Segments acknowledged for the first time.
    acked: f64,
    /// Segments taken for lost since the last ACK.
    lost: f64,
    /// Segments that it reports as marked, with `ecn` "accurate" or "l4s"; else 0, and marks are told by `on_mark` alone, also with "dctcp".
    marked: f64,
    /// Segments in flight after it.
    in_flight: f64,
    /// Segments delivered since the connection opened.
    delivered: f64,
    /// Segments a second that the path delivered; 0 without a sample.
    delivery_rate: f64,
    /// Whether the application limited the sender when that segment was sent.
    app_limited: bool,
    /// Whether the congestion window limited the sender in the last round trip.
    cwnd_limited: bool,
    /// Whether losses are being repaired.
    in_recovery: bool,
}

/// What a controller is told of a loss or a mark.
#[pyclass(name = "CongestionEvent", frozen, get_all, module = "sojourn")]
pub struct PyCongestionEvent {
    /// When, in seconds.
    now: f64,
    /// The window in use in segments: that of the controller, or less where the receiver allows less.
    window: f64,
    /// Whether a timeout told of the loss.
    timeout: bool,
}

/// A controller in Python.
pub struct PyController {
    /// How messages name it: `FILE: controllers.NAME`.
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

/// What is called where a controller or a law does not return from a call in time: its run ends with this message.
#[pyclass(frozen, module = "sojourn")]
pub struct Alarm {
    /// How messages name it.
    pub place: Arc<str>,
    /// Where the message goes.
    pub trouble: Trouble,
}

#[pymethods]
impl Alarm {
    fn __call__(&self, said: &str) {
        self.trouble.hang(crate::refused(format!("{}: {said}", self.place)));
    }

    /// A copy of a controller has the same.
    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }
}

/// A finite number that is no truth value.
fn number(answer: &Bound<'_, PyAny>) -> Option<f64> {
    if is_truth_value(answer) { None } else { answer.extract::<f64>().ok().filter(|number| number.is_finite()) }
}

/// The decision that an answer stands for; `None` if it stands for none.
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

/// What makes a controller for each connection, by a callable that takes what is to be called where the controller hangs.
pub fn supplier(place: Arc<str>, factory: Py<PyAny>, trouble: Trouble) -> Supplier {
    Supplier(Arc::new(move |_| {
        let object = make(&place, &factory, &trouble, (Alarm { place: Arc::clone(&place), trouble: trouble.clone() },));
        Box::new(PyController { place: Arc::clone(&place), object, trouble: trouble.clone() })
    }))
}
