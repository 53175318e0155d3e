//! Compares the results of unchanged parts before and after a change of a scenario.

use super::{Pair, changes};
use crate::compare::first_difference;
use sojourn_lab::Series;
use sojourn_scenario::record::Record;

/// The column of a series that is an index of `flows`. An additional group shifts it.
const POSITION: &str = "flow";

/// Whether all previously existing parts have the same results.
pub fn agrees(pair: &Pair<'_>) -> Option<String> {
    let (before, after) = (&pair.before.record, &pair.after.record);
    first_difference(before, &without_others(after, before)).or_else(|| in_series(&pair.before.series, &pair.after.series))
}

/// The record without links, groups and flows that the other record lacks.
/// The fingerprint and Jain's index of all flows depend on the number of flows, so they are copied from the other record if it has fewer.
fn without_others(record: &Record, other: &Record) -> Record {
    let mut left = record.clone();
    left.links.retain(|link| other.links.iter().any(|known| known.name == link.name));
    left.groups.retain(|group| other.groups.iter().any(|known| known.name == group.name));
    left.flows.retain(|flow| other.groups.iter().any(|known| known.name == flow.group));
    if record.groups.len() > other.groups.len() {
        left.fingerprint.clone_from(&other.fingerprint);
        left.total.jain = other.total.jain;
    }
    left
}

/// The first series of the run before that differs after the change.
fn in_series(before: &Series, after: &Series) -> Option<String> {
    before.iter().find_map(|(name, table)| {
        let Some(other) = after.get(name) else { return Some(format!("{name}: expected a series, got none")) };
        table.iter().filter(|(column, _)| *column != POSITION).find_map(|(column, values)| {
            let got = other.get(column).map_or(&[][..], Vec::as_slice);
            row(values, got).map(|at| {
                let [expected, got] = [values.get(at), got.get(at)].map(|value| value.map_or("no row".into(), f64::to_string));
                format!("{name}: {column}: row {at}: expected {expected}, got {got}")
            })
        })
    })
}

/// The first row in which two columns differ.
pub fn row(expected: &[f64], got: &[f64]) -> Option<usize> {
    let alike = |(a, b): (&f64, &f64)| a == b || (a.is_nan() && b.is_nan());
    let first = expected.iter().zip(got).position(|pair| !alike(pair));
    first.or_else(|| (expected.len() != got.len()).then_some(expected.len().min(got.len())))
}

/// Whether the two groups have exchanged their results along with their names.
pub fn agrees_swapped(pair: &Pair<'_>) -> Option<String> {
    let mut after = pair.after.clone();
    let names = changes::two_groups(pair.world)?;
    let exchange = |name: &mut String| *name = changes::exchanged(name, &names);
    after.record.groups.iter_mut().for_each(|group| exchange(&mut group.name));
    for flow in &mut after.record.flows {
        exchange(&mut flow.name);
        exchange(&mut flow.group);
    }
    let of = |name: String| match name.split_once('/') {
        Some((kind, of)) => format!("{kind}/{}", changes::exchanged(of, &names)),
        None => name,
    };
    after.series = after.series.into_iter().map(|(name, table)| (of(name), table)).collect();
    first_difference(&pair.before.record, &after.record).or_else(|| in_series(&pair.before.series, &after.series))
}
