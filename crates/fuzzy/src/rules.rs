//! Rule tables, read from the text of a paper.

use crate::{FuzzyError, Output, Variable};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

/// Rules for two inputs: a consequent for each pair of terms, or for one term alone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuleTable {
    rows: usize,
    columns: usize,
    /// `(rows + 1) x (columns + 1)` consequents, row by row.
    /// The last row and column are rules that ignore an input.
    cells: Vec<u8>,
    /// Whether some rule ignores one of the inputs.
    partial: bool,
}

/// No rule.
pub(crate) const NONE: u8 = u8::MAX;

struct Reader<'a> {
    row: &'a Variable,
    column: &'a Variable,
    output: &'a Output,
    table: RuleTable,
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| c.is_whitespace() || c == '|' || c == ',').filter(|word| !word.is_empty())
}

fn wrong(line: usize, got: &str, expected: String) -> FuzzyError {
    FuzzyError::Rule { line, expected, got: got.to_string() }
}

fn index(line: usize, name: &str, terms: &[String], word: &str) -> Result<usize, FuzzyError> {
    let found = terms.iter().position(|term| term == word);
    found.ok_or_else(|| wrong(line, word, format!("a term of {name}: {}", terms.join(", "))))
}

impl RuleTable {
    /// Parses rules for these variables from `text`.
    ///
    /// A grid starts with a header: the terms of the column input, after an optional word in the corner. Every further line is a term of
    /// the row input and one consequent per column. Columns and rows are in any order. `.` means no rule. `*` instead of a row or column
    /// term means rules that ignore that input. Spaces, tabs, commas or bars separate words. Lines of dashes (as in Markdown) and text
    /// after a `#` are skipped.
    ///
    /// Lines `IF row IS x AND column IS y THEN z` may replace a grid or add to it. Variants are `THEN output IS z`, either order of inputs,
    /// and a single input. Keywords ignore case.
    ///
    /// # Errors
    /// A word is unexpected, or a rule occurs twice. The error has line and word.
    pub fn parse(text: &str, row: &Variable, column: &Variable, output: &Output) -> Result<RuleTable, FuzzyError> {
        let (rows, columns) = (row.terms().len(), column.terms().len());
        let table = RuleTable { rows, columns, cells: vec![NONE; (rows + 1) * (columns + 1)], partial: false };
        let mut reader = Reader { row, column, output, table };
        let mut header: Option<Vec<usize>> = None;
        let mut last = 1;
        for (i, line) in text.lines().enumerate() {
            let (number, line) = (i + 1, line.split('#').next().unwrap_or(""));
            let ruled = line.contains("--") && line.chars().all(|c| "|-:+ \t".contains(c));
            let Some(first) = words(line).next().filter(|_| !ruled) else { continue };
            last = number;
            if first.eq_ignore_ascii_case("if") {
                reader.sentence(number, line)?;
            } else if let Some(header) = &header {
                reader.grid_row(number, line, header)?;
            } else {
                header = Some(reader.header(number, line)?);
            }
        }
        match reader.table.rules() {
            0 => Err(wrong(last, "", "at least one rule".to_string())),
            _ => Ok(reader.table),
        }
    }

    /// The number of rules.
    pub fn rules(&self) -> usize {
        self.cells.iter().filter(|&&cell| cell != NONE).count()
    }

    /// The consequent for these terms; `None` if there is no such rule.
    /// An argument `None` is an ignored input.
    pub fn consequent(&self, row: Option<usize>, column: Option<usize>) -> Option<usize> {
        let (row, column) = (row.unwrap_or(self.rows), column.unwrap_or(self.columns));
        if row > self.rows || column > self.columns {
            return None;
        }
        Some(self.cell(row, column)).filter(|&cell| cell != NONE).map(usize::from)
    }

