//! The payloads of packets in the network.

use crate::endpoint::{Datagram, Ecn};
use std::collections::HashMap;

/// Payloads by the numbers of their packets.
#[derive(Default, Debug)]
pub(crate) struct Packets {
    next: u64,
    stored: HashMap<u64, Stored>,
}

#[derive(Debug)]
struct Stored {
    datagram: Datagram,
    /// Bytes on the wire, with headers.
    size: u16,
    /// Packets in the network with this payload; impairments duplicate some.
    copies: u32,
}

impl Packets {
    /// Stores a datagram that has `size` bytes on the wire, and returns its number.
    pub fn add(&mut self, datagram: Datagram, size: u16) -> u64 {
        self.next += 1;
        self.stored.insert(self.next, Stored { datagram, size, copies: 1 });
        self.next
    }

    /// One more packet with this payload is in the network.
    pub fn copy(&mut self, number: u64) {
        if let Some(stored) = self.stored.get_mut(&number) {
            stored.copies += 1;
        }
    }

    /// A packet leaves the network; returns its payload.
    pub fn take(&mut self, number: u64) -> Option<Vec<u8>> {
        let stored = self.stored.get_mut(&number)?;
        stored.copies -= 1;
        if stored.copies > 0 {
            return Some(stored.datagram.payload.clone());
        }
        self.stored.remove(&number).map(|stored| stored.datagram.payload)
    }

    /// Marks a packet that has not yet entered the network.
    pub fn mark(&mut self, number: u64) {
        if let Some(stored) = self.stored.get_mut(&number) {
            stored.datagram.ecn = Ecn::Ce;
        }
    }

    /// The bytes on the wire and the ECN field of a packet.
    pub fn get(&self, number: u64) -> Option<(u16, Ecn)> {
        self.stored.get(&number).map(|stored| (stored.size, stored.datagram.ecn))
    }
}
