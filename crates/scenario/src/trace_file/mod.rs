//! Link trace files: Mahimahi's, tables (CSV), and those of the crate `netem-trace`.
//!
//! A file is read in one pass, line by line. Errors are one line with the position.

mod human;
mod lines;
mod mahimahi;
mod netem;
mod number;
mod pairs;
mod table;

use crate::bounded::{Bounded, hexadecimal, os_message};
use crate::error::Error;
use crate::written::TraceFormat;
use lines::Lines;
pub(crate) use pairs::read_pairs;
use sha2::{Digest, Sha256};
use sojourn_link::LinkTrace;
use sojourn_link::trace::{Builder, Row, Service};
use sojourn_spec::link::Trace;
use sojourn_units::Duration;
use std::collections::HashMap;
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// The maximum size of a file in bytes.
const LARGEST: u64 = 1_000_000_000;

/// The expectation in messages.
const WANTED: &str = "a file with a trace";

/// The maximum number of rows of a trace.
const MOST_ROWS: u64 = 50_000_000;

/// Size of the trace cache in bytes.
const CACHED: usize = 200_000_000;

/// The cache of traces by format and content of the file.
/// A sweep checks every point, and name and modification time do not identify the content.
static READ: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

/// Traces by the format and the SHA-256 of a file.
type Known = HashMap<(TraceFormat, [u8; 32]), Trace>;

/// Reads a trace file. The suffix determines the format if `format` is `None`.
///
/// # Errors
/// The file is unreadable or the trace invalid. The error names the file and, if possible, line and column.
pub fn read_trace(path: &Path, format: Option<TraceFormat>) -> Result<Trace, Error> {
    let format = format.unwrap_or_else(|| TraceFormat::of(path));
    let named = |error: Error| error.in_file(&path.display().to_string());
    let open = || Bounded::open(path, LARGEST, WANTED);
    let digest = |file: Bounded| file.digest().map_err(|error| named(Error::got("", os_message(&error), WANTED)));
    let mut cached = READ.lock().unwrap_or_else(PoisonError::into_inner);
    if !cached.is_empty()
        && let Some(found) = cached.get(&(format, digest(open()?)?))
    {
        return Ok(found.clone());
    }
    let mut file = open()?;
    let trace = parse_trace(&mut file, format).map_err(named)?;
    if cached.values().map(|other| other.rows.memory()).sum::<usize>() + trace.rows.memory() > CACHED {
        cached.clear();
    }
    cached.insert((format, digest(file)?), trace.clone());
    Ok(trace)
}

/// Reads a trace in this format from the current position.
///
/// # Errors
/// The errors of [`read_trace`], without the name of a file.
pub fn parse_trace(text: &mut dyn Read, format: TraceFormat) -> Result<Trace, Error> {
    let rows = match format {
        TraceFormat::Mahimahi => mahimahi::read(Lines::new(text)),
        TraceFormat::Csv => table::read(Lines::new(text)),
        TraceFormat::NetemTrace => netem::read(text),
    };
    rows.map(hashed)
}

/// A trace with the hash of its content.
pub(crate) fn hashed(rows: LinkTrace) -> Trace {
    let mut hash = Sha256::new();
    rows.content(|piece| hash.update(piece));
    Trace { sha256: hexadecimal(&hash.finalize()).into(), rows: Arc::new(rows) }
}

/// The rows of a file while it is read.
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
    /// The trace is invalid so far: expectation and value.
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
