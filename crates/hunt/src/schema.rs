//! Random values according to the JSON Schema of scenarios.
//! Every registered parameter is included automatically.

use crate::draw::Draw;
use serde_json::Value as Json;
use std::sync::LazyLock;
use toml::{Table, Value};

/// The name of the external law that the hunt supplies (`aqm = "external"`).
pub const LAW: &str = "hunt";

/// The folder of the link traces that the hunt uses.
const TRACES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/traces");

/// The probability that an optional key is present.
const GIVEN: f64 = 0.12;

/// The JSON Schema of scenario files.
#[derive(Debug)]
pub struct Schema {
    root: Json,
}

/// The names in a scenario, for texts without a format in the schema.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// The names of the links.
    pub links: Vec<String>,
    /// The names of the groups of flows.
    pub groups: Vec<String>,
}

impl Schema {
    /// The schema of this build.
    pub fn get() -> &'static Schema {
        static SCHEMA: LazyLock<Schema> =
            LazyLock::new(|| Schema { root: serde_json::from_str(&sojourn_scenario::schema()).expect("the schema is JSON") });
        &SCHEMA
    }

    /// All kinds of traces of all links and flows, with this interval between samples.
    pub fn every_trace(&self, every: &str) -> Table {
        let kinds = self.root["$defs"]["Trace"]["properties"].as_object();
        let table = |kind: &Json| {
            let keys = self.resolve(kind)["properties"].as_object();
            let value = |key: &str| match key {
                "links" | "flows" => Some(Value::Array(vec!["*".into()])),
                "every" => Some(every.into()),
                _ => None,
            };
            keys.into_iter().flatten().filter_map(|(key, _)| Some((key.clone(), value(key)?))).collect()
        };
        kinds.into_iter().flatten().map(|(name, kind)| (name.clone(), Value::Table(table(kind)))).collect()
    }

    /// A random value of the definition called `name`.
    ///
    /// # Panics
    /// The definition does not exist.
    pub fn value(&self, name: &str, names: &Names, draw: &mut Draw) -> Value {
        let node = &self.root["$defs"][name];
        assert!(node.is_object(), "the schema defines no {name}");
        self.any(node, "", names, draw).expect("a definition has a value")
    }

    /// The names of a definition's variants, in the order of the schema.
    /// They are the values of `aqm`, `cc`, `kind` or `name`.
    /// Variants of a Linux kernel are excluded.
    pub fn forms(&self, definition: &str) -> Vec<String> {
        let forms = self.root["$defs"][definition]["oneOf"].as_array().into_iter().flatten();
        forms.filter_map(|form| self.name_of(form)).filter(|name| name != "linux").collect()
    }

    /// A random value of one variant of a definition.
    ///
    /// # Panics
    /// The variant does not exist.
    pub fn form(&self, definition: &str, name: &str, names: &Names, draw: &mut Draw) -> Value {
        let mut forms = self.root["$defs"][definition]["oneOf"].as_array().into_iter().flatten();
        let form = forms.find(|form| self.name_of(form).is_some_and(|known| known == name));
        let value = form.and_then(|form| self.any(form, "", names, draw));
        value.unwrap_or_else(|| panic!("{definition} has no form {name}"))
    }

    fn name_of(&self, form: &Json) -> Option<String> {
        let keys = self.resolve(form)["properties"].as_object()?;
        ["aqm", "cc", "kind", "name"].iter().find_map(|key| Some(keys.get(*key)?["const"].as_str()?.to_string()))
    }

    fn resolve<'a>(&'a self, node: &'a Json) -> &'a Json {
        match node["$ref"].as_str().and_then(|name| name.strip_prefix('#')) {
            Some(pointer) => self.resolve(self.root.pointer(pointer).unwrap_or(&Json::Null)),
            None => node,
        }
    }

    /// A value for the key `key`; `None` if only a user can supply one.
    fn any(&self, node: &Json, key: &str, names: &Names, draw: &mut Draw) -> Option<Value> {
        if let Some(quantity) = node["$ref"].as_str().and_then(|name| name.rsplit('/').next()).and_then(Quantity::named) {
            return Some(Value::String(quantity.draw(&node["default"], draw)));
        }
        let node = self.resolve(node);
        if let Some(constant) = node["const"].as_str() {
            return Some(Value::String(constant.to_string()));
        }
        for forms in [&node["oneOf"], &node["anyOf"]] {
            if let Some(forms) = forms.as_array() {
                // Parts of a Linux kernel are excluded. Nested classes are not drawn at any depth.
                let has = |form: &Json, key: &str| self.resolve(form)["properties"][key].is_object();
                let is_of_others = |form: &&Json| has(form, "linux") || node["oneOf"].is_array() && has(form, "classes");
                let own: Vec<&Json> = forms.iter().filter(|form| !is_of_others(form)).collect();
                let first = draw.index(own.len());
                // A file name is a form whose values only a user can supply.
                return (0..own.len()).find_map(|next| self.any(own[(first + next) % own.len()], key, names, draw));
            }
        }
        if let Some(values) = node["enum"].as_array() {
            return draw.pick(values).as_str().map(|text| Value::String(text.to_string()));
        }
        match node["type"].as_str()? {
            "boolean" => Some(Value::Boolean(draw.chance(0.5))),
            "integer" => Some(Value::Integer(integer(node, draw))),
            "number" => Some(Value::Float(number(&node["default"], draw))),
            "string" => text(key, names, draw),
            "array" if node["prefixItems"].is_array() => {
                let items = node["prefixItems"].as_array().into_iter().flatten().map(|item| self.any(item, key, names, draw));
                items.collect::<Option<Vec<_>>>().map(Value::Array)
            }
            "array" => {
                let (least, most) = (node["minItems"].as_u64().unwrap_or(0), node["maxItems"].as_u64().unwrap_or(3));
                let items = (0..draw.whole(least, most)).map(|_| self.any(&node["items"], key, names, draw));
                items.collect::<Option<Vec<_>>>().map(Value::Array)
            }
            "object" => self.table(node, names, draw).map(Value::Table),
            _ => None,
        }
    }

    /// A table with all required and some optional keys.
    fn table(&self, node: &Json, names: &Names, draw: &mut Draw) -> Option<Table> {
        let mut table = Table::new();
        for (key, property) in node["properties"].as_object()? {
            // The name of an external law must be a supplied one.
            let required = ["law", "controller"].contains(&key.as_str())
                || node["required"].as_array().is_some_and(|keys| keys.iter().any(|known| known == key));
            if !required && !property["const"].is_string() && !draw.chance(GIVEN) {
                continue;
            }
            match self.any(property, key, names, draw) {
                Some(value) => drop(table.insert(key.clone(), value)),
                None if required => return None,
                None => {}
            }
        }
        Some(table)
    }
}

