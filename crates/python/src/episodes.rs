//! Runs with senders that a Python program controls step by step.

use numpy::{PyArray2, PyReadonlyArray1};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_cc::algorithms::external::Decision;
use sojourn_lab::{Observation, step_all};
use sojourn_units::Time;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A run with agents as controllers of some senders.
#[pyclass(frozen, module = "sojourn")]
pub struct Episode {
    run: Mutex<Option<sojourn_lab::Episode>>,
    filename: String,
    agents: usize,
}

impl Episode {
    fn run(&self) -> MutexGuard<'_, Option<sojourn_lab::Episode>> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn over() -> PyErr {
        PyRuntimeError::new_err("expected a run that goes on, got one that is over")
    }
}

#[pymethods]
impl Episode {
    #[new]
    fn new(text: &str, filename: String, seed: u64, agents: Vec<String>) -> PyResult<Episode> {
        let scenario = crate::checked_with(text, &filename, Some(agents.clone()))?;
        let run = sojourn_lab::Episode::new(&scenario, seed, &agents).map_err(|error| crate::failed(&filename, error))?;
        Ok(Episode { run: Mutex::new(Some(run)), filename, agents: agents.len() })
    }

    /// Capacity of each agent's path in segments per second; infinite without a rate.
    #[getter]
    fn path_rates(&self) -> PyResult<Vec<f64>> {
        self.run().as_ref().map(sojourn_lab::Episode::path_rates).ok_or_else(Episode::over)
    }

    /// Runs to the end. Returns the record as JSON, and its series.
    fn finish(&self, py: Python<'_>) -> PyResult<(String, Py<PyDict>)> {
        let run = self.run().take().ok_or_else(Episode::over)?;
        let done = py.detach(|| run.finish()).map_err(|error| crate::failed(&self.filename, error))?;
        crate::outcome(py, done)
    }
}

/// Steps episodes on all cores, each until its time in seconds.
/// `windows` in segments and `paces` in segments per second have one number per agent of each episode, in order. A window of NaN keeps the
/// last decision, an infinite pace disables pacing. Returns a row of `OBSERVATION` per agent, and whether each episode has ended.
#[pyfunction]
pub fn step_episodes<'py>(
    py: Python<'py>,
    episodes: Vec<Py<Episode>>,
    windows: PyReadonlyArray1<'py, f64>,
    paces: PyReadonlyArray1<'py, f64>,
    until: PyReadonlyArray1<'py, f64>,
) -> PyResult<(Bound<'py, PyArray2<f64>>, Vec<bool>)> {
    let (windows, paces, until) = (windows.as_slice()?, paces.as_slice()?, until.as_slice()?);
    let agents: usize = episodes.iter().map(|episode| episode.get().agents).sum();
    if [windows.len(), paces.len()] != [agents; 2] || until.len() != episodes.len() {
        return Err(PyValueError::new_err("expected a window and a pace for each agent, and a time for each episode"));
    }
    // Another thread, or this call, may already hold it.
    let mut held = Vec::with_capacity(episodes.len());
    for episode in &episodes {
        held.push(episode.get().run.try_lock().map_err(|_| PyValueError::new_err("expected each run once"))?);
    }
    let mut decisions = windows
        .iter()
        .zip(paces)
        .map(|(&window, &pace)| (!window.is_nan()).then_some(Decision { window, rate: pace.is_finite().then_some(pace) }));
    let mut steps = Vec::with_capacity(held.len());
    for ((run, episode), &until) in held.iter_mut().zip(&episodes).zip(until) {
        let decisions = decisions.by_ref().take(episode.get().agents).collect();
        steps.push((run.as_mut().ok_or_else(Episode::over)?, decisions, Time::from_secs_f64(until)));
    }
    let answers = py.detach(|| step_all(&mut steps));
    let (mut rows, mut ended) = (Vec::with_capacity(agents), Vec::with_capacity(episodes.len()));
    for (answer, episode) in answers.into_iter().zip(&episodes) {
        let (seen, end) = answer.map_err(|error| crate::failed(&episode.get().filename, error))?;
        rows.extend(seen.iter().map(|observation| observation.values().to_vec()));
        ended.push(end);
    }
    Ok((PyArray2::from_vec2(py, &rows)?, ended))
}

/// The names of the numbers in an agent's observation of a step.
pub const OBSERVATION: [&str; 10] = Observation::NAMES;
