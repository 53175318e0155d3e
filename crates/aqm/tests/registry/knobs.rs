//! Every parameter of every algorithm has an effect: some value changes the outcome of a run.
//!
//! Parameters are found by writing the default configuration as JSON, and so are the values to try: other numbers, quantities, booleans, or
//! the names of a closed set. A parameter that has no effect with the other parameters at their defaults is tried again with random values
//! of the others. A new algorithm needs no entry here.

use crate::bench::{link, workload, workload_differs};
use proptest::sample::Index;
use serde_json::{Value, json};
use sojourn_aqm::{AqmConfig, Entry, REGISTRY};
use sojourn_units::{Stream, parse_bytes, parse_duration, parse_rate};
use std::sync::Mutex;

/// Parameters that may be without effect: algorithm, parameter, and the reason.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("external", "law", "the name of the law with which the host replaces the placeholder; the placeholder passes every packet"),
    ("linux", "linux", "the discipline of the kernel that takes the place of the placeholder, which passes every packet"),
    ("cake", "diffserv", "goes by the DSCP of groups, which packets of this bench do not have; `cake_queues/tests.rs` shows what it does"),
    ("cake", "isolation", "goes by groups too"),
    ("external", "interval", "belongs to the law with which the host replaces the placeholder"),
];

/// Random combinations of the other parameters in which a parameter is tried.
const COMBINATIONS: u64 = 200;

/// Combinations that show the effect of a parameter that few combinations show.
/// They are tried first, which saves most of the time.
const KNOWN: &[(&str, &str, u64)] =
    &[("red", "idle_packet", 107), ("red", "feng_beta", 14), ("red", "alpha", 10), ("red", "top", 6), ("red", "feng_alpha", 3)];

/// The configuration as written, without its tag.
pub fn written(config: &AqmConfig) -> Value {
    let mut value = serde_json::to_value(config).expect("a config can be written");
    value.as_object_mut().expect("a table").remove("aqm");
    value
}

/// Reads the configuration of the algorithm `name`.
pub fn read(name: &str, value: Value) -> Result<AqmConfig, String> {
    AqmConfig::deserialize(name, value).expect("registered").map_err(|error| error.to_string())
}

/// Every leaf of `value` as a JSON pointer.
pub fn leaves(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(table) => table.iter().for_each(|(key, value)| leaves(value, &format!("{path}/{key}"), found)),
        Value::Array(list) => list.iter().enumerate().for_each(|(i, value)| leaves(value, &format!("{path}/{i}"), found)),
        _ => found.push(path.to_string()),
    }
}

/// `config` with another value of one leaf, if the result can be read and built.
fn with_value(config: &AqmConfig, path: &str, value: &Value) -> Option<AqmConfig> {
    let mut tree = written(config);
    *tree.pointer_mut(path)? = value.clone();
    read(config.name(), tree).ok().filter(|config| config.build(&link()).is_ok())
}

/// The names of a closed set, from serde's message about an unknown name.
fn names(config: &AqmConfig, path: &str) -> Vec<Value> {
    let mut tree = written(config);
    *tree.pointer_mut(path).expect("a leaf") = json!("no such name");
    let Err(error) = read(config.name(), tree) else { return Vec::new() };
    let Some((_, expected)) = error.split_once("expected") else { return Vec::new() };
    expected.split('`').skip(1).step_by(2).map(|name| json!(name)).collect()
}

/// Values to try for a leaf.
fn guesses(config: &AqmConfig, path: &str) -> Vec<Value> {
    let tree = written(config);
    let scaled = |x: u64, unit: &str| {
        let values = [x * 2, x / 2, x + x / 10, x + 700, x + 6000, x + 20_000, x / 10, 1];
        values.map(|x| json!(format!("{x} {unit}"))).to_vec()
    };
    match tree.pointer(path).expect("a leaf") {
        Value::Bool(on) => vec![json!(!on)],
        Value::Number(n) if n.is_f64() => {
            let x = n.as_f64().expect("a float");
            [x * 2.0, x / 2.0, x * 1.1, x * 0.9, x + 20.0, x + 0.3, x - 0.3, x + 1.0, x * 4.0, x + 50.0, x * 30.0, x * 1e-3]
                .map(|x| json!(x))
                .to_vec()
        }
        Value::Number(n) => {
            let x = n.as_i64().expect("an integer");
            [x * 2, x / 2, x + 1, x + 2, x + 3, x - 1, x + 20, x + 50, 4].map(|x| json!(x)).to_vec()
        }
        Value::String(text) => match (parse_duration(text), parse_bytes(text), parse_rate(text)) {
            (Ok(time), ..) => scaled(time.as_nanos(), "ns"),
            (_, Ok(bytes), _) => scaled(bytes.0, "B"),
            (.., Ok(rate)) => scaled(rate.as_bps(), "bit/s"),
            _ => names(config, path),
        },
        Value::Null => vec![json!(0.5), json!(2), json!(20), json!(50), json!(true), json!("20 ms"), json!("300 B")],
        _ => Vec::new(),
    }
}

