//! A scenario file: its text, its table, and the parsed scenario.

use crate::check::{self, Checked};
use crate::error::{Error, humanize};
use crate::lints::{self, Lint};
use crate::missing;
use crate::path::{self, Step};
use crate::syntax::{self, line_and_column};
use crate::written::{Queue, Scenario};
use serde::de::DeserializeOwned;
use sojourn_spec::written::Written;
use std::sync::Arc;
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

/// A scenario file: its text, if any, and its table. Fields can be set by path.
#[derive(Clone, Debug)]
pub struct Document {
    file: String,
    text: Option<Arc<str>>,
    table: Table,
    changed: Vec<Vec<Step>>,
}

impl Document {
    /// Parses TOML.
    /// `file` is its name in messages and, without its suffix, the default name of the scenario.
    ///
    /// # Errors
    /// The text is not TOML. The error has line and column.
    pub fn from_toml(file: &str, text: &str) -> Result<Document, Error> {
        let table = syntax::parse(file, text)?;
        Ok(Document { file: file.to_string(), text: Some(Arc::from(text)), table, changed: Vec::new() })
    }

    /// Parses a text that a program made, in JSON or TOML.
    /// JSON starts with a brace, and no TOML does.
    ///
    /// # Errors
    /// As [`Document::from_json`] and [`Document::from_toml`].
    pub fn from_text(file: &str, text: &str) -> Result<Document, Error> {
        if text.starts_with('{') { Document::from_json(file, text) } else { Document::from_toml(file, text) }
    }

    /// Creates a document from a table.
    pub fn from_table(file: &str, table: Table) -> Document {
        Document { file: file.to_string(), text: None, table, changed: Vec::new() }
    }

    /// Parses the same structure from JSON. A null key counts as absent.
    ///
    /// # Errors
    /// The text is not a JSON object, or a list contains null.
    pub fn from_json(file: &str, text: &str) -> Result<Document, Error> {
        let wrong = |error: serde_json::Error| {
            let position = (error.line() > 0).then(|| (error.line(), error.column()));
            Error { position, ..Error::new("", humanize(&error.to_string())) }.in_file(file)
        };
        if let Ok(table) = serde_json::from_str(text) {
            return Ok(Document::from_table(file, table));
        }

        // TOML has no null, so a text with one is read into JSON values first. They lose the order of the keys.
        let mut json: serde_json::Value = serde_json::from_str(text).map_err(wrong)?;
        without_null(&mut json, "").map_err(|error| error.in_file(file))?;
        Ok(Document::from_table(file, serde_json::from_value(json).map_err(wrong)?))
    }

    /// Its name in messages.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The table, with the fields that were set.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Sets the field at `path`, as [`crate::set_path`] does.
    ///
    /// # Errors
    /// The path does not exist.
    pub fn set(&mut self, path: &str, value: Value) -> Result<(), Error> {
        path::set_path(&mut self.table, path, value).map_err(|error| error.in_file(&self.file))?;
        self.changed.push(path::parse(path)?);
        Ok(())
    }

    /// Parses the scenario. Every key is known, and every value has the right type.
    ///
    /// # Errors
    /// The first unknown key or wrong type.
    pub fn written(&self) -> Result<Scenario, Error> {
        read(&self.table).map_err(|error| self.locate(Kind::Scenario.instead(&self.file, &self.table).unwrap_or(error)))
    }

    /// Parses the whole table as the queue of a link: discipline, parameters, limit and marking.
    ///
    /// # Errors
    /// The first unknown key or wrong type.
    pub fn queue(&self) -> Result<Queue, Error> {
        read(&self.table).map_err(|error| self.locate(error))
    }

    /// Checks the scenario.
    ///
    /// # Errors
    /// The first error.
    pub fn check(&self) -> Result<Checked, Error> {
        self.checked(&self.written()?)
    }

