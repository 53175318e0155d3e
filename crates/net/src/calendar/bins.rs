//! Where many events wait, those that come later than the next some thousand: in bins of time, in the order in which they were added.
//!
//! The cache has no room for all events. A bin is written at its end and read from one end to the other when it is opened: its
//! events go to the buckets of the calendar then. So few places are written at a time, and what is read next is known before it is
//! needed.

use super::order::Key;
use super::{Calendar, NONE, Node};
use crate::packet::{InFlight, Packet};
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::iter::from_fn;
use core::mem::{replace, take};

/// So many events of a bin lie side by side.
const BLOCK: u32 = 32;

/// Lists of events, in blocks. A list is known by the place of its last event.
#[derive(Clone, Debug)]
pub(super) struct Blocks<P> {
    nodes: Vec<Node<P>>,
    /// Of each block the last place of the one before it in its list; of a free one the next free block.
    before: Vec<u32>,
    /// The first free block.
    free: u32,
    /// Events in all lists.
    count: usize,
}

impl<P> Default for Blocks<P> {
    fn default() -> Self {
        Blocks { nodes: Vec::new(), before: Vec::new(), free: NONE, count: 0 }
    }
}

impl<P: Packet> Blocks<P> {
    /// A place for one more event of a list.
    #[inline(always)]
    fn append(&mut self, last: &mut u32) -> Option<&mut Node<P>> {
        let mut place = last.wrapping_add(1);
        if place.is_multiple_of(BLOCK) {
            place = self.take_block(*last);
        }
        *last = place;
        self.count += 1;
        self.nodes.get_mut(place as usize)
    }

    /// The first place of a block that follows the one of `last`.
    #[inline(never)]
    fn take_block(&mut self, last: u32) -> u32 {
        let block = self.free;
        if let Some(before) = self.before.get_mut(block as usize) {
            self.free = replace(before, last);
            return block * BLOCK;
        }
        let place = self.nodes.len();
        self.before.push(last);
        let empty = || Node { key: Key::default(), item: InFlight { packet: P::default(), hop: 0, next: NONE } };
        self.nodes.resize_with(place + BLOCK as usize, empty);
        place as u32
    }

    /// The events of a list that are in its last block; `None` if it has none.
    fn last_block(&mut self, last: u32) -> Option<&mut [Node<P>]> {
        self.nodes.get_mut((last - last % BLOCK) as usize..=last as usize)
    }

    /// Frees the last block of a list; gives the list that is left.
    fn free_block(&mut self, last: u32) -> u32 {
        let block = last / BLOCK;
        self.count -= (last % BLOCK + 1) as usize;
        let free = replace(&mut self.free, block);
        replace(&mut self.before[block as usize], free)
    }

    /// Takes the events of a list's last block out of it.
    fn take_last_block(&mut self, last: &mut u32) -> Option<Vec<Node<P>>> {
        let out = |node: &mut Node<P>| Node { key: node.key, item: InFlight { packet: node.item.packet.take(), ..node.item } };
        let nodes = self.last_block(*last)?.iter_mut().map(out).collect();
        *last = self.free_block(*last);
        Some(nodes)
    }

    /// The events of a list.
    fn nodes(&self, mut last: u32) -> impl Iterator<Item = &Node<P>> {
        let blocks = from_fn(move || {
            let block = self.nodes.get((last - last % BLOCK) as usize..=last as usize)?;
            last = self.before[(last / BLOCK) as usize];
            Some(block)
        });
        blocks.flatten()
    }
}

/// The bins.
#[derive(Clone, Debug)]
pub(super) struct Bins<P> {
    blocks: Blocks<P>,
    /// The list of each bin: a power of two of them, or none.
    lists: Vec<u32>,
    /// Log2 of a bin's width in ns.
    shift: u32,
    /// The number of the first bin that has not been opened, counted from time 0.
    first: u64,
}

/// The width and the number of bins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct BinLayout {
    /// Log2 of a bin's width in ns.
    pub shift: u32,
    pub bins: usize,
}

impl<P: Packet> Bins<P> {
    /// None.
    pub fn new() -> Self {
        Bins { blocks: Blocks::default(), lists: Vec::new(), shift: 0, first: 0 }
    }

