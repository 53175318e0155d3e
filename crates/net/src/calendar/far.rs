//! The events beyond the calendar's year: few, since each costs the logarithm of the number.

use super::node::{NONE, Node};
use super::order::Key;
use crate::packet::{InFlight, Packet};
use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::iter::from_fn;
use core::mem::replace;
use sojourn_units::{Memory, memory_of};

/// A heap of events.
#[derive(Clone, Debug)]
pub(super) struct Far<P> {
    heap: BinaryHeap<Reverse<(Key, u32)>>,
    items: Vec<InFlight<P>>,
    /// The first free item.
    free: u32,
}

impl<P> Default for Far<P> {
    fn default() -> Self {
        Far { heap: BinaryHeap::new(), items: Vec::new(), free: NONE }
    }
}

impl<P: Packet> Far<P> {
    /// The number of events.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Adds an event; the packet is moved out.
    pub fn push(&mut self, key: Key, hop: u32, packet: &mut P) {
        let mut index = self.free;
        let new = InFlight { packet: packet.take(), hop, next: NONE };
        match self.items.get_mut(index as usize) {
            Some(item) => self.free = replace(item, new).next,
            None => {
                index = self.items.len() as u32;
                self.items.push(new);
            }
        }
        self.heap.push(Reverse((key, index)));
    }

    /// The key of the first.
    pub fn peek(&self) -> Option<Key> {
        self.heap.peek().map(|Reverse((key, _))| *key)
    }

    /// Removes the first.
    pub fn pop(&mut self) -> Option<Node<P>> {
        let Reverse((key, index)) = self.heap.pop()?;
        let item = &mut self.items[index as usize];
        let taken = InFlight { packet: item.packet.take(), hop: item.hop, next: NONE };
        item.next = replace(&mut self.free, index);
        Some(Node { key, item: taken })
    }

    /// Removes all, in order.
    pub fn take_all(&mut self) -> impl Iterator<Item = Node<P>> {
        from_fn(|| self.pop())
    }

    /// The keys of all.
    pub fn keys(&self) -> impl Iterator<Item = Key> {
        self.heap.iter().map(|Reverse((key, _))| *key)
    }
}

impl<P> Memory for Far<P> {
    fn memory(&self) -> usize {
        memory_of([&self.heap, &self.items])
    }
}
