//! Runs a scenario file as the laboratory does, and times it: `scenario FILE [THREADS]`.
//! The record is the same as that of `sojourn run`.

use sojourn_lab::{Laws, run_on};
use sojourn_scenario::Document;
use std::error::Error;

/// Returns the seconds that a call takes, and its result.
#[allow(clippy::disallowed_methods)]
fn timed<T>(call: impl FnOnce() -> T) -> (f64, T) {
    let begin = std::time::Instant::now();
    let given = call();
    (begin.elapsed().as_secs_f64(), given)
}

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("usage: scenario FILE [THREADS]")?;
    let threads = std::env::args().nth(2).map_or(Ok(1), |number| number.parse())?;
    let text = std::fs::read_to_string(&file)?;
    let scenario = Document::from_toml(&file, &text)?.check()?;
    let (wall, outcome) = timed(|| run_on(&scenario, None, &Laws::default(), threads, &|| false));
    let first = outcome?.record.links.into_iter().next().ok_or("no link is measured")?;
    println!("{} packets at {}, {:.2} M/s, {wall:.3} s", first.arrived, first.name, first.arrived as f64 / wall / 1e6);
    Ok(())
}