/// `config` with some parameters changed, each by its pair of parameter and value.
/// A change that cannot be built is left out.
pub fn change(config: &AqmConfig, changes: &[(Index, Index)]) -> AqmConfig {
    let mut config = config.clone();
    for (which, value) in changes {
        let mut paths = Vec::new();
        leaves(&written(&config), "", &mut paths);
        if paths.is_empty() {
            break;
        }
        let path = &paths[which.index(paths.len())];
        let guesses = guesses(&config, path);
        if !guesses.is_empty() {
            config = with_value(&config, path, &guesses[value.index(guesses.len())]).unwrap_or(config);
        }
    }
    config
}

/// Whether some value of the leaf at `path` changes the outcome.
fn has_effect(config: &AqmConfig, path: &str) -> bool {
    let build = |config: &AqmConfig| config.build(&link()).expect("built before");
    let present = written(config);
    let values = guesses(config, path);
    let mut others = values.iter().filter_map(|value| with_value(config, path, value)).filter(|other| written(other) != present).peekable();
    others.peek().is_some() && {
        let usual = workload(build(config), 1);
        others.any(|other| workload_differs(build(&other), 1, &usual))
    }
}

/// `config` with random values of parameters other than the one at `path`.
pub fn combination(config: &AqmConfig, path: &str, number: u64) -> AqmConfig {
    let mut random = Stream::named(number, path);
    let (mut config, mut paths) = (config.clone(), Vec::new());
    leaves(&written(&config), "", &mut paths);
    for other in paths.iter().filter(|other| field(other) != field(path)) {
        let guesses = guesses(&config, other);
        if guesses.is_empty() || random.unit() > if guesses.len() == 1 { 0.5 } else { 0.3 } {
            continue;
        }
        let value = &guesses[random.below(guesses.len() as u64) as usize];
        config = with_value(&config, other, value).unwrap_or(config);
    }
    config
}

/// The parameter that a leaf belongs to; nothing for the path of the whole.
fn field(path: &str) -> &str {
    path.split('/').nth(1).unwrap_or_default()
}

/// The parameters of an algorithm that have no effect at any value.
fn without_effect(entry: &Entry) -> Vec<String> {
    let (default, mut paths) = ((entry.default)(), Vec::new());
    leaves(&written(&default), "", &mut paths);
    paths.retain(|path| !EXCEPTIONS.iter().any(|&(aqm, parameter, _)| (aqm, parameter) == (entry.name, field(path))));
    paths.retain(|path| {
        let known = KNOWN.iter().filter(|&&(aqm, parameter, _)| (aqm, parameter) == (entry.name, field(path)));
        let mut numbers = known.map(|&(.., number)| number).chain(0..COMBINATIONS);
        !has_effect(&default, path) && !numbers.any(|number| has_effect(&combination(&default, path, number), path))
    });
    paths.iter().map(|path| format!("{}{path}", entry.name)).collect()
}

#[test]
fn every_parameter_of_every_algorithm_has_an_effect() {
    let entries = Mutex::new(crate::entries().into_iter());
    let next = || entries.lock().unwrap().next();
    let work = || std::iter::from_fn(next).flat_map(without_effect).collect::<Vec<_>>();
    let without = std::thread::scope(|scope| {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(without.is_empty(), "no effect in {COMBINATIONS} combinations: {without:?}; remove them, or name them in EXCEPTIONS");
}

#[test]
fn exceptions_are_about_parameters_that_exist() {
    for &(aqm, parameter, _) in EXCEPTIONS {
        let entry = REGISTRY.iter().find(|entry| entry.name == aqm).unwrap_or_else(|| panic!("{aqm} is not registered"));
        assert!(written(&(entry.default)()).get(parameter).is_some(), "{aqm} has no {parameter}");
    }
}
