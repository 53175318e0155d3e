//! A network that continues as that of another run.

use super::Network;
use crate::medium::Medium;
use crate::packet::Packet;

impl<P: Packet> Network<P> {
    /// Whether packets wait for events at the same hops as in `other`.
    /// `other` has the same links and routes.
    pub fn has_events_of(&self, other: &Self) -> bool {
        self.hops == other.hops
    }

    /// Draws from now on as `other` does; returns whether nothing has been drawn yet.
    /// `other` is the same network of a run with another seed, at time 0; `start` is this one at time 0. If it returns true, this network
    /// is now equal to `other`. Impairments draw for every packet, and some media for every turn: a network with some of these returns
    /// false.
    #[must_use]
    pub fn adopt_streams(&mut self, start: &Self, other: &Self) -> bool {
        let others = start.links.iter().zip(&other.links);
        let draws_besides = !self.impairments.is_empty() || self.media.iter().any(Medium::draws);
        !draws_besides && self.links.iter_mut().zip(others).all(|(here, (start, other))| here.adopt_stream(start, other))
    }
}
