//! Parses TOML, with limits on memory and time.

use crate::error::{Error, humanize};
use std::str::CharIndices;
use toml::Table;

/// The maximum number of parts of a dotted key.
/// No field is deeper, and parsing time grows with the square of the number.
const MOST_PARTS: usize = 32;

/// The memory limit of a check in bytes; [`BYTES_PER_BYTE`] per byte of text is added.
const ROOM: usize = 256_000_000;

/// The additional memory limit of a check per byte of text.
/// A text of links and flows needs about half of it.
const BYTES_PER_BYTE: usize = 40;

/// The memory in bytes per syntactic occurrence of these characters.
/// It is measured on texts with little else. It covers tables and keys in the parsers of the engine and of Python, and the resulting
/// scenario.
const fn cost_of(character: char) -> usize {
    match character {
        '[' | '{' => 550,
        ']' => 950,
        '=' => 800,
        ',' => 400,
        '\n' => 50,
        _ => 0,
    }
}

/// The memory in bytes of a table within a dotted key.
const COST_OF_PART: usize = 2400;

/// Parses a text into a table. `file` is its name in messages.
///
/// # Errors
/// The text is not TOML. The error has line and column.
pub fn parse(file: &str, text: &str) -> Result<Table, Error> {
    check_shape(file, text)?;
    text.parse::<Table>().map_err(|error| {
        let position = error.span().map(|span| line_and_column(text, span.start));
        let message = match error.message() {
            "integer number overflowed" => humanize("invalid type: integer `one of more digits`, expected any valid TOML value"),
            other => other.replace('\n', ", "),
        };
        Error { position, ..Error::new("", message) }.in_file(file)
    })
}

/// Checks before parsing that no key has too many parts, and that a text fits into memory.
/// Its tables and values determine the memory.
/// It needs linear time and no memory.
///
/// # Errors
/// The first such key with line and column, or the memory limit.
pub fn check_shape(file: &str, text: &str) -> Result<(), Error> {
    // Between two characters that end a key or a value, only keys have more than one dot.
    let (mut start, mut dots, mut memory) = (0, 0, 0);
    let mut rest = text.char_indices();
    while let Some((at, c)) = rest.next() {
        memory += cost_of(c);
        match c {
            '#' => {
                skip_line(&mut rest);
                memory += cost_of('\n');
                (start, dots) = (rest.offset(), 0);
            }
            '"' | '\'' => {
                let quotes = if rest.as_str().starts_with(if c == '"' { "\"\"" } else { "''" }) { 3 } else { 1 };
                skip_text(&mut rest, c, quotes);
            }
            '\n' | '=' | ',' | '[' | ']' | '{' | '}' => {
                // A dot before one of these two belongs to a key, or is the only one in the last number of a list.
                memory += if matches!(c, '=' | ']') { dots * COST_OF_PART } else { 0 };
                (start, dots) = (at + 1, 0);
            }
            '.' => dots += 1,
            _ => {}
        }
        if dots >= MOST_PARTS {
            let start = start + text[start..].chars().take_while(|c| c.is_whitespace()).map(char::len_utf8).sum::<usize>();
            let problem = format!("expected a key of at most {MOST_PARTS} parts, got one of more");
            return Err(Error { position: Some(line_and_column(text, start)), ..Error::new("", problem) }.in_file(file));
        }
    }
    let most = ROOM + BYTES_PER_BYTE * text.len();
    if memory > most {
        let (memory, most) = (memory / 1_000_000, most / 1_000_000);
        let problem = format!("expected tables and values that take at most {most} MB of memory, got some that take about {memory} MB");
        return Err(Error::new("", problem).in_file(file));
    }
    Ok(())
}

/// Skips the rest of the line.
fn skip_line(rest: &mut CharIndices<'_>) {
    rest.by_ref().find(|(_, c)| *c == '\n');
}

/// Skips a quoted text after its opening quote: one quote, or three if lines may break.
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
    fn text_whose_tables_take_too_much_memory_is_refused_before_it_is_parsed() {
        let list = |element: &str| format!("a = [{}]", element.repeat(2_000_000));
        let keys = |key: fn(u32) -> String| (0..300_000).map(key).collect::<String>();
        for text in [
            keys(|i| format!("[a{i}.b.c.d.e]\n")),
            keys(|i| format!("a{i}.b.c.d.e.f = 1\n")),
            format!("a = [{}]", "{a.b.c = 1},".repeat(300_000)),
            "[[a]]\n".repeat(300_000),
            list("0,"),
            list("[],"),
            "\n".repeat(30_000_000),
        ] {
            let said = problem(&text);
            assert!(said.starts_with("x.toml: expected tables and values that take at most "), "{said}");
        }
        // None of these characters creates a table.
        for text in [format!("a = '{}'", "[.=,".repeat(2_000_000)), format!("#{}", "[.=,".repeat(2_000_000))] {
            assert_eq!(problem(&text), "");
        }
    }

    #[test]
    fn fifty_thousand_links_and_a_list_of_a_million_times_are_not_too_much() {
        let link = "[[links]]\nfrom = \"hub\"\nto = \"n10000\"\nduplex = true\nrate = \"1 Mbit/s\"\n";
        assert_eq!(check_shape("x.toml", &link.repeat(50_000)), Ok(()));
        assert_eq!(check_shape("x.toml", &format!("start = [{}]", "\"10.5 ms\", ".repeat(1_000_000))), Ok(()));
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
