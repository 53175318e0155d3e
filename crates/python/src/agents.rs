//! Runs that a program in Python steers, step by step.

use numpy::{PyArray2, PyReadonlyArray1};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_cc::algorithms::external::Decision;
use sojourn_lab::{Observation, step_all};
use sojourn_units::Time;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A run one of whose flows is steered, by the name of its controller in the scenario.
#[pyclass(frozen, module = "sojourn")]
pub struct Agent {
    run: Mutex<Option<sojourn_lab::Agent>>,
    filename: String,
}

impl Agent {
    fn run(&self) -> MutexGuard<'_, Option<sojourn_lab::Agent>> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn over() -> PyErr {
        PyRuntimeError::new_err("expected a run that goes on, got one that is over")
    }
}

#[pymethods]
impl Agent {
    #[new]
    fn new(text: &str, filename: String, seed: u64, name: &str) -> PyResult<Agent> {
        let scenario = crate::checked_with(text, &filename, Some(vec![name.to_owned()]))?;
        let run = sojourn_lab::Agent::new(&scenario, seed, name).map_err(|error| crate::failed(&filename, error))?;
        Ok(Agent { run: Mutex::new(Some(run)), filename })
    }

    /// Segments per second that its path carries; infinite without a rate.
    #[getter]
    fn path_rate(&self) -> PyResult<f64> {
        self.run().as_ref().map(sojourn_lab::Agent::path_rate).ok_or_else(Agent::over)
    }

    /// Runs to the end: the record as JSON, and its series.
    fn finish(&self, py: Python<'_>) -> PyResult<(String, Py<PyDict>)> {
        let run = self.run().take().ok_or_else(Agent::over)?;
        let done = py.detach(|| run.finish()).map_err(|error| crate::failed(&self.filename, error))?;
        crate::outcome(py, done)
    }
}

/// A step of each of these runs, on all cores: to these windows in segments and paces in segments per second (NaN: those of before;
/// an infinite pace leaves it to the acknowledgments), until these times in seconds. Gives a row for each run, with the numbers
/// of `OBSERVATION`, and whether it has ended.
#[pyfunction]
pub fn step_agents<'py>(
    py: Python<'py>,
    agents: Vec<Py<Agent>>,
    windows: PyReadonlyArray1<'py, f64>,
    paces: PyReadonlyArray1<'py, f64>,
    until: PyReadonlyArray1<'py, f64>,
) -> PyResult<(Bound<'py, PyArray2<f64>>, Vec<bool>)> {
    let (windows, paces, until) = (windows.as_slice()?, paces.as_slice()?, until.as_slice()?);
    if [windows.len(), paces.len(), until.len()] != [agents.len(); 3] {
        return Err(PyValueError::new_err("expected a window, a pace and a time for each run"));
    }
    // Another thread, or the same call, may have it already.
    let mut held = Vec::with_capacity(agents.len());
    for agent in &agents {
        held.push(agent.get().run.try_lock().map_err(|_| PyValueError::new_err("expected each run once"))?);
    }
    let mut steps = Vec::with_capacity(held.len());
    for (position, run) in held.iter_mut().enumerate() {
        let (window, pace) = (windows[position], paces[position]);
        let decision = (!window.is_nan()).then_some(Decision { window, rate: pace.is_finite().then_some(pace) });
        steps.push((run.as_mut().ok_or_else(Agent::over)?, decision, Time::from_secs_f64(until[position])));
    }
    let answers = py.detach(|| step_all(&mut steps));
    let (mut rows, mut ended) = (Vec::with_capacity(agents.len()), Vec::with_capacity(agents.len()));
    for (answer, agent) in answers.into_iter().zip(&agents) {
        let (seen, end) = answer.map_err(|error| crate::failed(&agent.get().filename, error))?;
        rows.push(seen.values().to_vec());
        ended.push(end);
    }
    Ok((PyArray2::from_vec2(py, &rows)?, ended))
}

/// The names of what an agent sees of a step.
pub const OBSERVATION: [&str; 10] = Observation::NAMES;