    /// Checks what [`Document::written`] gave.
    fn checked(&self, written: &Scenario) -> Result<Checked, Error> {
        let stem = std::path::Path::new(&self.file).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let stem = stem.filter(|stem| !stem.is_empty()).unwrap_or_else(|| "scenario".to_string());
        let folder = std::path::Path::new(&self.file).parent().unwrap_or(std::path::Path::new(""));
        check::check(written, &stem, folder).map_err(|error| self.locate(error))
    }

    /// Checks the scenario for a caller that supplies exactly these laws.
    ///
    /// # Errors
    /// The first error, or a queue with another law.
    pub fn check_with_laws(&self, laws: &[&str]) -> Result<Checked, Error> {
        let checked = self.check()?;
        checked.check_laws(laws).map_err(|error| self.locate(error))?;
        Ok(checked)
    }

    /// The warnings about the scenario: settings of a valid scenario that have no effect.
    ///
    /// # Errors
    /// The first error of a scenario that is not valid.
    pub fn lints(&self) -> Result<Vec<Lint>, Error> {
        self.check_with_lints().map(|(_, lints)| lints)
    }

    /// Checks the scenario, and returns the warnings about it too.
    ///
    /// # Errors
    /// The first error.
    pub fn check_with_lints(&self) -> Result<(Checked, Vec<Lint>), Error> {
        let written = self.written()?;
        let checked = self.checked(&written)?;
        let lints = lints::lints(&written, &checked);
        Ok((checked, lints))
    }

    /// Adds the file to an error. Adds line and column unless the field was set after parsing.
    fn locate(&self, error: Error) -> Error {
        let error = error.in_file(&self.file);
        let (known, _) = place_of(&self.table, &error);
        let changed = self.changed.iter().filter_map(|steps| path::concrete(&self.table, steps)).any(|steps| known.starts_with(&steps));
        match &self.text {
            Some(text) if !changed => placed(error, text, &self.table),
            _ => error,
        }
    }
}

/// The deepest existing part of the error's path.
/// Also returns whether the error is at its key instead of its value.
fn place_of(table: &Table, error: &Error) -> (Vec<Step>, bool) {
    let steps = path::parse(&error.field).unwrap_or_default();
    let of_key = error.key.iter().find_map(|key| path::concrete(table, &[&steps[..], &[Step::Key(key.clone())]].concat()));
    let deepest = || (0..=steps.len()).rev().find_map(|n| path::concrete(table, &steps[..n])).unwrap_or_default();
    of_key.map_or_else(|| (deepest(), false), |found| (found, true))
}

/// The steps from `path` to the error, and whether it is at a key.
/// `None` if the error is elsewhere.
pub(crate) fn below(document: &Document, error: &Error, path: &str) -> Option<(Vec<Step>, bool)> {
    let set = path::concrete(&document.table, &path::parse(path).ok()?)?;
    let (known, of_key) = place_of(&document.table, error);
    known.strip_prefix(&set[..]).map(|rest| (rest.to_vec(), of_key))
}

/// Adds line and column of the error's field in `text`, unless it has them.
/// `table` is the parsed `text`.
pub(crate) fn placed(error: Error, text: &str, table: &Table) -> Error {
    let (steps, of_key) = place_of(table, &error);
    Error { position: error.position.or_else(|| position_of(text, &steps, of_key)), ..error }
}

/// Removes null keys. A list element can't be absent, so null in a list is an error.
fn without_null(json: &mut serde_json::Value, at: &str) -> Result<(), Error> {
    match json {
        serde_json::Value::Array(list) => list.iter_mut().enumerate().try_for_each(|(i, value)| {
            let at = format!("{at}[{i}]");
            if value.is_null() { Err(Error::new(at, "expected a value, got null")) } else { without_null(value, &at) }
        }),
        serde_json::Value::Object(object) => {
            object.retain(|_, value| !value.is_null());
            let dot = if at.is_empty() { "" } else { "." };
            object.iter_mut().try_for_each(|(key, value)| without_null(value, &format!("{at}{dot}{key}")))
        }
        _ => Ok(()),
    }
}