    /// The first pair of terms for which no rule fires.
    pub fn gap(&self) -> Option<(usize, usize)> {
        let pairs = (0..self.rows).flat_map(|row| (0..self.columns).map(move |column| (row, column)));
        let bare = |row, column| self.consequent(row, column).is_none();
        pairs
            .into_iter()
            .find(|&(row, column)| bare(Some(row), Some(column)) && bare(Some(row), None) && bare(None, Some(column)) && bare(None, None))
    }

    /// The cell at this row and column. The index after the last one is "ignored".
    #[inline]
    pub(crate) fn cell(&self, row: usize, column: usize) -> u8 {
        self.cells[row * (self.columns + 1) + column]
    }

    /// Whether some rule has a single input.
    #[inline]
    pub(crate) fn partial(&self) -> bool {
        self.partial
    }
}

impl Reader<'_> {
    fn row_term(&self, line: usize, word: &str) -> Result<usize, FuzzyError> {
        if word == "*" { Ok(self.table.rows) } else { index(line, self.row.name(), self.row.terms(), word) }
    }

    fn column_term(&self, line: usize, word: &str) -> Result<usize, FuzzyError> {
        if word == "*" { Ok(self.table.columns) } else { index(line, self.column.name(), self.column.terms(), word) }
    }

    fn header(&self, line: usize, text: &str) -> Result<Vec<usize>, FuzzyError> {
        let first = words(text).next().unwrap_or("");
        // If the first word is not a term of the columns, it is the corner.
        let corner = usize::from(self.column_term(line, first).is_err());
        let terms = words(text).skip(corner).map(|word| self.column_term(line, word)).collect::<Result<Vec<_>, _>>()?;
        match terms.is_empty() {
            true => Err(wrong(line, first, format!("a header with terms of {}: {}", self.column.name(), self.column.terms().join(", ")))),
            false => Ok(terms),
        }
    }

    fn grid_row(&mut self, line: usize, text: &str, header: &[usize]) -> Result<(), FuzzyError> {
        let mut rest = words(text);
        let name = rest.next().unwrap_or("");
        let row = self.row_term(line, name)?;
        for (i, &column) in header.iter().enumerate() {
            let missing = || wrong(line, "", format!("{} consequents after \"{name}\" instead of {i}", header.len()));
            let word = rest.next().ok_or_else(missing)?;
            if word != "." {
                self.set(line, word, row, column)?;
            }
        }
        rest.next().map_or(Ok(()), |word| Err(wrong(line, word, format!("the end of the line after {} consequents", header.len()))))
    }

    fn sentence(&mut self, line: usize, text: &str) -> Result<(), FuzzyError> {
        let mut rest = words(text).skip(1);
        let (mut row, mut column) = (None, None);
        let mut next = |expected: &str| rest.next().ok_or_else(|| wrong(line, "", expected.to_string()));
        let keyword = |word: &str, expected: &[&str]| match expected.iter().position(|k| word.eq_ignore_ascii_case(k)) {
            Some(at) => Ok(at),
            None => Err(wrong(line, word, expected.join(" or "))),
        };
        loop {
            let inputs = format!("{} or {}, each once", self.row.name(), self.column.name());
            let variable = next(&inputs)?;
            keyword(next("IS")?, &["IS"])?;
            if variable == self.row.name() && row.is_none() {
                row = Some(self.row_term(line, next("a term")?)?);
            } else if variable == self.column.name() && column.is_none() {
                column = Some(self.column_term(line, next("a term")?)?);
            } else {
                return Err(wrong(line, variable, inputs));
            }
            if keyword(next("AND or THEN")?, &["AND", "THEN"])? == 1 {
                break;
            }
        }
        let mut consequent = next("a consequent")?;
        if consequent == self.output.name() && !self.output.terms().iter().any(|term| term == consequent) {
            keyword(next("IS")?, &["IS"])?;
            consequent = next("a consequent")?;
        }
        if let Some(word) = rest.next() {
            return Err(wrong(line, word, "the end of the rule".to_string()));
        }
        self.set(line, consequent, row.unwrap_or(self.table.rows), column.unwrap_or(self.table.columns))
    }

    fn set(&mut self, line: usize, word: &str, row: usize, column: usize) -> Result<(), FuzzyError> {
        let consequent = index(line, self.output.name(), self.output.terms(), word)?;
        let cell = &mut self.table.cells[row * (self.table.columns + 1) + column];
        if *cell != NONE {
            return Err(wrong(line, word, "a rule that does not occur before".to_string()));
        }
        // MAX_TERMS is far below NONE.
        *cell = consequent as u8;
        self.table.partial |= row == self.table.rows || column == self.table.columns;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<RuleTable, FuzzyError> {
        let row = Variable::partition("e", &[("N", -1.0), ("P", 1.0)]).unwrap();
        let column = Variable::partition("de", &[("N", -1.0), ("Z", 0.0), ("P", 1.0)]).unwrap();
        let output = Output::numbers("y", &[("down", -1.0), ("up", 1.0)]).unwrap();
        RuleTable::parse(text, &row, &column, &output)
    }

    #[test]
    fn grids_with_different_separators_are_read_the_same() {
        let plain = parse("N Z P\nN down down up\nP down up up").unwrap();
        assert_eq!(plain.rules(), 6);
        assert_eq!(plain.consequent(Some(0), Some(2)), Some(1));
        assert_eq!(plain.gap(), None);
        let markdown = "\n| e\\de | N | Z | P |   # Table I\n|---|:-:|---|---|\n| N | down | down | up |\n| P | down | up | up |\n";
        assert_eq!(parse(markdown).unwrap(), plain);
        assert_eq!(parse("P,Z,N\nP,up,up,down\nN,up,down,down").unwrap(), plain);
        let mixed = "e\\de Z\nN down\nP up\nif de is N and e is P then y is down\nIF e IS N AND de IS N THEN down
            IF e IS N AND de IS P THEN up\nIF e IS P AND de IS P THEN y IS up";
        assert_eq!(parse(mixed).unwrap(), plain);
    }

    #[test]
    fn rules_may_leave_an_input_out() {
        let table = parse("IF e IS N THEN y IS down\nIF de IS P THEN up").unwrap();
        assert_eq!(table.consequent(Some(0), None), Some(0));
        assert_eq!(table.consequent(None, Some(2)), Some(1));
        assert_eq!(table.gap(), Some((1, 0)));
        assert_eq!(parse("* P\nN down .\n* . up").unwrap(), table);
        assert_eq!(table.consequent(Some(7), None), None);
    }

    #[test]
    fn mistakes_are_named_by_line_and_word() {
        for (text, said) in [
            ("N Z P\nN down downn up", "line 2: expected a term of y: down, up, got \"downn\""),
            ("N Z P\n\nQ down up up", "line 3: expected a term of e: N, P, got \"Q\""),
            ("e N Z R\nN down up up", "line 1: expected a term of de: N, Z, P, got \"R\""),
            ("N Z P\nN down up", "line 2: expected 3 consequents after \"N\" instead of 2, got \"\""),
            ("N Z P\nN down up up up", "line 2: expected the end of the line after 3 consequents, got \"up\""),
            ("N Z P\nN down up up\nN down . .", "line 3: expected a rule that does not occur before, got \"down\""),
            ("IF e ARE N THEN up", "line 1: expected IS, got \"ARE\""),
            ("IF q IS N THEN up", "line 1: expected e or de, each once, got \"q\""),
            ("IF e IS N OR de IS N THEN up", "line 1: expected AND or THEN, got \"OR\""),
            ("IF e IS N AND e IS P THEN up", "line 1: expected e or de, each once, got \"e\""),
            ("IF e IS N THEN up up", "line 1: expected the end of the rule, got \"up\""),
            ("IF e IS N THEN", "line 1: expected a consequent, got \"\""),
            ("corner", "line 1: expected a header with terms of de: N, Z, P, got \"corner\""),
            ("", "line 1: expected at least one rule, got \"\""),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text:?} gave {error:?}");
        }
    }
}
