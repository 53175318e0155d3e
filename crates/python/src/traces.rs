//! Link trace files and the library of paths, for `sojourn trace`.

use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use serde_json::json;
use sojourn_link::trace::{LinkTrace, Row, Service};
use sojourn_scenario::read_trace;
use sojourn_scenario::written::TraceFormat;
use sojourn_scenario::written::library::{NAMES, PATHS};
use sojourn_units::{Duration, Time};
use std::path::PathBuf;

/// The summary of a trace file as JSON, and its mean rate in bit/s in `steps` equal parts.
#[pyfunction]
#[pyo3(signature = (path, form, steps))]
pub fn trace_summary<'py>(py: Python<'py>, path: PathBuf, form: Option<&str>, steps: u32) -> PyResult<(String, Bound<'py, PyArray1<f64>>)> {
    let named = |name: &str| serde_json::from_value::<TraceFormat>(json!(name)).map_err(crate::refused);
    let format = form.map(named).transpose()?.unwrap_or_else(|| TraceFormat::of(&path));
    let trace = py.detach(|| read_trace(&path, Some(format))).map_err(crate::refused)?;
    let rows = &trace.rows;
    let (mut least, mut most) = (Row { service: u64::MAX, ..Row::default() }, Row::default());
    let mut packets = 0;
    for row in rows.rows() {
        least.service = least.service.min(row.service);
        most.service = most.service.max(row.service);
        most.delay = most.delay.max(row.delay);
        most.loss = most.loss.max(row.loss);
        packets += row.service / 1500;
    }
    let rates = rows.service() == Service::Rates;
    let summary = json!({
        "format": format,
        "rows": rows.len(),
        "period_s": rows.period().as_secs_f64(),
        "mean_bps": rows.mean_rate().as_bps(),
        "least_bps": rates.then_some(least.service),
        "most_bps": rates.then_some(most.service),
        "opportunities": (!rates).then_some(packets),
        "least_delay_s": rows.least_delay().as_secs_f64(),
        "most_delay_s": most.delay.as_secs_f64(),
        "most_loss": f64::from(most.loss) * 1e-9,
        "sha256": trace.sha256,
        "memory_bytes": rows.memory(),
    });
    Ok((summary.to_string(), means(rows, steps.max(1)).into_pyarray(py)))
}

/// The mean rate in equal parts of a trace.
fn means(rows: &LinkTrace, steps: u32) -> Vec<f64> {
    let period = rows.period().as_nanos();
    let at = |step: u32| Time::from_nanos((u128::from(period) * u128::from(step) / u128::from(steps)) as u64);
    let mean = |step: u32| {
        let (from, until) = (at(step), at(step + 1));
        // The last opportunity is at the end of the trace.
        let last = if step + 1 == steps {
            until + sojourn_units::Duration::from_nanos(u64::from(rows.service() == Service::Opportunities))
        } else {
            until
        };
        (rows.capacity_before(last) - rows.capacity_before(from)) as f64 / (until.since(from).as_nanos().max(1)) as f64
    };
    (0..steps).map(mean).collect()
}

/// The library of paths as JSON: for each name the tables of its file.
#[pyfunction]
pub fn path_library() -> PyResult<String> {
    let entries = NAMES.iter().zip(PATHS.iter()).map(|(name, path)| Ok((name.to_string(), serde_json::to_value(path)?)));
    let library = entries.collect::<Result<serde_json::Map<_, _>, serde_json::Error>>();
    library.map(|library| serde_json::Value::from(library).to_string()).map_err(crate::refused)
}

/// A row of a trace: span in ns, rate in bit/s, delay in ns, share of packets lost.
type PathRow = (u64, u64, u64, f64);

/// The trace of the link called `link` in a run of `duration_ms` with this seed.
/// The last row ends with the run. It is empty for a path whose rate is constant, and for an unknown name.
#[pyfunction]
pub fn path_trace(name: &str, link: &str, duration_ms: u64, seed: u64) -> Vec<PathRow> {
    let found = NAMES.iter().position(|known| *known == name).and_then(|at| PATHS[at].process());
    let duration = Duration::from_millis(duration_ms);
    let mut left = duration.as_nanos();
    let rows = found.iter().flat_map(|process| process.trace(duration, seed, link).rows().collect::<Vec<_>>());
    rows.map(|row| {
        let span = row.span.as_nanos().min(left);
        left -= span;
        (span, row.service, row.delay.as_nanos(), f64::from(row.loss) * 1e-9)
    })
    .take_while(|row| row.0 > 0)
    .collect()
}
