//! Files of traces of links: Mahimahi's, tables (CSV), and those of the crate `netem-trace`.
//!
//! A file is read in one pass, line by line. What is not a trace is refused in one line that names the place.

mod human;
mod lines;
mod mahimahi;
mod netem;
mod number;
mod table;

use crate::error::Error;
use crate::written::TraceFormat;
use lines::Lines;
use sha2::{Digest, Sha256};
use sojourn_link::LinkTrace;
use sojourn_link::trace::{Builder, Row, Service};
use sojourn_spec::link::Trace;
use sojourn_units::Duration;
use std::collections::HashMap;
use std::fmt::Write;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::SystemTime;

/// The largest file, in bytes.
const LARGEST: u64 = 1_000_000_000;

/// The most rows of a trace.
const MOST_ROWS: u64 = 50_000_000;

/// Bytes of the traces that stay for the next reader of the same file.
const CACHED: usize = 200_000_000;

/// The traces read so far: a sweep checks each of its points.
static READ: LazyLock<Mutex<HashMap<(PathBuf, TraceFormat), Cached>>> = LazyLock::new(Mutex::default);

/// A trace that was read, and what its file was like then.
#[derive(Debug)]
struct Cached {
    length: u64,
    changed: Option<SystemTime>,
    trace: Trace,
}

/// Reads the trace in a file; `None`: its format follows from its ending.
///
/// # Errors
/// A file that cannot be read, or is no trace. The error names the file, and where it can the line and the column.
pub fn read_trace(path: &Path, format: Option<TraceFormat>) -> Result<Trace, Error> {
    let name = path.display().to_string();
    let refused = |got: &dyn std::fmt::Display| Error::got("", got, "a file with a trace").in_file(&name);
    let format = format.unwrap_or_else(|| TraceFormat::of(path));
    let about = std::fs::metadata(path).map_err(|error| refused(&lines::said(&error)))?;
    if !about.is_file() {
        return Err(refused(&"something that is no file"));
    }
    let (length, changed) = (about.len(), about.modified().ok());
    if length > LARGEST {
        return Err(Error::got("", format_args!("{length} bytes"), "a trace of at most 1 GB").in_file(&name));
    }
    let mut cached = READ.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (path.to_path_buf(), format);
    if let Some(found) = cached.get(&key).filter(|found| found.length == length && found.changed.is_some() && found.changed == changed) {
        return Ok(found.trace.clone());
    }
    let mut file = File::open(path).map_err(|error| refused(&lines::said(&error)))?;
    let trace = parse_trace(&mut file, format).map_err(|error| error.in_file(&name))?;
    if cached.values().map(|other| other.trace.rows.memory()).sum::<usize>() + trace.rows.memory() > CACHED {
        cached.clear();
    }
    cached.insert(key, Cached { length, changed, trace: trace.clone() });
    Ok(trace)
}

/// Reads a trace in this format from where it stands.
///
/// # Errors
/// As those of [`read_trace`], without the name of a file.
pub fn parse_trace(text: &mut dyn Read, format: TraceFormat) -> Result<Trace, Error> {
    let rows = match format {
        TraceFormat::Mahimahi => mahimahi::read(Lines::new(text)),
        TraceFormat::Csv => table::read(Lines::new(text)),
        TraceFormat::NetemTrace => netem::read(text),
    };
    rows.map(hashed)
}

/// A trace with the hash of its content.
fn hashed(rows: LinkTrace) -> Trace {
    let mut hash = Sha256::new();
    rows.content(|piece| hash.update(piece));
    let sha256 = hash.finalize().iter().fold(String::with_capacity(64), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    Trace { sha256: sha256.into(), rows: Arc::new(rows) }
}

/// The rows of a file as they are read.
struct Rows {
    builder: Builder,
    count: u64,
    time: Duration,
}

impl Rows {
    fn new(service: Service) -> Rows {
        Rows { builder: Builder::new(service), count: 0, time: Duration::ZERO }
    }

    /// Adds a row.
    ///
    /// # Errors
    /// What is wrong with the trace so far: what was expected, and what was found.
    fn push(&mut self, row: Row) -> Result<(), (String, &'static str)> {
        (self.count, self.time) = (self.count + 1, self.time + row.span);
        if self.count > MOST_ROWS {
            return Err((format!("more than {MOST_ROWS}"), "a trace with at most 50000000 rows"));
        }
        if self.time > sojourn_units::range::LONGEST_TIME {
            return Err((self.time.to_string(), "a trace of at most 1000000 s"));
        }
        self.builder.push(row);
        Ok(())
    }

    fn finish(self) -> Result<LinkTrace, Error> {
        let got = match self.count {
            0 => "nothing",
            _ if self.time == Duration::ZERO => "one that lasts 0 s",
            _ => "one with a rate of zero for ever",
        };
        self.builder.finish().ok_or_else(|| Error::got("", got, "a trace with a time in which something is sent"))
    }
}
