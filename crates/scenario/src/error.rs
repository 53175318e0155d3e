//! The one message a wrong scenario gives: file, place, field, what was given, what is taken.

use std::fmt;

/// What is wrong with a scenario, a sweep or a change to one.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct Error {
    /// The file as it was named; empty if the text came from elsewhere.
    pub file: String,
    /// Line and column in that file, counted from 1, where they are known.
    pub position: Option<(usize, usize)>,
    /// The field's path, such as `links.bottleneck.queue.min`; empty for the file as a whole.
    pub field: String,
    /// What was given and what is taken.
    pub problem: String,
}

impl Error {
    /// A problem with a field, in words of its own.
    pub fn new(field: impl Into<String>, problem: impl Into<String>) -> Error {
        Error { file: String::new(), position: None, field: field.into(), problem: problem.into() }
    }

    /// The usual problem: what was given is not what is taken.
    pub fn given(field: impl Into<String>, given: impl fmt::Display, taken: impl fmt::Display) -> Error {
        Error::new(field, format!("given {given}, taken is {taken}"))
    }

    /// From what serde says of a field.
    pub(crate) fn from_serde(field: impl Into<String>, message: &str) -> Error {
        Error::new(field, humanize(message))
    }

    /// The same, said of this file.
    pub fn in_file(mut self, file: &str) -> Error {
        if self.file.is_empty() {
            self.file = file.to_string();
        }
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.is_empty() {
            write!(f, "{}:", self.file)?;
        }
        if let Some((line, column)) = self.position {
            write!(f, "{line}:{column}:")?;
        }
        if !self.file.is_empty() || self.position.is_some() {
            f.write_str(" ")?;
        }
        if !self.field.is_empty() {
            write!(f, "{}: ", self.field)?;
        }
        f.write_str(&self.problem)
    }
}

/// serde's words for a wrong value in this project's words: "given ..., taken is ...".
pub(crate) fn humanize(message: &str) -> String {
    let message = message.trim();
    if let Some(rest) = message.strip_prefix("missing field `") {
        return format!("`{}` is missing", rest.trim_end_matches('`'));
    }
    if let Some(rest) = message.strip_prefix("duplicate field `") {
        return format!("`{}` is given twice", rest.trim_end_matches('`'));
    }
    if let Some((key, taken)) = message.strip_prefix("unknown field ").and_then(|rest| rest.split_once(", ")) {
        return unknown("key ", key.trim_matches('`'), &backticked(taken));
    }
    if let Some((name, taken)) = message.strip_prefix("unknown variant ").and_then(|rest| rest.split_once(", ")) {
        return unknown("", name.trim_matches('`'), &backticked(taken));
    }
    if let Some((given, taken)) = message.strip_prefix("invalid length ").and_then(|rest| rest.split_once(", expected an array of length "))
    {
        return format!("given a list of {given}, taken is a list of {taken}");
    }
    for kind in ["invalid type: ", "invalid value: "] {
        if let Some((given, taken)) = message.strip_prefix(kind).and_then(|rest| rest.rsplit_once(", expected ")) {
            return format!("given {}, taken is {}", value_in_words(given), kind_in_words(taken));
        }
    }
    message.replace('\n', " ")
}

/// Says that a name is none of those taken, and which it may have been meant to be.
pub(crate) fn unknown<S: AsRef<str>>(what: &str, given: &str, taken: &[S]) -> String {
    let names: Vec<&str> = taken.iter().map(AsRef::as_ref).collect();
    let list = match names.len() {
        0 => "none".to_string(),
        n if n > 24 => format!("{}, ... ({n} in all)", names[..24].join(", ")),
        _ => names.join(", "),
    };
    match nearest(given, &names) {
        Some(near) => format!("given {what}\"{given}\", taken is one of {list}; did you mean \"{near}\"?"),
        None => format!("given {what}\"{given}\", taken is one of {list}"),
    }
}

/// The words between backticks.
fn backticked(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_string).collect()
}

