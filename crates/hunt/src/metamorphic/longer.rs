//! A longer run starts with the results of the shorter one.

use super::{Pair, unaffected};
use crate::valid::World;
use std::collections::BTreeMap;
use toml::{Table, Value};

/// The world with a duration that is a quarter longer.
pub fn longer(world: &World) -> Table {
    let mut table = world.document.table().clone();
    let nanos = world.checked.duration.as_nanos();
    table.insert("duration".into(), Value::String(format!("{} ns", nanos + nanos / 4 + 1)));
    table
}

/// Whether each series starts equally.
/// Ignored are a step that the shorter run's end truncates, and packets whose transmission starts later.
pub fn agrees(pair: &Pair<'_>) -> Option<String> {
    let end = pair.world.checked.duration.as_secs_f64();
    debug_assert!(pair.changed.checked.duration > pair.world.checked.duration);
    pair.before.series.iter().find_map(|(name, table)| {
        let Some(other) = pair.after.series.get(name) else { return Some(format!("{name}: expected a series, got none")) };
        let (expected, got) = (rows_before(table, name, end), rows_before(other, name, end));
        expected.iter().find_map(|(column, values)| {
            let got = got.get(column).map_or(&[][..], Vec::as_slice);
            let got = if name.starts_with("wait/") { got } else { &got[..got.len().min(values.len())] };
            unaffected::row(values, got).map(|at| {
                let [expected, got] = [values.get(at), got.get(at)].map(|value| value.map_or("no row".into(), f64::to_string));
                format!("{name}: {column}: row {at}: expected {expected}, got {got}")
            })
        })
    })
}

/// Half of the nanosecond in which times are counted. It bounds the rounding of a sum of two.
const HALF_A_NANOSECOND: f64 = 0.5e-9;

/// The rows of a series that are complete before `end`, in seconds.
fn rows_before<'a>(table: &'a BTreeMap<String, Vec<f64>>, name: &str, end: f64) -> BTreeMap<&'a str, Vec<f64>> {
    let none = Vec::new();
    let times = table.get("t").unwrap_or(&none);
    let waits = table.get("seconds").filter(|_| name.starts_with("wait/"));
    let done = |row: usize| times[row] + waits.map_or(0.0, |waits| waits[row]) < end - HALF_A_NANOSECOND;
    let kept: Vec<usize> = (0..times.len()).filter(|&row| done(row)).collect();
    let column = |values: &Vec<f64>| kept.iter().filter_map(|&row| values.get(row).copied()).collect();
    table.iter().map(|(name, values)| (name.as_str(), column(values))).collect()
}
