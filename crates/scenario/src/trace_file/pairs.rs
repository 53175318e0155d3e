//! Two-column tables of numbers: sizes with probabilities, times with sizes.

use super::lines::Lines;
use super::number;
use super::table::fields;
use crate::bounded::Bounded;
use crate::error::Error;
use sojourn_traffic::pairs::Column;
use std::path::Path;

/// The maximum size of a file in bytes.
const LARGEST: u64 = 100_000_000;

/// The maximum number of rows. They are in memory, and part of the run's key.
const MOST_ROWS: usize = 100_000;

/// Reads the rows of a file with two columns.
/// A first line that does not begin with a number is a header.
///
/// # Errors
/// The file cannot be read, or is not such a table. The error names the file and, if possible, line and column.
pub(crate) fn read_pairs(path: &Path, columns: &[Column; 2]) -> Result<Vec<[u64; 2]>, Error> {
    let mut file = Bounded::open(path, LARGEST, "a file with a table")?;
    read(Lines::new(&mut file), columns).map_err(|error| error.in_file(&path.display().to_string()))
}

fn read(mut lines: Lines<'_>, columns: &[Column; 2]) -> Result<Vec<[u64; 2]>, Error> {
    let expected = format!("two numbers: {} and {}", columns[0].name, columns[1].name);
    let (mut rows, mut is_first) = (Vec::new(), true);
    while lines.next()? {
        let is_header = is_first && lines.line().first().is_some_and(u8::is_ascii_alphabetic);
        is_first = false;
        if is_header {
            continue;
        }
        let mut found = fields(lines.line());
        let (Some(first), Some(second), None) = (found.next(), found.next(), found.next()) else {
            return Err(lines.refuse_text(0, lines.line(), &expected));
        };
        let mut row = [0; 2];
        for ((number, (at, text)), column) in row.iter_mut().zip([first, second]).zip(columns) {
            *number = number::scaled(text, column.power)
                .ok_or_else(|| lines.refuse_text(at, text, &format!("a number, zero or more, for the {}", column.name)))?;
        }
        if rows.len() == MOST_ROWS {
            return Err(lines.refuse(0, &"more", &format!("at most {MOST_ROWS} rows")));
        }
        rows.push(row);
    }
    Ok(rows)
}
