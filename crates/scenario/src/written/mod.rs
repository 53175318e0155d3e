//! The scenario as written: one struct per table of the file, unknown keys refused.

mod impairment;
mod traffic;

pub use impairment::Impairment;
pub use sojourn_spec::queue::{Hints, Queue, QueueOptions};
pub use sojourn_spec::tcp::{Control, Profile, TcpOverrides};
pub use traffic::Traffic;

use crate::quantity::Varying;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_units::{Bytes, Duration, Rate};

/// A whole scenario file.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What it is called; default: the file's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How long the run is, at most 1000000 s.
    pub duration: Duration,
    /// Statistics count from here on; default "0 s".
    #[serde(default)]
    pub warmup: Duration,
    /// Where random streams start; replications use seed, seed + 1, ...; default 1.
    #[serde(default = "one")]
    pub seed: u64,
    /// Mean packet size where a parameter in packets must become bytes; default "1500 B".
    #[serde(default = "packet")]
    pub packet: Bytes,
    /// The links; nodes exist by being named in them.
    pub links: Vec<Link>,
    /// Defaults of every TCP flow.
    #[serde(default)]
    pub tcp: TcpOverrides,
    /// The groups of flows.
    #[serde(default)]
    pub flows: Vec<Flows>,
    /// What is traced; nothing unless asked for.
    #[serde(default)]
    pub trace: Trace,
}

/// A directed link, or with `duplex` a pair of them.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// What it is called; default "from->to".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The node it starts at.
    pub from: String,
    /// The node it ends at.
    pub to: String,
    /// How fast it sends; absent: no serialization, no queue, only delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Its propagation delay; default "0 s".
    #[serde(default)]
    pub delay: Duration,
    /// Its queue; default: droptail with 1000 packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
    /// Whether there is a reverse link too; default false.
    #[serde(default)]
    pub duplex: bool,
    /// What differs on the reverse link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back: Option<Back>,
    /// How its rate and its delay change, in order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// What it does to packets besides queuing them, in order; default: nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub impairments: Vec<Impairment>,
}

/// What differs on the reverse link of a duplex link.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Back {
    /// How fast it sends; default: as the forward link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Its propagation delay; default: as the forward link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Duration>,
    /// Its queue; default: droptail with 1000 packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
    /// How its rate and its delay change, in order of time; default: they don't.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// What it does to packets besides queuing them, in order; default: nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub impairments: Vec<Impairment>,
}

/// A change of a link: of its rate, of its delay, or of both.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// When, since the start of the run.
    pub at: Duration,
    /// The rate from then on; default: as before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// The propagation delay from then on, as on another route; default: as before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Duration>,
}

/// A group of like flows, called name/0, name/1, ...
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flows {
    /// What the group is called.
    pub name: String,
    /// How many flows it has; default 1.
    #[serde(default = "one_flow")]
    pub count: u32,
    /// The node where their data enters.
    pub from: String,
    /// The node where their data leaves.
    pub to: String,
    /// Each flow's own duplex link at the sender's side; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<Access>,
    /// Each flow's own duplex link at the receiver's side; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub egress: Option<Access>,
    /// The nodes of the forward path, first and last included, if it is not the shortest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Vec<String>>,
    /// The nodes of the reverse path; default: `via` backward if it is given, else the shortest path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via_back: Option<Vec<String>>,
    /// When each starts; default "0 s".
    #[serde(default = "immediately")]
    pub start: Varying<Duration>,
    /// When each stops sending; default: the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Varying<Duration>>,
    /// What they send; default: bulk without end.
    #[serde(default)]
    pub traffic: Traffic,
    /// Where they differ from the scenario's `[tcp]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpOverrides>,
}

/// A flow's own duplex link to or from the network.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Access {
    /// How fast it sends, in both directions; absent: no serialization, only delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Varying<Rate>>,
    /// Its propagation delay, in each direction; default "0 s".
    #[serde(default = "immediately")]
    pub delay: Varying<Duration>,
}

/// What is traced.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// Waiting packets and bytes and the probability of these links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<TraceQueue>,
    /// Window and threshold of these flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwnd: Option<TraceCwnd>,
    /// Rates of these flows and links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput: Option<TraceThroughput>,
    /// Every RTT sample of these flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<TraceRtt>,
}

/// Which queues are traced. Links are named, or `"*"` for all.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceQueue {
    /// The links.
    pub links: Vec<String>,
    /// The span between samples.
    pub every: Duration,
}

/// Whose windows are traced. Flows are `"ftp/0"`, `"ftp/*"` for a group or `"*"` for all.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceCwnd {
    /// The flows.
    pub flows: Vec<String>,
    /// The span between samples.
    pub every: Duration,
}

/// Whose throughput is traced.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceThroughput {
    /// The flows; default none.
    #[serde(default)]
    pub flows: Vec<String>,
    /// The links; default none.
    #[serde(default)]
    pub links: Vec<String>,
    /// The span over which each rate is averaged.
    pub every: Duration,
}

/// Whose RTT is traced.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceRtt {
    /// The flows.
    pub flows: Vec<String>,
}

fn one() -> u64 {
    1
}

fn one_flow() -> u32 {
    1
}

fn packet() -> Bytes {
    Bytes(1500)
}

fn immediately() -> Varying<Duration> {
    Varying::One(Duration::ZERO)
}
