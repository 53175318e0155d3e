//! The extension module `_sojourn`: converts scenarios, records and arrays.
//! It has no logic of its own.

mod captures;
mod controllers;
mod drivers;
mod episodes;
mod fluid;
mod fuzzy;
mod harness;
mod judge;
mod kernel;
mod laws;
mod listing;
#[cfg(target_os = "linux")]
mod live;
mod path;
mod traces;
mod trouble;
mod waiting;

use numpy::{IntoPyArray, PyArray2, PyReadonlyArray1};
use pyo3::create_exception;
use pyo3::exceptions::{PyIndexError, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;
use sojourn_lab::{CapturePoints, Error, Job, Laws, Outcome, Series};
use sojourn_scenario::{Checked, Document, Sweep};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use waiting::{in_pool, interrupted, waited};

create_exception!(
    sojourn,
    ScenarioError,
    PyValueError,
    "A scenario that cannot be run: file, place, field, what is expected and what it got."
);

fn checked(text: &str, filename: &str) -> PyResult<Checked> {
    checked_with(text, filename, None)
}

/// The checked scenario. `laws` are exactly the laws that the caller supplies.
fn checked_with(text: &str, filename: &str, laws: Option<Vec<String>>) -> PyResult<Checked> {
    let document = Document::from_text(filename, text).map_err(refused)?;
    match laws {
        None => document.check(),
        Some(laws) => document.check_with_laws(&laws.iter().map(String::as_str).collect::<Vec<_>>()),
    }
    .map_err(refused)
}

fn refused(error: impl std::fmt::Display) -> PyErr {
    ScenarioError::new_err(sojourn_scenario::one_line(&error.to_string()))
}

fn failed(filename: &str, error: Error) -> PyErr {
    match error {
        Error::Build(problem) | Error::Endless(problem) => refused(format_args!("{filename}: {problem}")),
        Error::Write(code, said) => PyOSError::new_err((code.unwrap_or(0), said)),
        Error::Audit(_) | Error::Stopped => PyRuntimeError::new_err(error.to_string()),
    }
}

/// A text on one line with escaped special characters.
#[pyfunction]
fn one_line(text: &str) -> String {
    sojourn_scenario::one_line(text)
}

/// The checked scenario as JSON. `laws` are exactly the laws that the caller supplies.
#[pyfunction]
#[pyo3(signature = (text, filename, laws=None))]
fn check(text: &str, filename: &str, laws: Option<Vec<String>>) -> PyResult<String> {
    serde_json::to_string(&checked_with(text, filename, laws)?).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// The warnings about a scenario: for each the name of its rule, and its text.
#[pyfunction]
fn lints(text: &str, filename: &str) -> PyResult<Vec<(&'static str, String)>> {
    let lints = Document::from_text(filename, text).and_then(|document| document.lints()).map_err(refused)?;
    Ok(lints.into_iter().map(|lint| (lint.rule, lint.to_string())).collect())
}

/// The keys of runs, and the SHA-256 of each link's trace, by the name of the link.
type Keys = (Vec<String>, HashMap<String, String>);

/// The cache keys of a scenario's runs, one per seed.
/// Two runs have the same key if and only if scenario, seed and engine are the same. `laws` are the caller's. A run belongs to its key if
/// its record names the same traces.
#[pyfunction]
fn keys(text: &str, filename: &str, seeds: Vec<u64>, engine: &str, laws: Vec<String>) -> PyResult<Keys> {
    let scenario = checked_with(text, filename, Some(laws))?;
    let traces = scenario.links.iter().filter_map(|link| Some((link.name.to_string(), link.trace.as_ref()?.sha256.to_string())));
    Ok((scenario.keys(seeds, engine).collect(), traces.collect()))
}

/// The keys of the shared beginnings of a scenario's runs with these seeds.
/// Empty if there is no shared beginning. They are hints for grouping runs.
#[pyfunction]
fn beginnings(text: &str, filename: &str, seeds: Vec<u64>) -> PyResult<Vec<String>> {
    Ok(checked(text, filename)?.beginnings(seeds).into_iter().flatten().collect())
}

/// Rejects a text that is not TOML.
/// Without `whole`, it checks only the numbers of key parts and tables, before parsing.
#[pyfunction]
fn check_toml(text: &str, filename: &str, whole: bool) -> PyResult<()> {
    if whole { sojourn_scenario::parse(filename, text).map(drop) } else { sojourn_scenario::check_shape(filename, text) }.map_err(refused)
}

/// Whether a text is a sweep file, valid or not, judged by its keys.
#[pyfunction]
fn is_sweep(text: &str) -> bool {
    Sweep::is_meant_by(text)
}

/// The grid of a sweep. Its points are created on demand, because there may be 100,000.
#[pyclass(frozen)]
struct Grid {
    sweep: Sweep,
    base: Document,
}

#[pymethods]
impl Grid {
    /// Parses a sweep and checks every point.
    /// `read(name)` returns the file name and the text of the scenario. Errors have a position in the text if it was `written` by a user.
    #[new]
    fn new(py: Python<'_>, text: &str, filename: &str, read: &Bound<'_, PyAny>, written: bool) -> PyResult<Grid> {
        let sweep = Sweep::from_text(filename, text).map_err(refused)?;
        let sweep = if written { sweep } else { sweep.without_text() };
        let (file, base): (String, String) = read.call1((sweep.scenario.as_str(),))?.extract()?;
        let base = Document::from_text(&file, &base).map_err(refused)?;
        for point in 0..sweep.points() {
            sweep.point(&base, point).map_err(refused)?;
            py.check_signals()?;
        }
        Ok(Grid { sweep, base })
    }

    /// The file of the scenario.
    #[getter]
    fn file(&self) -> &str {
        self.base.file()
    }

    /// The names of the axes.
    #[getter]
    fn axes(&self) -> Vec<&str> {
        self.sweep.axes.iter().map(|axis| axis.name.as_str()).collect()
    }

    /// The number of runs per point.
    #[getter]
    fn replications(&self) -> u32 {
        self.sweep.replications
    }

    fn __len__(&self) -> usize {
        self.sweep.points()
    }

    /// The value of each axis at a point of the grid, as a JSON list. Points count from 0.
    fn labels(&self, index: usize) -> PyResult<String> {
        self.within(index)?;
        Ok(json!(self.sweep.labels(index)).to_string())
    }

    /// The first seed, and the scenario as TOML, of a point of the grid.
    fn point(&self, index: usize) -> PyResult<(u64, String)> {
        self.within(index)?;
        let run = self.sweep.point(&self.base, index).map_err(refused)?;
        Ok((run.seed, run.document.table().to_string()))
    }
}

impl Grid {
    fn within(&self, index: usize) -> PyResult<()> {
        if index < self.sweep.points() { Ok(()) } else { Err(PyIndexError::new_err("no such point")) }
    }
}

fn outcome(py: Python<'_>, outcome: Outcome) -> PyResult<(String, Py<PyDict>)> {
    let record = serde_json::to_string(&outcome.record).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    Ok((record, arrays(py, outcome.series)?))
}

fn arrays(py: Python<'_>, series: Series) -> PyResult<Py<PyDict>> {
    let all = PyDict::new(py);
    for (name, columns) in series {
        let table = PyDict::new(py);
        for (column, values) in columns {
            table.set_item(column, values.into_pyarray(py))?;
        }
        all.set_item(name, table)?;
    }
    Ok(all.unbind())
}

/// Runs a scenario. Returns the record as JSON, and its series.
/// Flows with a host have the endpoints of `sojourn.runs.stacks`.
/// The interpreter's lock is released meanwhile. `capture` is an existing file, which becomes a pcapng file, with the names of the links
/// and hosts to capture; without names it captures all links with a rate. `threads` are those of a run without laws and capture.
#[pyfunction]
#[pyo3(signature = (text, filename, seed=None, laws=None, capture=None, threads=1))]
fn run(
    py: Python<'_>,
    text: &str,
    filename: &str,
    seed: Option<u64>,
    laws: Option<&Bound<'_, PyDict>>,
    capture: Option<(PathBuf, Vec<String>, Vec<String>)>,
    threads: usize,
) -> PyResult<(String, Py<PyDict>)> {
    let supplied = laws.map(|laws| laws.keys().extract()).transpose()?.unwrap_or_default();
    let scenario = checked_with(text, filename, Some(supplied))?;
    if harness::has_hosts(&scenario) {
        if capture.is_some() {
            return Err(refused(format_args!("{filename}: pcap: expected flows of the simulator, got one with a host")));
        }
        return harness::run_supplied(py, &scenario, filename, seed);
    }
    let trouble = trouble::Trouble::default();
    let laws = laws_of_run(laws, filename, &trouble)?;
    let (calls_python, watched) = (!laws.controllers.is_empty(), trouble.clone());
    let work = move || {
        let stop = || watched.is_set() || (!calls_python && interrupted(&watched));
        match capture {
            None if laws.is_empty() => sojourn_lab::run_on(&scenario, seed, &laws, threads, &stop),
            None => sojourn_lab::run(&scenario, seed, &laws, &stop),
            Some((path, links, hosts)) => {
                captures::run(&Job { scenario: Arc::new(scenario), seed, laws }, &path, &CapturePoints { links, hosts }, &stop)
            }
        }
    };
    let result = if calls_python { waited(py, &trouble, work) } else { Some(py.detach(work)) };
    match (trouble.take(), result) {
        (None, Some(Ok(done))) => outcome(py, done),
        (None, Some(Err(error))) => Err(failed(filename, error)),
        (Some(error), _) => Err(error),
        (None, None) => unreachable!("a run that is not waited for has an error"),
    }
}

/// The laws of a run of the scenario in a file.
fn laws_of_run(laws: Option<&Bound<'_, PyDict>>, filename: &str, trouble: &trouble::Trouble) -> PyResult<Laws> {
    laws::from_python(laws, &format!("{filename}: "), laws::OutOfRange::Refused, trouble)
}

/// Runs many jobs on `threads` threads (0: one per core).
/// `on_done(index, record, series)` is called for each as it finishes. Ctrl-C, a failed run, or an error in `on_done` or in a law stops the
/// runs and is raised. Runs with hosts come first, one after another in this thread. The attribute `job` of an error of a run or of a law is the run's index.
#[pyfunction]
#[pyo3(signature = (jobs, threads, on_done=None, laws=None))]
fn run_many(
    py: Python<'_>,
    jobs: Vec<(String, String, Option<u64>)>,
    threads: usize,
    on_done: Option<Py<PyAny>>,
    laws: Option<&Bound<'_, PyDict>>,
) -> PyResult<()> {
    let trouble = trouble::Trouble::default();
    let (mut work, mut places, mut hosted) = (Vec::with_capacity(jobs.len()), Vec::with_capacity(jobs.len()), Vec::new());
    let mut last: Option<(&str, &str, Arc<Checked>)> = None;
    for (index, (text, filename, seed)) in jobs.iter().enumerate() {
        let scenario = match &last {
            Some((known, file, scenario)) if known == text && file == filename => Arc::clone(scenario),
            _ => Arc::new(checked(text, filename)?),
        };
        last = Some((text, filename, Arc::clone(&scenario)));
        if harness::has_hosts(&scenario) {
            hosted.push((index, scenario));
            continue;
        }
        places.push(index);
        work.push(Job { scenario, seed: *seed, laws: laws_of_run(laws, filename, &trouble.of_job(index))? });
    }
    for (index, scenario) in hosted {
        let (_, filename, seed) = &jobs[index];
        let done = harness::run_supplied(py, &scenario, filename, *seed).or_else(|error| {
            error.value(py).setattr("job", index)?;
            Err(error)
        })?;
        on_done.as_ref().map(|on_done| on_done.call1(py, (index, done.0, done.1))).transpose()?;
    }
    if work.is_empty() {
        return Ok(());
    }
    let watched = trouble.clone();
    let failure = waited(py, &trouble, move || {
        let failure: Mutex<Option<(usize, Error)>> = Mutex::new(None);
        let stopped = AtomicBool::new(false);
        let done = |place: usize, result: Result<Outcome, Error>| match (places[place], result) {
            (index, Err(error)) => {
                stopped.store(true, Ordering::Relaxed);
                if error != Error::Stopped {
                    failure.lock().unwrap_or_else(|held| held.into_inner()).get_or_insert((index, error));
                }
            }
            (index, Ok(done)) => Python::attach(|py| {
                let Some(on_done) = &on_done else { return };
                let called = outcome(py, done).and_then(|(record, series)| on_done.call1(py, (index, record, series)));
                if let Err(error) = called {
                    watched.set(error);
                }
            }),
        };
        let stop = || stopped.load(Ordering::Relaxed) || watched.is_set();
        in_pool(threads, || sojourn_lab::run_in_pool(&work, &stop, &done));
        failure.into_inner().unwrap_or_else(|held| held.into_inner())
    });
    if let Some(error) = trouble.take() {
        return Err(error);
    }
    match failure.flatten() {
        Some((index, error)) => {
            let raised = failed(&jobs[index].1, error);
            raised.value(py).setattr("job", index)?;
            Err(raised)
        }
        None => Ok(()),
    }
}

/// The JSON Schema of a scenario file.
#[pyfunction]
fn schema() -> String {
    sojourn_scenario::schema()
}

/// Every measure of a record and every kind of series, as JSON.
#[pyfunction]
fn measures() -> String {
    sojourn_scenario::measures().to_string()
}

/// The JSON Schema of a record.
#[pyfunction]
fn record_schema() -> String {
    sojourn_scenario::record_schema().to_string()
}

/// The registries as JSON.
/// They are `aqm`, `cc`, `impairment`, `traffic` and `profile`, each a list of entries.
#[pyfunction]
fn registry() -> PyResult<String> {
    listing::registry().map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// The drop probability of a queue law with a timer, from a JSON queue table.
/// The result has a row per backlog and a column per change since the timer's last expiry, both in packets. NaN if the previous backlog
/// would have been negative.
#[pyfunction]
fn surface<'py>(
    py: Python<'py>,
    queue: &str,
    backlog: PyReadonlyArray1<'py, f64>,
    change: PyReadonlyArray1<'py, f64>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let rows = listing::surface(queue, backlog.as_slice()?, change.as_slice()?).map_err(refused)?;
    PyArray2::from_vec2(py, &rows).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// The constants of a queue law's program without floats, from a JSON queue table.
/// `rate` is that of the link in bit/s, and `mean_packet` its mean packet in bytes.
#[pyfunction]
fn fixed_point(queue: &str, rate: u64, mean_packet: u32) -> PyResult<Vec<u64>> {
    listing::fixed_point(queue, rate, mean_packet).map_err(refused)
}

/// Parses a quantity. `kind` is `time` (seconds), `rate` (bit/s) or `size` (bytes).
#[pyfunction]
fn quantity(kind: &str, text: &str) -> PyResult<f64> {
    listing::quantity(kind, text).map_err(refused)
}

#[pymodule]
fn _sojourn(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("ScenarioError", module.py().get_type::<ScenarioError>())?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(one_line, module)?)?;
    module.add_function(wrap_pyfunction!(check, module)?)?;
    module.add_function(wrap_pyfunction!(lints, module)?)?;
    module.add_function(wrap_pyfunction!(keys, module)?)?;
    module.add_function(wrap_pyfunction!(beginnings, module)?)?;
    module.add_function(wrap_pyfunction!(is_sweep, module)?)?;
    module.add_function(wrap_pyfunction!(traces::trace_summary, module)?)?;
    module.add_function(wrap_pyfunction!(traces::path_library, module)?)?;
    module.add_function(wrap_pyfunction!(traces::path_trace, module)?)?;
    module.add_function(wrap_pyfunction!(judge::judge_log, module)?)?;
    module.add_function(wrap_pyfunction!(judge::judged_controllers, module)?)?;
    module.add_class::<harness::Dumbbell>()?;
    module.add_class::<drivers::PyDriver>()?;
    module.add_function(wrap_pyfunction!(drivers::driver_names, module)?)?;
    module.add_function(wrap_pyfunction!(harness::run_hosts, module)?)?;
    module.add_function(wrap_pyfunction!(check_toml, module)?)?;
    module.add_function(wrap_pyfunction!(captures::capture_flows, module)?)?;
    module.add_function(wrap_pyfunction!(captures::capture_segments, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(run_many, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(measures, module)?)?;
    module.add_function(wrap_pyfunction!(record_schema, module)?)?;
    module.add_function(wrap_pyfunction!(registry, module)?)?;
    module.add_function(wrap_pyfunction!(surface, module)?)?;
    module.add_function(wrap_pyfunction!(quantity, module)?)?;
    module.add_function(wrap_pyfunction!(fixed_point, module)?)?;
    module.add_function(wrap_pyfunction!(fluid::fluid, module)?)?;
    module.add_function(wrap_pyfunction!(fluid::point_with, module)?)?;
    module.add_class::<fluid::Resting>()?;
    module.add_function(wrap_pyfunction!(fuzzy::infer, module)?)?;
    module.add_class::<fuzzy::FuzzyLaw>()?;
    module.add_class::<laws::PySample>()?;
    module.add_class::<controllers::PyAck>()?;
    module.add_class::<controllers::PyCongestionEvent>()?;
    module.add_class::<episodes::Episode>()?;
    module.add_function(wrap_pyfunction!(episodes::step_episodes, module)?)?;
    module.add("OBSERVATION", episodes::OBSERVATION)?;
    module.add_class::<Grid>()?;
    module.add_class::<kernel::KernelRun>()?;
    #[cfg(target_os = "linux")]
    module.add_class::<live::LiveNetwork>()?;
    #[cfg(target_os = "linux")]
    module.add_class::<live::LiveSource>()?;
    #[cfg(target_os = "linux")]
    module.add("LIVE_NETWORKS", live::NETWORKS)?;
    module.add_function(wrap_pyfunction!(path::path_split, module)?)?;
    module.add_function(wrap_pyfunction!(path::path_element, module)?)?;
    Ok(())
}
