//! Errors of scenarios and sweeps: `FILE:LINE:COL: FIELD: expected WHAT, got VALUE`.

use crate::{not_yet, slips};
use sojourn_units::ParamError;
use std::fmt;

/// An error of a scenario, a sweep or a change of a scenario.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct Error {
    /// The file as named by the user; empty for text from elsewhere.
    pub file: String,
    /// Line and column in the file, counted from 1, if known.
    pub position: Option<(usize, usize)>,
    /// The field's path, such as `links.bottleneck.queue.min`; empty for the file as a whole.
    pub field: String,
    /// The invalid key in the table at `field`, if the key is the error and not its value.
    pub key: Option<String>,
    /// The message: expectation and value.
    pub problem: String,
}

impl Error {
    /// An error of a field with a free-form message.
    pub fn new(field: impl Into<String>, problem: impl Into<String>) -> Error {
        Error { file: String::new(), position: None, field: field.into(), key: None, problem: problem.into() }
    }

    /// An error of a field with an unexpected value. `expected` is a noun phrase.
    pub fn got(field: impl Into<String>, got: impl fmt::Display, expected: impl fmt::Display) -> Error {
        Error::new(field, format!("expected {expected}, got {}", short(&got.to_string())))
    }

    /// The error of a parameter in the table at `table` that is out of range.
    pub fn parameter(table: &str, error: ParamError) -> Error {
        Error::got(format!("{table}.{}", error.field), error.got, error.expected)
    }

    /// An error from a message of serde.
    pub(crate) fn from_serde(field: impl Into<String>, message: &str) -> Error {
        let key = message.strip_prefix("unknown field `").and_then(|rest| rest.split_once('`'));
        Error { key: key.map(|(key, _)| key.to_string()), ..Error::new(field, humanize(message)) }
    }

    /// The error of a file that a field names.
    /// An error within the file keeps its position; otherwise the error is at the field.
    pub(crate) fn of_file_in(self, field: String, file: &str) -> Error {
        match self.position {
            Some(_) => self,
            None => Error::new(field, format!("{} in \"{file}\"", self.problem)),
        }
    }

    /// The same error with `file` as its file.
    pub fn in_file(mut self, file: &str) -> Error {
        if self.file.is_empty() {
            self.file = file.to_string();
        }
        self
    }
}

impl From<ParamError> for Error {
    fn from(error: ParamError) -> Error {
        Error::got(error.field, error.got, error.expected)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.is_empty() {
            write!(f, "{}:", OneLine(&self.file, LONGEST_PLACE))?;
        }
        if let Some((line, column)) = self.position {
            write!(f, "{line}:{column}:")?;
        }
        if !self.file.is_empty() || self.position.is_some() {
            f.write_str(" ")?;
        }
        if !self.field.is_empty() {
            write!(f, "{}: ", OneLine(&self.field, LONGEST_PLACE))?;
        }
        write!(f, "{}", OneLine(&self.problem, LONGEST_PROBLEM))
    }
}

/// Maximum lengths in characters: of a value, a file name or a field, and the message text.
const LONGEST_VALUE: usize = 200;
const LONGEST_PLACE: usize = 500;
const LONGEST_PROBLEM: usize = 2000;

/// A value for a message; a long one is truncated.
fn short(got: &str) -> String {
    OneLine(got, LONGEST_VALUE).cut().map_or_else(|| got.to_string(), |(shown, all)| format!("{shown}... ({all} characters)"))
}

/// A text in one line: special characters are escaped, and a long text is truncated.
struct OneLine<'a>(&'a str, usize);

impl<'a> OneLine<'a> {
    /// The visible beginning of a long text, and its length in characters.
    fn cut(&self) -> Option<(&'a str, usize)> {
        self.0.char_indices().nth(self.1).map(|(end, _)| (&self.0[..end], self.0.chars().count()))
    }
}

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cut = self.cut();
        let shown = cut.map_or(self.0, |(shown, _)| shown);
        shown.chars().try_for_each(|c| if is_shown(c) { write!(f, "{c}") } else { write!(f, "{}", c.escape_default()) })?;
        cut.map_or(Ok(()), |(_, all)| write!(f, "... ({all} characters)"))
    }
}

/// A text in one line: characters that [`is_shown`] rejects are escaped.
pub fn one_line(text: &str) -> String {
    OneLine(text, usize::MAX).to_string()
}

/// Whether a character is shown unescaped.
/// Control characters, line separators, bidirectional marks and invisible format characters are escaped (Unicode categories Cc, Zl, Zp and
/// Cf). Joiners are shown, because scripts and emoji need them.
pub fn is_shown(c: char) -> bool {
    let hidden = matches!(
        c,
        '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'
            | '\u{200e}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0001}'..='\u{e007f}'
    );
    !(hidden || c.is_control())
}

