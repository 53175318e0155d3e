//! Laws written in Python: called once per interval, never per packet.

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_aqm::{Law, Sample};
use sojourn_lab::{ExternalLaw, LawFactory, Laws};
use sojourn_units::{Duration, Probability};
use std::sync::{Arc, Mutex, MutexGuard};

/// The first error of a law or of a signal handler, raised after the runs have stopped.
#[derive(Clone, Default)]
pub struct Trouble {
    first: Arc<Mutex<Option<PyErr>>>,
    /// The run of many whose laws report here.
    job: Option<usize>,
}

impl Trouble {
    fn lock(&self) -> MutexGuard<'_, Option<PyErr>> {
        self.first.lock().unwrap_or_else(|held| held.into_inner())
    }

    /// The same for the laws of one run of many: their errors get its index as the attribute `job`.
    pub fn of_job(&self, index: usize) -> Self {
        Trouble { first: Arc::clone(&self.first), job: Some(index) }
    }

    /// Stores an error unless there is one already.
    pub fn set(&self, error: PyErr) {
        if let Some(index) = self.job {
            // An error that takes no attributes is raised without one.
            let _ = Python::attach(|py| error.value(py).setattr("job", index));
        }
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

/// What becomes of a finite answer outside 0..=1.
#[derive(Clone, Copy, PartialEq)]
pub enum OutOfRange {
    /// It is refused: in a run, where the law has met only queues that exist.
    Refused,
    /// It is limited: in an analysis, which asks for the law's answer to queues far from any that it will meet.
    Limited,
}

struct PyLaw {
    /// How messages name it: `FILE: laws.NAME`.
    place: Arc<str>,
    out_of_range: OutOfRange,
    object: Py<PyAny>,
    interval: Duration,
    trouble: Trouble,
    last: Probability,
}

impl PyLaw {
    /// The law's answer to one sample. An error says when it was, and of which law.
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

/// Whether an answer is True or False, of Python or of NumPy: a comparison where a probability was meant.
fn is_truth_value(answer: &Bound<'_, PyAny>) -> bool {
    answer.get_type().name().is_ok_and(|name| ["bool", "bool_"].iter().any(|truth| name == *truth))
}

/// A text as a message shows it: the first 80 characters, without line breaks.
fn one_line(text: &str) -> String {
    let flat: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match flat.char_indices().nth(80) {
        Some((end, _)) => format!("{}...", &flat[..end]),
        None => flat,
    }
}

/// The error of a law with a note that names the law and says when. What is no mistake of the law, such as Ctrl-C, gets none.
fn noted(py: Python<'_>, error: PyErr, place: &str, when: &str) -> PyErr {
    if error.is_instance_of::<PyException>(py) {
        // An error that takes no notes is raised without one.
        let _ = error.value(py).call_method1("add_note", (format!("{place}: raised {when}"),));
    }
    error
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
}

impl ExternalLaw for PyLaw {
    fn boxed_clone(&self) -> Box<dyn ExternalLaw> {
        let object = Python::attach(|py| {
            let copied = py.import("copy").and_then(|copy| copy.call_method1("deepcopy", (self.object.bind(py),)));
            match copied {
                Ok(object) => object.unbind(),
                Err(error) => {
                    self.trouble.set(noted(py, error, &self.place, "when it was copied"));
                    self.object.clone_ref(py)
                }
            }
        });
        let (place, trouble) = (Arc::clone(&self.place), self.trouble.clone());
        Box::new(PyLaw { place, object, trouble, ..*self })
    }
}

/// A fresh law. If the factory fails, its error is stored and the run stops at once.
fn make(place: &str, factory: &Py<PyAny>, trouble: &Trouble) -> Py<PyAny> {
    Python::attach(|py| {
        factory.call0(py).unwrap_or_else(|error| {
            trouble.set(noted(py, error, place, "when it was made"));
            py.None()
        })
    })
}

/// Factories by name: each is a callable without arguments that returns a fresh law with a method `step(sample) -> float`.
/// Messages about a law begin with `place` and its name.
pub fn from_python(laws: Option<&Bound<'_, PyDict>>, place: &str, out_of_range: OutOfRange, trouble: &Trouble) -> PyResult<Laws> {
    let mut known = Laws::new();
    for (name, factory) in laws.into_iter().flatten() {
        let (factory, trouble) = (factory.unbind(), trouble.clone());
        let name: String = name.extract()?;
        let place: Arc<str> = format!("{place}laws.{name}").into();
        let make: LawFactory = Arc::new(move |interval| {
            let object = make(&place, &factory, &trouble);
            let place = Arc::clone(&place);
            Box::new(PyLaw { place, out_of_range, object, interval, trouble: trouble.clone(), last: Probability::ZERO })
        });
        known.insert(name, make);
    }
    Ok(known)
}
