//! The calendar: every event that is to come, in a specified order.
//!
//! Events are ordered by time, then by the rank of their kind, then by the entity that they concern, then by the order in which
//! they were added. A calendar queue (Brown 1988) keeps events in buckets of time, as lists through one array. Only the current
//! bucket is sorted, and only where it holds more than one event. So an event costs the same whether ten or a hundred thousand
//! wait. Where so many wait that the cache has no room for them, a bucket holds about ten, and its list is apart from them: so they
//! are read from memory at the same time, instead of each after the one before. Events beyond the calendar's year (all its
//! buckets, once around) wait in a heap, and so does what the current bucket holds beyond a few events: any number of simultaneous
//! events costs its logarithm each.

mod order;

pub(crate) use order::Rank;

use crate::packet::{InFlight, Packet};
use alloc::collections::BinaryHeap;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::hint::black_box;
use core::mem::replace;
use order::Key;
use sojourn_units::Time;

/// Marks the end of a list of nodes.
const NONE: u32 = u32::MAX;

/// An event, or a free node. With a packet of 40 bytes it fills one cache line.
#[derive(Clone, Debug)]
struct Node<P> {
    key: Key,
    item: InFlight<P>,
}

/// An event that is due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Due {
    pub time: Time,
    pub rank: Rank,
    pub entity: u32,
    /// Where its packet stands on its route, or the number that came with a timer.
    pub hop: u32,
}

/// The calendar.
#[derive(Clone, Debug)]
pub(crate) struct Calendar<P> {
    nodes: Vec<Node<P>>,
    /// The event after each one in the list of its bucket.
    next: Vec<u32>,
    /// The first free node.
    free: u32,
    /// The first node of each bucket.
    heads: Vec<u32>,
    /// One bit for each bucket that is not empty.
    occupied: Vec<u64>,
    /// Whether a bucket is to hold several events, since there are many.
    wide: bool,
    /// Log2 of a bucket's width in ns.
    shift: u32,
    /// The number of the current bucket, counted from time 0.
    bucket: u64,
    /// The first events of the current bucket, last first: not many, so that one more is soon in its place.
    current: Vec<(Key, u32)>,
    /// The events of the current bucket that come after those.
    rest: BinaryHeap<Reverse<(Key, u32)>>,
    far: BinaryHeap<Reverse<(Key, u32)>>,
    /// The bucket from which on the year reaches the first of them.
    far_from: u64,
    /// Events in later buckets of this year.
    near: usize,
    /// Events added so far: orders simultaneous events of one rank and entity.
    count: u32,
    pace: Pace,
    /// Log2 of how many times longer the year is than for events that all come as soon.
    reach: u32,
}

/// How fast events come, to fit the buckets to.
#[derive(Clone, Copy, Default, Debug)]
struct Pace {
    /// Events removed since the last fit.
    pops: u32,
    /// Events that came out of the heap of far ones since the last fit.
    far: u32,
    /// When the last fit was, in ns.
    since: u64,
}

/// Events between two fits of the buckets to the traffic.
pub(crate) const FIT_EVERY: u32 = 1 << 12;

/// The count of events from which on the events that are to come are counted anew at the next fit.
const RENUMBER_FROM: u32 = 1 << 31;

/// Where more events than one of so many came from the heap, the year becomes longer, up to 2 to the power of [`MOST_REACH`] times:
/// some packets have much longer ways than others.
const FAR_SHARE: u32 = 32;
const MOST_REACH: u32 = 4;

/// So many events have no room in the cache beside the flows. Then buckets are wider, by this power of two.
const MANY: usize = 4096;
const WIDER: u32 = 4;

/// How many events of the current bucket are kept sorted at most; half as many when the others are put into the heap.
const SORTED: usize = 128;

impl<P: Packet> Calendar<P> {
    /// An empty calendar.
    pub fn new() -> Self {
        Calendar {
            nodes: Vec::new(),
            next: Vec::new(),
            free: NONE,
            heads: vec![NONE; 1024],
            occupied: vec![0; 16],
            wide: false,
            shift: 17,
            bucket: 0,
            current: Vec::new(),
            rest: BinaryHeap::new(),
            far: BinaryHeap::new(),
            far_from: u64::MAX,
            near: 0,
            count: 0,
            pace: Pace::default(),
            reach: 0,
        }
    }

    /// Events that are to come.
    pub fn len(&self) -> usize {
        self.near + self.current.len() + self.rest.len() + self.far.len()
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.nodes.capacity() * (size_of::<Node<P>>() + size_of::<u32>())
            + self.heads.capacity() * 4
            + (self.rest.capacity() + self.far.capacity()) * 24
    }

