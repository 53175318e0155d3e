//! Finds the parts of a network that can be simulated apart.
//!
//! Packets travel from one part to another only over links with a delay. No packet that leaves a part after some time reaches another one
//! earlier than the shortest of these delays later: the *lookahead* of conservative simulation (chandy-1979).
//!
//! Links and endpoints that shorter delays join are one *cluster*. The shortest delay that may lie between clusters is halved until the
//! clusters fill parts of nearly equal load. A part grows by the cluster with most traffic to and from it.

use super::border::Parts;
use super::{Network, RouteId};
use crate::hop::HopTarget;
use crate::impaired::LinkImpairment;
use crate::packet::Packet;
use alloc::collections::{BTreeMap, BinaryHeap};
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::mem::replace;
use sojourn_units::Duration;

/// The shortest lookahead for which parts are worth their exchange of packets.
const LEAST_LOOKAHEAD: Duration = Duration::from_micros(10);

/// The largest load of a part, as a multiple of an equal share.
const MOST_LOAD: f64 = 1.25;

/// The routes of a flow: from its sender to its receiver, and back.
#[derive(Clone, Copy, Debug)]
pub struct Loop {
    /// The route of its data.
    pub forward: RouteId,
    /// The route of its ACKs.
    pub back: RouteId,
}

impl Parts {
    /// The part of the endpoint that sends on this route.
    pub fn of_sender(&self, route: RouteId) -> u8 {
        self.of_hops[route.0 as usize]
    }
}

/// Links and endpoints as nodes of a graph, and the traffic between them.
struct Traffic {
    /// The delay of each node.
    delays: Vec<Duration>,
    /// The traffic of each node.
    loads: Vec<f64>,
    /// The traffic from one node to another.
    between: BTreeMap<(u32, u32), f64>,
}

/// Nodes that belong together, as a forest.
struct Clusters(Vec<u32>);

impl Clusters {
    fn root(&mut self, node: u32) -> u32 {
        let mut at = node;
        while self.0[at as usize] != at {
            let next = self.0[at as usize];
            self.0[at as usize] = self.0[next as usize];
            at = next;
        }
        at
    }

    fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.root(one), self.root(other));
        self.0[one.max(other) as usize] = one.min(other);
    }
}

impl Traffic {
    /// The part of each node, and the lookahead.
    fn parts(&self, count: u8) -> Option<(Vec<u8>, Duration)> {
        let mut shortest = self.delays.iter().copied().max()?;
        while shortest >= LEAST_LOOKAHEAD {
            let mut clusters = Clusters((0..self.delays.len() as u32).collect());
            for &(from, to) in self.between.keys() {
                if self.delays[from as usize] < shortest {
                    clusters.join(from, to);
                }
            }
            if let Some(parts) = self.fill(&mut clusters, count) {
                let cut = self.between.keys().filter(|(from, to)| parts[*from as usize] != parts[*to as usize]);
                let lookahead = cut.map(|&(from, _)| self.delays[from as usize]).min()?;
                return Some((parts, lookahead));
            }
            shortest = Duration::from_nanos(shortest.as_nanos() / 2);
        }
        None
    }

    /// Parts of nearly equal load; `None` if the clusters are too large.
    fn fill(&self, clusters: &mut Clusters, count: u8) -> Option<Vec<u8>> {
        let nodes = self.delays.len() as u32;
        let roots: Vec<u32> = (0..nodes).map(|node| clusters.root(node)).collect();
        let mut loads = vec![0.0; nodes as usize];
        roots.iter().zip(&self.loads).for_each(|(&root, load)| loads[root as usize] += load);
        let share = loads.iter().sum::<f64>() / f64::from(count);
        if loads.iter().any(|&load| load > share * MOST_LOAD) {
            return None;
        }
        let mut neighbors = vec![Vec::new(); nodes as usize];
        for (&(from, to), &traffic) in &self.between {
            let (from, to) = (roots[from as usize], roots[to as usize]);
            if from != to {
                neighbors[from as usize].push((to, traffic));
                neighbors[to as usize].push((from, traffic));
            }
        }
        let parts = grow(&roots, &loads, &neighbors, share, count);
        let mut filled = vec![0.0; usize::from(count)];
        (0..nodes as usize).filter(|&node| roots[node] as usize == node).for_each(|node| filled[usize::from(parts[node])] += loads[node]);
        let balanced = filled.iter().all(|&load| load <= share * MOST_LOAD);
        balanced.then(|| roots.iter().map(|&root| parts[root as usize]).collect())
    }
}

/// The part of each root: parts grow one after the other up to their share.
fn grow(roots: &[u32], loads: &[f64], neighbors: &[Vec<(u32, f64)>], share: f64, count: u8) -> Vec<u8> {
    let last = count - 1;
    let mut parts = vec![u8::MAX; roots.len()];
    let mut filled = 0.0;
    let mut part = 0;
    // The traffic of each cluster with the part that grows, in whole bits per second so that it can be compared.
    let mut attached: Vec<u64> = vec![0; roots.len()];
    let mut heap: BinaryHeap<(u64, Reverse<u32>)> = BinaryHeap::new();
    let mut unseen = farthest_first(roots, neighbors).into_iter();
    loop {
        let next = heap.pop().map(|(traffic, Reverse(root))| (traffic, root));
        let Some((traffic, root)) = next.or_else(|| unseen.next().map(|root| (attached[root as usize], root))) else { return parts };
        let at = root as usize;
        if parts[at] != u8::MAX || attached[at] != traffic {
            continue;
        }
        if part < last && filled + loads[at] / 2.0 > share * f64::from(part + 1) {
            part += 1;
            heap.clear();
            attached.fill(0);
        }
        parts[at] = part;
        filled += loads[at];
        for &(other, more) in &neighbors[at] {
            if parts[other as usize] == u8::MAX {
                attached[other as usize] += more as u64;
                heap.push((attached[other as usize], Reverse(other)));
            }
        }
    }
}

