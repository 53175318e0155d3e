//! Whatever a sweep file holds, it is refused in one line or its points can be checked.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_scenario::{Document, Error, Sweep};

/// What a sweep is laid over.
const BASE: &str = include_str!("../crates/scenario/tests/valid.toml");
/// The most runs that are laid out: a file may ask for many more, which takes long and shows nothing more.
const MOST: u64 = 500;

fn in_one_line(error: &Error) {
    assert!(!error.problem.is_empty() && !error.to_string().contains('\n'), "{error:?}");
}

fuzz_target!(|text: &str| {
    let (sweep, base) = match (Sweep::from_toml("x.toml", text), Document::from_toml("base.toml", BASE)) {
        (Ok(sweep), Ok(base)) => (sweep, base),
        (Err(error), _) | (_, Err(error)) => return in_one_line(&error),
    };
    if sweep.axes.iter().map(|axis| axis.points.len() as u64).product::<u64>() * u64::from(sweep.replications) <= MOST
        && let Err(error) = sweep.expand(&base)
    {
        in_one_line(&error);
    }
});
