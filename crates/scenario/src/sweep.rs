//! Sweeps: runs of a scenario with several values for some fields, and several seeds.

use crate::check::Checked;
use crate::document::{Document, Kind, below, placed, position_of, read};
use crate::error::Error;
use crate::path::{self, Step};
use crate::syntax;
use serde::Deserialize;
use std::fmt::Write;
use std::sync::Arc;
use toml::{Table, Value};

/// The maximum number of runs of one sweep.
pub const MOST_RUNS: usize = 100_000;

/// A sweep file.
#[derive(Clone, PartialEq, Debug)]
pub struct Sweep {
    /// The file's name in messages.
    pub file: String,
    /// The text, to locate errors; `None` for a sweep that a program made.
    text: Option<Arc<str>>,
    /// The scenario file, relative to the folder of the sweep file.
    pub scenario: String,
    /// The number of runs of each point of the grid, with seed, seed + 1, ...
    pub replications: u32,
    /// The axes of the grid. The last one varies fastest.
    pub axes: Vec<Axis>,
}

/// One dimension of the grid.
#[derive(Clone, PartialEq, Debug)]
pub struct Axis {
    /// A field's path, or the name of a set of variants.
    pub name: String,
    /// The values in order.
    pub points: Vec<Point>,
}

/// One value on an axis.
#[derive(Clone, PartialEq, Debug)]
pub struct Point {
    /// The label in results: the field's value, or the variant's name.
    pub label: Value,
    /// The fields that it sets, by path.
    pub sets: Vec<(String, Value)>,
    /// The position in the file.
    place: Vec<Step>,
}

impl Point {
    /// The position in the file of the value for the field at `path`.
    /// It is the value of an axis, or the field of a variant.
    fn place_of(&self, path: &str) -> Vec<Step> {
        let key = matches!(self.place.last(), Some(Step::Key(_))).then(|| Step::Key(path.to_string()));
        self.place.iter().cloned().chain(key).collect()
    }
}

/// One run of a sweep.
#[derive(Clone, Debug)]
pub struct Run {
    /// The point of the grid, counted from 0.
    pub point: usize,
    /// The axes with the label of the point on each.
    pub values: Vec<(String, Value)>,
    /// The replication, counted from 0.
    pub replication: u32,
    /// The seed of the run.
    pub seed: u64,
    /// The scenario at this point as a document.
    pub document: Arc<Document>,
    /// The checked scenario at this point.
    pub scenario: Arc<Checked>,
}

