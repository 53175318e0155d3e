//! Simulates a part of a network apart from the others.
//!
//! Its network is a copy of the whole one in which only its own hops have traffic. A packet that reaches a hop of another part leaves with
//! its time ([`Network::leaving`]), and enters the copy of that part ([`Network::enter`]).
//!
//! A packet that enters has an event, although the engine may have elided that event in the whole network. So other packets could pass a
//! link on which they meet ahead of their time. Therefore a new event spreads: links behind it, up to the next event of the whole network,
//! get an event for all of their packets. Elided events change no result, so neither do these.

use super::border::{Border, Crossing, Parts};
use super::parts::Loop;
use super::{Audit, Network};
use crate::hop::HopTarget;
use crate::link::Link;
use crate::packet::Packet;
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem::{replace, swap};

impl<P: Packet> Network<P> {
    /// Adds the events that parts need; `loops` are the routes of all flows.
    pub fn prepare_parts(&mut self, parts: &Parts, loops: &[Loop]) {
        let mut with_events = BTreeSet::new();
        loop {
            let before = with_events.len();
            for each in loops {
                self.spread_events(parts, each, &mut with_events);
            }
            if with_events.len() == before {
                break;
            }
        }
        for hop in self.hops.iter_mut().filter(|hop| with_events.contains(&hop.target())) {
            *hop = if hop.needs_event() { hop.unordered() } else { hop.passing().deferred() };
        }
        let ends: Vec<usize> = loops.iter().flat_map(|each| [each.forward.0, each.back.0]).map(|begin| self.end_of(begin)).collect();
        for at in ends {
            if at > 0 && parts.of_hops[at] != parts.of_hops[at - 1] {
                self.hops[at] = self.hops[at].deferred();
                self.hops[at - 1] = self.hops[at - 1].not_last();
            }
        }
    }

    /// The hop that ends the route from `begin` on.
    fn end_of(&self, begin: u32) -> usize {
        let begin = begin as usize;
        begin + self.hops[begin..].iter().position(|hop| hop.is_end()).unwrap_or(0)
    }

    /// Adds the targets on a loop that need a new event.
    /// They are at a border, or behind another new event.
    fn spread_events(&self, parts: &Parts, each: &Loop, with_events: &mut BTreeSet<HopTarget>) {
        let mut part = parts.of_hops[each.forward.0 as usize];
        let mut after_new_event = false;
        let of_route = |begin: u32| begin as usize..=self.end_of(begin);
        for at in of_route(each.forward.0).chain(of_route(each.back.0)) {
            let (hop, target) = (self.hops[at], self.hops[at].target());
            let crosses = replace(&mut part, parts.of_hops[at]) != parts.of_hops[at];
            if hop.needs_event() && !hop.is_ordered() {
                after_new_event = false;
            } else if target.ends_route() {
                after_new_event |= crosses;
            } else {
                if crosses || after_new_event {
                    with_events.insert(target);
                }
                after_new_event = with_events.contains(&target);
            }
        }
    }

    /// Simulates only the part `here` from now on.
    pub fn become_part(&mut self, parts: &Arc<Parts>, here: u8) {
        // Other parts must know when the next packet may leave.
        self.links.iter_mut().for_each(Link::keep_up);
        let leaving = (0..parts.count).map(|_| Vec::new()).collect();
        self.border = Some(Box::new(Border { parts: Arc::clone(parts), here, leaving, elsewhere: 0 }));
    }

    /// The parts of which it simulates one; `None` if it simulates all.
    pub fn own_parts(&self) -> Option<Arc<Parts>> {
        self.border.as_ref().map(|border| Arc::clone(&border.parts))
    }

    /// The packets that leave for another part, in the order in which they do.
    pub fn leaving(&mut self, part: usize) -> Option<&mut Vec<Crossing<P>>> {
        self.border.as_mut().map(|border| &mut border.leaving[part])
    }

    /// Receives a packet from another part, not before the network's time.
    pub fn enter(&mut self, crossing: Crossing<P>) {
        let Crossing { at, mut packet, hop } = crossing;
        self.wait(at, hop, self.hops[hop as usize], &mut packet);
    }

