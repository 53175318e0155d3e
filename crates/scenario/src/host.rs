//! The kernel of a run, as a record describes it, and how a machine kept up with a live run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kernel whose TCP a run used.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Its name: `linux`, or `live` for the kernel of the machine.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Where its source comes from: a package with its version, or a folder; empty for `live`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// SHA-256 of its configuration; empty for `live`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub config_sha256: String,
    /// SHA-256 of the kernel itself; empty for `live`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kernel_sha256: String,
    /// SHA-256 of the log of all host actions; equal for equal runs, empty for `live`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub log_sha256: String,
    /// How the machine kept up with a live run; `None` for others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace: Option<Pace>,
    /// The kernel's own queue disciplines; empty if the links use the simulator's queues.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub qdiscs: Vec<ToldQdisc>,
}

/// How a machine kept up with a live run.
/// Lateness is the time from the planned to the real delivery of a packet.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pace {
    /// Whether the machine kept up.
    /// The 99th percentile of lateness is at most 1 ms, and no packet was lost outside the network.
    pub kept_up: bool,
    /// Packets delivered.
    #[schemars(extend("unit" = "packets"))]
    pub delivered: u64,
    /// Median of lateness in us.
    #[schemars(extend("unit" = "us"))]
    pub late_p50_us: f64,
    /// 99th percentile of lateness in us.
    #[schemars(extend("unit" = "us"))]
    pub late_p99_us: f64,
    /// Largest lateness in us.
    #[schemars(extend("unit" = "us"))]
    pub late_max_us: f64,
    /// Packets that hosts sent faster than they were read.
    #[schemars(extend("unit" = "packets"))]
    pub unread: u64,
    /// Packets that a host did not accept.
    #[schemars(extend("unit" = "packets"))]
    pub refused: u64,
    /// Packets whose headers can't be read.
    #[schemars(extend("unit" = "packets"))]
    pub malformed: u64,
    /// Packets to an address that no host has, such as multicast.
    #[schemars(extend("unit" = "packets"))]
    pub strayed: u64,
    /// Packets between hosts that no flow of the scenario connects.
    #[schemars(extend("unit" = "packets"))]
    pub unconnected: u64,
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
