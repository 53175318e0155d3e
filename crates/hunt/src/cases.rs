//! Scenarios for each algorithm, impairment, kind of traffic and TCP profile.
//! Parameters are defaults or random. Random parameters depend only on the case's name, so a new algorithm or parameter changes no other
//! case.

use crate::draw::Draw;
use crate::repair::repair;
use crate::schema::{Names, Schema};
use crate::valid::World;
use crate::world::{classes, some_groups, with_lists};
use toml::{Table, Value};

/// The group of a case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Group {
    /// Queue disciplines.
    Queues,
    /// Queues with classes, shared media, link traces.
    Links,
    /// Congestion controllers in each TCP profile.
    Controllers,
    /// Options of TCP.
    Transports,
    /// Impairments of links.
    Impairments,
    /// Kinds of traffic, and access links.
    Traffic,
}

impl Group {
    /// Every group.
    pub const ALL: [Group; 6] = [Group::Queues, Group::Links, Group::Controllers, Group::Transports, Group::Impairments, Group::Traffic];

    /// The cases of the group.
    pub fn cases(self) -> Vec<Case> {
        let schema = Schema::get();
        match self {
            Group::Queues => queues(schema),
            Group::Links => links(schema),
            Group::Controllers => controllers(schema),
            Group::Transports => transports(schema),
            Group::Impairments => impairments(schema),
            Group::Traffic => traffic(schema),
        }
    }
}

/// A scenario with a name.
#[derive(Debug)]
pub struct Case {
    /// The subject and the number of the draw; 0 has the defaults.
    pub name: String,
    /// The scenario.
    pub world: World,
}

impl Case {
    /// The case of this table, after removal of invalid values.
    fn new(name: String, mut table: Table) -> Case {
        table.insert("name".into(), Value::from(name.replace(' ', "-")));
        Case { name, world: repair(table) }
    }
}

/// Queues with elastic, scalable and paced flows in both directions.
/// The rate changes twice.
const SHARED_LINK: &str = r#"
duration = "4 s"
warmup = "1 s"
tcp = { profile = "linux", ecn = true, control = { cc = "cubic" } }
trace = { queue = { links = ["*"], every = "50 ms" } }
[[links]]
name = "bottleneck"
from = "a"
to = "b"
rate = "8 Mbit/s"
delay = "10 ms"
duplex = true
changes = [{ at = "2 s", rate = "3 Mbit/s" }, { at = "3 s", rate = "12 Mbit/s" }]
back = { rate = "1 Mbit/s" }
[[flows]]
name = "f0"
count = 3
from = "a"
to = "b"
access = { delay = ["2 ms", "30 ms"] }
[[flows]]
name = "f1"
count = 2
from = "a"
to = "b"
dscp = "ef"
traffic = { kind = "cbr", rate = "150 kbit/s", size = "200 B", jitter = 0.5 }
[[flows]]
name = "scalable"
from = "a"
to = "b"
tcp = { control = { cc = "prague" }, ecn = "accurate" }
[[flows]]
name = "transfers"
from = "a"
to = "b"
dscp = "cs1"
traffic = { kind = "transfers", every = "200 ms", size_mean = "40 kB" }
[[flows]]
name = "upload"
from = "b"
to = "a"
"#;

/// Controllers over a full queue, with losses and an outage.
/// A flow competes, the application pauses, and connections are opened.
const PATH: &str = r#"
duration = "12 s"
[[links]]
name = "bottleneck"
from = "a"
to = "b"
rate = "5 Mbit/s"
delay = "20 ms"
duplex = true
queue = { aqm = "droptail", limit = "60 packets" }
impairments = [
  { kind = "outage", at = "6 s", length = "1 s" },
  { kind = "loss", probability = 0.02, from = "9 s" },
]
[[flows]]
name = "f0"
count = 2
from = "a"
to = "b"
start = { uniform = ["0 s", "100 ms"] }
[[flows]]
name = "f1"
from = "a"
to = "b"
traffic = { kind = "transfers", every = "900 ms", size_mean = "60 kB" }
[[flows]]
name = "rival"
from = "a"
to = "b"
start = "3 s"
stop = "5 s"
tcp = { control = { cc = "cubic" } }
"#;

