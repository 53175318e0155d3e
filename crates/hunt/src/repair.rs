//! Repairs a table into a valid scenario by removing invalid values.

use crate::valid::World;
use sojourn_scenario::{Document, split_path};
use std::collections::HashMap;
use toml::{Table, Value};

/// The maximum number of removed values.
const MOST: usize = 200;

/// Removes values that a check rejects until the table is valid.
/// If the same field is rejected again, its parent is removed. If nothing valid remains, the result is one link without a flow.
///
/// # Panics
/// More than [`MOST`] values are removed.
pub fn repair(mut table: Table) -> World {
    let mut refused: HashMap<String, usize> = HashMap::new();
    for _ in 0..MOST {
        let document = Document::from_table("world.toml", table.clone());
        let error = match document.check() {
            Ok(checked) => return World { document, checked },
            Err(error) => error,
        };
        let times = refused.entry(error.field.clone()).or_default();
        let mut steps = located(&table, &error.field);
        steps.truncate(steps.len().saturating_sub(*times));
        *times += 1;
        if !remove(&mut table, &steps) {
            table = bare();
        }
    }
    panic!("still refused after {MOST} repairs:\n{table}");
}

/// A table with one link and no flow.
fn bare() -> Table {
    let link = Table::from_iter([("from".to_string(), Value::from("n0")), ("to".to_string(), Value::from("n1"))]);
    Table::from_iter([("duration".to_string(), Value::from("1 s")), ("links".to_string(), Value::Array(vec![Value::Table(link)]))])
}

/// A step into a table or a list.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Step {
    /// A key of a table.
    Key(String),
    /// An index of a list.
    Index(usize),
}

/// The steps to a field, as far as they exist in the table.
fn located(table: &Table, field: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let root = Value::Table(table.clone());
    let mut here = &root;
    for part in split_path(field).unwrap_or_default() {
        let (step, next) = match here {
            Value::Table(table) => (Step::Key(part.clone()), table.get(&part)),
            Value::Array(list) => {
                let named = list.iter().position(|value| value.get("name").and_then(Value::as_str) == Some(&part));
                let Some(index) = part.parse().ok().or(named) else { break };
                (Step::Index(index), list.get(index))
            }
            _ => break,
        };
        let Some(next) = next else { break };
        steps.push(step);
        here = next;
    }
    steps
}

/// Removes the value at these steps; returns false if nothing is there.
pub fn remove(table: &mut Table, steps: &[Step]) -> bool {
    let Some((last, parents)) = steps.split_last() else { return false };
    let mut root = Value::Table(std::mem::take(table));
    let removed = match (at(&mut root, parents), last) {
        (Some(Value::Table(inner)), Step::Key(key)) => inner.remove(key).is_some(),
        (Some(Value::Array(list)), Step::Index(index)) if *index < list.len() => {
            list.remove(*index);
            true
        }
        _ => false,
    };
    if let Value::Table(root) = root {
        *table = root;
    }
    removed
}

/// The value at these steps.
pub fn at<'a>(root: &'a mut Value, steps: &[Step]) -> Option<&'a mut Value> {
    steps.iter().try_fold(root, |here, step| match (here, step) {
        (Value::Table(table), Step::Key(key)) => table.get_mut(key),
        (Value::Array(list), Step::Index(index)) => list.get_mut(*index),
        _ => None,
    })
}
