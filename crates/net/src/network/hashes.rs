//! The hashes of flows, which queues and routers go by.

use super::Network;
use crate::packet::Packet;

impl<P: Packet> Network<P> {
    /// Sets the hash of a flow, by which queues and routers find what they keep for it.
    pub fn set_hash(&mut self, flow: u32, hash: u64) {
        for &link in &self.hashing {
            self.links[link].set_hash(flow, hash);
        }
    }

    /// Whether a link goes by the hashes of flows ([`Network::set_hash`]).
    pub fn hashes_flows(&self) -> bool {
        !self.hashing.is_empty()
    }
}
