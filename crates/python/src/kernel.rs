//! Runs on a Linux kernel: what the kernel is told, and the record of its log.

use crate::{captures, checked, failed, outcome, refused};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_lab::{CapturePoints, Logs};
use sojourn_scenario::record::Host;
use std::path::PathBuf;

/// What a kernel must know of a run, as TOML; `capture` has the names of the links and of the hosts whose packets are captured.
#[pyfunction]
#[pyo3(signature = (text, filename, seed, capture=None))]
pub fn kernel_plan(text: &str, filename: &str, seed: u64, capture: Option<(Vec<String>, Vec<String>)>) -> PyResult<String> {
    let plan = checked(text, filename)?.plan(seed);
    let mut wiring = sojourn_lab::wiring(&plan).map_err(|error| failed(filename, error))?;
    if let Some((links, hosts)) = capture {
        CapturePoints { links, hosts }.check(&plan).map_err(|error| failed(filename, error))?;
        wiring.headers = true;
    }
    wiring.to_toml().map_err(refused)
}

/// The record of a run of which a kernel has written its log and the headers of its packets, as JSON, and its series; `host` is what the
/// record says of the kernel, as JSON. For `capture` see `run`. The interpreter's lock is released meanwhile.
#[pyfunction]
#[pyo3(signature = (job, logs, host, capture=None))]
pub fn kernel_record(
    py: Python<'_>,
    job: (String, String, u64),
    logs: (&[u8], &[u8]),
    host: &str,
    capture: Option<(PathBuf, Vec<String>, Vec<String>)>,
) -> PyResult<(String, Py<PyDict>)> {
    let (text, filename, seed) = job;
    let scenario = checked(&text, &filename)?;
    let host: Host = serde_json::from_str(host).map_err(refused)?;
    let logs = Logs { log: logs.0, headers: logs.1 };
    let mut done = py
        .detach(|| match capture {
            None => sojourn_lab::replay(&scenario.plan(seed), &logs),
            Some((path, links, hosts)) => captures::replay(&scenario.plan(seed), &logs, &path, &CapturePoints { links, hosts }),
        })
        .map_err(|error| failed(&filename, error))?;
    done.record.host = Some(host);
    outcome(py, done)
}