/// The number of random parameter sets of a kind, in addition to its defaults.
const DRAWS: u64 = 4;

fn base(text: &str) -> Table {
    text.parse().expect("the text is TOML")
}

/// The first element of a list of tables.
fn first<'a>(table: &'a mut Table, key: &str) -> &'a mut Table {
    table.get_mut(key).and_then(|list| list.get_mut(0)).and_then(Value::as_table_mut).expect("the text has it")
}

/// A variant of a definition: its name only, or with random parameters.
/// External variants have no defaults.
fn form(schema: &Schema, definition: &str, key: &str, name: &str, number: u64) -> Value {
    if number == 0 && name != "external" {
        return Value::Table(Table::from_iter([(key.to_string(), Value::from(name))]));
    }
    let draw = &mut Draw::new(number, name);
    with_lists(schema.form(definition, name, &some_groups(), draw), schema, draw)
}

/// The parameters of a controller: its defaults, or random ones.
/// Some random parameters may be inconsistent. `None` for a controller that requires a Linux host.
pub fn control(name: &str, number: u64) -> Option<Table> {
    let schema = Schema::get();
    schema.forms("Control").iter().any(|form| form == name).then(|| match form(schema, "Control", "cc", name, number) {
        Value::Table(table) => table,
        other => Table::from_iter([("cc".to_string(), other)]),
    })
}

/// The parameters of a start-up: its defaults, or random ones.
/// One that uses the window of an earlier connection gets one.
pub fn start_up(name: &str, number: u64) -> Table {
    let Value::Table(mut table) = form(Schema::get(), "StartUpConfig", "name", name, number) else { unreachable!("a start-up is a table") };
    if name == "careful-resume" {
        table.entry("saved_cwnd").or_insert(Value::Float(100.0));
        table.entry("saved_rtt").or_insert(Value::from("40 ms"));
    }
    table
}

fn queues(schema: &'static Schema) -> Vec<Case> {
    let every = schema.forms("Queue").into_iter().flat_map(|name| (0..=DRAWS).map(move |number| (name.clone(), number)));
    let case = |(name, number): (String, u64)| {
        let mut queue = form(schema, "Queue", "aqm", &name, number);
        if let Some(table) = queue.as_table_mut().filter(|_| number % 2 == 1) {
            table.insert("ecn".into(), Value::Boolean(true));
        }
        let mut table = base(SHARED_LINK);
        first(&mut table, "links").insert("queue".into(), queue);
        Case::new(format!("aqm {name} {number}"), table)
    };
    every.map(case).collect()
}

/// Links whose queue has classes, that share a medium, or that have a trace of rates.
fn links(schema: &'static Schema) -> Vec<Case> {
    let classes = (1..=20).map(|number| {
        let mut table = base(SHARED_LINK);
        first(&mut table, "links").insert("queue".into(), classes(schema, &mut Draw::new(number, "classes")));
        Case::new(format!("classes {number}"), table)
    });
    let media = (1..=8).map(|number| {
        let mut table = base(SHARED_LINK);
        let draw = &mut Draw::new(number, "medium");
        table.insert("media".into(), Value::Array(vec![schema.value("Medium", &Names::default(), draw)]));
        let link = first(&mut table, "links");
        link.insert("medium".into(), "air".into());
        link.get_mut("back").and_then(Value::as_table_mut).expect("the text has it").insert("medium".into(), "air".into());
        Case::new(format!("medium {number}"), table)
    });
    let traces = (1..=6).map(|number| {
        let mut table = base(SHARED_LINK);
        let link = first(&mut table, "links");
        link.remove("rate");
        link.remove("changes");
        link.insert("trace".into(), schema.value("LinkTrace", &Names::default(), &mut Draw::new(number, "trace")));
        Case::new(format!("trace {number}"), table)
    });
    classes.chain(media).chain(traces).collect()
}

