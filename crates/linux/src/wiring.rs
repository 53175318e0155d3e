//! The plan for the kernel: links, routes and traffic.
//! It is passed as TOML, which supports infinite numbers and absent values.

use crate::groups::check_groups;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt::Write;
use serde::{Deserialize, Serialize};
use sojourn_aqm::{AqmConfig, Classification, FlowHashes};
use sojourn_cc::CcConfig;
use sojourn_link::LinkTrace;
use sojourn_link::trace::{Builder, Row, Service};
use sojourn_spec::link::{Link, Trace};
use sojourn_spec::tcp::{Control, EcnChoice};
use sojourn_traffic::Traffic;
use sojourn_units::{Duration, Time};

/// The plan of one run, with the parts that the kernel needs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wiring {
    /// The seed of every random stream.
    pub seed: u64,
    /// The start of statistics.
    pub warmup: Time,
    /// The end of the run.
    pub duration: Time,
    /// Mean packet size in bytes.
    pub packet: u32,
    /// The number of hosts. Each host is a network namespace.
    pub hosts: u32,
    /// Whether the headers of packets are kept.
    /// They are needed if a link reads those of ACKs, and for a capture.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub headers: bool,
    /// The links.
    pub links: Vec<Link>,
    /// The traces of the links.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traces: Vec<WrittenTrace>,
    /// The packets that match the links' classes and filters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassRules>,
    /// The flows.
    pub flows: Vec<Flow>,
}

/// The trace of a link as text.
/// Each row has its span in ns, its service, its delay in ns and its loss in billionths.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenTrace {
    /// The number of the link.
    pub link: u32,
    /// Whether the service of a row is the bytes of an opportunity at its end.
    /// Otherwise it is a rate in bit/s.
    pub opportunities: bool,
    /// The rows as numbers separated by spaces.
    pub rows: String,
}

impl WrittenTrace {
    /// The trace of the link with this number.
    pub fn of(link: u32, trace: &LinkTrace) -> WrittenTrace {
        let mut rows = String::new();
        for row in trace.rows() {
            let _ = write!(rows, "{} {} {} {} ", row.span.as_nanos(), row.service, row.delay.as_nanos(), row.loss);
        }
        WrittenTrace { link, opportunities: trace.service() == Service::Opportunities, rows }
    }

    fn read(&self) -> Option<LinkTrace> {
        let mut builder = Builder::new(if self.opportunities { Service::Opportunities } else { Service::Rates });
        let mut numbers = self.rows.split_ascii_whitespace().map(|number| number.parse::<u64>().ok());
        while let Some(span) = numbers.next() {
            let mut next = || numbers.next().flatten();
            let (span, service, delay, loss) = (span?, next()?, next()?, next()?);
            let loss = u32::try_from(loss).ok()?;
            builder.push(Row { span: Duration::from_nanos(span), service, delay: Duration::from_nanos(delay), loss });
        }
        builder.finish()
    }
}

/// The packets of a link's disciplines.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassRules {
    /// The number of the link.
    pub link: u32,
    /// The packets of each discipline, in order.
    pub rules: Vec<Classification>,
}

/// A source and its destination.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// The name, which names its random streams.
    pub name: String,
    /// The group, by which classes match its packets.
    pub group: u32,
    /// The DSCP of its packets, 0 to 63.
    #[serde(default)]
    pub dscp: u8,
    /// The host that sends its data, below [`Wiring::hosts`].
    pub source: u32,
    /// The host that receives its data.
    pub destination: u32,
    /// The links of its data.
    pub forward: Vec<u32>,
    /// The links of its acknowledgments.
    pub back: Vec<u32>,
    /// The start time.
    pub start: Time,
    /// The stop time.
    pub stop: Time,
    /// The traffic that it sends.
    pub traffic: Traffic,
    /// The socket options; `None` over UDP.
    pub tcp: Option<Tcp>,
}

