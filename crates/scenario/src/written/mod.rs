//! The scenario as written: one struct per table of the file. Unknown keys are errors.

mod impairment;
pub mod library;
mod link_trace;
mod paths;
mod traffic;

pub use impairment::Impairment;
pub use library::PathName;
pub use link_trace::{LinkTrace, TraceFormat};
pub use paths::{PathChoice, Reroute};
pub use sojourn_spec::medium::Medium;
pub use sojourn_spec::queue::classes::Dscp;
pub use sojourn_spec::queue::{Hints, Queue, QueueOptions};
pub use sojourn_spec::tcp::{Control, Profile, TcpOverrides};
pub use traffic::Traffic;

use crate::quantity::Varying;
use schemars::JsonSchema;
use serde::de::{Deserializer, Error, Unexpected, Visitor};
use serde::{Deserialize, Serialize};
use sojourn_units::{AnyOverhead, Bytes, Duration, Rate};
use std::fmt;

/// A whole scenario file.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Its name; default: the file's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The length of the run, at most 1000000 s.
    pub duration: Duration,
    /// The start of statistics; default "0 s".
    #[serde(default)]
    pub warmup: Duration,
    /// The seed of every random stream; default 1. Replications use seed, seed + 1, ...
    #[serde(default = "one")]
    pub seed: u64,
    /// The mean packet size; default "1500 B".
    /// It converts parameters between packets and bytes.
    #[serde(default = "packet")]
    pub packet: Bytes,
    /// The TCP stack of the flows; default "simulator".
    /// It is the simulator's, that of a Linux kernel in virtual time, or that of this machine.
    #[serde(default, skip_serializing_if = "Host::is_simulator")]
    pub host: Host,
    /// The links. A node exists if a link names it.
    pub links: Vec<Link>,
    /// Media that links share; default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<Medium>,
    /// TCP options of all flows that do not set them.
    #[serde(default)]
    pub tcp: TcpOverrides,
    /// The groups of flows.
    #[serde(default)]
    pub flows: Vec<Flows>,
    /// The time series to store; default: none.
    #[serde(default)]
    pub trace: Trace,
}

/// The TCP stack of the flows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Host {
    /// The simulator's own stack.
    #[default]
    Simulator,
    /// A Linux kernel in virtual time, over the same links and queues.
    Linux,
    /// The kernel of this machine in real time, over the same links and queues.
    Live,
}

impl Host {
    /// Whether it is the simulator.
    pub fn is_simulator(&self) -> bool {
        *self == Host::Simulator
    }
}

/// A link in one direction, or with `duplex` a link in each direction.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Its name; default "from->to".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The node at its start.
    pub from: String,
    /// The node at its end.
    pub to: String,
    /// Its transmission rate; default: a pure delay without a queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// A trace file of the link's capacity over time, instead of a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<LinkTrace>,
    /// A path of the library instead of a rate, such as "lte-verizon-2012".
    /// It has a rate, and possibly delays, losses and other impairments. Each seed draws its rates over time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathName>,
    /// Its propagation delay, on top of its path's; default "0 s".
    #[serde(default)]
    pub delay: Duration,
    /// Its queue; default: droptail with 1000 packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
    /// Whether a reverse link exists too; default false.
    #[serde(default)]
    pub duplex: bool,
    /// Settings of the reverse link that differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back: Option<Back>,
    /// Link-layer overhead per packet, in both directions; default: that of its path, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead: Option<AnyOverhead>,
    /// The name of the medium that it shares with other links; default: none.
    /// It applies in both directions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub medium: Option<String>,
    /// Changes of its rate and delay in chronological order; default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// Impairments of packets, applied in this order; default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub impairments: Vec<Impairment>,
}

/// Settings of the reverse link of a duplex link that differ from the forward link.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Back {
    /// Its transmission rate; default: the rate, the trace or the path of the first link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// A trace file of the link's capacity over time, instead of a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<LinkTrace>,
    /// A path of the library instead of a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathName>,
    /// Its propagation delay, on top of its path's; default: that of the first link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Duration>,
    /// Its queue; default: droptail with 1000 packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
    /// Link-layer overhead per packet; default: that of the first link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead: Option<AnyOverhead>,
    /// The name of the medium that it shares with other links; default: that of the first link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub medium: Option<String>,
    /// Changes of its rate and delay in chronological order; default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// Impairments of packets, applied in this order; default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub impairments: Vec<Impairment>,
}

/// A change of a link's rate, of its delay, or of both.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The time of the change, since the start of the run.
    pub at: Duration,
    /// The new rate; default: unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// The new propagation delay, as after a change of route; default: unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Duration>,
}

/// A group of flows with the same settings, called name/0, name/1, ...
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flows {
    /// The name of the group.
    pub name: String,
    /// The number of flows, 1 or more; default 1.
    #[serde(default = "one_flow", deserialize_with = "flow_count")]
    pub count: u32,
    /// The node at which their data enters the network.
    pub from: String,
    /// The node at which their data leaves the network.
    pub to: String,
    /// A duplex link for each flow at the sender's side; default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<Access>,
    /// A duplex link for each flow at the receiver's side; default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub egress: Option<Access>,
    /// The nodes of the forward path, from `from` to `to`.
    /// Default: the path with the fewest links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Vec<String>>,
    /// The nodes of the reverse path.
    /// Default: `via` in reverse if it is set, else the path with the fewest links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via_back: Option<Vec<String>>,
    /// The choice among equally short paths; default "first".
    /// "first" in the file, "flow" (drawn per flow) or "packet" (round-robin per packet). It also applies to parallel links on `via`.
    #[serde(default, skip_serializing_if = "PathChoice::is_default")]
    pub paths: PathChoice,
    /// Route changes in chronological order; default: none.
    /// Packets on a new path can overtake those on the old one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reroute: Vec<Reroute>,
    /// The start time of each flow; default "0 s".
    #[serde(default = "zero")]
    pub start: Varying<Duration>,
    /// The time at which each flow stops sending; default: the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Varying<Duration>>,
    /// The DSCP of their packets in both directions, 0 to 63 or a name such as "ef"; default 0.
    /// Classes can match it.
    #[serde(default, skip_serializing_if = "Dscp::is_default")]
    pub dscp: Dscp,
    /// The port of their connections, which classes can match; default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// The endpoints that carry them, such as "quinn"; default: those of the scenario's host.
    /// A program that uses the crate `sojourn-harness` supplies others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The traffic that the flows send; default: bulk data without end.
    #[serde(default)]
    pub traffic: Traffic,
    /// TCP options that differ from the scenario's `[tcp]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpOverrides>,
}

