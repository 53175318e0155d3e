//! Links that hold packets run behind the network's time.
//!
//! A packet leaves such a link only after its propagation delay. So nothing needs to know what the link does until that much later: it
//! collects arrivals and catches up when its first packet could reach the other end, or when many have arrived. The departures in between
//! then need no events, and the code and the state of the link stay in the processor's cache.

use super::Network;
use super::places::Arrival;
use crate::link::Step;
use crate::observer::LinkObserver;
use crate::packet::Packet;
use sojourn_units::Time;

impl<P: Packet> Network<P> {
    /// Registers a packet that arrives at a link that holds packets.
    #[inline]
    pub(super) fn defer_arrival(&mut self, link: usize, time: Time, at: u32, packet: &mut P) {
        if self.links[link].defer(time, at, packet) {
            self.deciding = Some(link);
        } else {
            self.plan_event(link);
        }
    }

    /// Lets a link catch up to its next departure, and moves that packet to `packet`.
    /// Returns its position on its route, and its arrival at the other end; `None` if the link has caught up.
    #[inline(never)]
    pub(super) fn catch_up(&mut self, link: usize, packet: &mut P, observer: &mut impl LinkObserver<P>) -> Option<(u32, Time)> {
        while let Some(step) = self.links[link].next_step() {
            let state = &mut self.links[link];
            match step {
                Step::Arrival(time, held) => {
                    if state.is_watched() {
                        observer.on_arrival(time, self.ids.link(link), &held.packet);
                    }
                    if state.filters_acks() {
                        state.compare_acks(held.hop, &held.packet, observer);
                    }
                    let arrival = Arrival { hops: &self.hops, at: held.hop, now: time, size: held.packet.size() };
                    state.hold(time, held, || arrival.transit_time(&self.access_links, &self.transit_times));
                    self.report_all(time, link, observer);
                    if self.links[link].takes_turns() {
                        self.contend(time, link, observer);
                    }
                }
                Step::Departure(time) => {
                    let departed = state.depart(time, packet);
                    if state.is_watched() {
                        observer.on_departure(time, self.ids.link(link), packet);
                    }
                    self.report_all(time, link, observer);
                    if self.links[link].takes_turns() {
                        self.after_transmission(time, link, observer);
                    }
                    return Some(departed);
                }
            }
        }
        None
    }

    /// Lets a link that is behind catch up to `until`; returns whether there is one.
    #[cold]
    pub(super) fn catch_up_all(&mut self, until: Time) -> bool {
        self.deciding = self.links.iter_mut().position(|link| link.falls_behind(until));
        self.deciding.is_some()
    }
}
