//! A random valid scenario.

use crate::draw::Draw;
use crate::repair::repair;
use crate::schema::{Names, Schema, duration, rate};
use crate::valid::World;
use sojourn_aqm::REGISTRY;
use toml::{Table, Value};

/// The random world of this seed.
pub fn world(seed: u64) -> World {
    let mut table = drawn(Schema::get(), &mut Draw::new(seed, "world"));
    trace_a_link(Schema::get(), &mut table, &mut Draw::new(seed, "trace"));
    table.insert("name".into(), Value::String(format!("world-{seed}")));
    table.insert("seed".into(), Value::Integer((seed % 1000) as i64));
    repair(table)
}

/// The world that a fuzzer's bytes select.
pub fn world_of(bytes: &[u8]) -> World {
    let mut draw = Draw::of_bytes(bytes);
    let mut table = drawn(Schema::get(), &mut draw);
    trace_a_link(Schema::get(), &mut table, &mut draw);
    repair(table)
}

/// Replaces the rate of a link by a trace, in some worlds.
fn trace_a_link(schema: &Schema, table: &mut Table, draw: &mut Draw) {
    let Some(Value::Array(links)) = table.get_mut("links") else { return };
    let at = draw.index(links.len());
    if let Some(Value::Table(link)) = links.get_mut(at).filter(|_| draw.chance(0.3)) {
        let link = if draw.chance(0.3) { reverse(link) } else { link };
        link.remove("rate");
        link.remove("changes");
        link.insert("trace".into(), schema.value("LinkTrace", &Names::default(), draw));
    }
}

/// The table of the reverse link of a duplex link, or of the link itself if it is not duplex.
fn reverse(link: &mut Table) -> &mut Table {
    if link.get("duplex").is_none() {
        return link;
    }
    let own = link.entry("back").or_insert_with(|| Value::Table(Table::new()));
    own.as_table_mut().expect("the reverse link is a table")
}

/// Lets links share a medium, each with probability 1/2.
/// Of some duplex links only the reverse link shares it.
fn share_a_medium(schema: &Schema, table: &mut Table, draw: &mut Draw) {
    let medium = schema.value("Medium", &Names::default(), draw);
    table.insert("media".into(), Value::Array(vec![medium]));
    let Some(Value::Array(links)) = table.get_mut("links") else { return };
    for link in links.iter_mut().filter_map(Value::as_table_mut) {
        if link.contains_key("rate") && draw.chance(0.5) {
            let link = if draw.chance(0.3) { reverse(link) } else { link };
            link.insert("medium".into(), "air".into());
        }
    }
}

/// A random table with a valid structure. Values may be out of range.
fn drawn(schema: &Schema, draw: &mut Draw) -> Table {
    let mut table = Table::new();
    let duration_ns = draw.magnitude(1e6, 1e11) as u64;
    table.insert("duration".into(), time(duration_ns));
    if draw.chance(0.6) {
        let part = if draw.chance(0.1) { 0.999 } else { draw.uniform(0.0, 0.9) };
        table.insert("warmup".into(), time((duration_ns as f64 * part) as u64));
    }
    if draw.chance(0.3) {
        table.insert("packet".into(), Value::String(format!("{} B", draw.magnitude(1.0, 65_535.0) as u64)));
    }
    let nodes = draw.whole(2, 5);
    let links = links(schema, nodes, duration_ns, draw);
    let names =
        |tables: &[Value]| -> Vec<String> { tables.iter().filter_map(|table| table["name"].as_str().map(str::to_string)).collect() };
    let mut known = Names { links: names(&links), groups: Vec::new() };
    let map = Map { nodes, steps: steps(&links) };
    let flows: Vec<Value> = (0..draw.whole(1, 4)).map(|i| flows(schema, i, &map, duration_ns, draw)).collect();
    known.groups = names(&flows);
    if draw.chance(0.5) {
        table.insert("tcp".into(), schema.value("TcpOverrides", &known, draw));
    }
    table.insert("links".into(), Value::Array(links));
    if draw.chance(0.2) {
        share_a_medium(schema, &mut table, draw);
    }
    table.insert("flows".into(), Value::Array(flows));
    if draw.chance(0.4) {
        table.insert("trace".into(), trace(schema, &known, duration_ns, draw));
    }
    table
}