    /// Adds an event; `packet` is moved out of its place. Its time must not lie before that of the last event removed.
    #[inline(never)]
    pub fn push(&mut self, time: Time, rank: Rank, entity: u32, hop: u32, packet: &mut P) {
        self.count = self.count.wrapping_add(1);
        let key = Key::new(time, rank, entity, self.count);
        let index = self.free;
        let Some(node) = self.nodes.get_mut(index as usize) else { return self.push_new(key, hop, packet) };
        self.free = node.item.next_free;
        node.key = key;
        node.item.packet = packet.take();
        node.item.hop = hop;
        self.file(key, index);
    }

    /// Adds an event without a packet, with a number in its place.
    #[inline]
    pub fn push_number(&mut self, time: Time, rank: Rank, entity: u32, number: u32) {
        self.count = self.count.wrapping_add(1);
        let key = Key::new(time, rank, entity, self.count);
        let index = self.free;
        let Some(node) = self.nodes.get_mut(index as usize) else { return self.push_new(key, number, &mut P::default()) };
        self.free = node.item.next_free;
        node.key = key;
        node.item.hop = number;
        self.file(key, index);
    }

    /// Adds an event where no node is free. It stands apart because growing the array needs registers that the usual path
    /// would have to save.
    #[cold]
    #[inline(never)]
    fn push_new(&mut self, key: Key, hop: u32, packet: &mut P) {
        self.nodes.push(Node { key, item: InFlight { packet: packet.take(), hop, next_free: NONE } });
        self.next.push(NONE);
        self.file(key, (self.nodes.len() - 1) as u32);
    }

    #[inline]
    fn file(&mut self, key: Key, index: u32) {
        let bucket = key.time >> self.shift;
        // For a bucket that is current or past the difference wraps around to more than a year.
        if bucket.wrapping_sub(self.bucket + 1) >= self.heads.len() as u64 - 1 {
            return self.file_elsewhere(key, index, bucket);
        }
        let slot = (bucket as usize) & (self.heads.len() - 1);
        self.next[index as usize] = replace(&mut self.heads[slot], index);
        self.occupied[slot / 64] |= 1 << (slot % 64);
        self.near += 1;
    }

