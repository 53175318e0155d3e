//! Whatever a sweep file holds, it is refused in one line or its points can be checked.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_scenario::{Document, Error, Sweep};

/// What a sweep is laid over: the scenario of `examples/sweep.toml`, from which fuzzing starts.
const BASE: &str = include_str!("../examples/dumbbell.toml");
/// The most points that are checked: a file may ask for many more, which takes long and shows nothing more.
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