/// All roots; the first is as far as possible from that of node 0, the others in order.
fn farthest_first(roots: &[u32], neighbors: &[Vec<(u32, f64)>]) -> Vec<u32> {
    let mut seen = vec![false; roots.len()];
    let mut order = Vec::new();
    let mut next = 0;
    for &root in roots {
        if replace(&mut seen[root as usize], true) {
            continue;
        }
        order.push(root);
        while next < order.len() {
            for &(other, _) in &neighbors[order[next] as usize] {
                if !replace(&mut seen[other as usize], true) {
                    order.push(other);
                }
            }
            next += 1;
        }
    }
    order.reverse();
    order
}

impl<P: Packet> Network<P> {
    /// Parts of nearly equal load that can be simulated apart.
    /// `loops` are the routes of all flows. `None` if no such parts are found, or if it has media, choices of paths, impairments that do more than drop, or readers.
    pub fn parts(&self, loops: &[Loop], count: u8) -> Option<Parts> {
        let is_known = self.media.is_empty() && self.choices.is_empty() && self.discards.is_empty() && !self.has_readers();
        let only_drop = self.impairments.iter().all(LinkImpairment::only_drops);
        if !is_known || !only_drop || count < 2 {
            return None;
        }
        let (of_nodes, lookahead) = self.traffic(loops).parts(count)?;
        let mut of_hops = vec![0; self.hops.len()];
        for (number, each) in (0u32..).zip(loops) {
            self.steps(number, each).for_each(|step| of_hops[step.hop as usize] = of_nodes[step.node as usize]);
        }
        Some(Parts { of_hops: of_hops.into(), of_links: of_nodes[..self.links.len()].into(), count, lookahead })
    }

    /// The traffic if the flows on each link share its rate equally.
    fn traffic(&self, loops: &[Loop]) -> Traffic {
        let nodes = self.links.len() + self.access_links.len();
        let mut delays: Vec<Duration> = self.transit_times.iter().map(|times| times.least_delay).collect();
        delays.extend((0..self.access_links.len()).map(|link| self.access_links.delay(link)));
        delays.resize(nodes + 2 * loops.len(), Duration::ZERO);
        let mut flows = vec![0.0; nodes];
        for (number, each) in (0u32..).zip(loops) {
            self.steps(number, each).filter(|step| (step.node as usize) < nodes).for_each(|step| flows[step.node as usize] += 1.0);
        }
        let rates: Vec<f64> = flows.iter().enumerate().map(|(node, flows)| self.rate_of_node(node) / flows).collect();
        let mut traffic = Traffic { loads: vec![0.0; delays.len()], delays, between: BTreeMap::new() };
        for (number, each) in (0u32..).zip(loops) {
            let of_links = self.steps(number, each).filter_map(|step| rates.get(step.node as usize));
            let rate = of_links.copied().fold(f64::INFINITY, f64::min).min(MOST_RATE);
            let mut before = self.sender_node(number);
            for step in self.steps(number, each) {
                traffic.loads[step.node as usize] += rate;
                if step.node != before {
                    *traffic.between.entry((before, step.node)).or_default() += rate;
                }
                before = step.node;
            }
        }
        traffic
    }

    /// The rate of the link of a node, in bits per second; infinite for a pure delay.
    fn rate_of_node(&self, node: usize) -> f64 {
        let rate = match self.links.get(node) {
            Some(link) => link.first_rate(),
            None => self.access_links.rate_of(node - self.links.len()),
        };
        rate.map_or(f64::INFINITY, |rate| rate.as_bps() as f64)
    }

    /// The node of the sender of a loop; that of its receiver follows.
    fn sender_node(&self, number: u32) -> u32 {
        (self.links.len() + self.access_links.len()) as u32 + 2 * number
    }

    /// The hops of a loop with their nodes.
    fn steps(&self, number: u32, each: &Loop) -> impl Iterator<Item = Step> {
        let sender = self.sender_node(number);
        let along = move |route: RouteId, end: u32| {
            let hops = self.hops[route.0 as usize..].iter().zip(route.0..);
            let last = hops.clone().position(|(hop, _)| hop.is_end()).unwrap_or(0);
            hops.take(last + 1).map(move |(hop, at)| {
                let node = match hop.target() {
                    HopTarget::Link(link) | HopTarget::Reading(link) => link as u32,
                    HopTarget::AccessLink(link) => (self.links.len() + link) as u32,
                    HopTarget::Impairment(impairment) => self.impairments[impairment].link() as u32,
                    HopTarget::End | HopTarget::Discard | HopTarget::Choice(_) => end,
                };
                Step { hop: at, node }
            })
        };
        along(each.forward, sender + 1).chain(along(each.back, sender))
    }
}

/// The rate of a flow over links without rates, in bits per second.
const MOST_RATE: f64 = 1e12;

/// A hop of a loop, and its link or endpoint.
struct Step {
    hop: u32,
    node: u32,
}