/// Converts serde's message for a wrong value into the form "expected ..., got ...".
/// A quantity in another notation is followed by the form that scenarios use.
pub(crate) fn humanize(message: &str) -> String {
    let said = in_words(message);
    let parts = said.strip_prefix("expected ").and_then(|rest| rest.rsplit_once(", got \""));
    match parts.and_then(|(expected, got)| slips::meant(expected, got.strip_suffix('"')?)) {
        Some(meant) => format!("{said}; did you mean {meant}?"),
        None => said,
    }
}

/// The message in the form "expected ..., got ...".
fn in_words(message: &str) -> String {
    let message = message.trim();
    if let Some(rest) = message.strip_prefix("missing field `") {
        return match backticked(&format!("`{rest}")).as_slice() {
            [key] => format!("expected a key `{key}`, got none"),
            keys => format!("expected keys `{}`, got none", keys.join("`, `")),
        };
    }
    if let Some((key, names)) = message.strip_prefix("missing key `").and_then(|rest| rest.split_once("`, ")) {
        return format!("expected a key `{key}` with one of {}, got none", backticked(names).join(", "));
    }
    if let Some(rest) = message.strip_prefix("duplicate field `") {
        return format!("expected `{}` once, got it twice", rest.trim_end_matches('`'));
    }
    if let Some((key, known)) = message.strip_prefix("unknown field ").and_then(|rest| rest.split_once(", ")) {
        return unknown("key ", key.trim_matches('`'), &backticked(known));
    }
    if let Some((name, known)) = unknown_name(message) {
        return unknown("", name.trim_matches('`'), &backticked(known));
    }
    if let Some((got, expected)) =
        message.strip_prefix("invalid length ").and_then(|rest| rest.split_once(", expected an array of length "))
    {
        return format!("expected a list of {expected}, got a list of {got}");
    }
    for kind in ["invalid type: ", "invalid value: "] {
        if let Some((got, expected)) = message.strip_prefix(kind).and_then(|rest| rest.rsplit_once(", expected ")) {
            return format!("expected {}, got {}", kind_in_words(expected, got), short(&value_in_words(got)));
        }
    }
    message.replace('\n', " ")
}

/// The message for an unknown name.
/// It suggests a similar name, or states the alternative to a feature that does not exist yet.
pub(crate) fn unknown<S: AsRef<str>>(what: &str, got: &str, known: &[S]) -> String {
    let names: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
    let problem = format!("expected {}, got {what}\"{}\"", one_of(&names), short(got));
    let meant = |name: &str| format!("{problem}; did you mean \"{name}\"?");
    if let Some(near) = nearest(got, &names) {
        return meant(near);
    }
    if let Some(instead) = not_yet::instead_of(got) {
        return format!("{problem}; {instead}");
    }
    abbreviated(got, &names).map_or_else(|| problem.clone(), meant)
}

/// The possible names as a noun phrase; a long list is truncated.
pub(crate) fn one_of(names: &[&str]) -> String {
    match names.len() {
        0 => "nothing".to_string(),
        n if n > 24 => format!("one of {n} names, such as {}", names[..24].join(", ")),
        _ => format!("one of {}", names.join(", ")),
    }
}

/// The unknown name of a serde message, and its list of known names.
fn unknown_name(message: &str) -> Option<(&str, &str)> {
    message.strip_prefix("unknown variant ").and_then(|rest| rest.split_once(", "))
}

/// The words between backticks.
fn backticked(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_string).collect()
}

/// The value in a serde message, in the user's notation.
fn value_in_words(got: &str) -> String {
    for kind in ["integer `", "floating point `", "boolean `", "character `"] {
        if let Some(value) = got.strip_prefix(kind) {
            return value.trim_end_matches(" as i128").trim_end_matches(" as u128").trim_end_matches('`').to_string();
        }
    }
    match got {
        "map" => "a table".to_string(),
        "sequence" => "a list".to_string(),
        other => other.strip_prefix("string ").unwrap_or(other).to_string(),
    }
}

/// The type in a serde message as text, with the bound that the value violates.
/// The field's own range may be narrower.
fn kind_in_words(expected: &str, got: &str) -> String {
    let whole = |largest: u64| match got.strip_prefix("integer `") {
        Some(negative) if negative.starts_with('-') => "a whole number, zero or more".to_string(),
        Some(_) => format!("a whole number of at most {largest}"),
        None => "a whole number".to_string(),
    };
    match expected {
        "u64" | "usize" => "a whole number, zero or more".to_string(),
        "u32" => whole(u32::MAX.into()),
        "u16" => whole(u16::MAX.into()),
        "u8" => whole(u8::MAX.into()),
        "i64" | "i32" => "a whole number".to_string(),
        "f64" | "f32" => "a number".to_string(),
        "a boolean" => "true or false".to_string(),
        "any valid TOML value" => format!("a whole number of at most {}", i64::MAX),
        "a sequence" => "a list".to_string(),
        "a map" => "a table".to_string(),
        "a string" => "text in quotes".to_string(),
        other if other.starts_with("struct ") => "a table".to_string(),
        other => names_in_words(other).unwrap_or_else(|| other.replace("an array of length ", "a list of ")),
    }
}

