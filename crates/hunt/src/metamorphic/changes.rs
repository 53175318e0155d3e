//! Changes of a scenario that have no effect on its existing parts.

use crate::draw::Draw;
use crate::valid::World;
use toml::{Table, Value};

/// A list of a table; `None` if it is empty or absent.
pub fn list_mut<'a>(table: &'a mut Table, key: &str) -> Option<&'a mut Vec<Value>> {
    table.get_mut(key)?.as_array_mut().filter(|list| !list.is_empty())
}

/// Adds a changed copy of a random element to the beginning or end of a list of tables.
fn with_copy(world: &World, key: &str, draw: &mut Draw, change: impl FnOnce(&mut Table)) -> Option<Table> {
    let mut table = world.document.table().clone();
    let list = list_mut(&mut table, key)?;
    let mut copy = list[draw.index(list.len())].clone();
    change(copy.as_table_mut()?);
    let at = if draw.chance(0.5) { 0 } else { list.len() };
    list.insert(at, copy);
    Some(table)
}

/// The world with a copy of a group that starts after the end of the run.
pub fn silent_flow(world: &World, draw: &mut Draw) -> Option<Table> {
    let start = world.checked.duration.as_nanos().saturating_add(1_000_000_000);
    with_copy(world, "flows", draw, |group| {
        group.insert("name".into(), "silent".into());
        group.insert("start".into(), Value::String(format!("{start} ns")));
        group.remove("stop");
    })
}

/// The world with a copy of a link that leads to a new node.
pub fn unused_link(world: &World, draw: &mut Draw) -> Option<Table> {
    with_copy(world, "links", draw, |link| {
        link.insert("name".into(), "unused".into());
        link.insert("to".into(), "nowhere".into());
    })
}

/// The world with other node names, in reverse order.
/// The law does not apply if a link without a name draws random numbers. Such a link and its random stream are named after its nodes.
pub fn renamed_nodes(world: &World, _: &mut Draw) -> Option<Table> {
    let mut table = world.document.table().clone();
    let named = |link: &Value| link.get("name").is_some();
    if !list_mut(&mut table, "links")?.iter().all(named) {
        return None;
    }
    let mut nodes = world.checked.nodes.clone();
    nodes.sort_unstable();
    let other = |name: &str| nodes.iter().rposition(|node| node == name).map(|at| format!("m{:04}", nodes.len() - at));
    for key in ["links", "flows"] {
        table.get_mut(key).into_iter().for_each(|list| rename(list, &["from", "to", "via", "via_back"], &other));
    }
    Some(table)
}

/// Replaces every text under one of these keys if `other` returns a new one.
fn rename(value: &mut Value, keys: &[&str], other: &impl Fn(&str) -> Option<String>) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(|value| rename(value, keys, other)),
        Value::Table(table) => {
            for (key, value) in table.iter_mut() {
                if keys.contains(&key.as_str()) { rename_all(value, other) } else { rename(value, keys, other) }
            }
        }
        _ => {}
    }
}

fn rename_all(value: &mut Value, other: &impl Fn(&str) -> Option<String>) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(|value| rename_all(value, other)),
        Value::String(text) => {
            if let Some(name) = other(text) {
                *text = name;
            }
        }
        _ => {}
    }
}

/// The names of the first and the last group.
pub fn two_groups(world: &World) -> Option<(String, String)> {
    let [first, .., last] = &world.checked.groups[..] else { return None };
    Some((first.name.clone(), last.name.clone()))
}

/// The name of a group, or of one of its flows, after the two groups exchange their names.
pub fn exchanged(name: &str, (first, last): &(String, String)) -> String {
    let (group, flow) = name.split_once('/').map_or((name, None), |(group, flow)| (group, Some(flow)));
    let group = match group {
        _ if group == first => last,
        _ if group == last => first,
        other => other,
    };
    flow.map_or_else(|| group.to_string(), |flow| format!("{group}/{flow}"))
}

/// The world whose first and last group exchange their names.
pub fn swapped_groups(world: &World, _: &mut Draw) -> Option<Table> {
    let names = two_groups(world)?;
    let other = |name: &str| Some(exchanged(name, &names));
    let mut table = world.document.table().clone();
    table.get_mut("links").into_iter().for_each(|links| rename(links, &["group", "groups"], &other));
    table.get_mut("trace").into_iter().for_each(|trace| rename(trace, &["flows"], &other));
    for group in list_mut(&mut table, "flows")?.iter_mut().filter_map(Value::as_table_mut) {
        group.get_mut("name").into_iter().for_each(|name| rename_all(name, &other));
    }
    Some(table)
}
