//! Mahimahi's traces (netravali-2015): one line per opportunity to send 1500 bytes.
//! A line is a time in milliseconds. The trace repeats after the last time.

use super::lines::Lines;
use super::{Rows, number};
use crate::error::Error;
use sojourn_link::LinkTrace;
use sojourn_link::trace::{Row, Service};
use sojourn_units::{Duration, range};

/// The latest time, in ms.
const LATEST_MS: u64 = range::LONGEST_TIME.as_nanos() / 1_000_000;

/// The bytes of an opportunity.
const OPPORTUNITY: u64 = 1500;

pub(super) fn read(mut lines: Lines<'_>) -> Result<LinkTrace, Error> {
    let mut rows = Rows::new(Service::Opportunities);
    let (mut before, mut last, mut count) = (0, 0, 0);
    while lines.next()? {
        let text = lines.line();
        let Some(ms) = number::scaled(text, 0).filter(|_| text.iter().all(u8::is_ascii_digit)) else {
            return Err(lines.refuse_text(0, text, "a time in ms, as a whole number"));
        };
        if ms > LATEST_MS {
            return Err(lines.refuse(0, &ms, "a time of at most 1000000000 ms"));
        }
        if ms < last {
            return Err(lines.refuse(0, &ms, &format!("a time of {last} ms or later, as in the line before")));
        }
        if ms > last && count > 0 {
            let row = opportunities(last - before, count);
            rows.push(row).map_err(|(got, expected)| lines.refuse(0, &got, expected))?;
            (before, count) = (last, 0);
        }
        (last, count) = (ms, count + 1);
    }
    if count > 0 {
        rows.push(opportunities(last - before, count)).map_err(|(got, expected)| lines.refuse(0, &got, expected))?;
    }
    rows.finish()
}

/// A row with opportunities `ms` after the previous ones.
fn opportunities(ms: u64, count: u64) -> Row {
    Row { span: Duration::from_nanos(ms * 1_000_000), service: OPPORTUNITY * count, ..Row::default() }
}
