//! Text that is TOML, and what is wrong with text that is not.

use crate::error::{Error, humanize};
use std::str::CharIndices;
use toml::Table;

/// The most parts of a dotted key. No field lies deeper, and a parser's time grows with the square of the number.
const MOST_PARTS: usize = 32;

/// The table that a text describes. `file` is its name in messages.
///
/// # Errors
/// Text that is not TOML, with line and column.
pub fn parse(file: &str, text: &str) -> Result<Table, Error> {
    check_keys(file, text)?;
    text.parse::<Table>().map_err(|error| {
        let position = error.span().map(|span| line_and_column(text, span.start));
        let message = match error.message() {
            "integer number overflowed" => humanize("invalid type: integer `one of more digits`, expected any valid TOML value"),
            other => other.replace('\n', ", "),
        };
        Error { position, ..Error::new("", message) }.in_file(file)
    })
}

/// Checks that no key has more parts than any field, in a time in proportion to the text.
///
/// # Errors
/// The first key that has, with line and column.
pub fn check_keys(file: &str, text: &str) -> Result<(), Error> {
    // Between two of the characters that end a key or a value, only a key has more than one dot.
    let (mut start, mut dots) = (0, 0);
    let mut rest = text.char_indices();
    while let Some((at, c)) = rest.next() {
        match c {
            '#' => {
                skip_line(&mut rest);
                (start, dots) = (rest.offset(), 0);
            }
            '"' | '\'' => {
                let quotes = if rest.as_str().starts_with(if c == '"' { "\"\"" } else { "''" }) { 3 } else { 1 };
                skip_text(&mut rest, c, quotes);
            }
            '\n' | '=' | ',' | '[' | ']' | '{' | '}' => (start, dots) = (at + 1, 0),
            '.' => dots += 1,
            _ => {}
        }
        if dots >= MOST_PARTS {
            let start = start + text[start..].chars().take_while(|c| c.is_whitespace()).map(char::len_utf8).sum::<usize>();
            let problem = format!("expected a key of at most {MOST_PARTS} parts, got one of more");
            return Err(Error { position: Some(line_and_column(text, start)), ..Error::new("", problem) }.in_file(file));
        }
    }
    Ok(())
}

/// Goes on in the next line.
fn skip_line(rest: &mut CharIndices<'_>) {
    rest.by_ref().find(|(_, c)| *c == '\n');
}

/// Goes on after a text in quotes, of which the first quote has been read: one, or three where lines may break.
fn skip_text(rest: &mut CharIndices<'_>, quote: char, quotes: usize) {
    if quotes > 1 {
        rest.nth(quotes - 2);
    }
    let (mut seen, mut escaped) = (0, false);
    for (_, c) in rest.by_ref() {
        seen = if c == quote && !escaped { seen + 1 } else { 0 };
        escaped = quote == '"' && c == '\\' && !escaped;
        if seen == quotes || (c == '\n' && quotes == 1) {
            return;
        }
    }
}

/// Line and column of a byte, counted from 1.
pub(crate) fn line_and_column(text: &str, byte: usize) -> (usize, usize) {
    let before: String = text.char_indices().take_while(|(i, _)| *i < byte).map(|(_, c)| c).collect();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |last| last.chars().count()) + 1;
    (line, column)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        parse("x.toml", text).map_or_else(|error| error.to_string(), |_| String::new())
    }

    #[test]
    fn a_key_of_very_many_parts_is_refused_at_once_with_its_place() {
        let deep = |parts: usize| vec!["x"; parts].join(".");
        assert_eq!(problem(&format!("a = 1\n{} = 1", deep(32))), "");
        let refused = "expected a key of at most 32 parts, got one of more";
        for text in [
            format!("a = 1\n  {} = 1", deep(1_000_000)),
            format!("a = 1\n[ {} ]", deep(1_000_000)),
            format!("a = '''\n'''# {0}\"\n  {0} = 1", deep(1_000_000)),
            format!("a = {{\n  {} = 1}}", deep(33)),
            format!("a = \"\\\"\"\n  {} = 1", vec!["\"x.y\""; 33].join(" . ")),
        ] {
            let (place, said) = problem(&text).split_once(": ").map(|(a, b)| (a.to_string(), b.to_string())).unwrap();
            assert_eq!(said, refused);
            assert!(["x.toml:2:3", "x.toml:3:3"].contains(&place.as_str()), "{place}");
        }
    }

    #[test]
    fn dots_that_are_in_no_key_are_no_parts() {
        let dots = ".".repeat(100);
        let text = format!(
            "# {dots}\na = \"{dots}\" # {dots}\nb = '{dots}'\nc = \"\"\"\n{dots}\\\"\"\" {dots}\"\"\"\nd = [1.5, 2.5]\ne = '''{dots}'\n{dots}'''\nf = \"\\\\\"\n"
        );
        assert_eq!(problem(&text), "");
    }

    #[test]
    fn a_number_of_very_many_digits_has_its_place() {
        let said = problem(&format!("a = 1\nb = {}", "9".repeat(5000)));
        assert_eq!(said, "x.toml:2:5: expected a whole number of at most 9223372036854775807, got one of more digits");
    }
}