/// The socket options of a flow.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tcp {
    /// The kernel's name of the congestion control, at most 15 characters.
    /// `sojourn` calls the controller in `control`.
    pub controller: String,
    /// The simulator's controller, if the kernel's congestion control is `sojourn`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<Control>,
    /// Size of a full packet with its headers, in bytes.
    pub packet: u32,
    /// The ECN mode that the connection requests.
    pub ecn: EcnChoice,
    /// Whether SACK is offered.
    pub sack: bool,
    /// Whether the sender is paced even if its congestion control sets no pacing rate.
    #[serde(default)]
    pub pacing: bool,
}

impl Flow {
    /// The hash by which queues and routers identify its packets.
    /// For a single connection it is that of the simulator. Connections of a session share it here.
    pub(crate) fn hash(&self) -> u64 {
        FlowHashes::of_name(&self.name)
    }
}

impl Wiring {
    /// Serializes the plan as text for the kernel.
    ///
    /// # Errors
    /// A link or a flow can't be serialized. The error is a text.
    pub fn to_toml(&self) -> Result<String, String> {
        toml::to_string(self).map_err(|error| error.to_string())
    }

    /// Parses the output of [`Wiring::to_toml`], and checks the kernel's assumptions.
    ///
    /// # Errors
    /// The first error as text.
    pub fn from_toml(text: &str) -> Result<Wiring, String> {
        let mut wiring: Wiring = toml::from_str(text).map_err(|error| error.message().to_string())?;
        wiring.read_traces()?;
        wiring.check()?;
        Ok(wiring)
    }

    /// The largest packet of any flow, in bytes.
    pub fn largest_packet(&self) -> u32 {
        let tcp = self.flows.iter().filter_map(|flow| flow.tcp.as_ref().map(|tcp| tcp.packet));
        tcp.fold(self.packet, u32::max)
    }

    /// The DSCP of each group of flows.
    pub(crate) fn dscps(&self) -> Vec<u8> {
        let groups = self.flows.iter().map(|flow| flow.group as usize + 1).max().unwrap_or(0);
        let mut dscps = vec![0; groups];
        for flow in &self.flows {
            dscps[flow.group as usize] = flow.dscp;
        }
        dscps
    }

    /// Assigns the traces to their links.
    fn read_traces(&mut self) -> Result<(), String> {
        for written in core::mem::take(&mut self.traces) {
            let Some(link) = self.links.get_mut(written.link as usize) else {
                return Err(format!("traces: expected a link of the plan, got number {}", written.link));
            };
            let Some(rows) = written.read() else {
                return Err(format!("links.{}.trace: expected rows of four numbers each", link.name));
            };
            // The record takes the description of the trace from the plan.
            link.trace = Some(Trace { sha256: "".into(), rows: Arc::new(rows) });
        }
        Ok(())
    }

    /// The packets of a link's disciplines, in order.
    /// Empty if the link has neither classes nor filters.
    pub(crate) fn rules_of(&self, link: u32) -> &[Classification] {
        self.classes.iter().find(|classes| classes.link == link).map_or(&[], |classes| &classes.rules)
    }

    fn check(&self) -> Result<(), String> {
        for link in &self.links {
            if link.rate.is_some() != link.queue.is_some() {
                return Err(format!("links.{}: expected a queue exactly where there is a rate", link.name));
            }
            let mut disciplines = link.queue.iter().flat_map(|queue| queue.disciplines());
            if disciplines.any(|queue| matches!(queue.aqm, AqmConfig::External(_))) {
                return Err(format!("links.{}.queue.aqm: expected a registered algorithm, got external", link.name));
            }
        }
        for flow in &self.flows {
            check_groups([flow.group], self.flows.len()).map_err(|error| format!("flows.{}.group: {error}", flow.name))?;
            let control = flow.tcp.as_ref().and_then(|tcp| tcp.control.as_ref());
            if matches!(control, Some(Control(CcConfig::External(_)))) {
                return Err(format!(
                    "flows.{}.tcp.control.cc: expected a registered controller, since a Linux host takes none in Python, got external",
                    flow.name
                ));
            }
            let known = |links: &[u32]| links.iter().all(|&link| (link as usize) < self.links.len());
            if !known(&flow.forward) || !known(&flow.back) || flow.source.max(flow.destination) >= self.hosts {
                return Err(format!("flows.{}: expected links and hosts of the plan", flow.name));
            }
        }
        Ok(())
    }
}
