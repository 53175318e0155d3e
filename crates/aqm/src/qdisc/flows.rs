//! What a queue is told about flows before their packets come: their groups and their hashes.

use super::{Qdisc, Waiting};
use crate::Packet;

impl<P: Packet> Qdisc<P> {
    /// Whether it goes by the groups of flows ([`Qdisc::add_place`]).
    pub fn knows_groups(&self) -> bool {
        match &self.waiting {
            Waiting::Classes(_) | Waiting::Cake(..) => true,
            Waiting::Dual(queues) => queues.has_filters(),
            Waiting::Fifo(_) | Waiting::Flows(..) | Waiting::Host(_) => false,
        }
    }

    /// Packets of flows of this group come to the link at this place of their route: what classes go by.
    pub fn add_place(&mut self, place: u32, group: u32) {
        match &mut self.waiting {
            Waiting::Classes(classes) => classes.add_place(place, group),
            Waiting::Cake(queues, _) => queues.add_place(place, group),
            Waiting::Dual(queues) => queues.add_place(place, group),
            Waiting::Fifo(_) | Waiting::Flows(..) | Waiting::Host(_) => {}
        }
    }

    /// Whether it goes by the hashes of flows ([`Qdisc::set_hash`]).
    pub fn hashes_flows(&self) -> bool {
        match &self.waiting {
            Waiting::Flows(..) | Waiting::Cake(..) => true,
            Waiting::Classes(classes) => classes.queues().any(Qdisc::hashes_flows),
            Waiting::Fifo(_) | Waiting::Dual(_) | Waiting::Host(_) => false,
        }
    }

    /// Sets the hash of a flow, by which it finds its queue: that of its connection, as addresses and ports have one. A flow
    /// without is found by its number.
    pub fn set_hash(&mut self, flow: u32, hash: u64) {
        match &mut self.waiting {
            Waiting::Flows(queues, _) => queues.set_hash(flow, hash),
            Waiting::Cake(queues, _) => queues.set_hash(flow, hash),
            Waiting::Classes(classes) => classes.queues_mut().for_each(|queue| queue.set_hash(flow, hash)),
            Waiting::Fifo(_) | Waiting::Dual(_) | Waiting::Host(_) => {}
        }
    }
}
