//! Converts a queue discipline from `tc`'s syntax to the attributes that the kernel receives.

use super::red;
use super::table::{Argument, Form, KINDS, Kind, OURS, Value, Word, put};
use crate::ParamError;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use sojourn_units::{parse_duration, parse_rate};

/// The name of the field.
const FIELD: &str = "linux";

/// A queue discipline as the kernel receives it (rtnetlink's `TCA_KIND` and `TCA_OPTIONS`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Qdisc {
    /// Its name.
    pub kind: &'static str,
    /// Its parameters; empty if all have their defaults.
    pub options: Vec<u8>,
}

/// The names of the disciplines.
pub fn names() -> impl Iterator<Item = &'static str> {
    KINDS.iter().map(|kind| kind.name)
}

/// Names as a list in a sentence.
fn listed(names: impl Iterator<Item = &'static str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

/// The queue's table, as in a scenario, behind the name of our kernel discipline.
/// `None` if the text names another discipline.
pub(super) fn own_queue(text: &str) -> Option<&str> {
    let rest = text.trim().strip_prefix(OURS)?;
    let ends = rest.chars().next().is_none_or(char::is_whitespace);
    ends.then(|| if rest.trim().is_empty() { "{}" } else { rest.trim() })
}

impl Qdisc {
    /// Our kernel discipline, configured with this text of its queue.
    pub fn ours(text: &str) -> Qdisc {
        let mut options = Vec::new();
        put(&mut options, 1, text.as_bytes());
        Qdisc { kind: OURS, options }
    }

    /// Reads a discipline such as `pie target 15ms limit 1000`.
    ///
    /// # Errors
    /// The first unknown word, or an invalid value.
    pub fn read(text: &str) -> Result<Qdisc, ParamError> {
        let mut words = text.split_whitespace();
        let name = words.next().unwrap_or_default();
        let Some(kind) = KINDS.iter().find(|kind| kind.name == name) else {
            return Err(ParamError::new(FIELD, &format!("\"{name}\""), format!("a queue discipline of Linux: {}", listed(names()))));
        };
        if kind.form == Form::Ours {
            return Ok(Qdisc::ours(own_queue(text).unwrap_or_default()));
        }
        let mut arguments: Vec<Argument> = Vec::new();
        while let Some(text) = words.next() {
            let Some(word) = kind.words.iter().find(|word| word.word == text) else {
                let known = listed(kind.words.iter().map(|word| word.word));
                return Err(ParamError::new(FIELD, &format!("\"{text}\""), format!("a parameter of {name}: {known}")));
            };
            let is_flag = matches!(word.value, Value::Is(_)) && kind.form != Form::Attributes;
            if arguments.iter().any(|earlier| earlier.word.at == word.at && !(is_flag && earlier.word.word != text)) {
                return Err(ParamError::new(FIELD, &format!("\"{text}\" twice"), format!("each parameter of {name} once")));
            }
            arguments.push(Argument { word, value: value_of(word, &mut words)? });
        }
        Ok(Qdisc { kind: kind.name, options: kind.options(&arguments)? })
    }
}

impl Kind {
    fn options(&self, arguments: &[Argument]) -> Result<Vec<u8>, ParamError> {
        let number = |at: u16| arguments.iter().find(|one| one.word.at == at).map(|one| one.value);
        let mut bytes = Vec::new();
        match self.form {
            Form::Attributes => arguments.iter().for_each(|one| put(&mut bytes, one.word.at, &encoded(one))),
            Form::Fifo => {
                if let Some(limit) = number(0) {
                    bytes.extend_from_slice(&(limit as u32).to_ne_bytes());
                }
            }
            // tc_sfq_qopt_v1 without RED: its other 52 bytes are 0.
            Form::Sfq => {
                (0..7).for_each(|at| bytes.extend_from_slice(&(number(at).unwrap_or(0) as u32).to_ne_bytes()));
                bytes.resize(bytes.len() + 44, 0);
            }
            Form::Red | Form::Choke => {
                bytes = red::options(self.form == Form::Choke, arguments)
                    .map_err(|(got, expected)| ParamError::new(FIELD, &format!("{} with {got}", self.name), expected))?
            }
            // Made by `Qdisc::ours`.
            Form::Ours => {}
        }
        Ok(bytes)
    }
}

fn encoded(argument: &Argument) -> Vec<u8> {
    match argument.word.value {
        Value::Byte | Value::IsByte(_) => [argument.value as u8].to_vec(),
        Value::Rate64 => argument.value.to_ne_bytes().to_vec(),
        _ => (argument.value as u32).to_ne_bytes().to_vec(),
    }
}

/// The value of a word: fixed by the word itself, or the word after it.
fn value_of<'a>(word: &Word, rest: &mut impl Iterator<Item = &'a str>) -> Result<u64, ParamError> {
    let (expected, most) = match word.value {
        Value::Is(value) => return Ok(u64::from(value)),
        Value::IsByte(value) => return Ok(u64::from(value)),
        Value::Count | Value::Times256 => ("a number", u64::from(u32::MAX)),
        Value::Byte => ("a whole number up to 255", 255),
        Value::Size => ("a size such as 1514, 64k or 4m", u64::from(u32::MAX)),
        Value::Time | Value::Seconds => ("a time such as 15ms", u64::from(u32::MAX)),
        Value::Rate => ("a rate such as 10mbit", u64::from(u32::MAX)),
        Value::Rate64 => ("a rate such as 10mbit", u64::MAX),
        Value::Share => ("a share of 0 to 1", u64::from(u32::MAX)),
    };
    let text = rest.next().unwrap_or("nothing");
    let value = match word.value {
        Value::Size => size(text),
        Value::Time => parse_duration(text).ok().map(|time| time.as_nanos() / 1_000),
        Value::Seconds => parse_duration(text).ok().map(|time| time.as_nanos() / 1_000_000_000),
        Value::Rate | Value::Rate64 => rate(text),
        Value::Share => text.parse().ok().filter(|share| (0.0..=1.0).contains(share)).map(|share: f64| (share * 4_294_967_296.0) as u64),
        Value::Times256 => text.parse().ok().filter(|number| *number >= 0.0).map(|number: f64| libm::round(number * 256.0) as u64),
        _ => text.parse().ok(),
    };
    value
        .map(|value| if word.value == Value::Share { value.min(most) } else { value })
        .filter(|&value| value <= most)
        .ok_or_else(|| ParamError::new(FIELD, &format!("\"{text}\""), format!("after \"{}\" {expected}", word.word)))
}