fn controllers(schema: &'static Schema) -> Vec<Case> {
    let profiles = ["rfc", "ns2", "ns2-linux", "linux", "freebsd"];
    let every = schema.forms("Control").into_iter().flat_map(|name| (0..=DRAWS).map(move |number| (name.clone(), number)));
    let case = |(name, number): (String, u64)| {
        let control = form(schema, "Control", "cc", &name, number);
        let profile = profiles[number as usize];
        let mut table = base(PATH);
        let mut tcp = Table::from_iter([("profile".to_string(), Value::from(profile)), ("control".to_string(), control)]);
        if number % 2 == 1 {
            tcp.insert("ecn".into(), if profile == "linux" { Value::from("accurate") } else { Value::Boolean(true) });
            let queue = Table::from_iter([("aqm".to_string(), Value::from("red")), ("ecn".to_string(), Value::Boolean(true))]);
            first(&mut table, "links").insert("queue".into(), Value::Table(queue));
        }
        table.insert("tcp".into(), Value::Table(tcp));
        Case::new(format!("cc {name} {number} {profile}"), table)
    };
    every.map(case).chain(start_ups(schema, &profiles)).collect()
}

/// Each start-up in Reno and in CUBIC, in turn.
fn start_ups<'a>(schema: &'static Schema, profiles: &'a [&str]) -> impl Iterator<Item = Case> + 'a {
    let every = schema.forms("StartUpConfig").into_iter().flat_map(|name| (0..=DRAWS).map(move |number| (name.clone(), number)));
    every.map(|(name, number)| {
        let (profile, cc) = (profiles[number as usize], ["reno", "cubic"][number as usize % 2]);
        let control = Table::from_iter([("cc".to_string(), Value::from(cc))]);
        let chosen = start_up(&name, number);
        let mut table = base(PATH);
        let tcp = [("profile", Value::from(profile)), ("control", control.into()), ("start_up", chosen.into())];
        table.insert("tcp".into(), Table::from_iter(tcp.map(|(key, value)| (key.to_string(), value))).into());
        Case::new(format!("start-up {name} {number} {cc} {profile}"), table)
    })
}

/// Random values of every TCP option, with reordering.
fn transports(schema: &'static Schema) -> Vec<Case> {
    let case = |number: u64| {
        let mut table = base(PATH);
        let draw = &mut Draw::new(number, "transport");
        let mut overrides = (0..4).map(|_| schema.value("TcpOverrides", &Names::default(), draw));
        table.insert("tcp".into(), overrides.next().expect("there are four"));
        for (group, own) in table.get_mut("flows").and_then(Value::as_array_mut).into_iter().flatten().zip(overrides.take(2)) {
            group.as_table_mut().expect("a group is a table").insert("tcp".into(), own);
        }
        if number.is_multiple_of(2) {
            let reorder: Table = base("kind = \"reorder\"\nprobability = 0.05\nby = \"30 ms\"");
            first(&mut table, "links").get_mut("impairments").and_then(Value::as_array_mut).expect("the text has it").push(reorder.into());
        }
        Case::new(format!("tcp {number}"), table)
    };
    (1..=80).map(case).collect()
}

fn impairments(schema: &'static Schema) -> Vec<Case> {
    let every = schema.forms("Impairment").into_iter().flat_map(|name| (1..=DRAWS).map(move |number| (name.clone(), number)));
    let case = |(name, number): (String, u64)| {
        let impairment = schema.form("Impairment", &name, &Names::default(), &mut Draw::new(number, &name));
        let mut table = base(SHARED_LINK);
        first(&mut table, "links").insert("impairments".into(), Value::Array(vec![impairment]));
        Case::new(format!("impairment {name} {number}"), table)
    };
    every.map(case).collect()
}

fn traffic(schema: &'static Schema) -> Vec<Case> {
    let every = schema.forms("Traffic").into_iter().flat_map(|name| (1..DRAWS).map(move |number| (name.clone(), number)));
    let case = |(name, number): (String, u64)| {
        let mut table = base(SHARED_LINK);
        let group = first(&mut table, "flows");
        group.insert("traffic".into(), schema.form("Traffic", &name, &Names::default(), &mut Draw::new(number, &name)));
        for side in ["access", "egress"] {
            group.insert(side.into(), schema.value("Access", &Names::default(), &mut Draw::new(number, side)));
        }
        table.insert("trace".into(), Value::Table(schema.every_trace("100 ms")));
        Case::new(format!("traffic {name} {number}"), table)
    };
    every.map(case).collect()
}
