//! Compares the results of two runs.

use crate::fault::{Fault, fault};
use sojourn_lab::{Error, Outcome};
use sojourn_scenario::record::Record;
use sojourn_units::bytes_hash;
use std::borrow::Borrow;

/// Checks that another execution mode yields the same record.
pub fn same(way: &str, whole: &Outcome, other: Result<impl Borrow<Outcome>, Error>) -> Result<(), Fault> {
    let promise = format!("the same record {way}");
    let other = other.map_err(|error| fault(&promise, error.to_string()))?;
    first_difference(&whole.record, &other.borrow().record).map_or(Ok(()), |seen| Err(fault(&promise, seen)))
}

/// The first line in which two records differ.
pub fn first_difference(expected: &Record, got: &Record) -> Option<String> {
    if expected == got {
        return None;
    }
    let (expected, got) = (text(expected), text(got));
    // The lines may be equal although values are NaN.
    if expected == got {
        return None;
    }
    let first = expected.iter().zip(&got).find(|(expected, got)| expected != got);
    Some(first.map_or_else(|| "another length".to_string(), |(expected, got)| format!("expected {expected}, got {got}")))
}

/// Every number of a record, one per line.
pub fn text(record: &Record) -> Vec<String> {
    leaves(record).into_iter().map(|(path, value)| format!("{path} = {value}")).collect()
}

/// Every number and text of a record, with its path.
pub fn leaves(record: &Record) -> Vec<(String, serde_json::Value)> {
    let mut found = Vec::new();
    if let Ok(json) = serde_json::to_value(record) {
        flat(json, String::new(), &mut found);
    }
    found
}

fn flat(json: serde_json::Value, path: String, found: &mut Vec<(String, serde_json::Value)>) {
    match json {
        serde_json::Value::Object(object) => object.into_iter().for_each(|(key, value)| flat(value, format!("{path}.{key}"), found)),
        serde_json::Value::Array(list) => list.into_iter().enumerate().for_each(|(i, value)| flat(value, format!("{path}[{i}]"), found)),
        other => found.push((path, other)),
    }
}

/// FNV-1a of the lines.
pub fn hash(lines: &[String]) -> u64 {
    bytes_hash(lines.iter().flat_map(|line| line.bytes().chain([b'\n'])))
}
