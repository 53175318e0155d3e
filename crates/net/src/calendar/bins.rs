//! Bins of time for many events, in the order of insertion.
//!
//! The cache has no room for all events. A bin is written at its end. When its time comes it is opened: its events are distributed to the
//! buckets of the calendar without being moved, from one end of the bin to the other. So few memory locations are written at a time, and
//! reads are predictable. When all events of a bin have been removed, its memory is free.

use super::node::{NONE, Node};
use super::order::Key;
use crate::packet::{InFlight, Packet};
use alloc::vec;
use alloc::vec::Vec;
use core::iter::successors;
use core::mem::replace;
use core::ops::RangeInclusive;
use sojourn_units::{Memory, memory_of};

/// The number of adjacent events of a bin in memory.
const BLOCK: u32 = 32;

/// Lists of nodes, in blocks. A list is identified by the position of its last node.
#[derive(Clone, Debug)]
struct Blocks {
    /// For each block the last position of the block before it in its list.
    /// For a free block, it is the next free block.
    before: Vec<u32>,
    /// The first free block.
    free: u32,
}

impl Blocks {
    /// The position after `last`, if its block has room.
    #[inline(always)]
    fn next(last: u32) -> Option<u32> {
        Some(last.wrapping_add(1)).filter(|place| !place.is_multiple_of(BLOCK))
    }

    /// The first position of a new block that follows `last`.
    fn take_block<P: Packet>(&mut self, nodes: &mut Vec<Node<P>>, last: u32) -> u32 {
        let block = self.free;
        if let Some(before) = self.before.get_mut(block as usize) {
            self.free = replace(before, last);
            return block * BLOCK;
        }
        let place = nodes.len();
        self.before.push(last);
        let empty = || Node { key: Key::default(), item: InFlight { packet: P::default(), hop: 0, next: NONE } };
        nodes.resize_with(place + BLOCK as usize, empty);
        place as u32
    }

    /// Frees the blocks of a list.
    fn free(&mut self, mut last: u32) {
        while last != NONE {
            let block = last / BLOCK;
            let free = replace(&mut self.free, block);
            last = replace(&mut self.before[block as usize], free);
        }
    }

    /// The positions of a list, from the last on.
    fn places(&self, last: u32) -> impl Iterator<Item = u32> {
        let is_one = |last: &u32| *last != NONE;
        let lasts = successors(Some(last).filter(is_one), move |last| Some(self.before[(last / BLOCK) as usize]).filter(is_one));
        lasts.flat_map(|last| (last - last % BLOCK..=last).rev())
    }
}

/// The bins.
#[derive(Clone, Debug)]
pub(super) struct Bins {
    blocks: Blocks,
    /// The list of each bin: a power of two of them, or none.
    lists: Vec<u32>,
    /// Log2 of a bin's width in ns.
    shift: u32,
    /// The number of the first unfinished bin, counted from time 0.
    /// `first` is the first bin that has not been opened.
    current: u64,
    first: u64,
    /// Events in bins that have not been opened.
    unopened: usize,
}

impl Default for Bins {
    fn default() -> Self {
        Bins::new(BinLayout { shift: 0, bins: 0 }, 0)
    }
}

/// The width and the number of bins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct BinLayout {
    /// Log2 of a bin's width in ns.
    pub shift: u32,
    pub bins: usize,
}

impl Bins {
    /// Empty bins; that of `now` is open.
    pub fn new(layout: BinLayout, now: u64) -> Self {
        let BinLayout { shift, bins } = layout;
        let current = if bins > 0 { now >> shift } else { 0 };
        let blocks = Blocks { before: Vec::new(), free: NONE };
        Bins { blocks, lists: vec![NONE; bins], shift, current, first: current + 1, unopened: 0 }
    }

    /// Makes this number of bins, if there are at most as many now with the same width.
    /// Returns whether it did.
    pub fn grow(&mut self, layout: BinLayout) -> bool {
        let BinLayout { shift, bins } = layout;
        if shift != self.shift || bins < self.lists.len() || !self.are_used() {
            return false;
        }
        let few = replace(&mut self.lists, vec![NONE; bins]);
        for bin in (self.current..).take(few.len()) {
            self.lists[bin as usize & (bins - 1)] = few[bin as usize & (few.len() - 1)];
        }
        true
    }

