//! The connections, each with its flow of the network.

use crate::wire::{Parsed, Transport};
use sojourn_lab::{LivePath, LiveRun};
use sojourn_units::{Time, bytes_hash};
use std::collections::HashMap;
use std::hash::RandomState;
use std::net::IpAddr;

/// The identity of a connection in the direction of its data.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Key {
    addresses: [IpAddr; 2],
    ports: [u16; 2],
    protocol: u8,
}

impl Key {
    /// The connection of a packet, if the packet carries its data.
    pub fn of(parsed: &Parsed) -> Key {
        Key { addresses: [parsed.source, parsed.destination], ports: parsed.ports, protocol: parsed.protocol }
    }

    /// The connection in the other direction.
    pub fn reversed(self) -> Key {
        let ([source, destination], [from, to]) = (self.addresses, self.ports);
        Key { addresses: [destination, source], ports: [to, from], ..self }
    }

    /// The same hash in every run, so that flow queues treat the same connections alike.
    fn hash(&self) -> u64 {
        let octets = |address| match address {
            IpAddr::V4(v4) => v4.octets().to_vec(),
            IpAddr::V6(v6) => v6.octets().to_vec(),
        };
        let ports = self.ports.into_iter().flat_map(u16::to_be_bytes);
        bytes_hash(self.addresses.into_iter().flat_map(octets).chain(ports).chain([self.protocol]))
    }
}

/// The flows of a group between two hosts.
#[derive(Clone, Debug)]
struct Candidate {
    group: u32,
    port: Option<u16>,
    dscp: u8,
    tcp: bool,
    echo: bool,
    flows: Vec<u32>,
    /// The number of connections so far.
    connections: usize,
}

impl Candidate {
    /// How well a packet fits: the port counts more than the DSCP, and this more than the protocol.
    fn fit(&self, parsed: &Parsed) -> i32 {
        let by_port = match self.port {
            Some(port) if parsed.ports.contains(&port) => 8,
            Some(_) => -8,
            None => 0,
        };
        let is_tcp = matches!(parsed.transport, Transport::Tcp { .. });
        let is_echo = matches!(parsed.transport, Transport::Echo { .. });
        let by_dscp = if self.dscp != parsed.dscp { -4 } else { 0 };
        by_port + by_dscp + i32::from(self.tcp == is_tcp) + i32::from(self.echo == is_echo)
    }
}

/// A flow of the network, which one connection uses at a time.
#[derive(Clone, Copy, Default, Debug)]
struct Slot {
    key: Option<Key>,
    used: Time,
}

/// Where a packet belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    /// The flow of the network.
    pub flow: u32,
    /// Whether the packet travels to the sender of the flow's data.
    pub back: bool,
    /// Whether the flow has just been given to this connection.
    pub fresh: Option<u64>,
}

/// The flows of the network by connection.
#[derive(Debug)]
pub(crate) struct Table {
    share: u32,
    paths: Vec<LivePath>,
    /// The port of the receiver of the first planned flow, if the caller sends these flows.
    /// The others have the ports after it.
    own_port: Option<u16>,
    pairs: HashMap<(u32, u32), Vec<Candidate>>,
    known: HashMap<Key, u32, RandomState>,
    slots: Vec<Slot>,
}

impl Table {
    /// The flows of a run, `share` for each flow of its plan.
    /// If the caller sends these flows, `own_port` is the port of the receiver of the first, and the others have those after it.
    pub fn new(run: &LiveRun<'_>, share: u32, own_port: Option<u16>) -> Table {
        let (plan, mut pairs) = (run.plan(), HashMap::<_, Vec<Candidate>>::new());
        let paths: Vec<LivePath> = run.paths().collect();
        for (number, path) in (0u32..).zip(&paths) {
            let candidates = pairs.entry((path.source, path.destination)).or_default();
            match candidates.iter_mut().find(|candidate| candidate.group == path.group) {
                Some(candidate) => candidate.flows.push(number),
                None => {
                    let group = &plan.groups[path.group as usize];
                    let (port, dscp, flows) = (group.port, group.dscp.0, vec![number]);
                    candidates.push(Candidate { group: path.group, port, dscp, tcp: path.tcp, echo: path.echoes, flows, connections: 0 });
                }
            }
        }
        let slots = vec![Slot::default(); plan.flows.len() * share as usize];
        Table { share, paths, own_port, pairs, known: HashMap::with_hasher(RandomState::new()), slots }
    }

