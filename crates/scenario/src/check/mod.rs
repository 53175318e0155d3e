//! Validation: resolves names, fills in defaults, and checks the range of every value.

pub(crate) mod classes;
mod flows;
mod host;
mod limits;
pub(crate) mod links;
mod media;
mod one_instant;
mod paths;
mod queues;
mod route;
mod trace;

pub use queues::{check_controller, check_laws};

use crate::error::{Error, is_shown};
use crate::quantity::Varying;
use crate::written::{Access, Host, PathChoice, Reroute, Scenario};
use serde::Serialize;
use sojourn_link::Process;
use sojourn_spec::link::Link;
use sojourn_spec::paths::Paths;
use sojourn_spec::queue::classes::Dscp;
use sojourn_spec::tcp::TcpOptions;
use sojourn_traffic::Traffic;
use sojourn_units::{Duration, range};
use std::path::Path;

/// A valid scenario: names are resolved, defaults filled in, and all parameters in range.
///
/// [`Checked::plan`] creates the flows of each group for one seed. It cannot fail.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Checked {
    /// The name of the scenario.
    pub name: String,
    /// The seed of the first replication.
    pub seed: u64,
    /// The length of the run.
    pub duration: Duration,
    /// The start of statistics.
    pub warmup: Duration,
    /// Mean packet size in bytes.
    pub packet: u32,
    /// The TCP stack of the flows.
    #[serde(skip_serializing_if = "Host::is_simulator")]
    pub host: Host,
    /// The names of the nodes, in the order of their first use by links.
    pub nodes: Vec<String>,
    /// The links. The reverse link of a duplex link directly follows it.
    pub links: Vec<Link>,
    /// The random processes of links whose path varies.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<LinkProcess>,
    /// The groups of flows.
    pub groups: Vec<Group>,
    /// The time series to store.
    pub trace: Trace,
}

/// The process that draws the trace of a link.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LinkProcess {
    /// The link.
    pub link: u32,
    /// The process.
    pub process: Process,
}

/// A group of flows with the same settings.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Group {
    /// The name of the group.
    pub name: String,
    /// Number of flows.
    pub count: u32,
    /// The node at which the flows' data enters the network.
    pub from: u32,
    /// The node at which the flows' data leaves the network.
    pub to: u32,
    /// The links of the forward path, without access links.
    pub forward: Vec<u32>,
    /// The links of the reverse path, without access links; empty if nothing is sent back.
    pub back: Vec<u32>,
    /// How its flows choose a path, if there are several.
    #[serde(skip_serializing_if = "PathChoice::is_default")]
    pub paths: PathChoice,
    /// All paths, if there are several.
    #[serde(skip)]
    pub all_paths: Paths,
    /// The route changes: times and nodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reroute: Vec<Reroute>,
    /// Each flow's own link at the sender's side.
    pub access: Option<Access>,
    /// Each flow's own link at the receiver's side.
    pub egress: Option<Access>,
    /// The start time of each flow.
    pub start: Varying<Duration>,
    /// The stop time of each flow; `None`: the end of the run.
    pub stop: Option<Varying<Duration>>,
    /// The DSCP of their packets.
    #[serde(skip_serializing_if = "Dscp::is_default")]
    pub dscp: Dscp,
    /// The port of their connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// The traffic that they send.
    pub traffic: Traffic,
    /// The name of the endpoints that a program supplies; default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The TCP options; `None` over UDP and for endpoints of a program.
    pub tcp: Option<TcpOptions>,
}

impl Group {
    /// The links of all its forward paths, without access links, possibly with duplicates.
    pub fn forward_links(&self) -> impl Iterator<Item = u32> {
        self.forward.iter().chain(self.all_paths.forward.iter().flatten()).copied()
    }

    /// The links of all its reverse paths, without access links, possibly with duplicates.
    pub fn back_links(&self) -> impl Iterator<Item = u32> {
        self.back.iter().chain(self.all_paths.back.iter().flatten()).copied()
    }

