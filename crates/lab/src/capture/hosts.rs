//! Addresses and ports of flows, and the connection state that headers depend on.

use super::segment::{self, Connection};
use super::{Segment, Wire};
use crate::Error;
use sojourn_capture::wire::{Endpoint, Headers, Ip, udp};
use sojourn_scenario::plan::Plan;
use sojourn_sim::tcp::AckOptions;
use sojourn_sim::{HostDoes, Packet, flag};
use std::ops::Range;

/// The maximum number of groups: 10.0.0.0/8 with two networks per group.
const MOST_GROUPS: usize = 128;
/// The maximum number of flows per group.
const MOST_FLOWS: u32 = 65_534;
/// The ports of hosts that open connections (Linux `ip_local_port_range`).
const OPENERS: Range<u16> = 32_768..61_000;
/// The default port of receivers in the first group; each further group adds 1.
const FIRST_PORT: u16 = 50_000;

/// Rejects a plan with more flows than addresses.
///
/// # Errors
/// There are too many groups, or too many flows in a group.
fn check(plan: &Plan) -> Result<(), Error> {
    if plan.groups.len() > MOST_GROUPS {
        return Err(Error::Build(format!("flows: expected at most {MOST_GROUPS} groups in a capture, got {}", plan.groups.len())));
    }
    match plan.groups.iter().find(|group| group.flows.len() as u32 > MOST_FLOWS) {
        Some(group) => {
            let (name, count) = (&group.name, group.flows.len());
            Err(Error::Build(format!("flows.{name}.count: expected at most {MOST_FLOWS} in a capture, got {count}")))
        }
        None => Ok(()),
    }
}

/// A host of a flow of the plan: its sender, or its receiver if `receives`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Host {
    /// The flow, as an index of the plan.
    pub entry: u32,
    /// Whether it is the flow's receiver.
    pub receives: bool,
}

impl Host {
    /// The suffixes of the two hosts of a flow.
    const SIDES: [&str; 2] = ["sender", "receiver"];

    /// The name of the host: `ftp/0:sender`.
    pub fn name(self, plan: &Plan) -> String {
        format!("{}:{}", plan.flows[self.entry as usize].name, Self::SIDES[usize::from(self.receives)])
    }

    /// The hosts of this name: `ftp/0:sender`, `ftp/*:receiver`, or `ftp/0` for both hosts.
    ///
    /// # Errors
    /// There is no such host.
    pub fn named(plan: &Plan, name: &str) -> Result<Vec<Host>, Error> {
        let (flows, side) = name.rsplit_once(':').map_or((name, None), |(flows, side)| (flows, Some(side)));
        let all = flows.strip_suffix('*');
        let is_meant =
            |flow: &str| all.map_or(flow == flows, |group| flow.starts_with(group) && (group.is_empty() || group.ends_with('/')));
        let sides: Vec<bool> =
            [false, true].into_iter().filter(|&side_of| side.is_none_or(|side| side == Self::SIDES[usize::from(side_of)])).collect();
        let entries = (0u32..).zip(&plan.flows).filter(|(_, flow)| is_meant(&flow.name)).map(|(entry, _)| entry);
        let hosts: Vec<Host> = entries.flat_map(|entry| sides.iter().map(move |&receives| Host { entry, receives })).collect();
        if hosts.is_empty() {
            let expected = "hosts of flows such as \"ftp/0:sender\", \"ftp/*:receiver\" or \"ftp/0\"";
            return Err(Error::Build(format!("pcap_hosts: expected {expected}, of {}, got \"{name}\"", Self::flows(plan))));
        }
        Ok(hosts)
    }

    /// The existing flows by group: `ftp/0 to ftp/19, voip/0`.
    fn flows(plan: &Plan) -> String {
        let group = |name: &str| name.rsplit_once('/').map_or(name, |(group, _)| group).to_string();
        let groups = plan.flows.chunk_by(|one, next| group(&one.name) == group(&next.name));
        let said = groups.map(|flows| match flows {
            [first, .., last] => format!("{} to {}", first.name, last.name),
            [one] => one.name.to_string(),
            [] => unreachable!("chunks have members"),
        });
        said.collect::<Vec<_>>().join(", ")
    }
}

