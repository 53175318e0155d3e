//! What must be true of every registered algorithm under any traffic (`model`), of every parameter (`knobs`),
//! and what each decides (`records`).
//! These tests cover a new line in the registry without a change. `AQMS=ramp,red cargo test -p sojourn-aqm --test registry` tests these two.

mod bench;
mod knobs;
mod model;
mod records;

use sojourn_aqm::{Entry, REGISTRY};

/// The algorithms that are tested: those that the environment names, or all.
fn entries() -> Vec<&'static Entry> {
    let Ok(names) = std::env::var("AQMS") else { return REGISTRY.iter().collect() };
    let find = |name| REGISTRY.iter().find(|entry| entry.name == name).unwrap_or_else(|| panic!("AQMS: {name} is not registered"));
    names.split(',').map(find).collect()
}
