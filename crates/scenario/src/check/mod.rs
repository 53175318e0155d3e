//! Validation: from what was written to what is meant, with nothing left to be interpreted.

mod flows;
mod links;
mod route;
mod trace;

use crate::error::Error;
use crate::quantity::{LONGEST, Varying, packet_size};
use crate::written::{Access, Scenario};
use serde::Serialize;
use sojourn_spec::link::Link;
use sojourn_spec::tcp::TcpOptions;
use sojourn_traffic::Traffic;
use sojourn_units::{Bytes, Duration, Rate};

/// A scenario that can be run: names are resolved, defaults filled in, every parameter in its range.
///
/// Groups of flows are not laid out yet: [`Checked::plan`] does that for a seed and can't fail.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Checked {
    /// What it is called.
    pub name: String,
    /// The first replication's seed.
    pub seed: u64,
    /// How long the run is.
    pub duration: Duration,
    /// Statistics count from here on.
    pub warmup: Duration,
    /// Mean packet size in bytes.
    pub packet: u32,
    /// The nodes by name, in the order in which links name them.
    pub nodes: Vec<String>,
    /// The links, each reverse link directly after its forward link.
    pub links: Vec<Link>,
    /// The groups of flows.
    pub groups: Vec<Group>,
    /// What is traced.
    pub trace: Trace,
}

/// A group of like flows.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Group {
    /// What it is called.
    pub name: String,
    /// How many flows it has.
    pub count: u32,
    /// The node where their data enters.
    pub from: u32,
    /// The node where their data leaves.
    pub to: u32,
    /// The links of the forward path, without access links.
    pub forward: Vec<u32>,
    /// The links of the reverse path, without access links; empty for a flow over UDP.
    pub back: Vec<u32>,
    /// Each flow's own link at the sender's side.
    pub access: Option<Access>,
    /// Each flow's own link at the receiver's side.
    pub egress: Option<Access>,
    /// When each starts.
    pub start: Varying<Duration>,
    /// When each stops; `None`: at the end of the run.
    pub stop: Option<Varying<Duration>>,
    /// What they send.
    pub traffic: Traffic,
    /// TCP options, every one with its value; `None` for a flow over UDP.
    pub tcp: Option<TcpOptions>,
}

/// What is traced. Links are positions in [`Checked::links`]; flows count through all groups in order.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Trace {
    /// Queues, and how often.
    pub queue: Option<Sampled>,
    /// Windows, and how often.
    pub cwnd: Option<Sampled>,
    /// Rates, and over which span.
    pub throughput: Option<Sampled>,
    /// Flows whose every RTT sample is kept.
    pub rtt: Vec<u32>,
}

/// Links and flows that are traced at fixed times.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Sampled {
    /// The links.
    pub links: Vec<u32>,
    /// The flows.
    pub flows: Vec<u32>,
    /// The span between samples.
    pub every: Duration,
}

/// The most flows a scenario may have.
pub const MOST_FLOWS: u64 = 1_000_000;

/// Checks a scenario; `name` is its name if it gives none.
///
/// # Errors
/// The first thing that is wrong, by the path of its field.
pub fn check(scenario: &Scenario, name: &str) -> Result<Checked, Error> {
    let duration = above_zero("duration", scenario.duration)?;
    let warmup = within("warmup", scenario.warmup)?;
    if warmup >= duration {
        return Err(Error::got("warmup", warmup, format_args!("a time before the end of the run ({duration})")));
    }
    if scenario.seed > i64::MAX as u64 {
        return Err(Error::got("seed", scenario.seed, format_args!("a whole number, 0 to {}", i64::MAX)));
    }
    let packet = packet("packet", scenario.packet)?;
    let network = links::check(&scenario.links, packet)?;
    let groups = flows::check(&scenario.flows, &scenario.tcp, &network)?;
    let trace = trace::check(&scenario.trace, &network.links, &groups, duration)?;
    let name = scenario.name.clone().unwrap_or_else(|| name.to_string());
    if name.trim().is_empty() || name.chars().any(char::is_control) {
        return Err(Error::got("name", format_args!("{name:?}"), "a name in one line"));
    }
    let links::Network { nodes, links } = network;
    Ok(Checked { name, seed: scenario.seed, duration, warmup, packet, nodes, links, groups, trace })
}

/// A time that is not beyond all measure.
fn within(field: impl Into<String>, time: Duration) -> Result<Duration, Error> {
    if time <= LONGEST { Ok(time) } else { Err(Error::got(field, time, format_args!("a time of at most {LONGEST}"))) }
}

/// A time above zero that is not beyond all measure.
fn above_zero(field: impl Into<String>, time: Duration) -> Result<Duration, Error> {
    if time == Duration::ZERO { Err(Error::got(field, time, "a time above zero")) } else { within(field, time) }
}

/// A size that one packet may have.
fn packet(field: impl Into<String>, size: Bytes) -> Result<u32, Error> {
    packet_size(size).ok_or_else(|| Error::got(field, format_args!("{} B", size.0), "a size of 1 B to 65535 B"))
}

/// A rate that is not beyond all measure.
fn rate(field: impl Into<String>, rate: Rate) -> Result<Rate, Error> {
    use crate::quantity::Quantity;
    if rate <= Rate::LARGEST { Ok(rate) } else { Err(Error::got(field, rate, Rate::EXPECTED)) }
}

/// A name that can be part of a path and of `group/0`.
fn name(field: impl Into<String>, what: &str, name: &str) -> Result<(), Error> {
    let bad = |c: char| c.is_control() || c.is_whitespace() || "/*\"'[]".contains(c);
    if name.is_empty() || name.chars().any(bad) {
        return Err(Error::got(
            field,
            format_args!("{name:?}"),
            format_args!("a {what}'s name, without spaces, quotes, brackets, / and *"),
        ));
    }
    Ok(())
}
