//! Where packets of different origin meet, and so where a packet must wait for an event.
//!
//! A link that a single upstream feeds can't reorder packets. So its whole effect is computed when a packet leaves the hop before,
//! without an event. A link needs an event for each arrival if more than one upstream feeds it, or if it buffers packets.

use crate::hop::{Hop, HopTarget};
use alloc::vec::Vec;

/// In which order packets leave a hop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    /// In the order in which they came to it, which must be that of time.
    OfArrival,
    /// In another one, as if several upstreams fed what comes next.
    Changed,
    /// It keeps none: packets need not come in the order of time.
    None,
}

/// What feeds each link, and each impairment, by their positions.
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
    /// Whether there are others.
    several: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Feeder {
    /// A link before it.
    Upstream(HopTarget),
    /// The endpoint whose packets start at this hop.
    Endpoint(usize),
}

impl ContentionMap {
    /// Adds the route whose hops start at `begin`. `shared` says that several endpoints send on it. Whether packets may reach its end
    /// in another order than that of the hop before.
    pub fn add_route(&mut self, hops: &[Hop], begin: usize, shared: bool, kind: impl Fn(HopTarget) -> Order) -> bool {
        let (mut feeder, mut several, mut reordered) = (Feeder::Endpoint(begin), shared, false);
        let targets = hops[begin..].iter().map(|hop| hop.target()).take_while(|&target| target != HopTarget::End);
        // A link that only delays keeps no order among those that use it: what feeds it feeds the link after it.
        for (target, order) in targets.map(|target| (target, kind(target))).filter(|(_, order)| *order != Order::None) {
            let Some(feeders) = self.feeders_mut(target).map(|known| known.get_or_insert(Feeders { first: feeder, several })) else {
                continue;
            };
            feeders.several |= several || feeders.first != feeder;
            reordered = order == Order::Changed;
            (feeder, several) = (Feeder::Upstream(target), reordered);
        }
        reordered
    }

    /// Whether more than one upstream feeds this link.
    pub fn has_contention(&self, target: HopTarget) -> bool {
        let known = match target {
            HopTarget::Link(at) => self.links.get(at),
            HopTarget::AccessLink(at) => self.access_links.get(at),
            HopTarget::Impairment(at) => self.impairments.get(at),
            HopTarget::End | HopTarget::Discard => None,
        };
        known.copied().flatten().is_some_and(|feeders| feeders.several)
    }

    /// What feeds a link or an impairment; `None` for the end of a route.
    fn feeders_mut(&mut self, target: HopTarget) -> Option<&mut Option<Feeders>> {
        let (known, at) = match target {
            HopTarget::Link(at) => (&mut self.links, at),
            HopTarget::AccessLink(at) => (&mut self.access_links, at),
            HopTarget::Impairment(at) => (&mut self.impairments, at),
            HopTarget::End | HopTarget::Discard => return None,
        };
        if known.len() <= at {
            known.resize(at + 1, None);
        }
        Some(&mut known[at])
    }
}