fn time(nanos: u64) -> Value {
    Value::String(format!("{nanos} ns"))
}

/// The name of a node.
fn node(number: u64) -> Value {
    Value::String(format!("n{number}"))
}

/// Links that connect all nodes in a chain, and additional links.
fn links(schema: &Schema, nodes: u64, duration_ns: u64, draw: &mut Draw) -> Vec<Value> {
    let mut links = Vec::new();
    let mut add = |from: u64, to: u64, duplex: bool, draw: &mut Draw| {
        let mut table = one_way(schema, duration_ns, draw);
        table.insert("name".into(), Value::String(format!("l{}", links.len())));
        table.insert("from".into(), node(from));
        table.insert("to".into(), node(to));
        if duplex {
            table.insert("duplex".into(), Value::Boolean(true));
            if draw.chance(0.3) {
                table.insert("back".into(), Value::Table(one_way(schema, duration_ns, draw)));
            }
        }
        links.push(Value::Table(table));
    };
    for i in 0..nodes - 1 {
        match draw.chance(0.8) {
            true => add(i, i + 1, true, draw),
            false => {
                add(i, i + 1, false, draw);
                add(i + 1, i, false, draw);
            }
        }
    }
    for _ in 0..draw.whole(0, 2) {
        let (from, to) = (draw.whole(0, nodes - 1), draw.whole(0, nodes - 1));
        if from != to {
            let duplex = draw.chance(0.5);
            add(from, to, duplex, draw);
        }
    }
    links
}

/// The settings of one direction of a link.
fn one_way(schema: &Schema, duration_ns: u64, draw: &mut Draw) -> Table {
    let mut table = Table::new();
    let any_rate = |draw: &mut Draw| match draw.index(10) {
        0 => rate(1.0, 1e13, draw),
        1 => draw.pick(&["1 bit/s", "8 bit/s", "400 Gbit/s", "10000 Gbit/s"]).to_string(),
        _ => rate(1e4, 1e9, draw),
    };
    let any_delay = |draw: &mut Draw| match draw.index(10) {
        0 => "0 s".to_string(),
        1 => duration(1.0, 1e15, draw),
        2 => duration(1e9, 2e10, draw),
        _ => duration(1e4, 2e8, draw),
    };
    table.insert("delay".into(), Value::String(any_delay(draw)));
    if draw.chance(0.15) {
        return table;
    }
    table.insert("rate".into(), Value::String(any_rate(draw)));
    if draw.chance(0.85) {
        let queue = if draw.chance(0.15) { classes(schema, draw) } else { queue(schema, "Queue", draw) };
        table.insert("queue".into(), queue);
    }
    if draw.chance(0.1) {
        table.insert("overhead".into(), schema.value("AnyOverhead", &Names::default(), draw));
    }
    if draw.chance(0.2) {
        let impairments = (0..draw.whole(1, 3)).map(|_| schema.value("Impairment", &Names::default(), draw)).collect();
        table.insert("impairments".into(), Value::Array(impairments));
    }
    if draw.chance(0.2) {
        let mut at: Vec<u64> = (0..draw.whole(1, 3)).map(|_| draw.whole(0, duration_ns)).collect();
        at.sort_unstable();
        at.dedup();
        let change = |at: u64| {
            let mut change = Table::new();
            change.insert("at".into(), time(at));
            let key = draw.pick(&["rate", "delay"]);
            let value = if key == "rate" { any_rate(draw) } else { any_delay(draw) };
            change.insert(key.into(), Value::String(value));
            Value::Table(change)
        };
        table.insert("changes".into(), Value::Array(at.into_iter().map(change).collect()));
    }
    table
}

/// The groups that classes and filters match.
pub fn some_groups() -> Names {
    Names { groups: vec!["f0".into(), "f1".into()], ..Names::default() }
}

/// A queue, or a class with its queue, as the schema defines it.
fn queue(schema: &Schema, kind: &str, draw: &mut Draw) -> Value {
    let queue = schema.value(kind, &some_groups(), draw);
    with_lists(queue, schema, draw)
}

