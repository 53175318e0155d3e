//! Cache keys of runs, and keys of shared beginnings.

use crate::bounded::hexadecimal;
use crate::check::{Checked, Group};
use crate::quantity::{Quantity, Varying};
use serde_json::Value;
use sha2::{Digest, Sha256};
use sojourn_aqm::AqmConfig;
use sojourn_cc::CcConfig;
use sojourn_spec::tcp::TcpOptions;
use sojourn_units::Duration;
use std::fmt::Write;

impl Checked {
    /// The cache key of a run: 64 hexadecimal digits.
    /// Two runs have the same key if and only if scenario, seed and engine are the same.
    ///
    /// The key is that of the checked scenario. It does not depend on the notation of quantities or on explicit defaults.
    pub fn key(&self, seed: u64, engine: &str) -> String {
        self.keys([seed], engine).next().unwrap_or_default()
    }

    /// The keys of runs that differ only in their seeds; the scenario is serialized once.
    pub fn keys<T: IntoIterator<Item = u64>>(&self, seeds: T, engine: &str) -> impl Iterator<Item = String> + use<T> {
        digests(serde_json::json!({ "engine": engine, "scenario": self.tree() }), seeds)
    }

    /// The keys of the beginnings of runs with these seeds.
    /// A beginning is everything but TCP options, start and stop of groups that may start after time 0. Runs with the same key can share a
    /// beginning. Several seeds have the same key if traffic draws no random number in at least the first hundredth of the run. `None`
    /// without such a group, and with external laws, whose state may be shared.
    pub fn beginnings<T: IntoIterator<Item = u64>>(&self, seeds: T) -> Option<impl Iterator<Item = String> + use<T>> {
        let later = |group: &Group| group.start != Varying::One(Duration::ZERO);
        let queues = self.links.iter().filter_map(|link| link.queue.as_ref());
        let laws = queues.flat_map(|queue| queue.disciplines()).any(|queue| matches!(queue.aqm, AqmConfig::External(_)));
        let external = |tcp: &TcpOptions| matches!(tcp.control, CcConfig::External(_));
        let laws = laws || self.groups.iter().filter_map(|group| group.tcp.as_ref()).any(external);
        if laws || !self.groups.iter().any(later) {
            return None;
        }
        let mut common = self.clone();
        for group in common.groups.iter_mut().filter(|group| later(group)) {
            group.tcp = None;
            // A session becomes active at its planned start.
            if !group.traffic.opens_connections() {
                (group.start, group.stop) = (Varying::One(Duration::ZERO), None);
            }
        }
        let drawn_late = self.draws_nothing_until().is_some_and(|until| until >= self.duration / 100);
        let seed_of = move |seed| if drawn_late { 0 } else { seed };
        Some(digests(serde_json::json!({ "scenario": common.tree() }), seeds.into_iter().map(seed_of)))
    }

    /// The time until which the planned traffic is equal for all seeds; `None` if unknown.
    /// Draws of queues and applications during the run are not considered.
    fn draws_nothing_until(&self) -> Option<Duration> {
        let draws =
            self.links.iter().any(|link| !link.impairments.is_empty() || link.trace.as_ref().is_some_and(|trace| trace.rows.has_loss()));
        if draws || !self.processes.is_empty() || self.groups.iter().any(|group| group.traffic.opens_connections() || group.draws_links()) {
            return None;
        }
        let first = |group: &Group| {
            let stop_is_drawn = group.stop.as_ref().is_some_and(|stop| stop.drawn_from().is_some());
            if stop_is_drawn { Some(Quantity::nearest(group.start.least())) } else { group.start.drawn_from() }
        };
        Some(self.groups.iter().filter_map(first).min().unwrap_or(self.duration))
    }

    /// The scenario without its seed.
    fn tree(&self) -> Value {
        let mut scenario = serde_json::to_value(self).expect("every map in a checked scenario has text for its keys");
        if let Some(object) = scenario.as_object_mut() {
            object.remove("seed");
        }
        scenario
    }
}

/// The digest of a value with each seed.
fn digests(value: Value, seeds: impl IntoIterator<Item = u64>) -> impl Iterator<Item = String> {
    let mut text = String::new();
    canonical(&value, &mut text);
    text.pop(); // removes the closing bracket: the seed becomes the last key
    let common = Sha256::new_with_prefix(text.as_bytes());
    seeds.into_iter().map(move |seed| hexadecimal(&common.clone().chain_update(format!(",\"seed\":{seed}}}")).finalize()))
}

/// JSON without spaces and with keys in order.
fn canonical(value: &Value, text: &mut String) {
    match value {
        Value::Array(list) => {
            text.push('[');
            for (i, value) in list.iter().enumerate() {
                text.push_str(if i > 0 { "," } else { "" });
                canonical(value, text);
            }
            text.push(']');
        }
        Value::Object(object) => {
            let mut keys: Vec<&String> = object.keys().collect();
            keys.sort();
            text.push('{');
            for (i, key) in keys.into_iter().enumerate() {
                text.push_str(if i > 0 { "," } else { "" });
                let _ = write!(text, "{}:", Value::String(key.clone()));
                canonical(&object[key], text);
            }
            text.push('}');
        }
        other => {
            let _ = write!(text, "{other}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests the form of Python's `json.dumps(value, sort_keys=True, separators=(",", ":"))`.
    #[test]
    fn canonical_json_has_its_keys_in_order_and_commas_between_all_elements() {
        let value = serde_json::json!({ "b": [1, { "z": null, "x": "\"", "y": true }, []], "a": -0.5, "c": {} });
        let mut text = String::new();
        canonical(&value, &mut text);
        assert_eq!(text, r#"{"a":-0.5,"b":[1,{"x":"\"","y":true,"z":null},[]],"c":{}}"#);
    }
}