    /// Whether the paths of its flows, or the rates or delays of their own links, are random.
    pub(crate) fn draws_links(&self) -> bool {
        let drawn =
            |access: &Access| access.delay.drawn_from().is_some() || access.rate.as_ref().is_some_and(|rate| rate.drawn_from().is_some());
        self.paths == PathChoice::Flow || self.access.iter().chain(&self.egress).any(drawn)
    }
}

/// The time series to store.
/// Links are indices of [`Checked::links`]. Flows are counted through all groups in order.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Trace {
    /// The traced queues, and the interval between samples.
    pub queue: Option<Sampled>,
    /// The traced windows, and the interval between samples.
    pub cwnd: Option<Sampled>,
    /// The traced rates, and the interval over which each is averaged.
    pub throughput: Option<Sampled>,
    /// Flows with all RTT samples stored.
    pub rtt: Vec<u32>,
    /// Links with the waits of packets stored.
    pub wait: Option<Waits>,
    /// Links with all drops and marks stored.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub signals: Vec<u32>,
    /// Flows with all completed connections stored.
    pub completions: Vec<u32>,
    /// Flows with every change of the congestion controller stored.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub controller: Vec<u32>,
    /// Flows with all retransmissions stored.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub retransmissions: Vec<u32>,
    /// Flows with all data segments and ACKs stored.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<u32>,
}

/// Links with the waits of packets stored.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Waits {
    /// The links.
    pub links: Vec<u32>,
    /// The sampling interval: every n-th packet is stored.
    pub one_in: u32,
}

/// Links and flows that are sampled at a fixed interval.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Sampled {
    /// The links.
    pub links: Vec<u32>,
    /// The flows.
    pub flows: Vec<u32>,
    /// The interval between samples.
    pub every: Duration,
}

/// Checks a scenario.
/// `name` is its default name. File names are relative to `folder`.
///
/// # Errors
/// The first invalid value, with the path of its field.
pub fn check(scenario: &Scenario, name: &str, folder: &Path) -> Result<Checked, Error> {
    let (duration, warmup) = (scenario.duration, scenario.warmup);
    range::positive_time("duration", duration)?;
    range::time("warmup", warmup)?;
    if warmup >= duration {
        return Err(Error::got("warmup", warmup, format_args!("a time before the end of the run ({duration})")));
    }
    if scenario.seed > i64::MAX as u64 {
        return Err(Error::got("seed", scenario.seed, format_args!("a whole number, 0 to {}", i64::MAX)));
    }
    range::packet_size("packet", scenario.packet)?;
    let packet = scenario.packet.0 as u32;
    let mut network = links::check(scenario, packet, folder)?;
    let groups = flows::check(&scenario.flows, &scenario.tcp, &network, folder)?;
    limits::plan(&mut network, &groups, packet)?;
    queues::check(&network, &groups, packet, duration)?;
    host::check(scenario, &network, &groups)?;
    let run = trace::Run { duration, packet, links: &network.links, groups: &groups };
    let trace = trace::check(&scenario.trace, &run)?;
    let name = scenario.name.clone().unwrap_or_else(|| name.to_string());
    if name.trim().is_empty() || !name.chars().all(is_shown) {
        return Err(Error::got("name", format_args!("{name:?}"), "a name in one line"));
    }
    let links::Network { nodes, links, processes, .. } = network;
    Ok(Checked { name, seed: scenario.seed, duration, warmup, packet, host: scenario.host, nodes, links, processes, groups, trace })
}

/// Checks that a name can be a step of a path and a part of `group/0`.
fn name(field: impl Into<String>, what: &str, name: &str) -> Result<(), Error> {
    let bad = |c: char| !is_shown(c) || c.is_whitespace() || "/*\"'[]".contains(c);
    if name.is_empty() || name.chars().any(bad) {
        return Err(Error::got(
            field,
            format_args!("{name:?}"),
            format_args!("a {what}'s name, without spaces, quotes, brackets, / and *"),
        ));
    }
    Ok(())
}