/// A flow of the world.
#[derive(Clone, Debug)]
struct Flow {
    /// The flow of the plan.
    entry: u32,
    /// Whether it carries requests, from the receiving to the sending host.
    reversed: bool,
    /// The port of the host that opened its current connection.
    port: u16,
    connection: Connection,
}

/// A packet of the simulator with the options of an ACK.
#[derive(Clone, Debug)]
pub struct Simulated {
    pub packet: Packet,
    pub options: AckOptions,
}

impl Segment for Simulated {
    fn is_same(&self, other: &Self) -> bool {
        let (one, other) = (&self.packet, &other.packet);
        let same_flags = (one.flags ^ other.flags) & !flag::CE == 0;
        let key = |packet: &Packet| (packet.flow, packet.incarnation, packet.seq, packet.stamp, packet.peer, packet.size);
        same_flags && key(one) == key(other)
    }

    fn is_marked(&self) -> bool {
        self.packet.has(flag::CE)
    }

    fn mark(&mut self) {
        self.packet.flags |= flag::CE;
    }
}

/// The simulator's hosts of all flows.
#[derive(Clone, Debug)]
pub struct Hosts {
    /// The next port of hosts that open connections, by the plan's flows.
    ports: Vec<u16>,
    flows: Vec<Flow>,
}

impl Hosts {
    /// The hosts of a plan.
    ///
    /// # Errors
    /// There are more flows than addresses.
    pub fn new(plan: &Plan) -> Result<Self, Error> {
        check(plan)?;
        Ok(Hosts { ports: vec![OPENERS.start; plan.flows.len()], flows: Vec::new() })
    }

    /// Registers a new flow of the world that belongs to the plan's flow `entry`.
    pub fn add_flow(&mut self, entry: u32, reversed: bool) {
        let port = self.next_port(entry);
        self.flows.push(Flow { entry, reversed, port, connection: Connection::new(0) });
    }

    fn next_port(&mut self, entry: u32) -> u16 {
        let next = &mut self.ports[entry as usize];
        let port = *next;
        *next = if port + 1 == OPENERS.end { OPENERS.start } else { port + 1 };
        port
    }
}

impl Wire for Hosts {
    type Segment = Simulated;

    fn host_of(&self, segment: &Simulated, does: HostDoes) -> Host {
        let packet = &segment.packet;
        let flow = &self.flows[packet.flow as usize];
        let receives_data = (does == HostDoes::Sends) == packet.has(flag::BACK);
        Host { entry: flow.entry, receives: receives_data != flow.reversed }
    }

    fn headers(&mut self, plan: &Plan, segment: &Simulated) -> Option<Headers> {
        let Simulated { packet, options: carried } = segment;
        let flow = &self.flows[packet.flow as usize];
        if flow.connection.incarnation < packet.incarnation {
            let port = self.next_port(flow.entry);
            let connection = Connection::new(packet.incarnation);
            let flow = &mut self.flows[packet.flow as usize];
            (flow.port, flow.connection) = (port, connection);
        }
        let flow = &mut self.flows[packet.flow as usize];
        let planned = &plan.flows[flow.entry as usize];
        let group = &plan.groups[planned.group as usize];
        let host = |receives: bool, port: u16| {
            let [high, low] = ((flow.entry - group.flows.start + 1) as u16).to_be_bytes();
            Endpoint { address: [10, 2 * planned.group as u8 + u8::from(receives), high, low], port }
        };
        let opener = host(flow.reversed, flow.port);
        let other = host(!flow.reversed, group.port.unwrap_or(FIRST_PORT + planned.group as u16));
        let back = packet.has(flag::BACK);
        let (source, destination) = if back { (other, opener) } else { (opener, other) };
        let ip = Ip { source, destination, dscp: group.dscp.0, ecn: segment::ecn(packet), id: segment::id(packet) };
        Some(match plan.tcp(planned) {
            Some(options) => flow.connection.segment(&ip, options, packet, carried),
            None => udp(&ip, u32::from(packet.size)),
        })
    }
}
