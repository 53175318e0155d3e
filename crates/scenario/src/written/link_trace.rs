//! A trace file of a link.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A trace file of a link's capacity over time. It repeats at its end.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkTrace {
    /// The file; a relative path starts from the folder of the scenario.
    pub file: String,
    /// Its format; default by its ending: "csv" for .csv and .txt, "netem-trace" for .json, else "mahimahi".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<TraceFormat>,
}

/// The format of a file with a trace.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TraceFormat {
    /// Mahimahi's: a line for each opportunity to send 1500 bytes, with its time in ms.
    Mahimahi,
    /// A table: each line has a time, the rate from then on and, optionally, a delay and a loss probability.
    Csv,
    /// The JSON of the crate `netem-trace`.
    NetemTrace,
}

impl TraceFormat {
    /// The format of a file by its ending.
    pub fn of(path: &Path) -> TraceFormat {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("csv" | "txt") => TraceFormat::Csv,
            // netem-trace writes TOML too, which is refused where JSON is read.
            Some("json" | "toml") => TraceFormat::NetemTrace,
            _ => TraceFormat::Mahimahi,
        }
    }
}