    /// The place of a packet between two hosts; `None` if no flow of the plan connects them.
    ///
    /// A packet with data belongs to a flow in its direction if there is one. An ACK belongs to the flow of the data that it acknowledges.
    pub fn place(&mut self, now: Time, hosts: [u32; 2], parsed: &Parsed) -> Option<Place> {
        let key = Key::of(parsed);
        let answers = match parsed.transport {
            Transport::Tcp { ack, .. } => ack.is_some() && parsed.payload == 0,
            Transport::Echo { reply, .. } => reply,
            Transport::Other => false,
        };
        if let Some((planned, back)) = self.own(hosts, parsed) {
            return Some(match self.flow_of(if back { key.reversed() } else { key }) {
                Some(flow) => self.used(now, Place { flow, back, fresh: None }),
                None => self.open(now, planned, key, back),
            });
        }
        let [source, destination] = hosts;
        let [there, back] = [hosts, [destination, source]].map(|[from, to]| self.pairs.contains_key(&(from, to)));
        if (answers || !there)
            && let Some(flow) = self.flow_of(key.reversed())
        {
            return Some(self.used(now, Place { flow, back: true, fresh: None }));
        }
        if let Some(flow) = self.flow_of(key) {
            return Some(self.used(now, Place { flow, back: false, fresh: None }));
        }
        if there {
            let planned = self.choose((source, destination), parsed);
            return Some(self.open(now, planned, key, false));
        }
        back.then(|| {
            let planned = self.choose((destination, source), parsed);
            self.open(now, planned, key, true)
        })
    }

    /// The flow of a connection in the direction of its data, if it has one.
    pub fn flow_of(&self, key: Key) -> Option<u32> {
        self.known.get(&key).copied()
    }

    /// The path of a flow of the network.
    pub fn path(&self, flow: u32) -> &LivePath {
        &self.paths[(flow / self.share) as usize]
    }

    /// The planned flow of the caller to which a packet belongs, and whether the packet travels back.
    fn own(&self, [source, destination]: [u32; 2], parsed: &Parsed) -> Option<(u32, bool)> {
        let first = self.own_port?;
        let ends = [(source, destination, parsed.ports[1], false), (destination, source, parsed.ports[0], true)];
        ends.into_iter().find_map(|(from, to, port, back)| {
            let number = u32::from(port.checked_sub(first)?);
            let path = self.paths.get(number as usize)?;
            ((path.source, path.destination) == (from, to)).then_some((number, back))
        })
    }

    fn used(&mut self, now: Time, place: Place) -> Place {
        self.slots[place.flow as usize].used = now;
        place
    }

    /// The planned flow of a new connection: the group that fits best, and in it one flow after the other.
    fn choose(&mut self, pair: (u32, u32), parsed: &Parsed) -> u32 {
        let best = self.pairs.get_mut(&pair).and_then(|all| all.iter_mut().rev().max_by_key(|candidate| candidate.fit(parsed)));
        let Some(candidate) = best else { unreachable!("a connection is opened only between hosts that flows connect") };
        candidate.connections += 1;
        candidate.flows[(candidate.connections - 1) % candidate.flows.len()]
    }

    /// Gives a new connection the flow of a planned flow that has been unused for the longest time.
    /// `key` is that of a packet, which travels `back` or with the data.
    fn open(&mut self, now: Time, planned: u32, key: Key, back: bool) -> Place {
        let key = if back { key.reversed() } else { key };
        let slots = planned * self.share..(planned + 1) * self.share;
        let oldest = slots.min_by_key(|&slot| {
            let slot = &self.slots[slot as usize];
            (slot.key.is_some(), slot.used)
        });
        let Some(flow) = oldest else { unreachable!("each planned flow has a share of flows") };
        let slot = &mut self.slots[flow as usize];
        if let Some(before) = slot.key.replace(key) {
            self.known.remove(&before);
        }
        slot.used = now;
        self.known.insert(key, flow);
        Place { flow, back, fresh: Some(key.hash()) }
    }
}
