//! Properties of every registered algorithm.
//! They hold under any traffic (`model`) and for every parameter (`knobs`), and the decisions are those on record (`records`). These tests
//! cover a new line in the registry without a change. `AQMS=ramp,red cargo test -p sojourn-aqm --test registry` tests these two.

mod bench;
mod knobs;
mod model;
mod records;

use sojourn_aqm::{Entry, REGISTRY};

/// The algorithms under test: those in the environment variable, or all.
fn entries() -> Vec<&'static Entry> {
    let Ok(names) = std::env::var("AQMS") else { return REGISTRY.iter().collect() };
    let find = |name| REGISTRY.iter().find(|entry| entry.name == name).unwrap_or_else(|| panic!("AQMS: {name} is not registered"));
    names.split(',').map(find).collect()
}
