//! Memory that a value holds beyond its own size.

use alloc::boxed::Box;
use alloc::collections::{BinaryHeap, VecDeque};
use alloc::vec::Vec;

/// A value that reports the memory that it holds.
pub trait Memory {
    /// Bytes of memory in addition to its own size, including reserved capacity.
    /// A list reports its capacity, not the memory of its items.
    fn memory(&self) -> usize;
}

/// The memory of several parts of a value.
pub fn memory_of<const N: usize>(parts: [&dyn Memory; N]) -> usize {
    parts.iter().map(|part| part.memory()).sum()
}

/// The capacity up to which a ring is never too large.
const SMALL_RING: usize = 32;

/// Shrinks a ring of which less than a third is used.
/// A ring takes turns over its whole capacity, so one that was once full of many items would displace others from the cache.
///
/// ```
/// # use sojourn_units::tighten;
/// # use std::collections::VecDeque;
/// let mut ring: VecDeque<u32> = (0..1000).collect();
/// ring.drain(..900);
/// tighten(&mut ring);
/// assert!(ring.capacity() < 300 && ring.iter().copied().eq(900..1000));
/// ```
#[inline(always)]
pub fn tighten<T>(ring: &mut VecDeque<T>) {
    if ring.capacity() > 3 * ring.len() + SMALL_RING {
        shrink(ring);
    }
}

#[cold]
#[inline(never)]
fn shrink<T>(ring: &mut VecDeque<T>) {
    // Room for half as many more: so it doesn't grow and shrink in turns.
    ring.shrink_to(ring.len() + ring.len() / 2 + SMALL_RING / 4);
}

/// The memory that the items of a list hold.
#[derive(Debug)]
pub struct Items<'a, T>(pub &'a [T]);

impl<T: Memory> Memory for Items<'_, T> {
    fn memory(&self) -> usize {
        self.0.iter().map(Memory::memory).sum()
    }
}

/// A box whose content holds no memory of its own.
#[derive(Debug)]
pub struct Plain<'a, T>(pub &'a Option<Box<T>>);

impl<T> Memory for Plain<'_, T> {
    fn memory(&self) -> usize {
        self.0.as_ref().map_or(0, |_| size_of::<T>())
    }
}

impl<T> Memory for Vec<T> {
    fn memory(&self) -> usize {
        self.capacity() * size_of::<T>()
    }
}

impl<T> Memory for VecDeque<T> {
    fn memory(&self) -> usize {
        self.capacity() * size_of::<T>()
    }
}

impl<T> Memory for BinaryHeap<T> {
    fn memory(&self) -> usize {
        self.capacity() * size_of::<T>()
    }
}

impl<T: Memory> Memory for Option<T> {
    fn memory(&self) -> usize {
        self.as_ref().map_or(0, Memory::memory)
    }
}

impl<T: Memory> Memory for Box<T> {
    fn memory(&self) -> usize {
        size_of::<T>() + (**self).memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Flat;

    impl Memory for Flat {
        fn memory(&self) -> usize {
            7
        }
    }

    #[test]
    fn a_ring_keeps_its_items_and_uses_a_third_of_its_room_whatever_its_length_was() {
        let (mut ring, mut items) = (VecDeque::new(), 0..0);
        let (mut moved, mut room) = (0, 0);
        for length in [5000, 1000, 900, 1000, 10, 50, 0, 40] {
            while items.len() != length {
                if items.len() < length {
                    ring.push_back(items.end);
                    items.end += 1;
                } else {
                    assert_eq!(ring.pop_front(), items.next());
                }
                tighten(&mut ring);
                assert!(ring.capacity() <= 3 * ring.len() + SMALL_RING, "room for {} of {}", ring.capacity(), ring.len());
                moved += if ring.capacity() == room { 0 } else { ring.len() };
                room = ring.capacity();
            }
        }
        assert!(ring.iter().copied().eq(items) && moved < 20_000, "{moved} items moved");
    }

    #[test]
    fn a_value_holds_the_room_of_its_lists_and_what_its_boxes_hold() {
        let (list, queue, heap) = (Vec::<u64>::with_capacity(5), VecDeque::<u16>::with_capacity(4), BinaryHeap::<u32>::with_capacity(6));
        assert_eq!([list.memory(), queue.memory(), heap.memory()], [40, 8, 24]);
        let boxed = Some(Box::new(Some(Flat)));
        assert_eq!((boxed.memory(), Items(&[Flat, Flat]).memory()), (size_of::<Option<Flat>>() + 7, 14));
        assert_eq!((Plain(&None::<Box<u64>>).memory(), Plain(&Some(Box::new(1u64))).memory()), (0, 8));
        assert_eq!(memory_of([&list, &boxed, &None::<Flat>]), 40 + boxed.memory());
    }
}