    /// The width and the number of the bins.
    pub fn layout(&self) -> BinLayout {
        BinLayout { shift: self.shift, bins: self.lists.len() }
    }

    /// Whether there are bins.
    pub fn are_used(&self) -> bool {
        !self.lists.is_empty()
    }

    /// Events in bins.
    pub fn len(&self) -> usize {
        self.blocks.count
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        let Blocks { nodes, before, .. } = &self.blocks;
        nodes.capacity() * size_of::<Node<P>>() + (before.capacity() + self.lists.capacity()) * 4
    }

    /// The first instant whose bin has not been opened.
    pub fn end(&self) -> u64 {
        self.first << self.shift
    }

    /// Whether the bin of this instant has been opened.
    #[inline]
    pub fn have_opened(&self, time: u64) -> bool {
        time >> self.shift < self.first
    }

    /// Whether a bin that has not been opened holds this instant.
    #[inline(always)]
    fn reach(&self, time: u64) -> bool {
        (time >> self.shift).wrapping_sub(self.first) < self.lists.len() as u64
    }

    /// A place for an event, if a bin has one for its time.
    #[inline(always)]
    pub fn place(&mut self, key: Key) -> Option<&mut Node<P>> {
        if !self.reach(key.time) {
            return None;
        }
        let bin = (key.time >> self.shift) as usize & (self.lists.len() - 1);
        let node = self.blocks.append(self.lists.get_mut(bin)?)?;
        node.key = key;
        Some(node)
    }

    /// All events.
    pub fn nodes(&self) -> impl Iterator<Item = &Node<P>> {
        self.lists.iter().flat_map(|&last| self.blocks.nodes(last))
    }
}

impl<P: Packet> Calendar<P> {
    /// Opens bins until the next event is in a bucket; gives that bucket, or `None` if no event is left. `next` is the next bucket that
    /// holds one.
    pub(super) fn open_bins(&mut self, mut next: Option<u64>) -> Option<u64> {
        while next.is_none_or(|next| !self.bins.have_opened(next << self.shift)) {
            if self.near == 0 {
                if self.bins.len() == 0 {
                    let &Reverse((key, _)) = self.far.peek()?;
                    self.bins.first = self.bins.first.max(key.time >> self.bins.shift);
                }
                self.bucket = self.bucket.max((self.bins.end() >> self.shift) - 1);
            }
            while let Some(&Reverse((key, _))) = self.far.peek()
                && self.bins.reach(key.time)
            {
                self.take_far();
            }
            self.open_bin();
            next = self.next_bucket();
        }
        self.plan_far();
        next
    }

    fn open_bin(&mut self) {
        let bin = self.bins.first as usize & (self.bins.lists.len() - 1);
        let mut last = replace(&mut self.bins.lists[bin], NONE);
        self.bins.first += 1;
        // What comes in a bin that has been opened is added to none.
        let mut blocks = take(&mut self.bins.blocks);
        while let Some(nodes) = blocks.last_block(last) {
            self.add_all(nodes);
            last = blocks.free_block(last);
        }
        self.bins.blocks = blocks;
    }

    /// Makes other bins, the first after that of `now`, and adds the events of those before anew; the calendar has buckets that fit.
    pub(super) fn make_bins(&mut self, layout: BinLayout, now: u64) {
        let first = if layout.bins == 0 { 0 } else { (now >> layout.shift) + 1 };
        if layout == self.bins.layout() && first == self.bins.first {
            return self.plan_far();
        }
        (self.bins.shift, self.bins.first) = (layout.shift, first);
        let before = replace(&mut self.bins.lists, vec![NONE; layout.bins]);
        self.plan_far();
        for mut last in before {
            while let Some(mut nodes) = self.bins.blocks.take_last_block(&mut last) {
                self.add_all(&mut nodes);
            }
        }
        if layout.bins == 0 {
            self.bins = Bins::new();
        }
    }

    /// Adds events anew.
    #[inline]
    fn add_all(&mut self, nodes: &mut [Node<P>]) {
        for Node { key, item } in nodes.iter_mut().rev() {
            self.add(*key, item.hop, &mut item.packet);
        }
    }
}
