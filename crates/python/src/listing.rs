//! The registries as JSON, and control surfaces of queue laws.

use serde_json::{Map, Value, json};
use sojourn_aqm::{AqmConfig, Link};
use sojourn_cc::About;
use sojourn_scenario::Document;
use sojourn_spec::queue::Queue;
use sojourn_spec::tcp::profiles::ProfileEntry;
use sojourn_spec::tcp::{OPTIONS, OptionEntry, PROFILES, TcpOptions};
use sojourn_units::{Duration, Rate};
use sojourn_units::{parse_bytes, parse_duration, parse_rate};

/// Lists the entries of all registries.
/// They are `aqm`, `cc`, `start-up`, `traffic`, `impairment`, `profile` and `tcp`. An entry has its name, summary, and parameters with
/// defaults. The parameters of a profile are the options that it sets; those of a TCP option are its defaults in each profile.
pub fn registry() -> Result<String, serde_json::Error> {
    macro_rules! entries {
        ($registry:path, $config:ident) => {
            $registry.iter().map(|e| listed(e.name, e.summary, serde_json::to_value((e.$config)()))).collect::<Result<Vec<_>, _>>()?
        };
    }
    Ok(json!({
        "aqm": entries!(sojourn_aqm::REGISTRY, default),
        "cc": controllers()?,
        "start-up": entries!(sojourn_cc::START_UPS, default),
        "traffic": entries!(sojourn_traffic::REGISTRY, example),
        "impairment": entries!(sojourn_link::REGISTRY, example),
        "profile": profiles(),
        "tcp": tcp_options(),
    })
    .to_string())
}

/// Every congestion controller with its traceable variables.
fn controllers() -> Result<Vec<Value>, serde_json::Error> {
    let entry = |entry: &sojourn_cc::Entry| {
        let mut value = listed(entry.name, entry.summary, serde_json::to_value((entry.default)()))?;
        let variable = |about: About| json!({ "name": about.name, "unit": about.unit, "summary": about.summary });
        value["variables"] = (entry.variables)().into_iter().map(variable).collect();
        Ok(value)
    };
    sojourn_cc::REGISTRY.iter().map(entry).collect()
}

/// Every TCP profile with the options in which it differs from the profile `rfc`.
/// That profile has all options.
fn profiles() -> Vec<Value> {
    let rfc = TcpOptions::rfc();
    let entry = |profile: &ProfileEntry| {
        let options = (profile.options)();
        let differs = |option: &&OptionEntry| options == rfc || (option.show)(&options) != (option.show)(&rfc);
        let values: Map<String, Value> =
            OPTIONS.iter().filter(differs).map(|option| (option.name.to_string(), (option.show)(&options).into())).collect();
        json!({ "name": profile.name, "summary": profile.summary, "parameters": values })
    };
    PROFILES.iter().map(entry).collect()
}

/// Every TCP option: summary, kind of value, source, and default in each profile.
fn tcp_options() -> Vec<Value> {
    let entry = |option: &OptionEntry| {
        let defaults: Map<String, Value> =
            PROFILES.iter().map(|profile| (profile.name.to_string(), (option.show)(&(profile.options)()).into())).collect();
        json!({ "name": option.name, "summary": option.sentence, "kind": option.kind, "source": option.source, "parameters": defaults })
    };
    OPTIONS.iter().map(entry).collect()
}

fn listed(name: &str, summary: &str, config: Result<Value, serde_json::Error>) -> Result<Value, serde_json::Error> {
    let mut parameters = match config? {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    for tag in ["aqm", "cc", "kind", "name"] {
        parameters.remove(tag);
    }
    Ok(json!({ "name": name, "summary": summary, "parameters": parameters }))
}

/// The discipline of a queue, from a scenario's queue table as JSON.
pub fn aqm_of(queue: &str) -> Result<AqmConfig, String> {
    queue_of(queue).map(|queue| queue.aqm)
}

fn queue_of(queue: &str) -> Result<Queue, String> {
    Document::from_json("queue", queue).and_then(|table| table.queue()).map_err(|error| error.to_string())
}

/// See `_sojourn.fixed_point`.
pub fn fixed_point(queue: &str, rate: u64, mean_packet: u32) -> Result<Vec<u64>, String> {
    let queue = queue_of(queue)?;
    let rate = Rate::from_bps(rate).ok_or("rate: expected a rate above 0, got 0")?;
    let link = Link { rate, delay: Duration::ZERO, mean_packet, limit_packets: 0 };
    sojourn_aqm::fixed_point(&queue.aqm, &link, queue.options.ecn).map_err(|error| error.to_string())
}

/// See `_sojourn.surface`.
pub fn surface(queue: &str, backlog: &[f64], change: &[f64]) -> Result<Vec<Vec<f64>>, String> {
    let config = aqm_of(queue)?;
    let rate = Rate::from_bps(10_000_000).ok_or("no rate")?;
    let link = Link { rate, delay: Duration::ZERO, mean_packet: 1000, limit_packets: 100 };
    let rows = sojourn_web::grid(&config, &link, backlog, change).map_err(|error| format!("queue.{error}"))?;
    rows.ok_or_else(|| format!("queue.aqm: expected a law with a timer (others have no surface), got \"{}\"", config.name()))
}

/// A quantity in seconds, bit/s or bytes. See `_sojourn.quantity`.
pub fn quantity(kind: &str, text: &str) -> Result<f64, String> {
    let value = match kind {
        "time" => parse_duration(text).map(|time| time.as_secs_f64()),
        "rate" => parse_rate(text).map(|rate| rate.as_bps() as f64),
        "size" => parse_bytes(text).map(|bytes| bytes.0 as f64),
        _ => return Err(format!("quantity: expected the kind time, rate or size, got {kind:?}")),
    };
    value.map_err(|error| error.to_string())
}
