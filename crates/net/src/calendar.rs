//! The calendar: all pending events, in a specified order.
//!
//! Events are ordered by time, then by the rank of their kind, then by their entity, then in the order of insertion. A calendar queue
//! (Brown 1988) keeps events in buckets of time, as lists through one array. Only the current bucket is sorted, and only if it holds more
//! than one event. So the cost of an event does not grow with their number.
//!
//! If there are more events than fit into the cache, only the next some thousand are in buckets, and the others in [`Bins`]. Events beyond
//! the calendar's year (all its buckets or bins, once around) wait in a heap. So do the events of the current bucket beyond the first few:
//! any number of simultaneous events costs its logarithm each.

mod bins;
mod far;
mod fit;
mod node;
mod opening;
mod order;

pub(crate) use order::Rank;

use crate::packet::{InFlight, Packet};
use alloc::collections::BinaryHeap;
use alloc::vec;
use alloc::vec::Vec;
use bins::Bins;
use core::cmp::Reverse;
use core::iter::successors;
use core::mem::replace;
use far::Far;
use node::{NONE, Node};
use order::Key;
use sojourn_units::{Memory, Time, memory_of};

/// An event that is due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Due {
    pub time: Time,
    pub rank: Rank,
    pub entity: u32,
    /// The position of its packet on its route, or the number of a timer.
    pub hop: u32,
}

/// The calendar.
#[derive(Clone, Debug)]
pub(crate) struct Calendar<P> {
    nodes: Vec<Node<P>>,
    /// The first free node.
    free: u32,
    /// The first node of each bucket.
    heads: Vec<u32>,
    /// One bit for each bucket that is not empty.
    occupied: Vec<u64>,
    /// Events within this number of buckets after the current one go directly to their bucket.
    /// 0 if bins store all of them.
    ahead: u64,
    /// The nodes, if there are many events.
    bins: Bins,
    /// Log2 of a bucket's width in ns.
    shift: u32,
    /// The number of the current bucket, counted from time 0.
    bucket: u64,
    /// The first events of the current bucket, last first.
    /// They are few, so that an insertion is fast.
    current: Vec<(Key, u32)>,
    /// The later events of the current bucket.
    rest: BinaryHeap<Reverse<(Key, u32)>>,
    far: Far<P>,
    /// The bucket from which the year reaches the first far event.
    /// With bins it is never: far events move when a bin is opened.
    far_from: u64,
    /// Events in later buckets of this year.
    near: usize,
    /// The number of added events, which orders simultaneous ones of one rank and entity.
    count: u32,
    pace: Pace,
    /// Log2 of the length of the year, as a multiple of that for equally distant events.
    reach: u32,
}

/// The pace of events, to which the buckets are fitted.
#[derive(Clone, Copy, Default, Debug)]
struct Pace {
    /// Events removed since the last fit.
    pops: u32,
    /// Events that came out of the heap of far ones since the last fit.
    far: u32,
    /// The time of the last fit, in ns.
    since: u64,
}

/// Events between two fits of the buckets to the traffic.
pub(crate) const FIT_EVERY: u32 = 1 << 12;

/// The largest number of sorted events of the current bucket.
/// Half of them stay when the others are moved to the heap.
const SORTED: usize = 128;

impl<P: Packet> Calendar<P> {
    /// An empty calendar.
    pub fn new() -> Self {
        Calendar {
            nodes: Vec::new(),
            free: NONE,
            heads: vec![NONE; 1024],
            occupied: vec![0; 16],
            ahead: 1023,
            bins: Bins::default(),
            shift: 17,
            bucket: 0,
            current: Vec::new(),
            rest: BinaryHeap::new(),
            far: Far::default(),
            far_from: u64::MAX,
            near: 0,
            count: 0,
            pace: Pace::default(),
            reach: 0,
        }
    }

    /// The number of pending events.
    pub fn len(&self) -> usize {
        self.near + self.bins.len() + self.current.len() + self.rest.len() + self.far.len()
    }

    /// Adds an event; `packet` is moved out.
    /// Its time must not lie before that of the last removed event.
    #[inline(never)]
    pub fn push(&mut self, time: Time, rank: Rank, entity: u32, hop: u32, packet: &mut P) {
        self.count = self.count.wrapping_add(1);
        self.add(Key::new(time, rank, entity, self.count), hop, packet);
    }