/// A text that is not a quantity: a name in the scenario.
fn text(key: &str, names: &Names, draw: &mut Draw) -> Option<Value> {
    let name = match key {
        "links" if !names.links.is_empty() && draw.chance(0.7) => draw.pick(&names.links),
        "flows" if !names.groups.is_empty() && draw.chance(0.7) => {
            let group = draw.pick(&names.groups);
            format!("{group}/{}", draw.pick(&["0", "*"]))
        }
        "links" | "flows" => "*".to_string(),
        "group" if !names.groups.is_empty() => draw.pick(&names.groups),
        "law" | "controller" => LAW.to_string(),
        "file" => format!("{TRACES}/{}", draw.pick(&["lte.up", "leo.csv", "walk.json"])),
        "name" => "air".to_string(),
        _ => return None,
    };
    Some(Value::String(name))
}

/// A whole number: near the default, or of any magnitude.
fn integer(node: &Json, draw: &mut Draw) -> i64 {
    let (low, high) = (node["minimum"].as_f64().unwrap_or(0.0), node["maximum"].as_f64().unwrap_or(70_000.0));
    let drawn = match draw.index(4) {
        0 => draw.uniform(0.0, 4.0),
        1 => low,
        _ => draw.magnitude(1.0, high.max(1.0)),
    };
    drawn.clamp(low, high) as i64
}

