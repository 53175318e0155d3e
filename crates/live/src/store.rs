//! The bytes of packets that are in the network.

use std::cell::RefCell;

/// A packet with its copies.
#[derive(Default)]
struct Slot<T> {
    bytes: Vec<u8>,
    about: T,
    /// How many packets of the network have it: 0 for a free slot.
    owners: u32,
}

/// Packets by handle. Slots are reused, so a packet needs no allocation.
#[derive(Default)]
pub(crate) struct Store<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

thread_local! {
    /// The handles that the network has copied since they were last counted.
    static COPIED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Copies a packet: the copy has the same handle, and the store counts it later.
pub(crate) fn copy(handle: u64) -> u64 {
    COPIED.with_borrow_mut(|copied| copied.push(handle));
    handle
}

impl<T: Default + Copy> Store<T> {
    /// Stores a packet and returns its handle.
    pub fn add(&mut self, bytes: &[u8], about: T) -> u64 {
        let number = self.free.pop().unwrap_or(self.slots.len() as u32);
        if number as usize == self.slots.len() {
            self.slots.push(Slot::default());
        }
        let slot = &mut self.slots[number as usize];
        slot.bytes.clear();
        slot.bytes.extend_from_slice(bytes);
        (slot.about, slot.owners) = (about, 1);
        u64::from(number)
    }

    /// Counts the copies that the network has made in this thread.
    pub fn count_copies(&mut self) {
        COPIED.with_borrow_mut(|copied| {
            for handle in copied.drain(..) {
                if let Some(slot) = self.slots.get_mut(handle as usize) {
                    slot.owners += 1;
                }
            }
        });
    }

    /// The bytes of a packet.
    pub fn bytes(&self, handle: u64) -> &[u8] {
        &self.slots[handle as usize].bytes
    }

    /// What was stored with a packet.
    pub fn about(&self, handle: u64) -> T {
        self.slots[handle as usize].about
    }

    /// Frees a packet that has left the network, unless it has copies there.
    pub fn release(&mut self, handle: u64) {
        let slot = &mut self.slots[handle as usize];
        slot.owners -= 1;
        if slot.owners == 0 {
            self.free.push(handle as u32);
        }
    }

    /// The number of packets in the store, without copies.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_free_when_the_last_copy_is_released() {
        let mut store = Store::<u32>::default();
        let handle = store.add(&[1, 2], 7);
        assert_eq!(copy(handle), handle);
        store.count_copies();
        store.release(handle);
        assert_eq!((store.bytes(handle), store.about(handle), store.len()), (&[1, 2][..], 7, 1));
        store.release(handle);
        assert_eq!((store.len(), store.add(&[3], 8), store.len()), (0, handle, 1));
    }
}