    /// Adds an event with a number instead of a packet.
    #[inline]
    pub fn push_number(&mut self, time: Time, rank: Rank, entity: u32, number: u32) {
        self.count = self.count.wrapping_add(1);
        let key = Key::new(time, rank, entity, self.count);
        match self.place(key) {
            Some(node) => node.item.hop = number,
            None => self.add_elsewhere(key, number, &mut P::default()),
        }
    }

    #[inline(always)]
    fn add(&mut self, key: Key, hop: u32, packet: &mut P) {
        let Some(node) = self.place(key) else { return self.add_elsewhere(key, hop, packet) };
        node.item.packet = packet.take();
        node.item.hop = hop;
    }

    /// A node for an event in its bucket.
    /// `None` if the bucket is not near, or no node is free.
    #[inline(always)]
    fn place(&mut self, key: Key) -> Option<&mut Node<P>> {
        let (bucket, index) = (key.time >> self.shift, self.free);
        if !self.is_near(bucket) || self.nodes.len() <= index as usize {
            return None;
        }
        let next = self.file(bucket, index);
        let node = self.nodes.get_mut(index as usize)?;
        node.key = key;
        self.free = replace(&mut node.item.next, next);
        Some(node)
    }

    /// Inserts a node as the first of its bucket; returns the previous first.
    #[inline(always)]
    fn file(&mut self, bucket: u64, index: u32) -> u32 {
        let slot = (bucket as usize) & (self.heads.len() - 1);
        self.occupied[slot / 64] |= 1 << (slot % 64);
        self.near += 1;
        replace(&mut self.heads[slot], index)
    }

    /// Whether events of this bucket go directly into it.
    #[inline(always)]
    fn is_near(&self, bucket: u64) -> bool {
        // For a bucket that is current or past the difference wraps around.
        bucket.wrapping_sub(self.bucket + 1) < self.ahead
    }

    /// Adds an event that is not near, or for which no node is free.
    /// With bins it goes into its bin. This rare case is a separate function, because its registers would slow the common path.
    #[inline(never)]
    fn add_elsewhere(&mut self, key: Key, hop: u32, packet: &mut P) {
        if !self.bins.reach(key.time) {
            return self.add_apart(key, hop, packet);
        }
        match self.bins.append(key.time) {
            Some(index) => self.add_to_bin(key, hop, packet, index),
            None => self.add_to_block(key, hop, packet),
        }
    }

    /// Adds an event to its bin in a new block.
    #[inline(never)]
    fn add_to_block(&mut self, key: Key, hop: u32, packet: &mut P) {
        let index = self.bins.append_block(&mut self.nodes, key.time);
        self.add_to_bin(key, hop, packet, index);
    }

    #[inline(always)]
    fn add_to_bin(&mut self, key: Key, hop: u32, packet: &mut P, index: u32) {
        let node = &mut self.nodes[index as usize];
        node.item.packet = packet.take();
        (node.key, node.item.hop) = (key, hop);
        if self.bins.have_opened(key.time) {
            self.put(key, index);
        }
    }

    /// Adds an event of the current bucket or of a later year.
    #[inline(never)]
    fn add_apart(&mut self, key: Key, hop: u32, packet: &mut P) {
        let (bucket, mut index) = (key.time >> self.shift, self.free);
        if bucket > self.bucket && !self.is_near(bucket) {
            self.far.push(key, hop, packet);
            return self.plan_far();
        }
        let item = InFlight { packet: packet.take(), hop, next: NONE };
        match self.nodes.get_mut(index as usize) {
            Some(node) => self.free = replace(node, Node { key, item }).item.next,
            None => {
                index = self.nodes.len() as u32;
                self.nodes.push(Node { key, item });
            }
        }
        self.put(key, index);
    }

    /// Puts the event of a node into its bucket, which may be the current one.
    #[inline(never)]
    fn put(&mut self, key: Key, index: u32) {
        let bucket = key.time >> self.shift;
        if bucket > self.bucket {
            self.nodes[index as usize].item.next = self.file(bucket, index);
            return;
        }
        let comes_last = self.current.first().is_none_or(|&(last, _)| key > last);
        if comes_last && !self.rest.is_empty() {
            return self.rest.push(Reverse((key, index)));
        }
        let place = self.current.partition_point(|&(other, _)| other > key);
        self.current.insert(place, (key, index));
        if self.current.len() > SORTED {
            self.spill();
        }
    }

