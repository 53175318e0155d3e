//! Runs on a Linux kernel: what the kernel is told, and the record of its log.

use crate::{checked, failed, outcome, refused};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_scenario::record::Host;

/// What a kernel must know of a run, as TOML.
#[pyfunction]
pub fn kernel_plan(text: &str, filename: &str, seed: u64) -> PyResult<String> {
    let wiring = sojourn_lab::wiring(&checked(text, filename)?.plan(seed)).map_err(|error| failed(filename, error))?;
    wiring.to_toml().map_err(refused)
}

/// The record of a run that a kernel has logged, as JSON, and its series; `host` is what the record says of the kernel, as JSON. The
/// interpreter's lock is released meanwhile.
#[pyfunction]
pub fn kernel_record(py: Python<'_>, job: (String, String, u64), log: &[u8], host: &str) -> PyResult<(String, Py<PyDict>)> {
    let (text, filename, seed) = job;
    let scenario = checked(&text, &filename)?;
    let host: Host = serde_json::from_str(host).map_err(refused)?;
    let mut done = py.detach(|| sojourn_lab::replay(&scenario.plan(seed), log)).map_err(|error| failed(&filename, error))?;
    done.record.host = Some(host);
    outcome(py, done)
}
