//! What tells runs apart, and what they have in common.

use crate::check::{Checked, Group};
use crate::quantity::Varying;
use serde_json::Value;
use sha2::{Digest, Sha256};
use sojourn_aqm::AqmConfig;
use sojourn_units::Duration;
use std::fmt::Write;

impl Checked {
    /// The key of a run in a cache, of 64 hexadecimal digits. Two runs have the same key exactly if scenario, seed and engine
    /// are the same.
    ///
    /// The key is that of the checked scenario: it does not depend on how quantities are written or on defaults that are given.
    pub fn key(&self, seed: u64, engine: &str) -> String {
        self.keys([seed], engine).next().unwrap_or_default()
    }

    /// The keys of runs that differ in their seeds alone: the scenario is written out once for all.
    pub fn keys<T: IntoIterator<Item = u64>>(&self, seeds: T, engine: &str) -> impl Iterator<Item = String> + use<T> {
        digests(serde_json::json!({ "engine": engine, "scenario": self.tree() }), seeds)
    }

    /// The keys of what runs with these seeds have in common with runs of other scenarios: all but the TCP options of groups
    /// that may start after time 0. Runs with the same key can begin alike. `None` where there is no such group, and for laws
    /// of the caller, whose state may be shared.
    pub fn beginnings<T: IntoIterator<Item = u64>>(&self, seeds: T) -> Option<impl Iterator<Item = String> + use<T>> {
        let later = |group: &Group| group.tcp.is_some() && group.start != Varying::One(Duration::ZERO);
        let queues = self.links.iter().filter_map(|link| link.queue.as_ref());
        let laws = queues.flat_map(|queue| queue.disciplines()).any(|queue| matches!(queue.aqm, AqmConfig::External(_)));
        if laws || !self.groups.iter().any(later) {
            return None;
        }
        let mut common = self.clone();
        common.groups.iter_mut().filter(|group| later(group)).for_each(|group| group.tcp = None);
        Some(digests(serde_json::json!({ "scenario": common.tree() }), seeds))
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
    text.pop(); // the bracket at the end: the seed is the last key of the object
    let common = Sha256::new_with_prefix(text.as_bytes());
    seeds.into_iter().map(move |seed| {
        let digest = common.clone().chain_update(format!(",\"seed\":{seed}}}")).finalize();
        digest.iter().fold(String::with_capacity(64), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    })
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
