//! What the kernel must know of a plan: links, routes and what each flow sends. It travels as TOML, which has
//! infinite numbers and leaves out what is absent.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};
use sojourn_aqm::AqmConfig;
use sojourn_spec::link::Link;
use sojourn_spec::tcp::Control;
use sojourn_traffic::Traffic;
use sojourn_units::Time;

/// The plan of one run, as far as the kernel needs it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wiring {
    /// The seed of every random stream.
    pub seed: u64,
    /// When statistics begin.
    pub warmup: Time,
    /// When the run ends.
    pub duration: Time,
    /// Mean packet size in bytes.
    pub packet: u32,
    /// How many hosts there are. Each is a network namespace.
    pub hosts: u32,
    /// The links.
    pub links: Vec<Link>,
    /// The flows.
    pub flows: Vec<Flow>,
}

/// A source and where it sends.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Its name, of which its random streams are made.
    pub name: String,
    /// The host that sends its data, below [`Wiring::hosts`].
    pub source: u32,
    /// The host that receives its data.
    pub destination: u32,
    /// The links that its data takes.
    pub forward: Vec<u32>,
    /// The links that its acknowledgments take.
    pub back: Vec<u32>,
    /// When it starts.
    pub start: Time,
    /// When it stops.
    pub stop: Time,
    /// What it sends.
    pub traffic: Traffic,
    /// How its sockets are set; `None` over UDP.
    pub tcp: Option<Tcp>,
}

/// What is set on the sockets of a flow.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tcp {
    /// The kernel's name of the congestion control, at most 15 characters; `sojourn` asks `control`.
    pub controller: String,
    /// A controller of ours, where the kernel's congestion control is `sojourn`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<Control>,
    /// Size of a full packet with its headers, in bytes.
    pub packet: u32,
    /// Whether the connection asks for ECN (rfc3168).
    pub ecn: bool,
    /// Whether SACK is offered.
    pub sack: bool,
}

impl Wiring {
    /// As text for the kernel.
    ///
    /// # Errors
    /// A link or a flow that has no text, in words.
    pub fn to_toml(&self) -> Result<String, String> {
        toml::to_string(self).map_err(|error| error.to_string())
    }

    /// Reads what [`Wiring::to_toml`] wrote, and checks what the kernel relies on.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn from_toml(text: &str) -> Result<Wiring, String> {
        let wiring: Wiring = toml::from_str(text).map_err(|error| error.to_string())?;
        wiring.check()?;
        Ok(wiring)
    }

    /// The largest packet of any flow, in bytes.
    pub fn largest_packet(&self) -> u32 {
        let tcp = self.flows.iter().filter_map(|flow| flow.tcp.as_ref().map(|tcp| tcp.packet));
        tcp.fold(self.packet, u32::max)
    }

    fn check(&self) -> Result<(), String> {
        for link in &self.links {
            if link.rate.is_some() != link.queue.is_some() {
                return Err(format!("links.{}: expected a queue exactly where there is a rate", link.name));
            }
            if link.queue.as_ref().is_some_and(|queue| matches!(queue.aqm, AqmConfig::External(_))) {
                return Err(format!("links.{}.queue.aqm: expected a registered algorithm, got external", link.name));
            }
        }
        for flow in &self.flows {
            let known = |links: &[u32]| links.iter().all(|&link| (link as usize) < self.links.len());
            if !known(&flow.forward) || !known(&flow.back) || flow.source.max(flow.destination) >= self.hosts {
                return Err(format!("flows.{}: expected links and hosts of the plan", flow.name));
            }
        }
        Ok(())
    }
}
