//! Worlds of constant-rate datagrams, whose results follow from those of another world.
//!
//! Every time constant in them is in the scenario, and the time of a byte on a link is a whole number of nanoseconds. So a world in which
//! all times are doubled and all rates halved is exactly twice as slow. Excluded are parts with their own time constants or rounding: TCP,
//! disciplines with an interval or roots of times (CoDel, PIE), media and link traces. Also excluded are parts that keep packets in order
//! by a nanosecond: jitter, delay changes, outages that hold packets.

use super::Pair;
use crate::compare::leaves;
use crate::draw::Draw;
use crate::valid::World;
use sojourn_units::{parse_duration, parse_rate};
use toml::{Table, Value};

fn time(nanos: u64) -> Value {
    Value::String(format!("{nanos} ns"))
}

/// The highest rate up to `most` bit/s that sends a byte in whole nanoseconds.
/// A quarter of it must do so too: it is a divisor of 8·10^9 and a multiple of 4.
fn exact_rate(most: f64) -> u64 {
    let powers = (0..=9).flat_map(|fives| (2..=12).map(move |twos| 5u64.pow(fives) << twos));
    powers.filter(|&rate| rate as f64 <= most).max().unwrap_or(4)
}

fn rate(most: f64) -> Value {
    Value::String(format!("{} bit/s", exact_rate(most)))
}

/// The world with the same nodes, links and routes, and datagrams at constant rates.
pub fn constant_rates(world: &World, draw: &mut Draw) -> Option<Table> {
    let table = world.document.table();
    let duration = world.checked.duration.as_nanos();
    let mut made = kept(table, &["duration", "warmup", "packet", "seed", "name"]);
    let of = |key: &str| table.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let links = of("links").iter().filter_map(Value::as_table).map(|link| one_link(link, duration, draw)).collect();
    let groups: Vec<Value> = of("flows").iter().filter_map(Value::as_table).map(|group| one_flow(group, duration, draw)).collect();
    made.insert("links".into(), Value::Array(links));
    let some = !groups.is_empty();
    made.insert("flows".into(), Value::Array(groups));
    some.then_some(made)
}

fn kept(table: &Table, keys: &[&str]) -> Table {
    keys.iter().filter_map(|&key| Some((key.to_string(), table.get(key)?.clone()))).collect()
}

fn one_link(link: &Table, duration: u64, draw: &mut Draw) -> Value {
    let mut made = kept(link, &["name", "from", "to", "duplex"]);
    made.insert("delay".into(), time((duration as f64 * draw.magnitude(1e-5, 0.2)) as u64));
    if draw.chance(0.8) {
        // 100 to 100,000 packets of 1 kB per run.
        let sent = |draw: &mut Draw| rate(8e12 * draw.magnitude(100.0, 1e5) / duration as f64);
        made.insert("rate".into(), sent(draw));
        made.insert("queue".into(), Value::Table(queue(duration, draw)));
        if draw.chance(0.3) {
            let at = time(draw.whole(1, duration));
            let change = table([("at", at), ("rate", sent(draw))]);
            made.insert("changes".into(), Value::Array(vec![Value::Table(change)]));
        }
    }
    if draw.chance(0.4) {
        let impairments = (0..draw.whole(1, 2)).map(|_| Value::Table(impairment(duration, draw))).collect();
        made.insert("impairments".into(), Value::Array(impairments));
    }
    Value::Table(made)
}

fn table<const N: usize>(entries: [(&str, Value); N]) -> Table {
    entries.into_iter().map(|(key, value)| (key.to_string(), value)).collect()
}

