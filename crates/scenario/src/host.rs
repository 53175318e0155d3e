//! The kernel of a run, as a record describes it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kernel whose TCP a run used.
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
    /// SHA-256 of the log of all host actions; equal for equal runs.
    pub log_sha256: String,
    /// The kernel's own queue disciplines; empty if the links use the simulator's queues.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub qdiscs: Vec<ToldQdisc>,
}

/// The kernel's counters of a queue discipline at the end of a run (`tc -s qdisc`).
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToldQdisc {
    /// The name of its link.
    pub link: String,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Packets sent.
    pub sent: u64,
    /// Packets dropped.
    pub dropped: u64,
    /// Packets waiting.
    pub waiting: u64,
    /// Bytes waiting.
    pub waiting_bytes: u64,
    /// Number of times it held packets back (overlimits).
    pub overlimits: u64,
    /// The counters of the discipline `sojourn`; `None` for others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<CountedByOurs>,
}

/// The additional counters of the discipline `sojourn`, in packets.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CountedByOurs {
    /// Packets that arrived.
    pub arrived: u64,
    /// Packets that it marked.
    pub marked: u64,
    /// Packets that its law dropped.
    pub early: u64,
    /// Packets that its law dropped although they were ECN-capable.
    pub forced: u64,
    /// Packets dropped because the queue was full.
    pub tail: u64,
    /// ACKs made redundant by a newer one.
    #[serde(default)]
    pub ack_filter: u64,
}
