//! Counts of two consecutive windows add up.

use super::Pair;
use crate::compare::leaves;
use crate::draw::Draw;
use crate::supplied::laws;
use crate::valid::World;
use sojourn_lab::{Outcome, run};
use sojourn_scenario::record::Record;
use std::collections::BTreeMap;
use toml::{Table, Value};

/// The world with this warm-up and duration in ns.
fn within(world: &World, warmup: u64, duration: u64) -> Table {
    let mut table = world.document.table().clone();
    table.insert("warmup".into(), Value::String(format!("{warmup} ns")));
    table.insert("duration".into(), Value::String(format!("{duration} ns")));
    table
}

/// The world without its warm-up, or with one if it has none.
pub fn other_window(world: &World, draw: &mut Draw) -> Option<Table> {
    let (warmup, duration) = (world.checked.warmup.as_nanos(), world.checked.duration.as_nanos());
    let other = if warmup > 0 { 0 } else { draw.whole(1, duration.saturating_sub(1)) };
    (duration > 1).then(|| within(world, other, duration))
}

/// Whether the counts and bits of links add up.
/// Those in the warm-up and in the window must equal those of both together.
pub fn agrees(pair: &Pair<'_>) -> Option<String> {
    let has_warmup = pair.world.checked.warmup.as_nanos() > 0;
    let (all, window) = if has_warmup { (pair.after, pair.before) } else { (pair.before, pair.after) };
    let end = if has_warmup { pair.world } else { pair.changed }.checked.warmup.as_nanos();
    let warmup = World::from_table(within(pair.world, 0, end)).ok()?;
    let warmup: Outcome = run(&warmup.checked, None, &laws(), &|| false).ok()?;
    let [all, window, warmup] = [all, window, &warmup].map(|outcome| (counts(&outcome.record), carried(&outcome.record)));
    let count = |counts: &BTreeMap<String, u64>, path: &str| counts.get(path).copied().unwrap_or(0);
    let wrong = |(path, &both): (&String, &u64)| {
        let [first, second] = [&warmup, &window].map(|(counts, _)| count(counts, path));
        (first + second != both).then(|| format!("{path} = {both}, but {first} in the warm-up and {second} in the window"))
    };
    let bits = || {
        all.1.iter().zip(warmup.1.iter().zip(&window.1)).find_map(|((name, both), ((_, first), (_, second)))| {
            let differ = (first + second - both).abs() > 1e-6 + 1e-9 * both;
            differ.then(|| format!("{name}: {both} bits, but {first} in the warm-up and {second} in the window"))
        })
    };
    all.0.iter().find_map(wrong).or_else(bits)
}

/// Every count of a window, by its path.
fn counts(record: &Record) -> BTreeMap<String, u64> {
    let of_run = |path: &str| path.starts_with(".audit") || [".seed", ".rate_bps", "].flows"].iter().any(|end| path.ends_with(end));
    leaves(record).into_iter().filter(|(path, _)| !of_run(path)).filter_map(|(path, value)| Some((path, value.as_u64()?))).collect()
}

/// The bits that each link sent.
fn carried(record: &Record) -> Vec<(&str, f64)> {
    let span = record.duration_s - record.warmup_s;
    record.links.iter().map(|link| (link.name.as_str(), link.throughput_bps * span)).collect()
}