fn queue(duration: u64, draw: &mut Draw) -> Table {
    let limit = |draw: &mut Draw| Value::String(format!("{} packets", draw.whole(1, 40)));
    match draw.index(4) {
        0 => table([("limit", limit(draw))]),
        1 => table([("limit", Value::String(format!("{} B", draw.whole(2_000, 40_000))))]),
        2 => table([("aqm", "step".into()), ("time", time(duration / draw.whole(10, 1000))), ("limit", limit(draw))]),
        _ => {
            let min = draw.whole(1, 5) as i64;
            table([("aqm", "red".into()), ("min", min.into()), ("max", (3 * min).into()), ("weight", 0.1.into()), ("limit", limit(draw))])
        }
    }
}

fn impairment(duration: u64, draw: &mut Draw) -> Table {
    let part = |low: f64, high: f64, draw: &mut Draw| time((duration as f64 * draw.magnitude(low, high)) as u64 + 1);
    let probability = Value::Float(draw.magnitude(0.01, 0.5));
    match draw.index(7) {
        0 => table([("kind", "loss".into()), ("probability", probability)]),
        1 => table([("kind", "duplication".into()), ("probability", probability)]),
        2 => table([("kind", "reorder".into()), ("by", part(1e-4, 0.1, draw)), ("probability", probability)]),
        3 => table([("kind", "outage".into()), ("at", part(0.01, 0.9, draw)), ("length", part(0.01, 0.2, draw)), ("hold", false.into())]),
        4 => table([("kind", "bursts".into()), ("every", part(1e-3, 0.1, draw))]),
        kind => {
            let most = rate(8e12 * draw.magnitude(50.0, 1000.0) / duration as f64);
            let mut bucket =
                table([("kind", "policer".into()), ("rate", most), ("burst", Value::String(format!("{} B", draw.whole(1_500, 20_000))))]);
            if kind == 5 {
                bucket.insert("kind".into(), "shaper".into());
                bucket.insert("latency".into(), part(1e-3, 0.1, draw));
            }
            bucket
        }
    }
}

fn one_flow(group: &Table, duration: u64, draw: &mut Draw) -> Value {
    let mut made = kept(group, &["name", "count", "from", "to", "via", "via_back", "dscp", "port", "reroute"]);
    let size = draw.whole(40, 1_500);
    made.insert("start".into(), time(draw.whole(0, duration / 3)));
    if draw.chance(0.5) {
        let delay = time((duration as f64 * draw.magnitude(1e-5, 0.05)) as u64);
        made.insert("access".into(), Value::Table(table([("delay", delay)])));
    }
    let pace = rate(8e9 * size as f64 * draw.magnitude(20.0, 300.0) / duration as f64);
    let size = Value::String(format!("{size} B"));
    made.insert("traffic".into(), Value::Table(table([("kind", "cbr".into()), ("rate", pace), ("size", size)])));
    Value::Table(made)
}

/// The world with all times doubled and all rates halved.
pub fn scaled(world: &World) -> Table {
    slower(world.document.table().clone())
}

/// The table of a world with all times doubled and all rates halved.
/// Its times are even, so that no two events are 1 ns apart. Such events would count as simultaneous, but not in a world that is twice as
/// slow.
pub fn slower(table: Table) -> Table {
    let mut root = Value::Table(table);
    scale(&mut root);
    if let Value::Table(table) = root { table } else { Table::new() }
}

fn scale(value: &mut Value) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(scale),
        Value::Table(table) => table.iter_mut().filter(|(key, _)| *key != "name").for_each(|(_, value)| scale(value)),
        Value::String(text) => {
            if let Ok(span) = parse_duration(text) {
                *text = format!("{} ns", 2 * span.as_nanos());
            } else if let Ok(rate) = parse_rate(text) {
                *text = format!("{} bit/s", rate.as_bps() / 2);
            }
        }
        _ => {}
    }
}

