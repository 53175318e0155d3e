//! Worlds in which names of flows seed neither random numbers nor hashes.

use super::changes::list_mut;
use crate::valid::World;
use sojourn_cc::CcConfig;
use sojourn_scenario::Checked;
use toml::{Table, Value};

/// The keys of a group whose random values are seeded by names.
const DRAWN: [&str; 3] = ["uniform", "lognormal", "jitter"];

/// The world without values that names seed.
/// They are removed from groups, then from TCP options, then from queues.
pub fn without_draws(world: &World) -> Option<Table> {
    let mut table = world.document.table().clone();
    table.get_mut("links").into_iter().for_each(name_classes);
    let changes: [fn(&mut Table, u64); 4] = [|_, _| (), plain_groups, plain_tcp, plain_queues];
    changes.iter().find_map(|change| {
        change(&mut table, world.checked.duration.as_nanos());
        let changed = World::from_table(table.clone()).ok()?;
        names_seed_nothing(&changed).then(|| table.clone())
    })
}

/// Gives names to classes without a name.
/// Their default names come from the groups that they match, and seed random numbers.
fn name_classes(value: &mut Value) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(name_classes),
        Value::Table(table) => {
            for (number, class) in list_mut(table, "classes").into_iter().flatten().filter_map(Value::as_table_mut).enumerate() {
                class.entry("name").or_insert_with(|| Value::String(format!("class {number}")));
            }
            table.iter_mut().for_each(|(_, value)| name_classes(value));
        }
        _ => {}
    }
}

/// Replaces random traffic by a hundred packets at a constant rate.
fn plain_groups(table: &mut Table, duration: u64) {
    for group in list_mut(table, "flows").into_iter().flatten().filter_map(Value::as_table_mut) {
        group.remove("paths");
        group.retain(|key, value| key == "traffic" || !DRAWN.iter().any(|word| value.to_string().contains(word)));
        let traffic = group.get("traffic").map(Value::to_string).unwrap_or_default();
        if !traffic.contains("\"bulk\"") && (!traffic.contains("\"cbr\"") || traffic.contains("jitter")) {
            let rate = format!("{} bit/s", (8e14 / duration as f64).clamp(1.0, 1e12) as u64);
            group.insert("traffic".into(), Value::Table(Table::from_iter([("kind".into(), "cbr".into()), ("rate".into(), rate.into())])));
        }
    }
}

fn plain_tcp(table: &mut Table, _: u64) {
    table.remove("tcp");
    for group in list_mut(table, "flows").into_iter().flatten().filter_map(Value::as_table_mut) {
        group.remove("tcp");
    }
}

fn plain_queues(table: &mut Table, _: u64) {
    for link in list_mut(table, "links").into_iter().flatten().filter_map(Value::as_table_mut) {
        link.remove("queue");
        link.get_mut("back").and_then(Value::as_table_mut).into_iter().for_each(|back| drop(back.remove("queue")));
    }
}

/// Whether no name of a flow seeds a random number or a hash.
/// Names seed random starts, stops, routes and access links, random traffic, sessions, the phase of a coarse clock, draws of controllers,
/// and the hash of flow queues.
fn names_seed_nothing(world: &World) -> bool {
    let Checked { groups, links, .. } = &world.checked;
    let text = world.document.table().get("flows").map(Value::to_string).unwrap_or_default();
    let draws = DRAWN.iter().chain(&["onoff", "poisson", "ping", "schedule", "paths"]).any(|word| text.contains(word));
    let controller = |control: &CcConfig| ["bbr", "bbr3", "cdg", "scream"].contains(&control.name());
    let random = groups.iter().any(|group| {
        let tcp = group.tcp.as_ref().is_some_and(|tcp| tcp.uses_clock_phase() || controller(&tcp.control));
        tcp || group.traffic.opens_connections()
    });
    let mut queues = links.iter().filter_map(|link| link.queue.as_ref()).flat_map(|queue| queue.disciplines());
    let hashes = queues.any(|queue| queue.aqm.layout().is_some_and(|layout| layout.hashes_flows));
    !draws && !random && !hashes
}
