//! Sweeps: one scenario, several values for some of its fields, several seeds.

use crate::check::Checked;
use crate::document::{Document, read, syntax};
use crate::error::Error;
use crate::path;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::sync::Arc;
use toml::{Table, Value};

/// The most runs one sweep may have.
pub const MOST_RUNS: usize = 100_000;

/// A sweep file.
#[derive(Clone, PartialEq, Debug)]
pub struct Sweep {
    /// The file as messages call it.
    pub file: String,
    /// The scenario file, as named from the sweep file's folder.
    pub scenario: String,
    /// How many seeds each point of the grid is run with: seed, seed + 1, ...
    pub replications: u32,
    /// The axes of the grid; the last varies fastest.
    pub axes: Vec<Axis>,
}

/// One dimension of the grid.
#[derive(Clone, PartialEq, Debug)]
pub struct Axis {
    /// A field's path, or the name of a set of variants.
    pub name: String,
    /// What it takes, in turn.
    pub points: Vec<Point>,
}

/// One place on an axis.
#[derive(Clone, PartialEq, Debug)]
pub struct Point {
    /// What it is called in results: the field's value, or the variant's name.
    pub label: Value,
    /// The fields it sets.
    pub sets: Vec<(String, Value)>,
}

/// One run of a sweep.
#[derive(Clone, Debug)]
pub struct Run {
    /// Which point of the grid it belongs to, counted from 0.
    pub point: usize,
    /// Each axis and where on it the point lies.
    pub values: Vec<(String, Value)>,
    /// Which replication it is, counted from 0.
    pub replication: u32,
    /// Its seed.
    pub seed: u64,
    /// The scenario at this point, as a file would give it.
    pub document: Arc<Document>,
    /// The scenario at this point.
    pub scenario: Arc<Checked>,
}

/// The file as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    scenario: String,
    #[serde(default = "once")]
    replications: u32,
    #[serde(default)]
    axes: Table,
    #[serde(default)]
    variants: Table,
}

fn once() -> u32 {
    1
}

impl Sweep {
    /// Reads a sweep file; `file` is what messages call it.
    ///
    /// # Errors
    /// Text that is not TOML, unknown keys, axes that are not lists, no replication.
    pub fn from_toml(file: &str, text: &str) -> Result<Sweep, Error> {
        let table = text.parse::<Table>().map_err(|error| syntax(text, &error).in_file(file))?;
        Sweep::from_table(file, table).map_err(|error| error.in_file(file))
    }

    fn from_table(file: &str, table: Table) -> Result<Sweep, Error> {
        let Written { scenario, replications, axes, variants } = read(&table)?;
        if replications == 0 {
            return Err(Error::got("replications", 0, "a whole number above zero"));
        }
        let variants = variants.into_iter().map(|(name, value)| variant_axis(name, value));
        let axes = variants.chain(axes.into_iter().map(|(name, value)| value_axis(name, value))).collect::<Result<Vec<_>, _>>()?;
        apart(&axes)?;
        let runs = axes.iter().try_fold(replications as usize, |runs, axis| runs.checked_mul(axis.points.len()));
        if runs.is_none_or(|runs| runs > MOST_RUNS) {
            return Err(Error::new("axes", format!("expected a grid of at most {MOST_RUNS} runs, replications included, got more")));
        }
        Ok(Sweep { file: file.to_string(), scenario, replications, axes })
    }

    /// Every run of the grid on this scenario, in order: the last axis varies fastest, replications faster still.
    ///
    /// # Errors
    /// A path that leads nowhere, or a point at which the scenario is wrong: the message says which.
    pub fn expand(&self, base: &Document) -> Result<Vec<Run>, Error> {
        let points = self.axes.iter().map(|axis| axis.points.len()).product();
        let mut runs = Vec::with_capacity(points * self.replications as usize);
        for point in 0..points {
            let (mut document, mut values, mut rest) = (base.clone(), Vec::new(), point);
            let mut chosen: Vec<(&Axis, &Point)> = Vec::new();
            for axis in self.axes.iter().rev() {
                chosen.push((axis, &axis.points[rest % axis.points.len()]));
                rest /= axis.points.len();
            }
            for (axis, point) in chosen.into_iter().rev() {
                for (path, value) in &point.sets {
                    document.set(path, value.clone()).map_err(|error| Error { file: self.file.clone(), ..error })?;
                }
                values.push((axis.name.clone(), point.label.clone()));
            }
            let checked = document.check().map_err(|error| at_point(error, &values))?;
            let (document, scenario) = (Arc::new(document), Arc::new(checked));
            for replication in 0..self.replications {
                let seed = scenario.seed.saturating_add(u64::from(replication));
                let (values, document, scenario) = (values.clone(), Arc::clone(&document), Arc::clone(&scenario));
                runs.push(Run { point, values, replication, seed, document, scenario });
            }
        }
        Ok(runs)
    }
}