/// Whether all counts are equal, times doubled and rates halved.
pub fn agrees_scaled(pair: &Pair<'_>) -> Option<String> {
    let (before, after) = (leaves(&pair.before.record), leaves(&pair.after.record));
    let lines = before.iter().zip(&after).filter(|((path, _), _)| path != ".fingerprint");
    let wrong = |(path, value): &(String, serde_json::Value), (other, got): &(String, serde_json::Value)| {
        let (factor, rounding) = match path {
            // A quantile is a step of a histogram, which is exact below 32 ns.
            _ if path.contains(".wait_ms.p") => (2.0, 1e-6),
            _ if path.ends_with("_s") || path.contains("_ms") => (2.0, 0.0),
            _ if path.contains("_bps") => (0.5, 0.0),
            _ => (1.0, 0.0),
        };
        match (value.as_f64(), got.as_f64()) {
            (Some(value), Some(got)) if path == other => (got - factor * value).abs() > rounding + 1e-9 * got.abs(),
            _ => path != other || value != got,
        }
    };
    let found = lines.into_iter().find(|(expected, got)| wrong(expected, got));
    let other_length = || (before.len() != after.len()).then(|| "a record of another length".to_string());
    found.map(|((path, value), (other, got))| format!("{path} = {value} became {other} = {got}")).or_else(other_length)
}

/// The world with a single group of simultaneous flows over links without impairments.
pub fn one_group(world: &World, draw: &mut Draw) -> Option<Table> {
    let mut made = constant_rates(world, draw)?;
    for link in made.get_mut("links")?.as_array_mut()?.iter_mut().filter_map(Value::as_table_mut) {
        link.remove("impairments");
        link.remove("changes");
    }
    let groups = made.get_mut("flows")?.as_array_mut()?;
    groups.truncate(1);
    groups.first_mut()?.as_table_mut()?.insert("count".into(), Value::Integer(draw.whole(2, 5) as i64));
    Some(made)
}

/// The world with one flow at the total rate.
pub fn merged(world: &World) -> Table {
    let mut made = world.document.table().clone();
    let groups = made.get_mut("flows").and_then(Value::as_array_mut).into_iter().flatten();
    for group in groups.filter_map(Value::as_table_mut) {
        let count = group.insert("count".into(), Value::Integer(1)).and_then(|count| count.as_integer()).unwrap_or(1);
        if let Some(Value::String(text)) = group.get_mut("traffic").and_then(|traffic| traffic.get_mut("rate"))
            && let Ok(rate) = parse_rate(text)
        {
            *text = format!("{} bit/s", rate.as_bps() * count as u64);
        }
    }
    made
}

/// Whether both worlds send the same amount, up to a packet per flow.
/// If nothing is dropped, the first link with a rate must do so too. Between two bursts of n flows, the merged flow has sent n - 1 packets.
/// A work-conserving queue does not increase the distance of two inputs.
pub fn agrees_merged(pair: &Pair<'_>) -> Option<String> {
    let (before, after) = (&pair.before.record, &pair.after.record);
    let sent = |record: &sojourn_scenario::record::Record| record.flows.iter().map(|flow| flow.sent).sum::<u64>();
    let most = before.flows.len() as u64 - 1;
    if sent(before).abs_diff(sent(after)) > most {
        return Some(format!("expected {} ± {most} packets sent, got {}", sent(before), sent(after)));
    }
    let plan = pair.world.checked.plan(pair.world.checked.seed);
    let flow = plan.flows.first()?;
    let &first = flow.forward.iter().find(|&&link| plan.link(link).rate.is_some())?;
    let lossless = before.audit.dropped == 0 && after.audit.dropped == 0;
    let (one, other) = (before.links.get(first as usize).filter(|_| lossless)?, after.links.get(first as usize)?);
    let packet = 8.0 * flow.traffic.largest_packet()?.0 as f64 / (before.duration_s - before.warmup_s);
    // At each end of the window.
    let most = 2.0 * most as f64 * packet;
    let apart = (one.throughput_bps - other.throughput_bps).abs();
    (apart > most * (1.0 + 1e-9))
        .then(|| format!("{}: expected {} ± {most} bit/s, got {}", one.name, one.throughput_bps, other.throughput_bps))
}