    /// The width and the number of the bins.
    pub fn layout(&self) -> BinLayout {
        BinLayout { shift: self.shift, bins: self.lists.len() }
    }

    /// Whether there are bins.
    #[inline]
    pub fn are_used(&self) -> bool {
        !self.lists.is_empty()
    }

    /// Events in bins that have not been opened.
    pub fn len(&self) -> usize {
        self.unopened
    }

    /// The beginning of the first unfinished bin.
    pub fn begin(&self) -> u64 {
        self.current << self.shift
    }

    /// Whether the bin of this instant has been opened.
    #[inline(always)]
    pub fn have_opened(&self, time: u64) -> bool {
        time >> self.shift < self.first
    }

    /// Whether a bin holds this instant.
    #[inline(always)]
    pub fn reach(&self, time: u64) -> bool {
        (time >> self.shift).saturating_sub(self.current) < self.lists.len() as u64
    }

    /// A node at the end of the bin of this instant, if its last block has room.
    /// Instants before the first unfinished bin use that bin.
    #[inline(always)]
    pub fn append(&mut self, time: u64) -> Option<u32> {
        let place = Blocks::next(*self.list(time))?;
        Some(self.extend(time, place))
    }

    /// A node at the end of the bin of this instant, in a new block.
    pub fn append_block<P: Packet>(&mut self, nodes: &mut Vec<Node<P>>, time: u64) -> u32 {
        let last = *self.list(time);
        let place = self.blocks.take_block(nodes, last);
        self.extend(time, place)
    }

    /// Makes this the last position of the bin of this instant.
    #[inline(always)]
    fn extend(&mut self, time: u64, place: u32) -> u32 {
        self.unopened += usize::from(!self.have_opened(time));
        *self.list(time) = place;
        place
    }

    /// The list of the bin of this instant.
    #[inline(always)]
    fn list(&mut self, time: u64) -> &mut u32 {
        let bin = (time >> self.shift).max(self.current);
        let list = bin as usize & (self.lists.len() - 1);
        &mut self.lists[list]
    }

    /// The nodes of the events in bins that have not been opened.
    pub fn waiting(&self) -> impl Iterator<Item = u32> {
        let mask = self.lists.len().wrapping_sub(1);
        let unopened = self.first..self.current + self.lists.len() as u64;
        unopened.flat_map(move |bin| self.blocks.places(self.lists[bin as usize & mask]))
    }

    /// Moves to the first unopened bin, and frees the finished ones before it.
    /// If none holds an event, it moves to the bin of the instant `far`. Returns its beginning; `None` if no event is left.
    pub fn go_to_next(&mut self, far: Option<u64>) -> Option<u64> {
        if self.unopened == 0 {
            self.first = self.first.max(far? >> self.shift);
        }
        self.pass(self.first - 1);
        Some(self.first << self.shift)
    }

    /// Opens the next bin: returns the positions of its last events, which are adjacent.
    pub fn open(&mut self) -> Option<RangeInclusive<u32>> {
        let last = self.lists[self.first as usize & (self.lists.len() - 1)];
        self.first += 1;
        self.opened(last)
    }

    /// The positions of the events before these in their bin.
    pub fn open_before(&mut self, block: &RangeInclusive<u32>) -> Option<RangeInclusive<u32>> {
        self.opened(self.blocks.before[(block.end() / BLOCK) as usize])
    }

    fn opened(&mut self, last: u32) -> Option<RangeInclusive<u32>> {
        (last != NONE).then(|| {
            self.unopened -= (last % BLOCK + 1) as usize;
            last - last % BLOCK..=last
        })
    }

    /// Frees the bins before this one, which are finished.
    fn pass(&mut self, bin: u64) {
        let over = self.current..bin.min(self.current + self.lists.len() as u64);
        for bin in over {
            let list = bin as usize & (self.lists.len() - 1);
            self.blocks.free(replace(&mut self.lists[list], NONE));
        }
        self.current = bin;
    }
}

impl Memory for Bins {
    fn memory(&self) -> usize {
        memory_of([&self.blocks.before, &self.lists])
    }
}
