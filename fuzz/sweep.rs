//! Every sweep file is rejected in one line, or its points can be checked.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_scenario::{Document, Error, Sweep};

/// The scenario of sweeps. Fuzzing starts from `examples/sweep.toml`, which uses it.
const BASE: &str = include_str!("../examples/dumbbell.toml");
/// The maximum number of points to check.
/// A file may have many more, which is slow and tests nothing more.
const MOST: usize = 100;

fn in_one_line(error: &Error) {
    assert!(!error.problem.is_empty() && !error.to_string().contains('\n'), "{error:?}");
}

fuzz_target!(|text: &str| {
    let (sweep, base) = match (Sweep::from_toml("x.toml", text), Document::from_toml("base.toml", BASE)) {
        (Ok(sweep), Ok(base)) => (sweep, base),
        (Err(error), _) | (_, Err(error)) => return in_one_line(&error),
    };
    for point in 0..sweep.points().min(MOST) {
        if let Err(error) = sweep.point(&base, point) {
            in_one_line(&error);
        }
    }
});
