//! No knob without effect: every parameter of every registered algorithm moves the outcome of a run.
//!
//! Parameters are found by writing the default configuration as JSON. A number, a boolean, a quantity or a name out
//! of a closed set is turned without being told how. What needs more stands in [`HINTS`] and [`EXCEPTIONS`].

use crate::bench::{link, workload};
use proptest::sample::Index;
use serde_json::{Map, Value, json};
use sojourn_aqm::{AqmConfig, REGISTRY};
use sojourn_units::{parse_bytes, parse_duration, parse_rate};

/// A parameter that shows its effect only in company, or that has values which can't be guessed.
struct Hint {
    aqm: &'static str,
    field: &'static str,
    /// Other parameters to set first, as JSON.
    with: &'static str,
    /// Values to try before the guessed ones, as a JSON list.
    values: &'static str,
}

const fn with(aqm: &'static str, field: &'static str, with: &'static str) -> Hint {
    Hint { aqm, field, with, values: "[]" }
}

const HINTS: &[Hint] = &[
    Hint { aqm: "red", field: "linterm", with: "{}", values: "[50]" },
    Hint { aqm: "red", field: "burst", with: "{}", values: "[20]" },
    with("red", "feng_adaptive", r#"{"adaptive": true}"#),
    with("red", "feng_alpha", r#"{"adaptive": true, "feng_adaptive": true}"#),
    with("red", "feng_beta", r#"{"adaptive": true, "feng_adaptive": true}"#),
    with("red", "alpha", r#"{"adaptive": true, "max_p": 0.05}"#),
    with("red", "beta", r#"{"adaptive": true, "max_p": 0.5}"#),
    with("red", "interval", r#"{"adaptive": true}"#),
    with("red", "top", r#"{"adaptive": true, "max_p": 0.4}"#),
    with("red", "bottom", r#"{"adaptive": true}"#),
    with("red", "idle_packet", r#"{"cautious": 3}"#),
    with("led", "forced", r#"{"max": 0.81, "weight": 0.5, "min_queue": 4}"#),
    Hint { aqm: "rem", field: "weight", with: "{}", values: "[0.001]" },
    Hint { aqm: "cpc", field: "max_p", with: "{}", values: "[0.001]" },
    Hint { aqm: "cpc", field: "min_window", with: "{}", values: "[4.0]" },
    with("pi", "mean_packet", r#"{"queue_in_bytes": true}"#),
    with("fuzzy-rtt", "rtts", r#"{"unit": 0.05}"#),
    with("fuzzy-rtt", "gains", r#"{"unit": 0.05}"#),
    with("fuzzy-rtt", "weights", r#"{"unit": 0.05}"#),
    with("fuzzy-rtt", "target", r#"{"unit": 0.05}"#),
    with("fuzzy-rtt", "packet", r#"{"unit": 0.05}"#),
    with("fuzzy-rtt", "segment", r#"{"unit": 0.05}"#),
    with("fuzzy-rtt", "output", r#"{"unit": 0.05}"#),
    with("fuzzy-rtt", "inference", r#"{"unit": 0.05}"#),
    with("fuzzy-rtt", "inputs", r#"{"unit": 0.05}"#),
    with("flc", "segment", r#"{"step": 0.01}"#),
    with("flc", "packet", r#"{"step": 0.01}"#),
    with("flc", "inputs", r#"{"step": 0.01}"#),
    with("flc", "inference", r#"{"step": 0.01}"#),
    with("codel", "rule", r#"{"target": "1 ms", "interval": "10 ms"}"#),
    with("fq-codel", "rule", r#"{"target": "1 ms", "interval": "10 ms"}"#),
    Hint { aqm: "fq-codel", field: "max_packet", with: "{}", values: r#"["6000 B", "1 B"]"# },
    Hint { aqm: "codel", field: "max_packet", with: "{}", values: r#"["20000 B"]"# },
    Hint { aqm: "fq-codel", field: "flows", with: "{}", values: "[4]" },
    Hint { aqm: "choke", field: "min", with: "{}", values: "[20]" },
    Hint { aqm: "choke", field: "max", with: "{}", values: "[40]" },
    Hint { aqm: "choke", field: "burst", with: "{}", values: "[30]" },
    with("choke", "mark_above_max", r#"{"max": 12}"#),
    Hint { aqm: "choker", field: "steps", with: "{}", values: "[40]" },
    with("pi2", "max_mark", r#"{"alpha": 2.0}"#),
    Hint { aqm: "pid", field: "flows", with: "{}", values: "[50]" },
    Hint { aqm: "pi-rtt", field: "flows", with: "{}", values: "[50]" },
];

/// Parameters that may stay without effect: algorithm, parameter, and why.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("external", "law", "names what the host puts in its place; by itself it lets everything through"),
    ("external", "interval", "belongs to the law that the host puts in its place"),
];

/// The configuration as written, without its tag.
pub fn written(config: &AqmConfig) -> Value {
    let mut value = serde_json::to_value(config).expect("a config can be written");
    value.as_object_mut().expect("a table").remove("aqm");
    value
}

/// The configuration of the algorithm `name` from what was written.
pub fn read(name: &str, value: Value) -> Result<AqmConfig, String> {
    AqmConfig::deserialize(name, value).expect("registered").map_err(|error| error.to_string())
}

/// Every leaf of `value` as a JSON pointer.
fn leaves(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(table) => table.iter().for_each(|(key, value)| leaves(value, &format!("{path}/{key}"), found)),
        Value::Array(list) => list.iter().enumerate().for_each(|(i, value)| leaves(value, &format!("{path}/{i}"), found)),
        _ => found.push(path.to_string()),
    }
}

/// `config` with another value in the place of one leaf, if it is one that can be read and built.
fn changed(config: &AqmConfig, path: &str, value: &Value) -> Option<AqmConfig> {
    let mut tree = written(config);
    *tree.pointer_mut(path)? = value.clone();
    read(config.name(), tree).ok().filter(|config| config.build(&link()).is_ok())
}

/// The names that a closed set takes, out of what serde says of one that it doesn't take.
fn names(config: &AqmConfig, path: &str) -> Vec<Value> {
    let mut tree = written(config);
    *tree.pointer_mut(path).expect("a leaf") = json!("no such name");
    let Err(error) = read(config.name(), tree) else { return Vec::new() };
    let Some((_, taken)) = error.split_once("expected") else { return Vec::new() };
    taken.split('`').skip(1).step_by(2).map(|name| json!(name)).collect()
}

/// Values other than the present one that a leaf may take.
fn guesses(config: &AqmConfig, path: &str) -> Vec<Value> {
    let tree = written(config);
    let scaled = |x: u64, unit: &str| [x * 2, x / 2, x + x / 10, x + 700].map(|x| json!(format!("{x} {unit}"))).to_vec();
    match tree.pointer(path).expect("a leaf") {
        Value::Bool(on) => vec![json!(!on)],
        Value::Number(n) if n.is_f64() => {
            let x = n.as_f64().expect("a float");
            [x * 2.0, x / 2.0, x * 1.1, x * 0.9, x + 20.0, x + 0.3, x - 0.3, x + 1.0].map(|x| json!(x)).to_vec()
        }
        Value::Number(n) => {
            let x = n.as_i64().expect("an integer");
            [x * 2, x / 2, x + 1, x + 2, x - 1, x + 20].map(|x| json!(x)).to_vec()
        }
        Value::String(text) => match (parse_duration(text), parse_bytes(text), parse_rate(text)) {
            (Ok(time), ..) => scaled(time.as_nanos(), "ns"),
            (_, Ok(bytes), _) => scaled(bytes.0, "B"),
            (.., Ok(rate)) => scaled(rate.as_bps(), "bit/s"),
            _ => names(config, path),
        },
        _ => Vec::new(),
    }
}

/// `config` with some knobs turned, each by its pair (which, how far); what can't be built stays as it was.
pub fn turn(config: &AqmConfig, turned: &[(Index, Index)]) -> AqmConfig {
    let mut config = config.clone();
    for (which, how) in turned {
        let mut paths = Vec::new();
        leaves(&written(&config), "", &mut paths);
        if paths.is_empty() {
            break;
        }
        let path = &paths[which.index(paths.len())];
        let guesses = guesses(&config, path);
        if !guesses.is_empty() {
            config = changed(&config, path, &guesses[how.index(guesses.len())]).unwrap_or(config);
        }
    }
    config
}

/// Whether some value of the leaf at `path` gives another outcome than the present one; how many were tried.
fn moves(config: &AqmConfig, path: &str, values: &[Value]) -> Result<(), usize> {
    let run = |config: &AqmConfig| workload(config.build(&link()).expect("built before"), 1);
    let (usual, present) = (run(config), written(config));
    let others: Vec<AqmConfig> =
        values.iter().filter(|&value| present.pointer(path) != Some(value)).filter_map(|value| changed(config, path, value)).collect();
    if others.iter().any(|other| run(other) != usual) { Ok(()) } else { Err(others.len()) }
}

fn parsed(json: &str) -> Value {
    serde_json::from_str(json).expect("a hint is JSON")
}

#[test]
fn no_knob_is_without_effect() {
    for entry in REGISTRY {
        let default = (entry.default)();
        let mut paths = Vec::new();
        leaves(&written(&default), "", &mut paths);
        for path in paths {
            let field = path.split('/').nth(1).expect("a field");
            if EXCEPTIONS.iter().any(|&(aqm, of, _)| (aqm, of) == (entry.name, field)) {
                continue;
            }
            let hint = HINTS.iter().find(|hint| (hint.aqm, hint.field) == (entry.name, field));
            let mut tree = written(&default);
            let company: Map<String, Value> = hint.map_or_else(Map::new, |hint| parsed(hint.with).as_object().expect("a table").clone());
            tree.as_object_mut().expect("a table").extend(company);
            let config = read(entry.name, tree).unwrap_or_else(|error| panic!("the hint for {}{path}: {error}", entry.name));
            let mut values = hint.map_or_else(Vec::new, |hint| parsed(hint.values).as_array().expect("a list").clone());
            values.extend(guesses(&config, &path));
            if let Err(tried) = moves(&config, &path, &values) {
                panic!("{}{path} moved nothing with {tried} other values: give a hint, a reason, or take it out", entry.name);
            }
        }
    }
}

#[test]
fn hints_and_exceptions_are_about_parameters_that_exist() {
    let hinted = HINTS.iter().map(|hint| (hint.aqm, hint.field));
    for (aqm, field) in hinted.chain(EXCEPTIONS.iter().map(|&(aqm, field, _)| (aqm, field))) {
        let entry = REGISTRY.iter().find(|entry| entry.name == aqm).unwrap_or_else(|| panic!("{aqm} is not registered"));
        assert!(written(&(entry.default)()).get(field).is_some(), "{aqm} has no {field}");
    }
}
