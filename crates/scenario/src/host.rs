//! What a record says of the kernel that ran it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kernel whose TCP a run had.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Its name: `linux`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Where its source comes from: a package with its version, or a folder.
    pub source: String,
    /// SHA-256 of its configuration.
    pub config_sha256: String,
    /// SHA-256 of the kernel itself.
    pub kernel_sha256: String,
    /// SHA-256 of the log of everything that hosts did: equal for equal runs.
    pub log_sha256: String,
}
