//! Traces of the crate `netem-trace` (version 0.5.0) in JSON, as used by Rattan.
//! Supported are static rates, lists of rates, sawtooths without noise, and patterns of these. Traces of its random generator are rejected.

use super::{Rows, human};
use crate::bounded::os_message;
use crate::error::{Error, humanize};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::error::Category;
use sojourn_link::LinkTrace;
use sojourn_link::trace::{Row, Service};
use sojourn_units::Duration;
use sojourn_units::range::HIGHEST_RATE_BPS;
use std::io::Read;

/// The maximum size of a text in bytes, which is held in memory.
const LARGEST: u64 = 100_000_000;

/// The maximum number of rows of a repetition or a sawtooth.
/// A short text can request any number.
const MOST_MADE: u64 = 5_000_000;

/// The crate's configurations of a bandwidth trace, under its names.
#[derive(Deserialize)]
enum Config {
    #[serde(rename = "StaticBwConfig")]
    Static {
        #[serde(default)]
        bw: Option<Bandwidth>,
        #[serde(default)]
        duration: Option<Span>,
    },
    #[serde(rename = "TraceBwConfig")]
    Trace {
        #[serde(default)]
        pattern: Vec<(Span, Vec<Bandwidth>)>,
    },
    #[serde(rename = "SawtoothBwConfig")]
    Sawtooth(Sawtooth),
    #[serde(rename = "RepeatedBwPatternConfig")]
    Repeated {
        #[serde(default)]
        pattern: Vec<Config>,
        #[serde(default)]
        count: u64,
    },
    #[serde(rename = "NormalizedBwConfig")]
    Normalized(IgnoredAny),
}

#[derive(Deserialize)]
struct Sawtooth {
    bottom: Option<Bandwidth>,
    top: Option<Bandwidth>,
    interval: Option<Span>,
    duty_ratio: Option<f64>,
    duration: Option<Span>,
    step: Option<Span>,
    std_dev: Option<Bandwidth>,
}

/// A rate in bit/s, from numbers or text.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "WrittenBandwidth")]
struct Bandwidth(u64);

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a bandwidth such as {\"gbps\": 0, \"bps\": 12000000} or \"12Mbps\"")]
enum WrittenBandwidth {
    Numbers { gbps: u64, bps: u32 },
    Text(String),
}

impl TryFrom<WrittenBandwidth> for Bandwidth {
    type Error = String;

    fn try_from(written: WrittenBandwidth) -> Result<Bandwidth, String> {
        let bps = match &written {
            WrittenBandwidth::Numbers { gbps, bps } => gbps.checked_mul(1_000_000_000).and_then(|high| high.checked_add((*bps).into())),
            WrittenBandwidth::Text(text) => Some(human::rate(text)?),
        };
        let rate = bps.filter(|&bps| bps <= HIGHEST_RATE_BPS);
        rate.map(Bandwidth).ok_or_else(|| "expected a rate of at most 10 Tbit/s, got a higher one".to_string())
    }
}

/// A time, from numbers or text.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "WrittenSpan")]
struct Span(Duration);

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a duration such as {\"secs\": 1, \"nanos\": 0} or \"1s\"")]
enum WrittenSpan {
    Numbers { secs: u64, nanos: u32 },
    Text(String),
}

impl TryFrom<WrittenSpan> for Span {
    type Error = String;

    fn try_from(written: WrittenSpan) -> Result<Span, String> {
        match written {
            WrittenSpan::Numbers { secs, nanos } => {
                let seconds = secs.checked_mul(1_000_000_000).and_then(|high| high.checked_add(nanos.into()));
                seconds.map(Duration::from_nanos).map(Span).ok_or_else(|| format!("expected a time of at most 1000000 s, got {secs} s"))
            }
            WrittenSpan::Text(text) => human::duration(&text).map(Duration::from_nanos).map(Span),
        }
    }
}

