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
    fn a_value_holds_the_room_of_its_lists_and_what_its_boxes_hold() {
        let (list, queue, heap) = (Vec::<u64>::with_capacity(5), VecDeque::<u16>::with_capacity(4), BinaryHeap::<u32>::with_capacity(6));
        assert_eq!([list.memory(), queue.memory(), heap.memory()], [40, 8, 24]);
        let boxed = Some(Box::new(Some(Flat)));
        assert_eq!((boxed.memory(), Items(&[Flat, Flat]).memory()), (size_of::<Option<Flat>>() + 7, 14));
        assert_eq!((Plain(&None::<Box<u64>>).memory(), Plain(&Some(Box::new(1u64))).memory()), (0, 8));
        assert_eq!(memory_of([&list, &boxed, &None::<Flat>]), 40 + boxed.memory());
    }
}