    /// Moves all but the first events of the current bucket into the heap.
    #[cold]
    #[inline(never)]
    fn spill(&mut self) {
        let after = self.current.len() - SORTED / 2;
        self.rest.extend(self.current.drain(..after).map(Reverse));
    }

    /// The time of the next event.
    pub fn peek(&mut self) -> Option<Time> {
        if self.current.is_empty() {
            let index = self.fill()?;
            self.current.push((self.nodes[index as usize].key, index));
        }
        self.current.last().map(|(key, _)| Time::from_nanos(key.time))
    }

    /// Removes the next event if it is due by `end`, and moves its packet to `packet`.
    /// After [`FIT_EVERY`] events it returns none until [`Calendar::fit`] is called.
    #[inline]
    pub fn pop(&mut self, end: Time, packet: &mut P) -> Option<Due> {
        if self.needs_fit() {
            return None;
        }
        let index = match self.current.pop() {
            Some((_, index)) => {
                if self.current.is_empty() {
                    self.refill();
                }
                index
            }
            None => self.fill()?,
        };
        let node = &mut self.nodes[index as usize];
        let (key, hop, time) = (node.key, node.item.hop, Time::from_nanos(node.key.time));
        if time > end {
            self.current.push((key, index));
            return None;
        }
        node.item.next = replace(&mut self.free, index);
        *packet = node.item.packet.take();
        self.pace.pops += 1;
        Some(Due { time, rank: key.rank(), entity: key.entity(), hop })
    }

    /// Whether it returns no event before [`Calendar::fit`] is called.
    #[inline]
    pub fn needs_fit(&self) -> bool {
        self.pace.pops == FIT_EVERY
    }

    /// The event that is due next, without removing it.
    pub fn next_due(&mut self) -> Option<Due> {
        self.peek()?;
        let &(key, index) = self.current.last()?;
        let hop = self.nodes[index as usize].item.hop;
        Some(Due { time: Time::from_nanos(key.time), rank: key.rank(), entity: key.entity(), hop })
    }

    /// The entity and the hop of the likely next event.
    #[inline]
    pub fn upcoming(&self) -> Option<(u32, u32)> {
        let index = self.current.last().map_or_else(|| self.first_of_next_bucket(), |&(_, index)| Some(index))?;
        let node = self.nodes.get(index as usize)?;
        Some((node.key.entity(), node.item.hop))
    }

    /// The first node of the next bucket, if that is one of the next few.
    #[inline(always)]
    fn first_of_next_bucket(&self) -> Option<u32> {
        let first = (self.bucket as usize + 1) & (self.heads.len() - 1);
        let bits = self.occupied[first / 64] >> (first % 64);
        (bits != 0).then(|| self.heads[first + bits.trailing_zeros() as usize])
    }

    /// The number of packets on their way to a link or to the end of their route.
    pub fn packets(&self) -> usize {
        let carries = |key: &Key| matches!(key.rank(), Rank::ARRIVAL | Rank::DELIVERY);
        let nodes = self.in_buckets().chain(self.bins.waiting());
        nodes.map(|index| self.nodes[index as usize].key).chain(self.far.keys()).filter(carries).count()
    }

    /// The nodes of all events in buckets.
    fn in_buckets(&self) -> impl Iterator<Item = u32> {
        let current = self.current.iter().chain(self.rest.iter().map(|Reverse(event)| event)).map(|&(_, index)| index);
        let is_one = |index: &u32| *index != NONE;
        let next = move |index: &u32| Some(self.nodes[*index as usize].item.next).filter(is_one);
        let of_bucket = move |&head: &u32| successors(Some(head).filter(is_one), next);
        current.chain(self.heads.iter().flat_map(of_bucket))
    }

    /// Goes to the next nonempty bucket and removes its first event; the current one holds none.
    #[inline(always)]
    fn fill(&mut self) -> Option<u32> {
        let mask = self.heads.len() - 1;
        let first = (self.bucket as usize + 1) & mask;
        let word = first / 64;
        // Mostly the next bucket is one of the next few and holds one event, and no far event comes near.
        let bits = self.occupied[word] >> (first % 64);
        let ahead = u64::from(bits.trailing_zeros());
        let bucket = self.bucket.wrapping_add(1 + ahead);
        if bits == 0 || bucket >= self.far_from {
            return self.fill_slowly();
        }
        self.bucket = bucket;
        let slot = first + ahead as usize;
        let head = self.heads[slot];
        if self.nodes[head as usize].item.next != NONE {
            return self.take_slot(slot);
        }
        self.heads[slot] = NONE;
        self.occupied[word] &= !(1 << (slot % 64));
        self.near -= 1;
        Some(head)
    }

