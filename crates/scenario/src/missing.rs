//! Finds all required keys that a table lacks, because deserialization stops at the first.

use crate::path::Step;
use toml::{Table, Value};

/// The steps to an error, and serde's message.
pub(crate) type Rejection = (Vec<Step>, String);

/// The start of serde's message for a missing key.
const MISSING: &str = "missing field `";

/// Adds the other keys that the same table lacks to the error of a missing key.
/// Each missing key gets a value that is accepted, until another error follows. `rejected` returns the error of a table.
/// Other errors are returned unchanged.
pub(crate) fn all_of(table: &Table, first: Rejection, rejected: &dyn Fn(&Table) -> Option<Rejection>) -> Rejection {
    let (mut names, mut filled, mut next) = (Vec::new(), table.clone(), Some(first.clone()));
    while let Some((steps, message)) = next {
        let Some(key) = message.strip_prefix(MISSING).map(|rest| rest.trim_end_matches('`').to_string()) else { break };
        if steps != first.0 || names.contains(&key) {
            break;
        }
        let place: Vec<Step> = steps.into_iter().chain([Step::Key(key.clone())]).collect();
        names.push(key);
        let accepted = placeholders().into_iter().find_map(|value| {
            put(&mut filled, &place, value)?;
            let error = rejected(&filled);
            error.as_ref().is_none_or(|(at, _)| *at != place).then_some(error)
        });
        next = accepted.flatten();
    }
    if names.len() > 1 { (first.0, format!("{MISSING}{}`", names.join("`, `"))) } else { first }
}

/// A value of each type that a required key may have.
fn placeholders() -> [Value; 8] {
    let text = |text: &str| Value::String(text.to_string());
    let plain = [Value::Integer(1), Value::Boolean(true), Value::Array(Vec::new()), Value::Table(Table::new())];
    let [number, yes, list, table] = plain;
    [text("1 s"), text("1 B"), text("1 Mbit/s"), text(""), number, yes, list, table]
}

/// Sets the key at these steps. `None` if the table lacks a step before it.
fn put(table: &mut Table, steps: &[Step], value: Value) -> Option<()> {
    let (Step::Key(key), parents) = steps.split_last()? else { return None };
    let Some((Step::Key(first), rest)) = parents.split_first() else {
        table.insert(key.clone(), value);
        return Some(());
    };
    let inner = rest.iter().try_fold(table.get_mut(first)?, |here, step| match step {
        Step::Key(key) => here.get_mut(key),
        Step::Index(i) => here.get_mut(*i),
    })?;
    inner.as_table_mut()?.insert(key.clone(), value);
    Some(())
}
