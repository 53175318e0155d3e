//! Writes and reads packet captures.

use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};
use sojourn_capture::read::{Captured, Carried, Count, DatagramDirection, Datagrams, Direction, Flow, Format, Unread, segments, summary};
use sojourn_lab::{CapturePoints, Error, Job, Logs, Outcome, replay_captured, run_captured};
use sojourn_scenario::plan::Plan;
use std::fs::{File, OpenOptions};
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};

/// Buffer size in bytes.
const BUFFER: usize = 1 << 18;

/// Runs a scenario and writes the packets at these points to an existing file.
pub fn run(job: &Job, path: &Path, points: &CapturePoints, stop: &dyn Fn() -> bool) -> Result<Outcome, Error> {
    run_captured(job, points, opened(path)?, stop)
}

/// Creates the record of a kernel's run and captures the packets at these points.
/// They are written to an existing file.
pub fn replay(plan: &Plan, logs: &Logs<'_>, path: &Path, points: &CapturePoints) -> Result<Outcome, Error> {
    replay_captured(plan, logs, points, opened(path)?)
}

fn opened(path: &Path) -> Result<BufWriter<File>, Error> {
    let file = OpenOptions::new().write(true).truncate(true).open(path)?;
    Ok(BufWriter::with_capacity(BUFFER, file))
}

/// The flows of a capture and the load of its link, as JSON.
/// Times are in seconds since its first packet.
#[pyfunction]
pub fn capture_flows(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let named = |said: &dyn std::fmt::Display| crate::refused(format!("{}: {said}", path.display()));
    let file = File::open(&path)?;
    let found = py.detach(|| summary(BufReader::with_capacity(BUFFER, file))).map_err(|damage| named(&damage))?;
    let format = if found.format == Format::Pcapng { "pcapng" } else { "pcap" };
    let carried = |way: &Carried| json!({ "speed_bps": way.speed, "busiest_bps": way.busiest, "bytes": way.bytes, "data": way.data });
    let mut unread: Vec<_> = found.unread.iter().collect();
    unread.sort_by_key(|(_, count)| std::cmp::Reverse(count.bytes));
    let counted =
        |(reason, count): &(&Unread, &Count)| json!({ "what": reason.to_string(), "packets": count.packets, "bytes": count.bytes });
    Ok(json!({
        "format": format,
        "packets": found.all.packets,
        "bytes": found.all.bytes,
        "unread": unread.iter().map(counted).collect::<Vec<_>>(),
        "cut": found.cut.as_ref().map(ToString::to_string),
        "falls": { "count": found.falls.count, "most_s": seconds(found.falls.most) },
        "layer": found.layer,
        "guesses": found.guesses,
        "span_s": seconds(found.span),
        "link": found.link.iter().map(carried).collect::<Vec<_>>(),
        "flows": found.flows.iter().map(flow).collect::<Vec<_>>(),
        "datagrams": found.datagrams.iter().map(datagrams).collect::<Vec<_>>(),
    })
    .to_string())
}

/// The segments of a TCP connection from one end to the other, and back, as columns.
/// The columns are `t` in seconds since the first, `forward`, `syn`, `number`, `bytes` and `window`. Before them is the time of the first
/// in ns since 1970.
/// `number` is the sequence number of a forward segment, and of another the acknowledged one; -1 without an ACK. `window` is in bytes; -1
/// if unknown.
#[pyfunction]
pub fn capture_segments(py: Python<'_>, path: PathBuf, source: &str, destination: &str) -> PyResult<(u64, Py<PyDict>)> {
    let named = |said: &dyn std::fmt::Display| crate::refused(format!("{}: {said}", path.display()));
    let end = |text: &str| text.parse().map_err(|_| crate::refused(format!("expected an address and a port, got \"{text}\"")));
    let ends = [end(source)?, end(destination)?];
    let file = File::open(&path)?;
    let found = py.detach(|| segments(BufReader::with_capacity(BUFFER, file), ends)).map_err(|damage| named(&damage))?;
    let columns = PyDict::new(py);
    let start = found.first().map_or(0, |each| each.at);
    let number = |each: &Captured| if each.forward { i64::from(each.seq) } else { each.ack.map_or(-1, i64::from) };
    columns.set_item("t", found.iter().map(|each| seconds(each.at - start)).collect::<Vec<_>>().into_pyarray(py))?;
    columns.set_item("forward", found.iter().map(|each| each.forward).collect::<Vec<_>>().into_pyarray(py))?;
    columns.set_item("syn", found.iter().map(|each| each.syn).collect::<Vec<_>>().into_pyarray(py))?;
    columns.set_item("number", found.iter().map(number).collect::<Vec<_>>().into_pyarray(py))?;
    columns.set_item("bytes", found.iter().map(|each| each.payload).collect::<Vec<_>>().into_pyarray(py))?;
    columns
        .set_item("window", found.iter().map(|each| each.window.map_or(-1, |bytes| bytes as i64)).collect::<Vec<_>>().into_pyarray(py))?;
    Ok((start, columns.unbind()))
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn flow(flow: &Flow) -> Value {
    let way = |way: &Direction| {
        let Direction { packets, bytes, sent, largest, marked, scalable, capable, .. } = way;
        json!({ "packets": packets, "bytes": bytes, "sent": sent, "largest": largest, "marked": marked, "scalable": scalable, "capable": capable })
    };
    json!({
        "from": flow.ends[0].to_string(),
        "to": flow.ends[1].to_string(),
        "start_s": seconds(flow.start),
        "last_s": seconds(flow.last),
        "opened": flow.opened,
        "complete": flow.complete(),
        "data": flow.data(),
        "rightward": flow.left == (flow.data() == 0),
        "ways": flow.ways.iter().map(way).collect::<Vec<_>>(),
        "rtt_s": flow.rtt().map(seconds),
        "wait_s": flow.waits().map(|waits| [seconds(waits.usual), seconds(waits.longest)]),
        "overflowed": flow.overflowed(),
        "mss": flow.mss,
        "sack": flow.sack,
        "timestamps": flow.timestamps,
        "ecn": flow.ecn,
    })
}

fn datagrams(flow: &Datagrams) -> Value {
    let way = |(way, each): (usize, &DatagramDirection)| {
        json!({
            "packets": each.packets,
            "bytes": each.bytes,
            "first_s": seconds(each.first),
            "last_s": seconds(each.last),
            "rightward": flow.left == (way == 0),
            // Tenths of a second with packets, and the bytes in each on the link.
            "tenths": each.load.tenths,
        })
    };
    json!({
        "from": flow.ends[0].to_string(),
        "to": flow.ends[1].to_string(),
        "quic": flow.quic,
        "rtt_s": flow.handshake.map(seconds),
        "ways": flow.ways.iter().enumerate().map(way).collect::<Vec<_>>(),
    })
}
