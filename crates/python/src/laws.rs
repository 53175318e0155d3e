//! Laws written in Python: called once per interval, never per packet.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_aqm::{Law, Sample};
use sojourn_lab::{ExternalLaw, LawFactory, Laws};
use sojourn_units::{Duration, Probability};
use std::sync::{Arc, Mutex, MutexGuard};

/// The first error of a law or of a signal handler, raised after the run has stopped.
#[derive(Clone, Default)]
pub struct Trouble(Arc<Mutex<Option<PyErr>>>);

impl Trouble {
    fn lock(&self) -> MutexGuard<'_, Option<PyErr>> {
        self.0.lock().unwrap_or_else(|held| held.into_inner())
    }

    /// Stores an error unless there is one already.
    pub fn set(&self, error: PyErr) {
        self.lock().get_or_insert(error);
    }

    /// Whether there is an error.
    pub fn is_set(&self) -> bool {
        self.lock().is_some()
    }

    /// Removes and returns the error.
    pub fn take(&self) -> Option<PyErr> {
        self.lock().take()
    }
}

/// What a law receives of one interval.
#[pyclass(name = "Sample", frozen, get_all, module = "sojourn")]
pub struct PySample {
    /// End of the interval in seconds.
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

struct PyLaw {
    object: Py<PyAny>,
    interval: Duration,
    trouble: Trouble,
    last: Probability,
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
        let answer = Python::attach(|py| self.object.call_method1(py, "step", (sample,))?.extract::<f64>(py));
        match answer {
            Ok(p) => self.last = Probability::clamped(p),
            Err(error) => self.trouble.set(error),
        }
        self.last
    }
}

impl ExternalLaw for PyLaw {
    fn boxed_clone(&self) -> Box<dyn ExternalLaw> {
        let object = Python::attach(|py| {
            let copied = py.import("copy").and_then(|copy| copy.call_method1("deepcopy", (self.object.bind(py),)));
            match copied {
                Ok(object) => object.unbind(),
                Err(error) => {
                    self.trouble.set(error);
                    self.object.clone_ref(py)
                }
            }
        });
        Box::new(PyLaw { object, interval: self.interval, trouble: self.trouble.clone(), last: self.last })
    }
}

/// A fresh law. If the factory fails, its error is stored and the run stops at once.
fn make(factory: &Py<PyAny>, trouble: &Trouble) -> Py<PyAny> {
    Python::attach(|py| {
        factory.call0(py).unwrap_or_else(|error| {
            trouble.set(error);
            py.None()
        })
    })
}

/// Factories by name: each is a callable without arguments that returns a fresh law with a method `step(sample) -> float`.
pub fn from_python(laws: &Bound<'_, PyDict>, trouble: &Trouble) -> PyResult<Laws> {
    let mut known = Laws::new();
    for (name, factory) in laws {
        let (factory, trouble) = (factory.unbind(), trouble.clone());
        let make: LawFactory = Arc::new(move |interval| {
            let object = make(&factory, &trouble);
            Box::new(PyLaw { object, interval, trouble: trouble.clone(), last: Probability::ZERO })
        });
        known.insert(name.extract()?, make);
    }
    Ok(known)
}
