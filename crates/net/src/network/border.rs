//! The border of a part of a network that is simulated apart from the others.

use crate::packet::Packet;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use sojourn_units::{Duration, Time};

/// The parts of a network.
#[derive(Clone, Debug)]
pub struct Parts {
    /// The part of each hop.
    pub(super) of_hops: Box<[u8]>,
    /// The part of each link.
    pub(super) of_links: Box<[u8]>,
    pub(super) count: u8,
    /// The shortest time that a packet takes from one part to another.
    pub lookahead: Duration,
}

/// A packet on its way to a hop of another part.
#[derive(Clone, Debug)]
pub struct Crossing<P> {
    /// The time at which it arrives.
    pub at: Time,
    /// The packet.
    pub packet: P,
    pub(super) hop: u32,
}

/// The part that a network simulates.
#[derive(Clone, Debug)]
pub(super) struct Border<P> {
    pub parts: Arc<Parts>,
    pub here: u8,
    /// The packets that leave, by the part that they enter.
    pub leaving: Vec<Vec<Crossing<P>>>,
    /// Packets that are in other parts at the end of the run.
    pub elsewhere: u64,
}

impl<P: Packet> Border<P> {
    /// Takes a packet that arrives at a hop of another part.
    /// Returns whether it does.
    #[inline]
    pub fn takes(&mut self, at: Time, hop: u32, packet: &mut P) -> bool {
        let part = self.parts.of_hops[hop as usize];
        let leaves = part != self.here;
        if leaves {
            self.leaving[usize::from(part)].push(Crossing { at, packet: packet.take(), hop });
        }
        leaves
    }
}
