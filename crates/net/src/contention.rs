//! Where packets of different origin meet, and so where a packet must wait for an event.
//!
//! A link that a single upstream feeds can't reorder packets. So its whole effect is computed when a packet leaves the hop before,
//! without an event. A link needs an event for each arrival if more than one upstream feeds it, or if it buffers packets.

use crate::hop::{Hop, HopTarget};
use alloc::collections::BTreeMap;

/// What feeds each link.
#[derive(Default)]
pub(crate) struct ContentionMap {
    feeders: BTreeMap<HopTarget, Feeders>,
}

/// The upstreams of one link.
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
    /// Adds the route whose hops start at `begin`. `shared` says that several endpoints send on it.
    pub fn add_route(&mut self, hops: &[Hop], begin: usize, shared: bool, is_pure_delay: impl Fn(HopTarget) -> bool) {
        let (mut feeder, mut several) = (Feeder::Endpoint(begin), shared);
        let targets = hops[begin..].iter().map(|hop| hop.target()).take_while(|&target| target != HopTarget::End);
        // A link that only delays keeps no order among those that use it: what feeds it feeds the link after it.
        for target in targets.filter(|&target| !is_pure_delay(target)) {
            let feeders = self.feeders.entry(target).or_insert(Feeders { first: feeder, several });
            feeders.several |= several || feeders.first != feeder;
            (feeder, several) = (Feeder::Upstream(target), false);
        }
    }

    /// Whether more than one upstream feeds this link.
    pub fn has_contention(&self, target: HopTarget) -> bool {
        self.feeders.get(&target).is_some_and(|feeders| feeders.several)
    }
}
