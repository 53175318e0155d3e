//! Positions of packets on routes, and notifications of links about flows.

use super::{Network, RouteId};
use crate::contention::Order;
use crate::hop::{Hop, HopTarget};
use crate::link::Link;
use crate::link::access::AccessLinks;
use crate::link::tie::TransitTimes;
use crate::packet::Packet;
use alloc::vec::Vec;
use sojourn_units::{Duration, Time};

/// The link over which a packet at position `at` arrived.
/// If its route starts there, it is the end of another route.
fn upstream(hops: &[Hop], at: u32) -> HopTarget {
    let before = hops[..at as usize].iter().rev().map(|hop| hop.target());
    before.into_iter().find(|target| !matches!(target, HopTarget::Impairment(_) | HopTarget::Reading(_))).unwrap_or(HopTarget::End)
}

/// The arrival of a packet of `size` bytes at the hop `at`.
pub(super) struct Arrival<'a> {
    pub hops: &'a [Hop],
    pub at: u32,
    pub now: Time,
    pub size: u32,
}

impl Arrival<'_> {
    /// Its transit time over the hop before.
    #[cold]
    pub fn transit_time(&self, access_links: &AccessLinks, links: &[TransitTimes]) -> Duration {
        match upstream(self.hops, self.at) {
            HopTarget::AccessLink(link) => access_links.transit_time(link, self.size),
            HopTarget::Link(link) => links[link].of(self.size, self.now),
            // Its host has just sent it, because of a timer or of a packet that started long before.
            HopTarget::End | HopTarget::Discard | HopTarget::Impairment(_) | HopTarget::Choice(_) | HopTarget::Reading(_) => Duration::MAX,
        }
    }
}

impl<P: Packet> Network<P> {
    /// The number of the link at a hop; at the end of a route that of the link before.
    pub(super) fn link_number(&self, at: u32) -> Option<u32> {
        let here = self.hops[at as usize].target();
        let target = if matches!(here, HopTarget::End | HopTarget::Discard) { upstream(&self.hops, at) } else { here };
        match target {
            HopTarget::Link(link) | HopTarget::Reading(link) => Some(self.ids.link(link)),
            HopTarget::Impairment(impairment) => Some(self.ids.link(self.impairments[impairment].link())),
            HopTarget::AccessLink(link) => self.ids.access_link(link),
            HopTarget::End | HopTarget::Discard | HopTarget::Choice(_) => None,
        }
    }

    /// Whether some link's discipline uses the number of active flows.
    /// See [`Network::flow_changes`].
    pub fn counts_flows(&self) -> bool {
        self.links.iter().any(Link::counts_flows)
    }

    /// Reports to links that count flows that one becomes active at `at`, or inactive.
    /// The flow uses this route.
    pub fn flow_changes(&mut self, route: RouteId, at: Time, active: bool) {
        let begins = match self.hops[route.0 as usize].target() {
            HopTarget::Choice(choice) => &self.choices[choice].routes[..],
            _ => &[route.0],
        };
        let of_route = |&begin: &u32| self.hops[begin as usize..].iter().map(|hop| hop.target()).take_while(|target| !target.ends_route());
        let mut counting: Vec<usize> = Vec::new();
        for target in begins.iter().flat_map(of_route) {
            // A link that several of its routes share counts it once.
            if let HopTarget::Link(link) = target
                && self.links[link].counts_flows()
                && !counting.contains(&link)
            {
                counting.push(link);
            }
        }
        counting.into_iter().for_each(|link| self.links[link].flow_changes(at, active));
    }

    /// The order in which packets leave a hop.
    pub(crate) fn order(&self, target: HopTarget) -> Order {
        match target {
            HopTarget::Link(link) => self.links[link].order(self.least_packet),
            HopTarget::AccessLink(link) => self.access_links.order(link, self.least_packet),
            HopTarget::Impairment(impairment) if self.impairments[impairment].reorders() => Order::Changed,
            HopTarget::Impairment(impairment) if self.impairments[impairment].only_drops() => Order::Thinned,
            HopTarget::Reading(_) => Order::Delayed(Duration::ZERO),
            HopTarget::Impairment(_) | HopTarget::End | HopTarget::Discard | HopTarget::Choice(_) => Order::OfArrival { apart: false },
        }
    }

    /// Sets the hash of a flow, by which queues and routers find its state.
    pub fn set_hash(&mut self, flow: u32, hash: u64) {
        for &link in &self.hashing {
            self.links[link].set_hash(flow, hash);
        }
    }

    /// Ends the window of statistics at `end` instead, which lies after every event.
    /// Every packet must have left the network, because links account for transmissions ahead.
    pub fn end_at(&mut self, end: Time) {
        self.window.until = end;
        self.last = self.window.last();
        self.links.iter_mut().for_each(|link| link.end_at(end));
    }

    /// Whether a link uses the hashes of flows ([`Network::set_hash`]).
    pub fn hashes_flows(&self) -> bool {
        !self.hashing.is_empty()
    }
}
