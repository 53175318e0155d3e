//! Where packets can meet, or are read by a router, and so where arrivals need events.

use crate::flow::{Over, Route};
use crate::net::Net;
use std::collections::BTreeMap;

/// Finds where packets can meet: a link needs events if more than one upstream feeds it, or if it keeps packets.
#[derive(Default)]
pub(crate) struct Ways {
    /// What feeds each link (a link before it, or an endpoint), and whether something else does too.
    feeders: BTreeMap<Over, (Feeder, bool)>,
    routes: Vec<Route>,
    all_events: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Feeder {
    Hop(Over),
    /// The endpoint whose packets start at this place of the table of hops.
    Endpoint(u32),
}

impl Ways {
    /// No routes yet; `all_events` makes every hop an event.
    pub fn new(all_events: bool) -> Self {
        Ways { all_events, ..Ways::default() }
    }

    /// Adds a route; `many` says that many endpoints use it side by side.
    pub fn add(&mut self, net: &Net, route: &Route, many: bool) {
        self.routes.push(*route);
        for begin in [route.forward, route.back] {
            let (mut feeder, mut several) = (Feeder::Endpoint(begin), many);
            let way = net.hops[begin as usize..].iter().map(|hop| hop.leads()).take_while(|&over| over != Over::End);
            // A link that merely delays keeps no order among its users: what comes out is fed by what went in.
            for over in way.filter(|&over| !net.is_pure_delay(over)) {
                let known = self.feeders.entry(over).or_insert((feeder, several));
                known.1 |= several || known.0 != feeder;
                (feeder, several) = (Feeder::Hop(over), false);
            }
        }
    }

    pub fn mark_events(self, net: &mut Net) {
        let keeps = |over: Over, net: &Net| matches!(over, Over::Link(link) if net.links[link].keeps_packets());
        for at in 0..net.hops.len() {
            let over = net.hops[at].leads();
            let several = self.feeders.get(&over).is_some_and(|&(_, several)| several);
            let meets = over != Over::End && (self.all_events || several || keeps(over, net));
            if meets || net.is_read(at) {
                net.hops[at] = net.hops[at].by_event();
            }
        }
        // Somewhere on its loop a flow must wait for the world: at the receiver if nowhere before.
        for route in &self.routes {
            let mut at = route.forward as usize;
            let mut waits = false;
            while net.hops[at].leads() != Over::End {
                waits |= net.hops[at].needs_event();
                at += 1;
            }
            if !waits {
                net.hops[at] = net.hops[at].by_event();
            }
        }
    }
}
