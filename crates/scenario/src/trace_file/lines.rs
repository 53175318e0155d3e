//! Reads a file line by line.

use crate::bounded::os_message;
use crate::error::Error;
use std::io::{BufRead, BufReader, Read};

/// The mark that some programs put before a UTF-8 text.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The longest line, in bytes.
const LONGEST: u64 = 1000;

/// A text that is read line by line.
pub(super) struct Lines<'a> {
    text: BufReader<&'a mut dyn Read>,
    line: Vec<u8>,
    number: usize,
}

impl<'a> Lines<'a> {
    pub fn new(text: &'a mut dyn Read) -> Self {
        Lines { text: BufReader::with_capacity(1 << 18, text), line: Vec::new(), number: 0 }
    }

    /// Reads the next line that is not a comment. Comments start with `#`.
    /// Returns false at the end of the file.
    pub fn next(&mut self) -> Result<bool, Error> {
        loop {
            self.line.clear();
            self.number += 1;
            let read = self.text.by_ref().take(LONGEST).read_until(b'\n', &mut self.line);
            let read = read.map_err(|error| self.refuse(0, &os_message(&error), "a file that can be read"))?;
            if read as u64 == LONGEST && !self.line.ends_with(b"\n") {
                return Err(self.refuse(0, &"a longer one", "a line of at most 1000 bytes"));
            }
            if read == 0 {
                return Ok(false);
            }
            if self.number == 1 && self.line.starts_with(BYTE_ORDER_MARK) {
                self.line.drain(..BYTE_ORDER_MARK.len());
            }
            self.line.truncate(self.line.trim_ascii_end().len());
            if self.line.first().is_some_and(|&byte| byte != b'#') {
                return Ok(true);
            }
        }
    }

    /// The current line without trailing white space.
    pub fn line(&self) -> &[u8] {
        &self.line
    }

    /// The error at this column of the current line, counted from 0.
    pub fn refuse(&self, column: usize, got: &dyn std::fmt::Display, expected: &str) -> Error {
        Error { position: Some((self.number, column + 1)), ..Error::got("", got, expected) }
    }

    /// The error for the text at that column.
    pub fn refuse_text(&self, column: usize, text: &[u8], expected: &str) -> Error {
        self.refuse(column, &format_args!("\"{}\"", String::from_utf8_lossy(text).escape_debug()), expected)
    }
}
