//! Runs on a Linux kernel: what the kernel is told, and the record of its log.

use crate::{checked, failed, outcome, refused};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// What a kernel must know of a run, as TOML.
#[pyfunction]
pub fn kernel_plan(text: &str, filename: &str, seed: u64) -> PyResult<String> {
    let wiring = sojourn_lab::wiring(&checked(text, filename)?.plan(seed)).map_err(|error| failed(filename, error))?;
    wiring.to_toml().map_err(refused)
}

/// The record of a run that a kernel has logged, as JSON, and its series. The interpreter's lock is released meanwhile.
#[pyfunction]
pub fn kernel_record(py: Python<'_>, text: &str, filename: &str, seed: u64, log: &[u8]) -> PyResult<(String, Py<PyDict>)> {
    let scenario = checked(text, filename)?;
    let done = py.detach(|| sojourn_lab::replay(&scenario.plan(seed), log)).map_err(|error| failed(filename, error))?;
    outcome(py, done)
}