/// A number: near the default, a simple one, or of any magnitude.
fn number(default: &Json, draw: &mut Draw) -> f64 {
    match (default.as_f64().filter(|&default| default != 0.0), draw.index(6)) {
        (Some(default), 0..=3) => default * draw.magnitude(0.1, 10.0),
        (_, 4) => draw.pick(&[0.0, 0.5, 1.0, 2.0]),
        (_, 5) => draw.magnitude(1e-9, 1e6),
        (_, _) => draw.magnitude(1e-3, 100.0),
    }
}

/// A number of packets.
fn packets(draw: &mut Draw) -> u64 {
    match draw.index(8) {
        0 => draw.whole(1, 3),
        1 => draw.magnitude(1.0, 4e9) as u64,
        _ => draw.magnitude(1.0, 300.0) as u64,
    }
}

/// A quantity with a unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Quantity {
    Duration,
    Rate,
    Bytes,
    Amount,
    Spell,
}

impl Quantity {
    fn named(name: &str) -> Option<Quantity> {
        match name {
            "Duration" => Some(Quantity::Duration),
            "Rate" => Some(Quantity::Rate),
            "Bytes" => Some(Quantity::Bytes),
            // Limits in time or BDP are excluded, because metamorphic laws do not cover their conversion.
            "Amount" | "Limit" => Some(Quantity::Amount),
            "Spell" => Some(Quantity::Spell),
            _ => None,
        }
    }

    /// The number in ns, bit/s or bytes.
    fn read(self, text: &str) -> Option<f64> {
        match self {
            Quantity::Duration | Quantity::Spell => sojourn_units::parse_duration(text).ok().map(|time| time.as_nanos() as f64),
            Quantity::Rate => sojourn_units::parse_rate(text).ok().map(|rate| rate.as_bps() as f64),
            Quantity::Bytes | Quantity::Amount => sojourn_units::parse_bytes(text).ok().map(|bytes| bytes.0 as f64),
        }
    }

    /// A quantity: near the default, a common one, or of any magnitude.
    fn draw(self, default: &Json, draw: &mut Draw) -> String {
        let in_packets = match self {
            Quantity::Amount => 0.7,
            Quantity::Spell => 0.3,
            _ => 0.0,
        };
        if in_packets > 0.0 && draw.chance(in_packets) {
            return format!("{} packets", packets(draw));
        }
        let default = default.as_str().and_then(|text| self.read(text)).filter(|&default| default > 0.0);
        let (usual, any, unit) = match self {
            Quantity::Duration | Quantity::Spell => ((1e5, 1e9), (1.0, 1e15), "ns"),
            Quantity::Rate => ((1e4, 1e9), (1.0, 1e13), "bit/s"),
            Quantity::Bytes | Quantity::Amount => ((40.0, 1e5), (1.0, 1e7), "B"),
        };
        let drawn = match (default, draw.index(12)) {
            (Some(default), 0..=5) => default * draw.magnitude(0.1, 10.0),
            (_, 6) => draw.magnitude(any.0, any.1),
            (_, 7) => draw.pick(&[0.0, 1.0, any.1]),
            _ => draw.magnitude(usual.0, usual.1),
        };
        format!("{} {unit}", drawn.round() as u64)
    }
}

/// A random time in the notation of scenarios.
pub fn duration(low: f64, high: f64, draw: &mut Draw) -> String {
    format!("{} ns", draw.magnitude(low, high) as u64)
}

/// A random rate in the notation of scenarios.
pub fn rate(low: f64, high: f64, draw: &mut Draw) -> String {
    format!("{} bit/s", draw.magnitude(low, high) as u64)
}
