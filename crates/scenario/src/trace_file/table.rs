//! Trace tables. A line has a time, the rate from then on, and optionally delay and loss.

use super::lines::Lines;
use super::{Rows, number};
use crate::error::Error;
use sojourn_link::LinkTrace;
use sojourn_link::trace::{Row, Service};
use sojourn_units::Duration;
use sojourn_units::range::{HIGHEST_RATE_BPS, LONGEST_TIME};

/// The quantity of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Quantity {
    Time,
    Rate,
    Delay,
    Loss,
}

/// A column: its quantity, and the power of ten that converts it to base units.
/// Base units are ns, bit/s and billionths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Column {
    name: &'static str,
    quantity: Quantity,
    power: u32,
}

/// All column names. Without a header, the columns are the first of each quantity.
const COLUMNS: &[Column] = &[
    Column { name: "t", quantity: Quantity::Time, power: 9 },
    Column { name: "t_s", quantity: Quantity::Time, power: 9 },
    Column { name: "t_ms", quantity: Quantity::Time, power: 6 },
    Column { name: "t_us", quantity: Quantity::Time, power: 3 },
    Column { name: "t_ns", quantity: Quantity::Time, power: 0 },
    Column { name: "rate", quantity: Quantity::Rate, power: 6 },
    Column { name: "rate_bps", quantity: Quantity::Rate, power: 0 },
    Column { name: "rate_kbps", quantity: Quantity::Rate, power: 3 },
    Column { name: "rate_mbps", quantity: Quantity::Rate, power: 6 },
    Column { name: "rate_gbps", quantity: Quantity::Rate, power: 9 },
    Column { name: "delay", quantity: Quantity::Delay, power: 6 },
    Column { name: "delay_s", quantity: Quantity::Delay, power: 9 },
    Column { name: "delay_ms", quantity: Quantity::Delay, power: 6 },
    Column { name: "delay_us", quantity: Quantity::Delay, power: 3 },
    Column { name: "loss", quantity: Quantity::Loss, power: 9 },
    Column { name: "loss_percent", quantity: Quantity::Loss, power: 7 },
];

/// The period of a table with a single line, whose rate is constant.
const SINGLE: Duration = Duration::from_secs(1);

/// The numbers of a line.
#[derive(Clone, Copy, Default)]
struct Line {
    at: u64,
    row: Row,
}

pub(super) fn read(mut lines: Lines<'_>) -> Result<LinkTrace, Error> {
    let mut rows = Rows::new(Service::Rates);
    let mut columns = None;
    let (mut last, mut span): (Option<Line>, _) = (None, SINGLE);
    while lines.next()? {
        let Some(columns) = &columns else {
            let (found, is_header) = header(&lines)?;
            columns = Some(found);
            if !is_header {
                last = Some(line(&lines, columns.as_deref().unwrap_or_default(), None)?);
            }
            continue;
        };
        let next = line(&lines, columns, last.map(|last| last.at))?;
        if let Some(Line { at, row }) = last {
            span = Duration::from_nanos(next.at - at);
            rows.push(Row { span, ..row }).map_err(|(got, expected)| lines.refuse(0, &got, expected))?;
        }
        last = Some(next);
    }
    if let Some(Line { row, .. }) = last {
        // The duration of the last line is unknown. It is assumed to equal the previous one.
        rows.push(Row { span, ..row }).map_err(|(got, expected)| lines.refuse(0, &got, expected))?;
    }
    rows.finish()
}

/// The fields of a line with their columns. Commas, semicolons or white space separate them.
pub(super) fn fields(line: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let separates = |byte: u8| matches!(byte, b',' | b';' | b' ' | b'\t');
    let mut begin = 0;
    std::iter::from_fn(move || {
        while begin < line.len() && matches!(line[begin], b' ' | b'\t') {
            begin += 1;
        }
        if begin >= line.len() {
            return None;
        }
        let end = line[begin..].iter().position(|&byte| separates(byte)).map_or(line.len(), |length| begin + length);
        let field = (begin, &line[begin..end]);
        begin = end;
        // White space may surround a separator.
        while begin < line.len() && matches!(line[begin], b' ' | b'\t') {
            begin += 1;
        }
        if begin < line.len() && matches!(line[begin], b',' | b';') {
            begin += 1;
        }
        Some(field)
    })
}

/// The columns that the first line implies, and whether that line is a header.
fn header(lines: &Lines<'_>) -> Result<(Vec<Column>, bool), Error> {
    let first: Vec<(usize, &[u8])> = fields(lines.line()).collect();
    let begins_with_number = first.first().is_some_and(|(_, text)| text.first().is_some_and(|&byte| byte.is_ascii_digit() || byte == b'.'));
    if begins_with_number {
        let usual = ["t", "rate", "delay", "loss"];
        let columns: Vec<Column> = usual.iter().filter_map(|name| named(name.as_bytes())).take(first.len()).collect();
        return match first.len() {
            2..=4 => Ok((columns, false)),
            _ => Err(lines.refuse_text(0, lines.line(), "two to four numbers: time in s, rate in Mbit/s, delay in ms, loss")),
        };
    }
    let mut columns: Vec<Column> = Vec::new();
    for (at, text) in first {
        let known: Vec<&str> = COLUMNS.iter().map(|column| column.name).collect();
        let Some(column) = named(text) else {
            return Err(lines.refuse_text(at, text, &format!("a line of numbers, or a header with columns out of {}", known.join(", "))));
        };
        if columns.iter().any(|other| other.quantity == column.quantity) {
            return Err(lines.refuse_text(at, text, "each quantity once"));
        }
        columns.push(column);
    }
    let has = |quantity| columns.iter().any(|column| column.quantity == quantity);
    match has(Quantity::Time) && has(Quantity::Rate) {
        true => Ok((columns, true)),
        false => Err(lines.refuse_text(0, lines.line(), "a header with a time and a rate, such as t, rate")),
    }
}

fn named(text: &[u8]) -> Option<Column> {
    let text = text.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\"")).unwrap_or(text);
    COLUMNS.iter().find(|column| text.eq_ignore_ascii_case(column.name.as_bytes())).copied()
}

/// Reads the current line. `before` is the time of the previous line.
fn line(lines: &Lines<'_>, columns: &[Column], before: Option<u64>) -> Result<Line, Error> {
    let mut found = fields(lines.line());
    let mut read = Line::default();
    for column in columns {
        let Some((at, text)) = found.next() else {
            return Err(lines.refuse_text(0, lines.line(), &format!("{} numbers", columns.len())));
        };
        let Some(value) = number::scaled(text, column.power) else {
            return Err(lines.refuse_text(at, text, &format!("a number, zero or more, for {}", column.name)));
        };
        let wrong = |expected: &str| Err(lines.refuse_text(at, text, expected));
        match column.quantity {
            Quantity::Time if before.is_some_and(|before| value <= before) => return wrong("a time later than in the line before"),
            Quantity::Rate if value > HIGHEST_RATE_BPS => return wrong("a rate of at most 10 Tbit/s"),
            Quantity::Delay if value > LONGEST_TIME.as_nanos() => return wrong("a delay of at most 1000000 s"),
            Quantity::Loss if value > 1_000_000_000 => return wrong("a probability of at most 1"),
            Quantity::Time => read.at = value,
            Quantity::Rate => read.row.service = value,
            Quantity::Delay => read.row.delay = Duration::from_nanos(value),
            Quantity::Loss => read.row.loss = value as u32,
        }
    }
    match found.next() {
        Some((at, text)) => Err(lines.refuse_text(at, text, &format!("{} numbers", columns.len()))),
        None => Ok(read),
    }
}
