//! Finds the links at which packets of different origin meet and need events.
//!
//! A link with a single upstream can't reorder packets. So its whole effect is computed when a packet leaves the hop before, without an
//! event. A link needs an event for each arrival if it has more than one upstream, or if it buffers packets.
//!
//! Endpoints that only answer each packet immediately keep the order of arrivals. If their packets leave one link and take equally long
//! over their endpoints to the next link, the first link is the single upstream of the next: ACKs on a common reverse path need no event.

use crate::hop::{Hop, HopTarget};
use alloc::vec::Vec;
use sojourn_units::Duration;

/// The order in which packets leave a hop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    /// The order in which they arrived at it, which must be that of time.
    /// `apart`: no two at the same time.
    OfArrival { apart: bool },
    /// The order and the times of arrival, but some packets are dropped.
    Thinned,
    /// Another order, as with several upstreams.
    Changed,
    /// Each packet is delayed by this time.
    /// Its users need not send in the order of time.
    Delayed(Duration),
}

/// The upstreams of each link, and of each impairment, by position.
#[derive(Default)]
pub(crate) struct ContentionMap {
    links: Vec<Option<Feeders>>,
    access_links: Vec<Option<Feeders>>,
    impairments: Vec<Option<Feeders>>,
}

/// The upstreams of one link.
#[derive(Clone, Copy)]
struct Feeders {
    first: Feeder,
    /// Whether it has others.
    several: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Feeder {
    /// An upstream link, this delay before it.
    /// `apart`: its packets leave it at different times.
    Upstream { link: HopTarget, delay: Duration, apart: bool },
    /// The endpoint whose packets start at this hop.
    Endpoint(usize),
}

/// The order in which packets leave a run of hops.
#[derive(Clone, Copy)]
pub(crate) struct Outflow {
    feeder: Feeder,
    /// Whether it has other upstreams.
    several: bool,
    /// Whether packets may leave it in another order than that of its last hop.
    pub reordered: bool,
}

impl Outflow {
    /// The start of a route, at this hop. `shared` is whether several endpoints send on it.
    pub fn from_endpoint(begin: usize, shared: bool) -> Outflow {
        Outflow { feeder: Feeder::Endpoint(begin), several: shared, reordered: false }
    }

    /// Whether no two packets come at the same time.
    fn is_apart(&self) -> bool {
        matches!(self.feeder, Feeder::Upstream { apart: true, .. }) && !self.several
    }

    /// The start of a route with answers to these packets, if they are in order.
    /// Endpoints send answers immediately.
    pub fn answered(self) -> Option<Outflow> {
        self.is_apart().then_some(self)
    }
}

impl ContentionMap {
    /// A map without routes, with room for this number of access links.
    pub fn with_room(access_links: usize) -> Self {
        ContentionMap { access_links: Vec::with_capacity(access_links), ..ContentionMap::default() }
    }

    /// Adds the route whose hops start at `begin`, with its arrivals; returns its outflow.
    pub fn add_route(&mut self, hops: &[Hop], begin: usize, start: Outflow, order: impl Fn(HopTarget) -> Order) -> Outflow {
        let mut outflow = start;
        for target in hops[begin..].iter().map(|hop| hop.target()).take_while(|target| !target.ends_route()) {
            let apart = match order(target) {
                Order::Delayed(by) => {
                    if let Feeder::Upstream { delay, .. } = &mut outflow.feeder {
                        *delay = *delay + by;
                    }
                    continue;
                }
                Order::Changed => None,
                Order::OfArrival { apart } => Some(apart),
                Order::Thinned => Some(outflow.is_apart()),
            };
            let Some(feeders) = self.feeders_mut(target) else { continue };
            let feeders = feeders.get_or_insert(Feeders { first: outflow.feeder, several: outflow.several });
            feeders.several |= outflow.several || feeders.first != outflow.feeder;
            let reordered = apart.is_none();
            let feeder = Feeder::Upstream { link: target, delay: Duration::ZERO, apart: apart.unwrap_or(false) };
            outflow = Outflow { feeder, several: reordered, reordered };
        }
        outflow
    }

    /// Whether more than one upstream feeds this link.
    #[inline]
    pub fn has_contention(&self, target: HopTarget) -> bool {
        let known = match target {
            HopTarget::Link(at) => self.links.get(at),
            HopTarget::AccessLink(at) => self.access_links.get(at),
            HopTarget::Impairment(at) => self.impairments.get(at),
            HopTarget::End | HopTarget::Discard | HopTarget::Choice(_) | HopTarget::Reading(_) => None,
        };
        known.copied().flatten().is_some_and(|feeders| feeders.several)
    }

    /// The upstreams of a link or an impairment; `None` for the end of a route.
    fn feeders_mut(&mut self, target: HopTarget) -> Option<&mut Option<Feeders>> {
        let (known, at) = match target {
            HopTarget::Link(at) => (&mut self.links, at),
            HopTarget::AccessLink(at) => (&mut self.access_links, at),
            HopTarget::Impairment(at) => (&mut self.impairments, at),
            HopTarget::End | HopTarget::Discard | HopTarget::Choice(_) | HopTarget::Reading(_) => return None,
        };
        if known.len() <= at {
            known.resize(at + 1, None);
        }
        Some(&mut known[at])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECEIVER: HopTarget = HopTarget::AccessLink(9);

    /// Whether ACKs of two flows meet on the reverse path.
    /// The packets of both leave link 0, `apart` or not, and take these milliseconds to their receivers. The second receiver answers
    /// `immediate` or not.
    fn acks_meet(apart: bool, delays: [u64; 2], immediate: bool) -> bool {
        let mut contention = ContentionMap::default();
        let (bottleneck, back) = (HopTarget::Link(0), HopTarget::Link(1));
        for (flow, delay) in delays.into_iter().enumerate() {
            let hops = [bottleneck, RECEIVER, HopTarget::End, back, HopTarget::End].map(Hop::new);
            let order = |target| match target {
                RECEIVER => Order::Delayed(Duration::from_millis(delay)),
                _ => Order::OfArrival { apart },
            };
            let outflow = contention.add_route(&hops, 0, Outflow::from_endpoint(10 * flow, false), order);
            let own = Outflow::from_endpoint(10 * flow + 3, false);
            let start = if flow == 0 || immediate { outflow.answered().unwrap_or(own) } else { own };
            contention.add_route(&hops, 3, start, order);
        }
        assert!(contention.has_contention(bottleneck));
        contention.has_contention(back)
    }

    #[test]
    fn answers_of_several_endpoints_meet_unless_they_come_in_the_order_of_one_link() {
        assert!(!acks_meet(true, [5, 5], true));
        assert!(acks_meet(true, [5, 6], true), "the second may come before the first");
        assert!(acks_meet(false, [5, 5], true), "two may come at the same time");
        assert!(acks_meet(true, [5, 5], false), "the second has timers");
    }
}
