//! Errors of laws and controllers in Python.
//! The first error of a run is kept, with a note of its law and time.

use pyo3::call::PyCallArgs;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// The first error of a law or of a signal handler, raised after the runs have stopped.
#[derive(Clone, Default)]
pub struct Trouble {
    first: Arc<Mutex<Option<PyErr>>>,
    /// Whether a call of a law or a controller hangs.
    hangs: Arc<AtomicBool>,
    /// The index of the run whose laws report here.
    job: Option<usize>,
}

impl Trouble {
    fn lock(&self) -> MutexGuard<'_, Option<PyErr>> {
        self.first.lock().unwrap_or_else(|held| held.into_inner())
    }

    /// A copy for the laws of one of many runs.
    /// Their errors get its index as the attribute `job`.
    pub fn of_job(&self, index: usize) -> Self {
        Trouble { job: Some(index), ..self.clone() }
    }

    /// Stores an error unless one is already stored.
    pub fn set(&self, error: PyErr) {
        if let Some(index) = self.job {
            // If an error has no attributes, it is raised without the index.
            let _ = Python::attach(|py| error.value(py).setattr("job", index));
        }
        self.lock().get_or_insert(error);
    }

    /// Stores the error of a law or a controller whose call hangs.
    pub fn hang(&self, error: PyErr) {
        self.set(error);
        self.hangs.store(true, Ordering::Relaxed);
    }

    /// Whether a call of a law or a controller hangs.
    pub fn hangs(&self) -> bool {
        self.hangs.load(Ordering::Relaxed)
    }

    /// Whether an error is stored.
    pub fn is_set(&self) -> bool {
        self.lock().is_some()
    }

    /// Removes and returns the error.
    pub fn take(&self) -> Option<PyErr> {
        self.lock().take()
    }
}

/// Whether a result is True or False, of Python or of NumPy.
/// Such a result is a comparison instead of a probability.
pub fn is_truth_value(answer: &Bound<'_, PyAny>) -> bool {
    answer.get_type().name().is_ok_and(|name| ["bool", "bool_"].iter().any(|truth| name == *truth))
}

/// The first 80 characters of a text on one line, as messages show them.
pub fn one_line(text: &str) -> String {
    let flat = sojourn_scenario::one_line(&text.split_whitespace().collect::<Vec<_>>().join(" "));
    match flat.char_indices().nth(80) {
        Some((end, _)) => format!("{}...", &flat[..end]),
        None => flat,
    }
}

/// The error of a law with a note of the law and the time.
/// Errors that are not the law's, such as Ctrl-C, get no note.
pub fn noted(py: Python<'_>, error: PyErr, place: &str, when: &str) -> PyErr {
    if error.is_instance_of::<PyException>(py) {
        // If an error has no notes, it is raised without one.
        let _ = error.value(py).call_method1("add_note", (format!("{place}: raised {when}"),));
    }
    error
}

/// A copy of a law with its state. If copying fails, the error is stored and the run stops.
pub fn copied(py: Python<'_>, object: &Py<PyAny>, place: &str, trouble: &Trouble) -> Py<PyAny> {
    let copied = py.import("copy").and_then(|copy| copy.call_method1("deepcopy", (object.bind(py),)));
    copied.map(Bound::unbind).unwrap_or_else(|error| {
        trouble.set(noted(py, error, place, "when it was copied"));
        object.clone_ref(py)
    })
}

/// A new law, made with these arguments.
/// If the factory fails, its error is stored and the run stops at once.
pub fn make(place: &str, factory: &Py<PyAny>, trouble: &Trouble, arguments: impl for<'py> PyCallArgs<'py>) -> Py<PyAny> {
    Python::attach(|py| {
        factory.call1(py, arguments).unwrap_or_else(|error| {
            trouble.set(noted(py, error, place, "when it was made"));
            py.None()
        })
    })
}