/// Adds lists to a queue: filters to half of the dual queues.
/// Other lists get the lengths that they must have together.
pub fn with_lists(mut queue: Value, schema: &Schema, draw: &mut Draw) -> Value {
    let Value::Table(table) = &mut queue else { return queue };
    table.remove("filters");
    let takes_filters = |name: &str| {
        let mut known = REGISTRY.iter().filter(|entry| entry.name == name);
        known.any(|entry| (entry.default)().layout().is_some_and(|layout| layout.takes_filters))
    };
    match table.get("aqm").and_then(Value::as_str) {
        Some(name) if takes_filters(name) && draw.chance(0.5) => {
            let filters = (0..draw.whole(1, 3)).map(|_| schema.value("Filter", &some_groups(), draw)).collect();
            table.insert("filters".into(), Value::Array(filters));
        }
        Some("fuzzy-rtt") if draw.chance(0.8) => {
            let mut rtts: Vec<u64> = (0..draw.whole(1, 5)).map(|_| draw.magnitude(1.0, 65_535.0) as u64).collect();
            rtts.sort_unstable();
            rtts.dedup();
            let mut numbers = |count: usize, most: f64| (0..count).map(|_| Value::Float(draw.uniform(0.0, most))).collect();
            let (gains, weights) = (numbers(rtts.len(), 2.0), numbers(rtts.len() - 1, 1.0));
            let rtts = rtts.into_iter().map(|ms| Value::String(format!("{ms} ms"))).collect();
            for (key, list) in [("rtts", rtts), ("gains", gains), ("weights", weights)] {
                table.insert(key.into(), Value::Array(list));
            }
        }
        _ => {}
    }
    queue
}

/// A queue with classes. The rates of classes are a part of most link rates.
pub fn classes(schema: &Schema, draw: &mut Draw) -> Value {
    let names = some_groups();
    let (scheduler, most) = (draw.pick(&["strict", "drr", "htb"]), draw.whole(1, 4));
    let class = |number: u64, draw: &mut Draw| {
        let mut class = queue(schema, "Class", draw);
        let Value::Table(table) = &mut class else { return class };
        for key in ["name", "match", "rate", "ceil"] {
            table.remove(key);
        }
        let quantum = table.remove("quantum");
        if draw.chance(0.3) {
            table.insert("name".into(), Value::String(format!("k{number}")));
        }
        if number < most {
            table.insert("match".into(), schema.value("Match", &names, draw));
        }
        if scheduler == "htb" {
            table.remove("share");
            quantum.into_iter().for_each(|quantum| drop(table.insert("quantum".into(), quantum)));
            table.insert("rate".into(), Value::String(rate(1e3, 1e6, draw)));
            if draw.chance(0.4) {
                table.insert("ceil".into(), Value::String(rate(1e4, 1e7, draw)));
            }
        }
        class
    };
    let mut classes: Vec<Value> = (1..=most).map(|number| class(number, draw)).collect();
    if draw.chance(0.25) {
        let at = draw.index(classes.len());
        within(&mut classes[at], draw);
    }
    Value::Table(Table::from_iter([("scheduler".to_string(), Value::from(scheduler)), ("classes".to_string(), Value::Array(classes))]))
}

/// The options of a class apart from its queue.
const OF_CLASS: [&str; 7] = ["name", "match", "priority", "share", "rate", "ceil", "quantum"];

/// Gives a class two inner classes.
/// One has its former queue, the other is for packets that are not ECN-capable.
fn within(class: &mut Value, draw: &mut Draw) {
    let Value::Table(table) = class else { return };
    let (outer, mut inner): (Table, Table) = core::mem::take(table).into_iter().partition(|(key, _)| OF_CLASS.contains(&&key[..]));
    let marked = ["ect0", "ect1", "ce"].map(Value::from).to_vec();
    inner.insert("match".into(), Value::Table(Table::from_iter([("ecn".to_string(), Value::Array(marked))])));
    *table = outer;
    table.insert("scheduler".into(), draw.pick(&["strict", "drr"]).into());
    table.insert("classes".into(), Value::Array(vec![Value::Table(inner), Value::Table(Table::new())]));
}

/// The nodes, and the links between them.
struct Map {
    nodes: u64,
    steps: Vec<(String, String)>,
}

/// The hops that links offer, in both directions if they are duplex.
fn steps(links: &[Value]) -> Vec<(String, String)> {
    let end = |link: &Value, key: &str| link[key].as_str().expect("a link has two ends").to_string();
    let both = |link: &Value| {
        let (from, to) = (end(link, "from"), end(link, "to"));
        let back = link.get("duplex").map(|_| (to.clone(), from.clone()));
        [Some((from, to)), back].into_iter().flatten()
    };
    links.iter().flat_map(both).collect()
}