/// The type in a serde message that ends in a list of names, as text.
fn names_in_words(expected: &str) -> Option<String> {
    let (before, names) = expected.split_once("one of `")?;
    let names = backticked(&format!("`{names}"));
    Some(format!("{before}{}", one_of(&names.iter().map(String::as_str).collect::<Vec<_>>())))
}

/// The name most similar to `got`.
/// They differ by at most one edit per three letters.
fn nearest<'a>(got: &str, names: &[&'a str]) -> Option<&'a str> {
    let got = got.to_lowercase();
    let length = got.chars().count();
    if length > 64 {
        return None;
    }
    let scored = names.iter().map(|&name| (strsim::osa_distance(&got, &name.to_lowercase()), name));
    let allowed = (length / 3).clamp(1, 3).min(length.saturating_sub(1));
    scored.filter(|(distance, _)| *distance <= allowed).min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

/// The shortest name that `got` abbreviates: `target` for `tgt`.
/// Both have the same first letter.
fn abbreviated<'a>(got: &str, names: &[&'a str]) -> Option<&'a str> {
    let got = got.to_lowercase();
    let in_order = |name: &str| {
        let mut letters = name.chars();
        got.chars().next() == name.chars().next() && got.chars().all(|letter| letters.any(|other| other == letter))
    };
    names.iter().copied().filter(|name| got.chars().count() >= 3 && in_order(name)).min_by_key(|name| name.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_similar_name_is_found() {
        assert_eq!(nearest("rat", &["rate", "delay"]), Some("rate"));
        assert_eq!(nearest("dealy", &["rate", "delay"]), Some("delay"));
        assert_eq!(nearest("bandwidth", &["rate", "delay"]), None);
        assert_eq!(nearest("", &["rate"]), None);
    }

    #[test]
    fn an_abbreviation_is_found_by_its_letters() {
        let names = ["interval", "target", "target_delay", "limit"];
        assert_eq!(abbreviated("tgt", &names), Some("target"));
        assert_eq!(abbreviated("intvl", &names), Some("interval"));
        assert_eq!(abbreviated("tg", &names), None, "two letters say little");
        assert_eq!(abbreviated("get", &names), None, "it begins with another letter");
    }

    #[test]
    fn messages_of_serde_become_expected_and_got() {
        assert_eq!(humanize("invalid type: integer `10`, expected a rate"), "expected a rate, got 10");
        assert_eq!(humanize("invalid value: integer `-1`, expected u32"), "expected a whole number, zero or more, got -1");
        assert_eq!(humanize("invalid value: integer `70000`, expected u16"), "expected a whole number of at most 65535, got 70000");
        assert_eq!(humanize("invalid type: floating point `1.5`, expected u32"), "expected a whole number, got 1.5");
        assert_eq!(humanize("invalid type: string \"x, expected y\", expected f64"), "expected a number, got \"x, expected y\"");
        assert_eq!(humanize("invalid length 1, expected an array of length 2"), "expected a list of 2, got a list of 1");
        assert_eq!(
            humanize("invalid type: integer `99999999999999999999` as i128, expected any valid TOML value"),
            "expected a whole number of at most 9223372036854775807, got 99999999999999999999"
        );
        assert_eq!(humanize("missing field `from`"), "expected a key `from`, got none");
        assert_eq!(humanize("missing field `from`, `to`"), "expected keys `from`, `to`, got none");
        assert_eq!(
            humanize("unknown field `rat`, expected one of `rate`, `delay`"),
            "expected one of rate, delay, got key \"rat\"; did you mean \"rate\"?"
        );
        assert_eq!(humanize("invalid type: string \"1 %\", expected f64"), "expected a number, got \"1 %\"; did you mean 0.01?");
        assert_eq!(humanize("missing key `kind`, expected one of `a`, `b`"), "expected a key `kind` with one of a, b, got none");
    }

    #[test]
    fn a_message_is_one_line_in_the_order_that_it_is_written_in() {
        let error = Error::got("a\u{2028}b", "\u{202e}5 Mbit/s\u{85}", "a rate").in_file("x\ny\u{2066}.toml");
        assert_eq!(error.to_string(), r"x\ny\u{2066}.toml: a\u{2028}b: expected a rate, got \u{202e}5 Mbit/s\u{85}");
    }

    #[test]
    fn letters_of_all_scripts_and_joined_emoji_stand_for_themselves() {
        let text = "größe, 帯域, عرض, می‌شود, 👩‍💻, e\u{301}";
        assert_eq!(one_line(text), text);
    }

    #[test]
    fn the_message_names_file_place_field_and_problem() {
        let error = Error { position: Some((3, 9)), ..Error::got("links.up.rate", 10, "a rate") }.in_file("a.toml");
        assert_eq!(error.to_string(), "a.toml:3:9: links.up.rate: expected a rate, got 10");
        assert_eq!(Error::new("", "empty").to_string(), "empty");
    }
}
