//! Captures: runs that write one, and the flows in one.

use pyo3::prelude::*;
use serde_json::{Value, json};
use sojourn_capture::read::{Direction, Flow, Format, summary};
use sojourn_lab::{CapturePoints, Error, Job, Logs, Outcome, replay_captured, run_captured};
use sojourn_scenario::plan::Plan;
use std::fs::{File, OpenOptions};
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};

/// Bytes that are read or written together.
const BUFFER: usize = 1 << 18;

/// Runs a scenario and writes the packets at these points to a file that is there.
pub fn run(job: &Job, path: &Path, points: &CapturePoints, stop: &dyn Fn() -> bool) -> Result<Outcome, Error> {
    run_captured(job, points, opened(path)?, stop)
}

/// Makes the record of a kernel's run and writes the packets at these points to a file that is there.
pub fn replay(plan: &Plan, logs: &Logs<'_>, path: &Path, points: &CapturePoints) -> Result<Outcome, Error> {
    replay_captured(plan, logs, points, opened(path)?)
}

fn opened(path: &Path) -> Result<BufWriter<File>, Error> {
    let file = OpenOptions::new().write(true).truncate(true).open(path)?;
    Ok(BufWriter::with_capacity(BUFFER, file))
}

/// The TCP flows of a capture and its interfaces, as JSON. Times are in seconds since its first packet.
#[pyfunction]
pub fn capture_flows(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let named = |said: &dyn std::fmt::Display| crate::refused(format!("{}: {said}", path.display()));
    let file = File::open(&path)?;
    let found = py.detach(|| summary(BufReader::with_capacity(BUFFER, file))).map_err(|damage| named(&damage))?;
    let interfaces: Vec<Value> =
        found.busiest.iter().zip(&found.speeds).map(|(busiest, speed)| json!({ "speed_bps": speed, "busiest_bps": busiest })).collect();
    let format = if found.format == Format::Pcapng { "pcapng" } else { "pcap" };
    let (packets, others, span) = (found.packets, found.others, seconds(found.span));
    let flows: Vec<Value> = found.flows.iter().map(flow).collect();
    Ok(json!({ "format": format, "packets": packets, "others": others, "span_s": span, "interfaces": interfaces, "flows": flows })
        .to_string())
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn flow(flow: &Flow) -> Value {
    let way = |way: &Direction| {
        let Direction { packets, bytes, largest, marked, scalable, .. } = way;
        json!({ "packets": packets, "bytes": bytes, "largest": largest, "marked": marked, "scalable": scalable })
    };
    json!({
        "from": flow.ends[0].to_string(),
        "to": flow.ends[1].to_string(),
        "start_s": seconds(flow.start),
        "last_s": seconds(flow.last),
        "opened": flow.opened,
        "complete": flow.complete(),
        "data": flow.data(),
        "ways": flow.ways.iter().map(way).collect::<Vec<_>>(),
        "rtt_s": flow.rtt().map(seconds),
        "mss": flow.mss,
        "sack": flow.sack,
        "timestamps": flow.timestamps,
        "ecn": flow.ecn,
    })
}
