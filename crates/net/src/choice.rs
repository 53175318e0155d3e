//! The choice among several routes of a packet.

use alloc::boxed::Box;
use sojourn_units::Time;

/// The times at which packets change among several routes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Turn {
    /// Each packet takes the next route.
    Packets,
    /// All take the first route until the first of these ascending times, and so on.
    /// There is one time less than routes.
    Times(Box<[Time]>),
}

/// Several routes, and the present choice.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    /// Their first hops.
    pub routes: Box<[u32]>,
    turn: Turn,
    next: usize,
}

impl Choice {
    pub fn new(routes: Box<[u32]>, turn: Turn) -> Self {
        Choice { routes, turn, next: 0 }
    }

    /// The first hop of the route of a packet that is sent now.
    pub fn take(&mut self, now: Time) -> u32 {
        let at = match &self.turn {
            Turn::Packets => {
                let at = self.next;
                self.next = if at + 1 == self.routes.len() { 0 } else { at + 1 };
                at
            }
            Turn::Times(times) => times.partition_point(|&time| time <= now),
        };
        self.routes[at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_takes_the_route_of_its_time_and_at_a_change_the_new_one() {
        let at = Time::from_nanos;
        let mut choice = Choice::new([7, 8, 9].into(), Turn::Times([at(10), at(20)].into()));
        assert_eq!([0, 9, 10, 19, 20, 99].map(|nanos| choice.take(at(nanos))), [7, 7, 8, 8, 9, 9]);
    }

    #[test]
    fn packets_take_routes_in_turn() {
        let mut choice = Choice::new([7, 8, 9].into(), Turn::Packets);
        assert_eq!([0; 5].map(|_| choice.take(Time::ZERO)), [7, 8, 9, 7, 8]);
    }
}
