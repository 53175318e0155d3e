//! Runs on a Linux kernel: the plan for the kernel, and the record from its log.

use crate::{captures, checked, failed, outcome, refused};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_lab::{CapturePoints, Logs};
use sojourn_scenario::Checked;
use sojourn_scenario::record::Host;
use std::path::PathBuf;

/// A run on a kernel.
/// Its scenario and its link traces are read once, for the plan and for the record.
#[pyclass(frozen)]
pub struct KernelRun {
    scenario: Checked,
    filename: String,
    seed: u64,
}

#[pymethods]
impl KernelRun {
    #[new]
    fn new(text: &str, filename: String, seed: u64) -> PyResult<KernelRun> {
        Ok(KernelRun { scenario: checked(text, &filename)?, filename, seed })
    }

    /// The kernel's plan as TOML. `capture` contains the names of links and hosts to capture.
    #[pyo3(signature = (capture=None))]
    fn plan(&self, capture: Option<(Vec<String>, Vec<String>)>) -> PyResult<String> {
        let plan = self.scenario.plan(self.seed);
        let mut wiring = sojourn_lab::wiring(&plan).map_err(|error| failed(&self.filename, error))?;
        if let Some((links, hosts)) = capture {
            CapturePoints { links, hosts }.check(&plan).map_err(|error| failed(&self.filename, error))?;
            wiring.headers = true;
        }
        wiring.to_toml().map_err(refused)
    }

    /// Returns what the log reports of a flow's sender.
    /// A report has a time in seconds, a kind and two numbers.
    fn reports(&self, log: &[u8], flow: &str) -> PyResult<Vec<(f64, &'static str, f64, f64)>> {
        let found = sojourn_lab::sender_reports(&self.scenario.plan(self.seed), log, flow);
        let found = found.map_err(|error| failed(&self.filename, error))?;
        Ok(found.into_iter().map(|each| (each.at, each.kind, each.values[0], each.values[1])).collect())
    }

    /// The record (JSON) and the series of a run, from the kernel's log and packet headers.
    /// `host` is the record's description of the kernel as JSON. For `capture` see `run`. The interpreter's lock is released meanwhile.
    #[pyo3(signature = (logs, host, capture=None))]
    fn record(
        &self,
        py: Python<'_>,
        logs: (&[u8], &[u8]),
        host: &str,
        capture: Option<(PathBuf, Vec<String>, Vec<String>)>,
    ) -> PyResult<(String, Py<PyDict>)> {
        let host: Host = serde_json::from_str(host).map_err(refused)?;
        let logs = Logs { log: logs.0, headers: logs.1 };
        let plan = || self.scenario.plan(self.seed);
        let mut done = py
            .detach(|| match capture {
                None => sojourn_lab::replay(&plan(), &logs),
                Some((path, links, hosts)) => captures::replay(&plan(), &logs, &path, &CapturePoints { links, hosts }),
            })
            .map_err(|error| failed(&self.filename, error))?;
        done.record.host = Some(host);
        outcome(py, done)
    }
}
