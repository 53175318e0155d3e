//! A run within the limits of a page.

use crate::law::fuzzy_flow;
use crate::numbers::Numbers;
use serde_json::{Map, Value, json};
use sojourn_lab::{Bounds, Laws, Simulation};
use sojourn_scenario::Checked;
use sojourn_scenario::check::{Sampled, Trace, Waits};
use sojourn_units::Duration;

/// The maximum number of events of a run: about 3 s in a page.
pub const MOST_EVENTS: u64 = 10_000_000;

/// The maximum number of flows of a run.
pub const MOST_FLOWS: u64 = 20_000;

/// The maximum memory of a run's packets, flows and traces in bytes.
pub const MOST_MEMORY: u64 = 500_000_000;

/// Limits of the traces of a watched link.
/// They are samples of queue and windows, flows with windows, and waits of packets. The first controller with fuzzy rules is also traced.
const SAMPLES: u64 = 1500;
const WINDOWS: usize = 8;
const WAITS: f64 = 50_000.0;

/// Rejects a scenario with too many flows for a page, because each has its own links.
pub(crate) fn check_size(scenario: &Checked) -> Result<(), String> {
    let flows: u64 = scenario.groups.iter().map(|group| u64::from(group.count)).sum();
    if flows <= MOST_FLOWS { Ok(()) } else { Err(format!("flows: expected at most {MOST_FLOWS} in a page, got {flows}")) }
}

/// Runs a scenario. Returns its record, and its series as columns.
/// With `watch`, the series are those of this link and of the first flows.
pub(crate) fn run(mut scenario: Checked, seed: Option<u64>, watch: Option<&str>, numbers: &mut Numbers) -> Result<Value, String> {
    check_size(&scenario)?;
    if let Some(name) = watch {
        scenario.trace = watching(&scenario, name)?;
    }
    let mut simulation = Simulation::new(&scenario, seed.unwrap_or(scenario.seed), &Laws::default()).map_err(|error| error.to_string())?;
    let bounds = Bounds { events: MOST_EVENTS, memory: MOST_MEMORY };
    simulation.run_within(&bounds).map_err(|error| error.to_string())?;
    let outcome = simulation.finish().map_err(|error| error.to_string())?;
    numbers.reserve(outcome.series.values().flat_map(|columns| columns.values()).map(Vec::len).sum());
    let mut series = Map::new();
    for (name, columns) in outcome.series {
        let places = columns.into_iter().map(|(column, values)| (column, numbers.add(values)));
        series.insert(name, Value::Object(places.collect()));
    }
    let record = serde_json::to_value(&outcome.record).map_err(|error| error.to_string())?;
    Ok(json!({ "record": record, "series": series }))
}

/// The traces for watching a link.
fn watching(scenario: &Checked, name: &str) -> Result<Trace, String> {
    let found = (0..).zip(&scenario.links).find(|(_, link)| link.name == name);
    let Some((index, rate)) = found.and_then(|(index, link)| Some((index, link.rate?))) else {
        return Err(format!("watch: expected a link with a rate, got \"{name}\""));
    };
    let every = Duration::from_nanos((scenario.duration.as_nanos() / SAMPLES).max(1));
    let flows = scenario.groups.iter().flat_map(|group| (0..group.count).map(move |_| group));
    let connections = (0..).zip(flows).filter(|(_, group)| group.traffic.is_tcp() && !group.traffic.opens_connections());
    let windows = connections.map(|(flow, _)| flow).take(WINDOWS).collect();
    let packets = rate.as_bps() as f64 * scenario.duration.as_secs_f64() / (8.0 * f64::from(scenario.packet));
    Ok(Trace {
        queue: Some(Sampled { links: vec![index], flows: Vec::new(), every }),
        cwnd: Some(Sampled { links: Vec::new(), flows: windows, every }),
        wait: Some(Waits { links: vec![index], one_in: ((packets / WAITS) as u32).max(1) }),
        signals: vec![index],
        controller: fuzzy_flow(scenario, index).map(|(flow, _)| flow).into_iter().collect(),
        ..Trace::default()
    })
}