/// Refuses axes of which one would undo what the other set.
fn apart(axes: &[Axis]) -> Result<(), Error> {
    let mut seen: Vec<(&str, Vec<path::Step>, usize)> = Vec::new();
    for (i, axis) in axes.iter().enumerate() {
        for (path, _) in axis.points.iter().flat_map(|point| &point.sets) {
            let steps = path::parse(path).map_err(|error| Error { field: axis.name.clone(), ..error })?;
            let clash = seen.iter().find(|(_, other, j)| *j != i && (other.starts_with(&steps) || steps.starts_with(other)));
            if let Some((other, ..)) = clash {
                return Err(Error::new("axes", format!("expected each field on one axis only, got {other} and {path}")));
            }
            if !seen.iter().any(|(other, _, j)| *other == path && *j == i) {
                seen.push((path, steps, i));
            }
        }
    }
    Ok(())
}

/// A wrong scenario at one point of a grid.
fn at_point(mut error: Error, values: &[(String, Value)]) -> Error {
    if !values.is_empty() {
        let list: Vec<String> = values.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        let _ = write!(error.problem, " (in the run with {})", list.join(", "));
    }
    error
}

/// An axis whose points are values of one field.
fn value_axis(name: String, values: Value) -> Result<Axis, Error> {
    let field = format!("axes.{}", path::element(&name));
    path::parse(&name).map_err(|error| Error { field: field.clone(), ..error })?;
    match values {
        Value::Array(values) if !values.is_empty() => {
            let point = |value: Value| Point { label: value.clone(), sets: vec![(name.clone(), value)] };
            Ok(Axis { points: values.into_iter().map(point).collect(), name })
        }
        other => Err(Error::got(field, other, "a list of at least one value")),
    }
}

/// An axis whose points are named sets of fields.
fn variant_axis(name: String, variants: Value) -> Result<Axis, Error> {
    let field = format!("variants.{}", path::element(&name));
    let Value::Table(variants) = variants else {
        return Err(Error::got(field, variants, "a table of variants, each a table of fields by path"));
    };
    if variants.is_empty() {
        return Err(Error::got(field, "no variant", "at least one"));
    }
    let point = |(label, sets): (String, Value)| match sets {
        Value::Table(sets) => Ok(Point { label: Value::String(label), sets: sets.into_iter().collect() }),
        other => Err(Error::got(format!("{field}.{}", path::element(&label)), other, "a table of fields by path")),
    };
    let points = variants.into_iter().map(point).collect::<Result<_, _>>()?;
    Ok(Axis { name, points })
}

impl Checked {
    /// A run's key in a cache: the same exactly where scenario, seed and engine are. 64 hexadecimal digits.
    ///
    /// The scenario counts as checked: with defaults filled in, and however its quantities were written.
    pub fn key(&self, seed: u64, engine: &str) -> String {
        let mut scenario = serde_json::to_value(self).expect("every map in a checked scenario has text for its keys");
        if let Some(object) = scenario.as_object_mut() {
            object.remove("seed");
        }
        let mut text = String::new();
        canonical(&serde_json::json!({ "engine": engine, "scenario": scenario, "seed": seed }), &mut text);
        Sha256::digest(text.as_bytes()).iter().fold(String::with_capacity(64), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }
}

/// JSON without spaces and with keys in order.
fn canonical(value: &serde_json::Value, text: &mut String) {
    match value {
        serde_json::Value::Array(list) => {
            text.push('[');
            for (i, value) in list.iter().enumerate() {
                text.push_str(if i > 0 { "," } else { "" });
                canonical(value, text);
            }
            text.push(']');
        }
        serde_json::Value::Object(object) => {
            let mut keys: Vec<&String> = object.keys().collect();
            keys.sort();
            text.push('{');
            for (i, key) in keys.into_iter().enumerate() {
                text.push_str(if i > 0 { "," } else { "" });
                let _ = write!(text, "{}:", serde_json::Value::String(key.clone()));
                canonical(&object[key], text);
            }
            text.push('}');
        }
        other => {
            let _ = write!(text, "{other}");
        }
    }
}