    /// Moves to the next nonempty bucket if it is further away, or if far events come near.
    #[inline(never)]
    fn fill_slowly(&mut self) -> Option<u32> {
        let next = self.next_bucket();
        if self.bins.are_used() {
            self.bucket = if next.is_some() { next } else { self.open_bins() }?;
        } else {
            self.bucket = next.or_else(|| Some(self.far.peek()?.time >> self.shift))?;
            self.near_from_far();
        }
        self.take_slot((self.bucket as usize) & (self.heads.len() - 1))
    }

    /// Makes the events of a slot those of the current bucket; removes the first.
    #[inline(never)]
    fn take_slot(&mut self, slot: usize) -> Option<u32> {
        let head = replace(&mut self.heads[slot], NONE);
        self.occupied[slot / 64] &= !(1 << (slot % 64));
        self.take_bucket(head);
        let first = self.current.pop().map(|(_, index)| index);
        if self.current.is_empty() {
            self.refill();
        }
        first
    }

    /// Sorts the next events of the current bucket, if it has more.
    #[inline]
    fn refill(&mut self) {
        if !self.rest.is_empty() {
            self.refill_from_rest();
        }
    }

    #[inline(never)]
    fn refill_from_rest(&mut self) {
        while self.current.len() < SORTED / 2
            && let Some(Reverse(event)) = self.rest.pop()
        {
            self.current.push(event);
        }
        self.current.reverse();
    }

    /// The next occupied bucket of this year.
    fn next_bucket(&self) -> Option<u64> {
        if self.near == 0 {
            return None;
        }
        let mask = self.heads.len() - 1;
        let first = (self.bucket as usize + 1) & mask;
        let (mut word, words) = (first / 64, self.occupied.len());
        let mut bits = self.occupied[word] & (u64::MAX << (first % 64));
        for _ in 0..=words {
            if bits != 0 {
                let slot = word * 64 + bits.trailing_zeros() as usize;
                return Some(self.bucket + 1 + (slot.wrapping_sub(first) & mask) as u64);
            }
            word = (word + 1) & (words - 1);
            bits = self.occupied[word];
        }
        None
    }

    /// Moves far events into buckets once the year from the current bucket on reaches them.
    fn near_from_far(&mut self) {
        while self.far.peek().is_some_and(|key| self.reaches(key)) {
            self.take_far();
        }
        self.plan_far();
    }

    /// Computes the bucket from which the year reaches the first far event.
    fn plan_far(&mut self) {
        let first = self.far.peek().filter(|_| !self.bins.are_used());
        self.far_from = first.map_or(u64::MAX, |key| (key.time >> self.shift) - self.heads.len() as u64 + 1);
    }

    /// Whether the year from the current bucket on reaches this key.
    #[inline]
    fn reaches(&self, key: Key) -> bool {
        (key.time >> self.shift).saturating_sub(self.bucket) < self.heads.len() as u64
    }

    /// Inserts the first far event again, now that it is near.
    #[inline(never)]
    fn take_far(&mut self) {
        if let Some(Node { key, mut item }) = self.far.pop() {
            self.pace.far += 1;
            self.add(key, item.hop, &mut item.packet);
        }
    }

    /// Moves the list that starts at `index` into the current bucket, sorted last first.
    fn take_bucket(&mut self, mut index: u32) {
        // Formerly far events may be here already.
        let mut sorted = self.current.is_empty();
        let mut last = None;
        while let Some(node) = self.nodes.get(index as usize) {
            let key = node.key;
            // The event inserted last is first in the list and mostly due last: then no sorting is needed.
            sorted &= last.is_none_or(|last| key < last);
            last = Some(key);
            self.current.push((key, index));
            self.near -= 1;
            index = node.item.next;
        }
        if !self.rest.is_empty() {
            self.rest.extend(self.current.drain(..).map(Reverse));
            return self.refill_from_rest();
        }
        if !sorted {
            self.current.sort_unstable_by_key(|&(key, _)| Reverse(key));
        }
        if self.current.len() > SORTED {
            self.spill();
        }
    }
}

impl<P: Packet> Memory for Calendar<P> {
    fn memory(&self) -> usize {
        memory_of([&self.nodes, &self.bins, &self.heads, &self.occupied, &self.current, &self.rest, &self.far])
    }
}

#[cfg(test)]
mod tests;
