//! Reads qlog files with quiche's crate `qlog`, and counts the events of each name.

use std::collections::BTreeMap;
use std::process::ExitCode;

fn events(path: &str) -> Result<BTreeMap<String, usize>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let log: qlog::Qlog = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let mut found = BTreeMap::new();
    for event in log.traces.iter().flat_map(|trace| &trace.events) {
        let written = serde_json::to_value(event).map_err(|error| error.to_string())?;
        *found.entry(written["name"].as_str().unwrap_or_default().to_string()).or_default() += 1;
    }
    Ok(found)
}

fn main() -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for path in std::env::args().skip(1) {
        match events(&path) {
            Ok(found) => println!("{path}: {found:?}"),
            Err(error) => {
                println!("{path}: MISS: {error}");
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}