/// The `host` of flows that the simulator carries.
pub const SIMULATOR: &str = "simulator";

impl Flows {
    /// The name of the endpoints that a program supplies.
    /// `None` for those of the scenario's host.
    pub fn foreign(&self) -> Option<&String> {
        self.host.as_ref().filter(|host| *host != SIMULATOR)
    }
}

/// A duplex link that belongs to one flow, between its host and the network.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Access {
    /// Its transmission rate in both directions; default: a pure delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Varying<Rate>>,
    /// Its propagation delay in each direction; default "0 s".
    #[serde(default = "zero")]
    pub delay: Varying<Duration>,
}

/// The time series to store.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// The queues of these links: packets, bytes, and the discipline's probability.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<TraceQueue>,
    /// The congestion windows and ssthresh of these flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwnd: Option<TraceCwnd>,
    /// The throughput of these flows and links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput: Option<TraceThroughput>,
    /// All RTT samples of these flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<TraceRtt>,
    /// The queuing delays of packets at these links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<TraceWait>,
    /// The packets that these links drop or mark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signals: Option<TraceSignals>,
    /// The completed connections of these flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completions: Option<TraceCompletions>,
    /// Every change of the congestion controllers of these flows.
    /// It has windows, pacing rate, data in flight and internal variables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<TraceController>,
    /// The segments that these flows retransmit after a loss or as a probe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmissions: Option<TraceRetransmissions>,
    /// The data segments that these flows send, and the ACKs that they get.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segments: Option<TraceSegments>,
}

/// Links whose queues are traced. `"*"` selects all links.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceQueue {
    /// The links.
    pub links: Vec<String>,
    /// The interval between samples.
    pub every: Duration,
}

/// Flows whose windows are traced: `"ftp/0"` is a flow, `"ftp/*"` a group, `"*"` all flows.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceCwnd {
    /// The flows.
    pub flows: Vec<String>,
    /// The interval between samples.
    pub every: Duration,
}

/// Flows and links whose throughput is traced.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceThroughput {
    /// The flows; default none.
    #[serde(default)]
    pub flows: Vec<String>,
    /// The links; default none.
    #[serde(default)]
    pub links: Vec<String>,
    /// The interval over which each value is averaged.
    pub every: Duration,
}

/// Flows whose RTT samples are stored.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceRtt {
    /// The flows.
    pub flows: Vec<String>,
}

/// Links whose queuing delays are stored. `"*"` selects all links.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceWait {
    /// The links.
    pub links: Vec<String>,
    /// The sampling interval: every `one_in`-th packet is stored; 1 or more, default 1.
    /// Counting starts with the first transmission.
    #[serde(default = "one_packet")]
    pub one_in: u32,
}

/// Links whose drops and marks are stored. `"*"` selects all links.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceSignals {
    /// The links.
    pub links: Vec<String>,
}

/// Flows whose completed connections are stored.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceCompletions {
    /// The flows.
    pub flows: Vec<String>,
}

/// Flows whose congestion controllers are traced.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceController {
    /// The flows.
    pub flows: Vec<String>,
}

/// Flows whose retransmissions are stored.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceRetransmissions {
    /// The flows.
    pub flows: Vec<String>,
}

/// Flows whose data segments and ACKs are stored.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceSegments {
    /// The flows.
    pub flows: Vec<String>,
}

fn one() -> u64 {
    1
}

fn one_packet() -> u32 {
    1
}

fn one_flow() -> u32 {
    1
}

/// The maximum number of flows in a scenario.
pub(crate) const MOST_FLOWS: u64 = 1_000_000;
/// The expectation for the number of flows of a group.
pub(crate) const FLOW_COUNT: &str = "a whole number, 1 or more, at most 1000000 for all groups together";

/// Reads the number of flows of a group.
struct FlowCount;

impl Visitor<'_> for FlowCount {
    type Value = u32;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(FLOW_COUNT)
    }

    fn visit_i64<E: Error>(self, count: i64) -> Result<u32, E> {
        let flows = u32::try_from(count).ok().filter(|&flows| flows > 0 && u64::from(flows) <= MOST_FLOWS);
        flows.ok_or_else(|| E::invalid_value(Unexpected::Signed(count), &self))
    }

    fn visit_u64<E: Error>(self, count: u64) -> Result<u32, E> {
        self.visit_i64(i64::try_from(count).unwrap_or(i64::MAX))
    }
}

fn flow_count<'de, D: Deserializer<'de>>(written: D) -> Result<u32, D::Error> {
    written.deserialize_u64(FlowCount)
}

fn packet() -> Bytes {
    Bytes(1500)
}

fn zero() -> Varying<Duration> {
    Varying::One(Duration::ZERO)
}