    /// Takes over what another part has simulated, at the end of the run.
    /// With all others it becomes the whole network again.
    ///
    /// # Errors
    /// A sentence on a link of that part that sent more than its rate allows.
    pub fn take_part(&mut self, mut other: Network<P>) -> Result<(), String> {
        let Some(border) = other.border.take() else { return Ok(()) };
        other.check_access_links()?;
        let is_of_other = |link: usize| border.parts.of_links[link] == border.here;
        for (link, (here, there)) in self.links.iter_mut().zip(&mut other.links).enumerate() {
            if is_of_other(link) {
                swap(here, there);
            }
        }
        for (here, there) in self.impairments.iter_mut().zip(&mut other.impairments) {
            if is_of_other(here.link()) {
                swap(here, there);
            }
        }
        for (link, (here, there)) in self.lookaheads.iter_mut().zip(&mut other.lookaheads).enumerate() {
            if is_of_other(link) {
                swap(here, there);
            }
        }
        let Audit { sent, duplicated, delivered, dropped, .. } = other.audit;
        self.audit.sent += sent;
        self.audit.duplicated += duplicated;
        self.audit.delivered += delivered;
        self.audit.dropped += dropped;
        if let Some(own) = &mut self.border {
            own.elsewhere += other.calendar.packets() as u64;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::Numbered;
    use crate::{Delivery, LinkConfig, NetworkBuilder, Window};
    use sojourn_aqm::QueueController;
    use sojourn_spec::link::Link;
    use sojourn_units::{Duration, Rate, Time};

    /// A link with this delay in ms, and a rate unless it is a pure delay.
    fn link(rate: Option<u64>, delay: u64) -> LinkConfig {
        let rate = rate.and_then(Rate::from_bps);
        LinkConfig::new(Link { rate, delay: Duration::from_millis(delay), ..Link::default() }, QueueController::passing())
    }

    /// A bottleneck, two receivers equally far behind it, and a link back.
    /// Their answers reach that in order.
    fn dumbbell() -> (Network<Numbered>, Vec<Loop>) {
        let mut builder = NetworkBuilder::new(Window { from: Time::ZERO, until: Time::from_secs_f64(1.0) });
        let [there, back] = [5, 5].map(|delay| builder.add_link(link(Some(1_000_000), delay)));
        let receivers = [4, 4].map(|delay| builder.add_link(link(None, delay)));
        builder.least_packet(1000);
        let loops = receivers.map(|receiver| {
            let forward = builder.add_route(&[there, receiver], Delivery::AfterEvent, false).unwrap();
            let back = builder.add_route(&[back], Delivery::Immediate, false).unwrap();
            builder.answers_at_once();
            Loop { forward, back }
        });
        (builder.build(), loops.into())
    }

    /// Whether each hop needs an event, if the hops are in these parts.
    fn events(of_hops: [u8; 10]) -> [bool; 10] {
        let (mut network, loops) = dumbbell();
        let parts = Parts { of_hops: of_hops.into(), of_links: [0, 0].into(), count: 2, lookahead: Duration::from_millis(4) };
        network.prepare_parts(&parts, &loops);
        core::array::from_fn(|at| network.hops[at].needs_event())
    }

    #[test]
    fn a_packet_that_enters_has_an_event_and_so_have_the_links_behind_it() {
        let (meets, none) = (true, false);
        // Of each flow: the bottleneck, the delay, the receiver; the link back, the sender.
        let whole = [meets, none, none, none, none, meets, none, none, none, none];
        assert_eq!(events([0; 10]), whole);
        // The first receiver is in another part, and its answer enters that of the link back.
        let one_receiver = [meets, none, true, true, none, meets, none, none, true, none];
        assert_eq!(events([0, 0, 1, 0, 0, 0, 0, 0, 0, 0]), one_receiver);
        // Both enter the other part behind the bottleneck, or at their receivers.
        let at_delays = [meets, true, none, true, true, meets, true, none, true, true];
        assert_eq!(events([0, 1, 1, 1, 0, 0, 1, 1, 1, 0]), at_delays);
        let at_receivers = [meets, none, true, true, true, meets, none, true, true, true];
        assert_eq!(events([0, 0, 1, 1, 0, 0, 0, 1, 1, 0]), at_receivers);
        // Each enters it at another place before the link back.
        let at_places = [meets, none, true, true, true, meets, true, none, true, true];
        assert_eq!(events([0, 0, 1, 1, 0, 0, 1, 1, 1, 0]), at_places);
    }
}