/// The contents of the file.
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
    /// Parses a sweep file. `file` is its name in messages.
    ///
    /// # Errors
    /// The text is not TOML, has unknown keys, has axes that are not lists, or has no replication.
    pub fn from_toml(file: &str, text: &str) -> Result<Sweep, Error> {
        let table = syntax::parse(file, text)?;
        let sweep = Sweep::from_table(file, &table).map_err(|error| placed(error.in_file(file), text, &table))?;
        Ok(Sweep { text: Some(Arc::from(text)), ..sweep })
    }

    /// Parses a text that a program made, as [`Document::from_text`] does.
    ///
    /// # Errors
    /// The text is no table, has unknown keys, has axes that are not lists, or has no replication.
    pub fn from_text(file: &str, text: &str) -> Result<Sweep, Error> {
        if !text.starts_with('{') {
            return Sweep::from_toml(file, text);
        }
        let document = Document::from_json(file, text)?;
        Sweep::from_table(file, document.table()).map_err(|error| error.in_file(file))
    }

    fn from_table(file: &str, table: &Table) -> Result<Sweep, Error> {
        let written = read(table).map_err(|error| Kind::Sweep.instead(file, table).unwrap_or(error))?;
        let Written { scenario, replications, axes, variants } = written;
        if replications == 0 {
            return Err(Error::got("replications", 0, "a whole number above zero"));
        }
        let variants = variants.into_iter().map(|(name, value)| variant_axis(name, value));
        let axes = variants.chain(axes.into_iter().map(|(name, value)| value_axis(name, value))).collect::<Result<Vec<_>, _>>()?;
        let runs = axes.iter().try_fold(replications as usize, |runs, axis| runs.checked_mul(axis.points.len()));
        if runs.is_none_or(|runs| runs > MOST_RUNS) {
            return Err(Error::new("axes", format!("expected a grid of at most {MOST_RUNS} runs, replications included, got more")));
        }
        Ok(Sweep { file: file.to_string(), text: None, scenario, replications, axes })
    }

    /// Whether a text is meant as a sweep file, valid or not, judged by its keys.
    pub fn is_meant_by(text: &str) -> bool {
        Document::from_text("", text).is_ok_and(|document| Kind::of(document.table()) == Some(Kind::Sweep))
    }

    /// The number of points of the grid.
    pub fn points(&self) -> usize {
        self.axes.iter().map(|axis| axis.points.len()).product()
    }

    /// The first run of a grid point on this scenario.
    /// Points are counted from 0 and created on demand, so a large grid uses no memory.
    ///
    /// # Errors
    /// A path does not exist, a field is on two axes, or the scenario is invalid at this point. The message names the point.
    pub fn point(&self, base: &Document, point: usize) -> Result<Run, Error> {
        let (mut document, chosen) = (base.clone(), self.chosen(point));
        let values: Vec<_> = chosen.iter().map(|(axis, point)| (axis.name.clone(), point.label.clone())).collect();
        let mut set_before: Vec<(&Axis, &str, Vec<Step>)> = Vec::new();
        for (axis, point, (path, value)) in chosen.iter().flat_map(|(axis, point)| point.sets.iter().map(move |set| (*axis, point, set))) {
            let of_path = |error| self.at(error, &point.place_of(path), true);
            for field in path::selected(document.table(), path).map_err(of_path)? {
                let steps = path::resolved(document.table(), &field).map_err(of_path)?;
                let is_one = |of: &Axis, at: &[Step]| !std::ptr::eq(of, axis) && (at.starts_with(&steps) || steps.starts_with(at));
                if let Some((_, other, _)) = set_before.iter().find(|(of, _, at)| is_one(of, at)) {
                    return Err(of_path(Error::new("axes", format!("expected each field on one axis only, got {other} and {path}"))));
                }
                document.set(&field, value.clone()).map_err(|error| at_point(of_path(error), &values))?;
                set_before.push((axis, path, steps));
            }
        }
        let checked = document.check().map_err(|error| at_point(self.placed(error, &document, &chosen), &values))?;
        Ok(Run { point, values, replication: 0, seed: checked.seed, document: Arc::new(document), scenario: Arc::new(checked) })
    }

    /// The same sweep without positions in errors, for a text that a program made.
    pub fn without_text(self) -> Sweep {
        Sweep { text: None, ..self }
    }

    /// Adds the position in the sweep file to an error, if the field was set there.
    fn placed(&self, error: Error, document: &Document, chosen: &[(&Axis, &Point)]) -> Error {
        if self.text.is_none() {
            return error;
        }
        let sets = chosen.iter().rev().flat_map(|(_, point)| point.sets.iter().map(move |(path, _)| (point, path)));
        let of_field = |path: &str| path::selected(document.table(), path).ok()?.iter().find_map(|field| below(document, &error, field));
        let found = sets.filter_map(|(point, path)| Some((point, path, of_field(path)?))).next();
        let Some((point, path, (rest, of_key))) = found else { return error };
        let steps: Vec<Step> = point.place_of(path).into_iter().chain(rest).collect();
        self.at(error, &steps, of_key)
    }

    /// Adds the position of the value, or the last key, at these steps of the sweep file.
    fn at(&self, error: Error, steps: &[Step], of_key: bool) -> Error {
        let position = self.text.as_ref().and_then(|text| position_of(text, steps, of_key));
        Error { file: self.file.clone(), position, ..error }
    }

    /// The value of each axis at a point of the grid.
    pub fn labels(&self, point: usize) -> Vec<&Value> {
        self.chosen(point).into_iter().map(|(_, point)| &point.label).collect()
    }

    fn chosen(&self, point: usize) -> Vec<(&Axis, &Point)> {
        let mut rest = point;
        let mut chosen: Vec<_> = self
            .axes
            .iter()
            .rev()
            .map(|axis| {
                let at = rest % axis.points.len();
                rest /= axis.points.len();
                (axis, &axis.points[at])
            })
            .collect();
        chosen.reverse();
        chosen
    }

    /// Every run of the grid on this scenario. Errors are those of `point`.
    /// Replications vary fastest, then the last axis.
    pub fn runs<'a>(&'a self, base: &'a Document) -> impl Iterator<Item = Result<Run, Error>> + 'a {
        (0..self.points()).flat_map(move |point| {
            let first = self.point(base, point);
            let count = if first.is_ok() { self.replications } else { 1 };
            (0..count).map(move |replication| {
                let run = first.clone()?;
                Ok(Run { replication, seed: run.seed.saturating_add(u64::from(replication)), ..run })
            })
        })
    }
}

/// Adds the point of the grid to the error of an invalid scenario.
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
            let place = |at: usize| vec![Step::Key("axes".into()), Step::Key(name.clone()), Step::Index(at)];
            let point = |(at, value): (usize, Value)| Point { label: value.clone(), place: place(at), sets: vec![(name.clone(), value)] };
            Ok(Axis { points: values.into_iter().enumerate().map(point).collect(), name })
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
        Value::Table(sets) => Ok(Point {
            place: ["variants", &name, &label].map(|key| Step::Key(key.to_string())).to_vec(),
            label: Value::String(label),
            sets: sets.into_iter().collect(),
        }),
        other => Err(Error::got(format!("{field}.{}", path::element(&label)), other, "a table of fields by path")),
    };
    let points = variants.into_iter().map(point).collect::<Result<_, _>>()?;
    Ok(Axis { name, points })
}
