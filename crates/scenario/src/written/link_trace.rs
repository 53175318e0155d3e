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
    /// Its format: "mahimahi", "csv" or "netem-trace"; default by the file's suffix.
    /// .csv and .txt are "csv", .json is "netem-trace", others are "mahimahi".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<TraceFormat>,
}

/// The format of a trace file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TraceFormat {
    /// Mahimahi's: one line per opportunity to send 1500 bytes, with its time in ms.
    Mahimahi,
    /// A table. A line has a time, the rate from then on, and optionally delay and loss.
    Csv,
    /// The JSON of the crate `netem-trace`.
    NetemTrace,
}

impl TraceFormat {
    /// The format of a file by its suffix.
    pub fn of(path: &Path) -> TraceFormat {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("csv" | "txt") => TraceFormat::Csv,
            // netem-trace also writes TOML, which the JSON parser rejects.
            Some("json" | "toml") => TraceFormat::NetemTrace,
            _ => TraceFormat::Mahimahi,
        }
    }
}