/// Deserializes a value from a table. The field in an error is a path with names.
pub(crate) fn read<T: DeserializeOwned>(table: &Table) -> Result<T, Error> {
    match attempt(table) {
        Ok(read) => Ok(read),
        Err(rejected) => Err(named(table, missing::all_of(table, rejected, &|table| attempt::<T>(table).err()))),
    }
}

/// The value, or the steps to the error and its message.
fn attempt<T: DeserializeOwned>(table: &Table) -> Result<T, (Vec<Step>, String)> {
    T::deserialize(Written(Value::Table(table.clone()))).map_err(|rejected| {
        let (mut steps, message) = rejected.into_parts();
        let (inner, message) = split(&message);
        steps.extend(inner);
        (steps, message)
    })
}

/// The error with its path as names.
fn named(table: &Table, (steps, message): (Vec<Step>, String)) -> Error {
    Error::from_serde(path::by_name(table, &steps), &message)
}

/// Splits an error inside a tagged table, "in `path`: message", into path and message.
/// See `sojourn_spec::tagged`.
fn split(message: &str) -> (Vec<Step>, String) {
    let mut steps = Vec::new();
    let mut rest = message;
    while let Some((path, message)) = rest.strip_prefix("in `").and_then(|inner| inner.split_once("`: ")) {
        match path::parse(path) {
            Ok(inner) => steps.extend(inner),
            Err(_) => break,
        }
        rest = message;
    }
    (steps, rest.to_string())
}

/// Line and column of the value at these steps, or with `of_key` of the last key.
pub(crate) fn position_of(text: &str, steps: &[Step], of_key: bool) -> Option<(usize, usize)> {
    let root = DeTable::parse(text).ok()?;
    let root = Spanned::new(root.span(), DeValue::Table(root.into_inner()));
    let (mut here, mut start) = (&root, None);
    for step in steps {
        let (at, value) = match (here.get_ref(), step) {
            (DeValue::Table(inner), Step::Key(name)) => {
                let (key, value) = inner.iter().find(|(key, _)| key.get_ref() == name.as_str())?;
                (Some(if of_key { key.span() } else { value.span() }.start), value)
            }
            (DeValue::Array(list), Step::Index(i)) => {
                list.get(*i).map(|value| (if of_key { start } else { Some(value.span().start) }, value))?
            }
            _ => return None,
        };
        (start, here) = (at, value);
    }
    start.map(|start| line_and_column(text, start))
}

/// The kinds of TOML files that a user may confuse.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Scenario,
    Sweep,
    Paper,
}

impl Kind {
    /// The kind of a table, judged by its keys.
    pub(crate) fn of(table: &Table) -> Option<Kind> {
        let has = |keys: &[&str]| keys.iter().any(|key| table.contains_key(*key));
        match () {
            () if has(&["links", "duration"]) => Some(Kind::Scenario),
            () if has(&["scenario", "axes", "variants"]) => Some(Kind::Sweep),
            () if has(&["experiments", "claims", "deviations"]) => Some(Kind::Paper),
            () => None,
        }
    }

    /// The error for an empty file, or for a file of another kind.
    pub(crate) fn instead(self, file: &str, table: &Table) -> Option<Error> {
        let wanted = match self {
            Kind::Scenario => "a scenario with `duration` and `links`",
            Kind::Sweep => "a sweep with `scenario` and `axes`",
            Kind::Paper => "a paper",
        };
        let got = match Kind::of(table) {
            _ if table.is_empty() => "nothing".to_string(),
            Some(kind) if kind == self => return None,
            Some(Kind::Scenario) => format!("a scenario: `sojourn run {file}` runs it"),
            Some(Kind::Sweep) => format!("a sweep: `sojourn sweep {file}` runs it"),
            Some(Kind::Paper) => "a file of a paper: `sojourn reproduce` takes its folder".to_string(),
            None => return None,
        };
        Some(Error::got("", got, wanted))
    }
}