pub(super) fn read(text: &mut dyn Read) -> Result<LinkTrace, Error> {
    let mut bytes = Vec::new();
    text.take(LARGEST + 1).read_to_end(&mut bytes).map_err(|error| Error::got("", os_message(&error), "a file that can be read"))?;
    if bytes.len() as u64 > LARGEST {
        return Err(Error::got("", "a longer one", format_args!("a trace in JSON of at most {LARGEST} bytes")));
    }
    let mut config: Config = serde_json::from_slice(&bytes).map_err(|error| {
        let position = (error.line() > 0).then(|| (error.line(), error.column().max(1)));
        let message = error.to_string();
        let problem = message.split(" at line ").next().unwrap_or_default();
        let problem = if problem.starts_with("expected") && problem.contains(", got ") { problem.to_string() } else { humanize(problem) };
        let problem = match error.classify() {
            Category::Syntax | Category::Eof => format!("expected a trace in JSON, got text that is none: {problem}"),
            _ if problem.starts_with("expected") => problem,
            _ => format!("expected a trace in JSON, got one with {problem}"),
        };
        Error { position, ..Error::new("", problem) }
    })?;
    drop(bytes);
    config.without_what_is_empty();
    let mut rows = Rows::new(Service::Rates);
    match config {
        // At the top level, every trace repeats forever.
        Config::Repeated { pattern, count: 0 } => pattern.iter().try_for_each(|part| add(part, &mut rows)),
        other => add(&other, &mut rows),
    }?;
    rows.finish()
}

impl Config {
    /// Removes parts without rows, so that each step of an expansion creates a row.
    fn without_what_is_empty(&mut self) {
        match self {
            Config::Trace { pattern } => pattern.retain(|(span, rates)| span.0 > Duration::ZERO && !rates.is_empty()),
            Config::Repeated { pattern, .. } => {
                pattern.iter_mut().for_each(Config::without_what_is_empty);
                pattern.retain(|part| !part.is_empty());
            }
            _ => {}
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Config::Static { duration, .. } => duration.is_some_and(|span| span.0 == Duration::ZERO),
            Config::Trace { pattern } => pattern.is_empty(),
            Config::Sawtooth(sawtooth) => sawtooth.rows_made() == 0,
            Config::Normalized(_) => false,
            Config::Repeated { pattern, .. } => pattern.is_empty(),
        }
    }

    /// Computes the number of rows without an expansion.
    ///
    /// # Errors
    /// A repetition or a sawtooth has more rows than [`MOST_MADE`].
    fn rows_made(&self) -> Result<u64, Error> {
        let (rows, field) = match self {
            Config::Static { .. } | Config::Normalized(_) => return Ok(1),
            Config::Trace { pattern } => return Ok(pattern.iter().map(|(_, rates)| rates.len() as u64).sum()),
            Config::Sawtooth(sawtooth) => (sawtooth.rows_made(), "SawtoothBwConfig"),
            Config::Repeated { pattern, count } => {
                let once = pattern.iter().map(Config::rows_made).sum::<Result<u64, Error>>()?;
                (once.saturating_mul(*count), "RepeatedBwPatternConfig")
            }
        };
        match rows {
            0..=MOST_MADE => Ok(rows),
            _ => Err(Error::got(field, rows, format_args!("at most {MOST_MADE} rows"))),
        }
    }
}

