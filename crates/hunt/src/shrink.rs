//! Minimizes a world that violates a promise.

use crate::fault::{Fault, Way};
use crate::repair::{Step, at, remove};
use crate::valid::World;
use crate::ways::hunt;
use toml::{Table, Value};

/// The maximum number of worlds to try.
const MOST: usize = 500;

/// The smallest world found that violates the same promise.
pub fn shrink(world: &World, fault: &Fault, budget: u64) -> (World, Fault) {
    let (mut smallest, mut seen) = (world.clone(), fault.clone());
    let mut left = MOST;
    loop {
        let before = smallest.text();
        for change in changes(smallest.document.table()) {
            if left == 0 {
                return (smallest, seen);
            }
            let mut table = smallest.document.table().clone();
            if !change.apply(&mut table) {
                continue;
            }
            let Ok(world) = World::from_table(table) else { continue };
            left -= 1;
            if let Err(found) = hunt(&world, budget, &Way::ALL)
                && found.promise == fault.promise
            {
                (smallest, seen) = (world, found);
            }
        }
        if smallest.text() == before {
            return (smallest, seen);
        }
    }
}

/// A change that makes a table smaller or simpler.
enum Change {
    Remove(Vec<Step>),
    Set(Vec<Step>, Value),
}

impl Change {
    /// Applies the change. Returns whether it changed something.
    fn apply(&self, table: &mut Table) -> bool {
        match self {
            Change::Remove(steps) => remove(table, steps),
            Change::Set(steps, value) => {
                let mut root = Value::Table(std::mem::take(table));
                let changed = at(&mut root, steps).is_some_and(|here| std::mem::replace(here, value.clone()) != *value);
                if let Value::Table(root) = root {
                    *table = root;
                }
                changed
            }
        }
    }
}

/// All changes to try: largest removals first, last elements of a list first.
fn changes(table: &Table) -> Vec<Change> {
    let mut found: Vec<(usize, Change)> = Vec::new();
    visit(&Value::Table(table.clone()), &mut Vec::new(), &mut found);
    found.sort_by_key(|(size, _)| std::cmp::Reverse(*size));
    found.into_iter().map(|(_, change)| change).collect()
}

fn visit(value: &Value, steps: &mut Vec<Step>, found: &mut Vec<(usize, Change)>) {
    if !steps.is_empty() {
        found.push((value.to_string().len(), Change::Remove(steps.clone())));
    }
    let mut inner = |step: Step, value: &Value| {
        steps.push(step);
        visit(value, steps, found);
        steps.pop();
    };
    match value {
        Value::Table(table) => table.iter().for_each(|(key, value)| inner(Step::Key(key.clone()), value)),
        Value::Array(list) => list.iter().enumerate().rev().for_each(|(i, value)| inner(Step::Index(i), value)),
        Value::Integer(number) if *number > 1 => found.push((0, Change::Set(steps.clone(), Value::Integer(number / 2)))),
        Value::String(text) => {
            found.extend(simpler(text).into_iter().map(|text| (0, Change::Set(steps.clone(), Value::String(text)))));
        }
        _ => {}
    }
}

/// Simpler quantities: half, and rounded to one digit.
fn simpler(text: &str) -> Vec<String> {
    let Some((number, unit)) = text.split_once(' ') else { return Vec::new() };
    let Ok(number) = number.parse::<u64>() else { return Vec::new() };
    let digit = 10u64.pow(number.checked_ilog10().unwrap_or(0));
    [number / 2, number / digit * digit]
        .into_iter()
        .filter(|simple| *simple > 0 && *simple < number)
        .map(|simple| format!("{simple} {unit}"))
        .collect()
}