/// A number of bytes in `tc`'s syntax.
/// `k`, `m` and `g` are powers of 1024, and may be followed by `b`.
fn size(text: &str) -> Option<u64> {
    let lower = text.to_lowercase();
    let lower = lower.strip_suffix('b').unwrap_or(&lower);
    let (number, unit) = match lower.char_indices().last()? {
        (at, 'k') => (&lower[..at], 1 << 10),
        (at, 'm') => (&lower[..at], 1 << 20),
        (at, 'g') => (&lower[..at], 1 << 30),
        _ => (lower, 1u64),
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}

/// A rate in bytes per second: `10mbit` in `tc`'s syntax, or `10Mbit/s`.
fn rate(text: &str) -> Option<u64> {
    let lower = text.to_lowercase();
    let bits = match lower.strip_suffix("bit") {
        None => parse_rate(text).ok()?.as_bps() as f64,
        Some(number) => {
            let (digits, unit) = match number.char_indices().last()? {
                (at, 'k') => (&number[..at], 1e3),
                (at, 'm') => (&number[..at], 1e6),
                (at, 'g') => (&number[..at], 1e9),
                _ => (number, 1.0),
            };
            digits.parse::<f64>().ok().filter(|bits| *bits >= 0.0)? * unit
        }
    };
    (bits < 1e18).then_some((bits / 8.0) as u64)
}

#[cfg(test)]
mod tests;