/// Adds the rows of a configuration.
fn add(config: &Config, rows: &mut Rows) -> Result<(), Error> {
    let (usual, second) = (Bandwidth(12_000_000), Span(Duration::from_secs(1)));
    match config {
        Config::Static { bw, duration } => push(rows, bw.unwrap_or(usual), duration.unwrap_or(second)),
        Config::Trace { pattern } => {
            pattern.iter().try_for_each(|(span, rates)| rates.iter().try_for_each(|&bandwidth| push(rows, bandwidth, *span)))
        }
        Config::Sawtooth(sawtooth) => config.rows_made().and_then(|_| sawtooth.add(rows)),
        Config::Repeated { count: 0, .. } => Err(Error::got("RepeatedBwPatternConfig.count", 0, "a count above 0 within another pattern")),
        Config::Repeated { pattern, .. } if pattern.is_empty() => Ok(()),
        Config::Repeated { pattern, count } => {
            config.rows_made()?;
            (0..*count).try_for_each(|_| pattern.iter().try_for_each(|part| add(part, rows)))
        }
        Config::Normalized(_) => Err(Error::got(
            "",
            "NormalizedBwConfig, which draws from the crate's own random generator",
            "StaticBwConfig, TraceBwConfig, SawtoothBwConfig or RepeatedBwPatternConfig",
        )),
    }
}

fn push(rows: &mut Rows, Bandwidth(service): Bandwidth, Span(span): Span) -> Result<(), Error> {
    if span == Duration::ZERO {
        return Ok(());
    }
    rows.push(Row { span, service, ..Row::default() }).map_err(|(got, expected)| Error::got("", got, expected))
}

impl Sawtooth {
    fn rows_made(&self) -> u64 {
        let nanos = |given: Option<Span>, usual: Duration| given.map_or(usual, |Span(span)| span).as_nanos();
        let (duration, step) = (nanos(self.duration, Duration::from_secs(1)), nanos(self.step, Duration::from_millis(1)));
        duration.div_ceil(step.max(1))
    }

    /// Adds the rows of a sawtooth with the same steps as `SawtoothBw::next_bw`.
    /// Its rates are rounded as floating-point numbers.
    fn add(&self, rows: &mut Rows) -> Result<(), Error> {
        let span = |given: Option<Span>, usual| given.map_or(usual, |Span(span)| span);
        let second = Duration::from_secs(1);
        let (interval, duration) = (span(self.interval, second), span(self.duration, second));
        let step = span(self.step, Duration::from_millis(1));
        let bps = |given: Option<Bandwidth>, usual| given.map_or(usual, |Bandwidth(bps)| bps);
        let (bottom, top, duty) = (bps(self.bottom, 0), bps(self.top, 12_000_000), self.duty_ratio.unwrap_or(0.5));
        let refused =
            |field: &str, got: &dyn std::fmt::Display, expected| Err(Error::got(format!("SawtoothBwConfig.{field}"), got, expected));
        if bps(self.std_dev, 0) > 0 {
            return refused("std_dev", &bps(self.std_dev, 0), "no noise, which the crate draws from its own random generator");
        }
        if bottom > top {
            return refused("bottom", &bottom, "a rate of at most that of top");
        }
        if step == Duration::ZERO || interval == Duration::ZERO {
            return refused(if step == Duration::ZERO { "step" } else { "interval" }, &"0 s", "a time above zero");
        }
        if !(0.0..=1.0).contains(&duty) {
            return refused("duty_ratio", &duty, "a number from 0 to 1");
        }
        let gbps = |bps: u64| (bps / 1_000_000_000) as f64 + (bps % 1_000_000_000) as f64 / 1e9;
        let times = |ratio: f64| (gbps(top - bottom) * ratio * 1e9).round_ties_even() as u64;
        let (mut current, mut left) = (Duration::ZERO, duration);
        while left > Duration::ZERO {
            let (now, interval_s) = (std_secs(current), std_secs(interval));
            let change = interval_s * duty;
            let rate = if now < change { bottom + times(now / change) } else { top - times((now - change) / (interval_s - change)) };
            let length = step.min(left);
            push(rows, Bandwidth(rate), Span(length))?;
            (left, current) = (left - length, current + length);
            if current >= interval {
                current = current - interval;
            }
        }
        Ok(())
    }
}

/// A time in seconds, computed as the standard library does.
fn std_secs(time: Duration) -> f64 {
    std::time::Duration::from_nanos(time.as_nanos()).as_secs_f64()
}