    /// Files an event of the current bucket or of a later year.
    #[inline(never)]
    fn file_elsewhere(&mut self, key: Key, index: u32, bucket: u64) {
        if bucket > self.bucket {
            self.far.push(Reverse((key, index)));
            self.plan_far();
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

    /// When the next event is due.
    pub fn peek(&mut self) -> Option<Time> {
        if self.current.is_empty() {
            let index = self.fill()?;
            self.current.push((self.nodes[index as usize].key, index));
        }
        self.current.last().map(|(key, _)| Time::from_nanos(key.time))
    }

    /// Removes the next event if it is due by `end`, and moves its packet to `packet`; none once [`FIT_EVERY`] events have been removed, until [`Calendar::fit`].
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
        node.item.next_free = replace(&mut self.free, index);
        *packet = node.item.packet.take();
        self.pace.pops += 1;
        Some(Due { time, rank: key.rank(), entity: key.entity(), hop })
    }

    /// Whether it gives no event before [`Calendar::fit`] is called.
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

    /// Packets on their way to a link or to the end of their route.
    pub fn packets(&self) -> usize {
        let mut removed = vec![false; self.nodes.len()];
        let mut free = self.free;
        while free != NONE {
            removed[free as usize] = true;
            free = self.nodes[free as usize].item.next_free;
        }
        let carries = |node: &Node<P>| matches!(node.key.rank(), Rank::ARRIVAL | Rank::DELIVERY);
        self.nodes.iter().zip(removed).filter(|(node, removed)| !removed && carries(node)).count()
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
        let bucket = self.bucket + 1 + ahead;
        if bits == 0 || bucket >= self.far_from {
            return self.fill_slowly();
        }
        self.bucket = bucket;
        let slot = first + ahead as usize;
        let head = self.heads[slot];
        if self.next[head as usize] != NONE {
            return self.take_slot(slot);
        }
        self.heads[slot] = NONE;
        self.occupied[word] &= !(1 << (slot % 64));
        self.near -= 1;
        Some(head)
    }

    /// The same where the next bucket is further away, or far events come near.
    #[inline(never)]
    fn fill_slowly(&mut self) -> Option<u32> {
        self.bucket = match self.next_bucket() {
            Some(bucket) => bucket,
            None => self.far.peek()?.0.0.time >> self.shift,
        };
        self.near_from_far();
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

    /// Sorts some more of the events that the current bucket still holds, if it holds any.
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
        while let Some(&Reverse((key, _))) = self.far.peek()
            && self.reaches(key)
        {
            self.take_far();
        }
        self.plan_far();
    }

    /// Finds out from which bucket on the year reaches the first far event.
    fn plan_far(&mut self) {
        let beyond = |&Reverse((key, _)): &Reverse<(Key, u32)>| (key.time >> self.shift) - self.heads.len() as u64 + 1;
        self.far_from = self.far.peek().map_or(u64::MAX, beyond);
    }

    /// Whether the year from the current bucket on reaches this key.
    #[inline]
    fn reaches(&self, key: Key) -> bool {
        (key.time >> self.shift).saturating_sub(self.bucket) < self.heads.len() as u64
    }

    #[inline(never)]
    fn take_far(&mut self) {
        if let Some(Reverse((key, index))) = self.far.pop() {
            self.pace.far += 1;
            self.file(key, index);
        }
    }

    /// Moves the list that starts at `index` into the current bucket, sorted last first.
    fn take_bucket(&mut self, mut index: u32) {
        // Events that were far may be here already.
        let before = self.current.len();
        while let Some(&next) = self.next.get(index as usize) {
            self.current.push((Key::default(), index));
            index = next;
        }
        self.near -= self.current.len() - before;
        let (mut sorted, mut last, mut hops) = (before == 0, None, 0);
        for (key, index) in &mut self.current[before..] {
            let node = &self.nodes[*index as usize];
            *key = node.key;
            // The event filed last stands first and is mostly due last. Then nothing needs sorting.
            sorted &= last.is_none_or(|last| *key < last);
            last = Some(*key);
            hops ^= node.item.hop;
        }
        // A node may lie in two cache lines, and what is not at its key is needed soon too.
        black_box(hops);
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

    /// Fits the width and the number of buckets to the traffic up to `now`, when the last event was due: about one event a bucket, or ten
    /// where there are many, and a year that few events lie beyond.
    pub fn fit(&mut self, now: Time) {
        let now = now.as_nanos();
        let Pace { pops, far, since } = replace(&mut self.pace, Pace { since: now, ..Pace::default() });
        let gap = (now.saturating_sub(since) / u64::from(pops.max(1))).max(1);
        self.wide = self.len() >= if self.wide { MANY / 2 } else { MANY };
        let (wider, tolerance) = if self.wide { (WIDER, 2) } else { (0, 1) };
        let shift = (gap.ilog2().saturating_sub(1) + wider).min(40);
        if far > pops / FAR_SHARE && self.reach < MOST_REACH {
            self.reach += 1;
        }
        let slots = ((4 * self.len()) << self.reach >> wider).next_power_of_two().clamp(1024, 1 << 20);
        if self.count >= RENUMBER_FROM {
            self.renumber(now);
        }
        if shift.abs_diff(self.shift) > tolerance || slots > self.heads.len() || slots * 8 < self.heads.len() {
            self.rebuild(shift, slots.max(self.heads.len().min(slots * 4)), now);
        }
    }

    /// Counts the events that are to come anew, in their order, before the count reaches the end of its 32 bits.
    fn renumber(&mut self, now: u64) {
        let mut all = self.take_all();
        all.sort_unstable_by_key(|&index| self.nodes[index as usize].key);
        self.count = 0;
        for &index in &all {
            self.count += 1;
            let key = &mut self.nodes[index as usize].key;
            key.order = (key.order & !u64::from(u32::MAX)) | u64::from(self.count);
        }
        self.file_all(all, now);
    }

    fn rebuild(&mut self, shift: u32, slots: usize, now: u64) {
        let all = self.take_all();
        self.heads = vec![NONE; slots];
        self.occupied = vec![0; slots / 64];
        self.shift = shift;
        self.file_all(all, now);
    }

    /// Empties all lists; gives the events that were in them.
    fn take_all(&mut self) -> Vec<u32> {
        let mut all: Vec<u32> = self.current.drain(..).map(|(_, index)| index).collect();
        all.extend(self.rest.drain().map(|Reverse((_, index))| index));
        all.extend(self.far.drain().map(|Reverse((_, index))| index));
        for head in &mut self.heads {
            let mut index = replace(head, NONE);
            while index != NONE {
                all.push(index);
                index = self.next[index as usize];
            }
        }
        self.occupied.fill(0);
        (self.near, self.far_from) = (0, u64::MAX);
        all
    }

    fn file_all(&mut self, all: Vec<u32>, now: u64) {
        self.bucket = now >> self.shift;
        for index in all {
            self.file(self.nodes[index as usize].key, index);
        }
    }
}

#[cfg(test)]
mod tests;
