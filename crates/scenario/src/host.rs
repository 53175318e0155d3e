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
    /// The kernel's own queue disciplines; none where the links have queues of ours.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub qdiscs: Vec<ToldQdisc>,
}

/// What the kernel tells of a queue discipline at the end of a run, counted from its start (`tc -s qdisc`).
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
    /// Packets that wait.
    pub waiting: u64,
    /// Bytes that wait.
    pub waiting_bytes: u64,
    /// How often it held packets back.
    pub overlimits: u64,
    /// What the discipline `sojourn` has counted itself; `None` for others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<CountedByOurs>,
}

/// What the discipline `sojourn` tells besides, in packets.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CountedByOurs {
    /// Packets that arrived.
    pub arrived: u64,
    /// Packets that it marked.
    pub marked: u64,
    /// Packets that its law dropped.
    pub early: u64,
    /// Packets that its law dropped because it had to.
    pub forced: u64,
    /// Packets for which there was no room.
    pub tail: u64,
    /// ACKs that a newer one made useless.
    #[serde(default)]
    pub ack_filter: u64,
}