impl Map {
    /// The nodes of a path between two nodes that visits no node twice.
    /// It is drawn among all such paths.
    fn path(&self, from: u64, to: u64, draw: &mut Draw) -> Value {
        let (mut open, mut found) = (vec![vec![format!("n{from}")]], Vec::new());
        while let Some(path) = open.pop() {
            let here = path.last().expect("a path has a beginning");
            if *here == format!("n{to}") {
                found.push(path);
                continue;
            }
            let on = self.steps.iter().filter(|(begin, end)| begin == here && !path.contains(end));
            open.extend(on.map(|(_, end)| path.iter().chain([end]).cloned().collect::<Vec<_>>()));
        }
        Value::Array(draw.pick(&found).into_iter().map(Value::String).collect())
    }
}

/// A group of flows.
fn flows(schema: &Schema, number: u64, map: &Map, duration_ns: u64, draw: &mut Draw) -> Value {
    let mut table = Table::new();
    let any = Names::default();
    let nodes = map.nodes;
    let from = draw.whole(0, nodes - 1);
    let to = (from + draw.whole(1, nodes - 1)) % nodes;
    table.insert("name".into(), Value::String(format!("f{number}")));
    table.insert("count".into(), Value::Integer(draw.whole(1, 4) as i64));
    table.insert("from".into(), node(from));
    table.insert("to".into(), node(to));
    for side in ["access", "egress"] {
        if draw.chance(0.5) {
            table.insert(side.into(), schema.value("Access", &any, draw));
        }
    }
    if draw.chance(0.5) {
        let latest = Value::String(format!("{} ns", duration_ns / 2));
        table.insert("start".into(), Value::Table(Table::from_iter([("uniform".to_string(), Value::Array(vec!["0 s".into(), latest]))])));
    }
    if draw.chance(0.2) {
        table.insert("dscp".into(), schema.value("Dscp", &any, draw));
        table.insert("port".into(), Value::Integer(draw.whole(0, 3) as i64));
    }
    if draw.chance(0.2) {
        table.insert("stop".into(), schema.value("VaryingDuration", &any, draw));
    }
    table.insert("traffic".into(), schema.value("Traffic", &any, draw));
    if draw.chance(0.6) {
        table.insert("tcp".into(), schema.value("TcpOverrides", &any, draw));
    }
    if draw.chance(0.2) {
        table.insert("paths".into(), schema.value("PathChoice", &any, draw));
    } else if draw.chance(0.1) {
        table.insert("reroute".into(), Value::Array(vec![reroute(map, (from, to), duration_ns, draw)]));
    }
    table.extend(by_name(map, (from, to), 0.15, draw));
    Value::Table(table)
}

/// Routes by their nodes: forward, reverse, both or none.
/// Each is present with this probability.
fn by_name(map: &Map, (from, to): (u64, u64), probability: f64, draw: &mut Draw) -> Table {
    let mut routes = Table::new();
    if draw.chance(probability) {
        routes.insert("via".into(), map.path(from, to, draw));
    }
    if draw.chance(probability) {
        routes.insert("via_back".into(), map.path(to, from, draw));
    }
    routes
}

/// A change of the route.
fn reroute(map: &Map, (from, to): (u64, u64), duration_ns: u64, draw: &mut Draw) -> Value {
    let mut change = by_name(map, (from, to), 0.5, draw);
    change.entry("via").or_insert_with(|| map.path(from, to, draw));
    change.insert("at".into(), time(draw.whole(1, duration_ns)));
    Value::Table(change)
}

/// Traces with a bounded number of samples.
fn trace(schema: &Schema, names: &Names, duration_ns: u64, draw: &mut Draw) -> Value {
    let mut trace = schema.value("Trace", names, draw);
    let Value::Table(kinds) = &mut trace else { return trace };
    for table in kinds.iter_mut().filter_map(|(_, kind)| kind.as_table_mut()) {
        if table.contains_key("every") {
            table.insert("every".into(), time((duration_ns / draw.whole(1, 200)).max(1)));
        }
    }
    trace
}
