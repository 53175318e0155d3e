//! The effects of impairments on packets in the network.

use super::Network;
use crate::hop::{Hop, HopTarget};
use crate::impaired::LinkImpairment;
use crate::link::Link;
use crate::observer::{DropCause, LinkObserver};
use crate::packet::Packet;
use sojourn_link::Effect;
use sojourn_units::Time;

/// A copy of the hops of a route, for packets with bit errors.
/// It ends with [`HopTarget::Discard`].
#[derive(Clone, Debug)]
pub(crate) struct DiscardRoute {
    /// The hops of the route.
    original: core::ops::Range<u32>,
    /// The beginning of the copy.
    copy: u32,
}

/// The next hop, after `at`, and the time of an impaired packet.
pub(super) struct Next {
    pub time: Time,
    pub at: u32,
}

impl<P: Packet> Network<P> {
    /// Adds a route for packets with bit errors to each route that they may take.
    /// Routes are given by their first hops.
    pub(crate) fn add_discard_routes(&mut self, routes: impl Iterator<Item = u32>) {
        if !self.impairments.iter().any(LinkImpairment::corrupts) {
            return;
        }
        for begin in routes {
            let hops = &self.hops[begin as usize..];
            if matches!(hops[0].target(), HopTarget::Choice(_)) {
                continue;
            }
            let Some(end) = hops.iter().position(|hop| hop.target() == HopTarget::End) else { continue };
            let corrupts = |hop: &Hop| matches!(hop.target(), HopTarget::Impairment(at) if self.impairments[at].corrupts());
            if !hops[..end].iter().any(corrupts) {
                continue;
            }
            let last = if hops[end].needs_event() { Hop::new(HopTarget::Discard).deferred() } else { Hop::new(HopTarget::Discard) };
            let copy = self.hops.len() as u32;
            self.hops.extend_from_within(begin as usize..begin as usize + end);
            self.hops.push(last);
            self.discards.push(DiscardRoute { original: begin..begin + end as u32, copy });
        }
    }

    /// Reports the positions of each group to links that classify by groups.
    /// Routes are given by their number of hops and their groups.
    pub(crate) fn tell_classes(&mut self, routes: impl Iterator<Item = (u32, u32)>) {
        if !self.links.iter().any(Link::knows_groups) {
            return;
        }
        let mut begin = 0;
        for (hops, group) in routes {
            let copy = self.discards.iter().find(|route| route.original.start == begin).map(|route| route.copy);
            for (at, place) in (begin..begin + hops).map(|at| (at, copy.map(|copy| copy + at - begin))) {
                if let HopTarget::Link(link) = self.hops[at as usize].target() {
                    core::iter::once(at).chain(place).for_each(|at| self.links[link].add_place(at, group));
                }
            }
            begin += hops;
        }
    }

    /// Applies the impairment at `at` to a packet; returns where the packet continues.
    #[inline(never)]
    pub(super) fn impair(
        &mut self,
        time: Time,
        at: u32,
        impairment: usize,
        packet: &mut P,
        observer: &mut impl LinkObserver<P>,
    ) -> Option<Next> {
        match self.impairments[impairment].meet(time, packet, observer) {
            Effect::Pass => Some(Next { time, at }),
            Effect::Delay(delay) => Some(Next { time: time + delay, at }),
            Effect::Drop => {
                self.lose(time, at, DropCause::Impairment, packet, observer);
                None
            }
            Effect::Strip(option) => {
                observer.strip(packet, option);
                Some(Next { time, at })
            }
            Effect::Corrupt => Some(Next { time, at: self.discarded(at) }),
            Effect::Duplicate => {
                let Some(link) = self.link_number(at) else { unreachable!("an impairment belongs to a link") };
                if let Some(mut copy) = observer.on_duplicate(time, link, packet) {
                    self.audit.duplicated += 1;
                    self.impairments[impairment].count_copy(time);
                    // It takes the hops that only delay as its packet does. The first that does more, or the end of the route, waits for
                    // an event, because this impairment reorders.
                    let delivered = self.travel(time, at + 1, false, &mut copy, observer);
                    debug_assert!(delivered.is_none(), "a copy waits for an event before the end of its route");
                }
                Some(Next { time, at })
            }
        }
    }

    /// The same position on the route of packets with bit errors.
    /// A packet that has bit errors stays on that route.
    fn discarded(&self, at: u32) -> u32 {
        let after = self.discards.partition_point(|route| route.original.start <= at);
        match after.checked_sub(1).map(|last| &self.discards[last]) {
            Some(route) if route.original.contains(&at) => route.copy + (at - route.original.start),
            _ => at,
        }
    }
}