/// A value as serde names it, as a user wrote it.
fn value_in_words(given: &str) -> String {
    for kind in ["integer `", "floating point `", "boolean `", "character `"] {
        if let Some(value) = given.strip_prefix(kind) {
            return value.trim_end_matches(" as i128").trim_end_matches(" as u128").trim_end_matches('`').to_string();
        }
    }
    match given {
        "map" => "a table".to_string(),
        "sequence" => "a list".to_string(),
        other => other.strip_prefix("string ").unwrap_or(other).to_string(),
    }
}

/// A type as serde names it, in words.
fn kind_in_words(taken: &str) -> String {
    match taken {
        "u64" | "usize" => "a whole number, zero or more".to_string(),
        "u32" => format!("a whole number, 0 to {}", u32::MAX),
        "u16" => format!("a whole number, 0 to {}", u16::MAX),
        "u8" => format!("a whole number, 0 to {}", u8::MAX),
        "i64" | "i32" => "a whole number".to_string(),
        "f64" | "f32" => "a number".to_string(),
        "a boolean" => "true or false".to_string(),
        "any valid TOML value" => format!("a whole number of at most {}", i64::MAX),
        "a sequence" => "a list".to_string(),
        "a map" => "a table".to_string(),
        "a string" | "string or map" => "text in quotes".to_string(),
        other if other.starts_with("struct ") => "a table".to_string(),
        other => other.to_string(),
    }
}

/// The name most like `given`, if one is close enough to have been meant.
fn nearest<'a>(given: &str, names: &[&'a str]) -> Option<&'a str> {
    let given = given.to_lowercase();
    if given.len() > 64 {
        return None;
    }
    let scored = names.iter().map(|&name| (edits(&given, &name.to_lowercase()), name));
    let length = given.chars().count();
    let allowed = (length / 3).clamp(1, 3).min(length.saturating_sub(1));
    scored.filter(|(distance, _)| *distance <= allowed).min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

/// The least number of insertions, deletions, replacements and swaps of neighbors from `a` to `b`.
fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut next = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let same = usize::from(a[i - 1] != b[j - 1]);
            next[j] = (row[j - 1] + same).min(row[j] + 1).min(next[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                next[j] = next[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut row, next);
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_understood() {
        assert_eq!(nearest("rat", &["rate", "delay"]), Some("rate"));
        assert_eq!(nearest("dealy", &["rate", "delay"]), Some("delay"));
        assert_eq!(nearest("bandwidth", &["rate", "delay"]), None);
        assert_eq!(nearest("", &["rate"]), None);
    }

    #[test]
    fn what_serde_says_becomes_given_and_taken() {
        assert_eq!(humanize("invalid type: integer `10`, expected a rate"), "given 10, taken is a rate");
        assert_eq!(humanize("invalid value: integer `-1`, expected u32"), "given -1, taken is a whole number, 0 to 4294967295");
        assert_eq!(humanize("invalid type: string \"x, expected y\", expected f64"), "given \"x, expected y\", taken is a number");
        assert_eq!(humanize("invalid length 1, expected an array of length 2"), "given a list of 1, taken is a list of 2");
        assert_eq!(
            humanize("invalid type: integer `99999999999999999999` as i128, expected any valid TOML value"),
            "given 99999999999999999999, taken is a whole number of at most 9223372036854775807"
        );
        assert_eq!(humanize("missing field `from`"), "`from` is missing");
        assert_eq!(
            humanize("unknown field `rat`, expected one of `rate`, `delay`"),
            "given key \"rat\", taken is one of rate, delay; did you mean \"rate\"?"
        );
    }

    #[test]
    fn the_message_names_file_place_field_and_problem() {
        let error = Error { position: Some((3, 9)), ..Error::given("links.up.rate", 10, "a rate") }.in_file("a.toml");
        assert_eq!(error.to_string(), "a.toml:3:9: links.up.rate: given 10, taken is a rate");
        assert_eq!(Error::new("", "empty").to_string(), "empty");
    }
}
