//! Laws written in Python, which are called once per interval and never per packet.

use crate::controllers::{self, Alarm};
use crate::trouble::{Trouble, copied, is_truth_value, make, noted, one_line};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_aqm::{Law, Needs, Sample};
use sojourn_lab::{LawFactory, Laws};
use sojourn_units::{Duration, Probability};
use std::sync::Arc;

/// The input of a law for one interval.
#[pyclass(name = "Sample", frozen, get_all, module = "sojourn")]
pub struct PySample {
    /// The end of the interval in seconds.
    now: f64,
    /// Packets waiting at the end of the interval.
    backlog_packets: f64,
    /// Bytes waiting at the end of the interval.
    backlog_bytes: f64,
    /// Smallest number of packets waiting at any time in the interval.
    least_backlog_packets: f64,
    /// Packets offered in the interval.
    arrived_packets: f64,
    /// Bytes offered in the interval.
    arrived_bytes: f64,
    /// Packets that left in the interval.
    departed_packets: f64,
    /// Bytes that left in the interval.
    departed_bytes: f64,
    /// Mean sojourn time in seconds of the packets that left.
    sojourn: f64,
}

/// The treatment of a finite result outside 0..=1.
#[derive(Clone, Copy, PartialEq)]
pub enum OutOfRange {
    /// Rejected: in a run, where the law has seen only real queues.
    Refused,
    /// Clipped: in an analysis, which also evaluates unrealistic queues.
    Limited,
}

struct PyLaw {
    /// The name in messages: `FILE: laws.NAME`.
    place: Arc<str>,
    out_of_range: OutOfRange,
    object: Py<PyAny>,
    interval: Duration,
    trouble: Trouble,
    last: Probability,
}

impl PyLaw {
    /// The law's result for one sample. An error names the law and the time.
    fn answer(&self, py: Python<'_>, sample: PySample) -> PyResult<Probability> {
        let when = format!("at {} s", sample.now);
        let called = self.object.call_method1(py, "step", (sample,));
        let answer = called.map_err(|error| noted(py, error, &self.place, &when))?;
        let number = if is_truth_value(answer.bind(py)) { None } else { answer.extract::<f64>(py).ok() };
        match number {
            Some(p) if (0.0..=1.0).contains(&p) => Ok(Probability::clamped(p)),
            Some(p) if p.is_finite() && self.out_of_range == OutOfRange::Limited => Ok(Probability::clamped(p)),
            _ => {
                let got = answer.bind(py).repr().map_or_else(|_| answer.bind(py).get_type().to_string(), |text| text.to_string());
                Err(crate::refused(format!("{}: expected a probability from 0 to 1 {when}, got {}", self.place, one_line(&got))))
            }
        }
    }
}

impl Law for PyLaw {
    fn interval(&self) -> Duration {
        self.interval
    }

    fn step(&mut self, s: &Sample) -> Probability {
        if self.trouble.is_set() {
            return self.last;
        }
        let sample = PySample {
            now: s.now.as_secs_f64(),
            backlog_packets: s.backlog_packets,
            backlog_bytes: s.backlog_bytes,
            least_backlog_packets: s.least_backlog_packets,
            arrived_packets: s.arrived_packets,
            arrived_bytes: s.arrived_bytes,
            departed_packets: s.departed_packets,
            departed_bytes: s.departed_bytes,
            sojourn: s.sojourn,
        };
        match Python::attach(|py| self.answer(py, sample)) {
            Ok(p) => self.last = p,
            Err(error) => self.trouble.set(error),
        }
        self.last
    }

    /// A law in Python may read every field of a sample.
    fn needs(&self) -> Needs {
        Needs { departures: true, ..Needs::default() }
    }
}

impl Clone for PyLaw {
    fn clone(&self) -> Self {
        let object = Python::attach(|py| copied(py, &self.object, &self.place, &self.trouble));
        let (place, trouble) = (Arc::clone(&self.place), self.trouble.clone());
        PyLaw { place, object, trouble, ..*self }
    }
}

/// Factories by name.
/// Each is a callable that gets the callback for hanging calls, and returns a new law with a method `step(sample) -> float`. A factory with
/// an attribute `is_controller` creates congestion controllers instead. Messages about a law start with `place` and its name.
pub fn from_python(laws: Option<&Bound<'_, PyDict>>, place: &str, out_of_range: OutOfRange, trouble: &Trouble) -> PyResult<Laws> {
    let mut known = Laws::default();
    for (name, factory) in laws.into_iter().flatten() {
        let (py, factory, trouble) = (factory.py(), factory.unbind(), trouble.clone());
        let name: String = name.extract()?;
        if factory.bind(py).hasattr("is_controller")? {
            let place = format!("{place}controllers.{name}").into();
            known.controllers.insert(name, controllers::supplier(place, factory, trouble));
            continue;
        }
        let place: Arc<str> = format!("{place}laws.{name}").into();
        let make: LawFactory = Arc::new(move |interval| {
            let object = make(&place, &factory, &trouble, (Alarm { place: Arc::clone(&place), trouble: trouble.clone() },));
            let place = Arc::clone(&place);
            Box::new(PyLaw { place, out_of_range, object, interval, trouble: trouble.clone(), last: Probability::ZERO })
        });
        known.queues.insert(name, make);
    }
    Ok(known)
}
