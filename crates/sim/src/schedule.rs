//! What happens next: a calendar of events in a specified order.
//!
//! Events are ordered by time, then by the rank of their kind, then by the entity they concern, then
//! by that entity's own count: never by accident of insertion. The calendar (Brown 1988) keeps events
//! in buckets of time as lists through one array; only the bucket at hand is sorted, where it holds more
//! than one, so an event costs the same whether ten or a hundred thousand wait. Events beyond the
//! calendar's year wait in a heap.

use crate::packet::Packet;
use sojourn_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The kind of an event; the order of the variants is the order of simultaneous events. Links come after all that can
/// send a packet, so that packets which reach a link at one instant are in the order of their flows, whatever sent them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Kind {
    /// A link that keeps its packets finishes one (entity: the link).
    Departure = 0,
    /// The timer of a law on such a link (entity: the link).
    Update = 1,
    /// A packet reaches its host (entity: its flow).
    Delivery = 2,
    /// A sender's timer (entity: its flow).
    SenderTimer = 3,
    /// A receiver's timer (entity: its flow).
    ReceiverTimer = 4,
    /// A session's timer (entity: the session).
    Session = 5,
    /// A packet arrives at a link (entity: its flow).
    Arrival = 6,
}

const NONE: u32 = u32::MAX;

/// The place of an event in the order of all events: its time in ns; then kind, entity and count.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Key {
    time: u64,
    order: u64,
}

impl Key {
    #[inline]
    fn new(time: Time, kind: Kind, entity: u32, count: u32) -> Self {
        Key { time: time.as_nanos(), order: (u64::from(kind as u8) << 61) | (u64::from(entity) << 32) | u64::from(count) }
    }
}

#[derive(Clone, Copy, Debug)]
struct Node {
    key: Key,
    packet: Packet,
}

/// An event that is due.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// When.
    pub time: Time,
    /// What.
    pub kind: Kind,
    /// Concerning which entity.
    pub entity: u32,
    /// Where [`Schedule::packet`] has what came with it, until the next event is added.
    place: u32,
}

/// The calendar.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// Events, each the next one's neighbor by [`Packet::next`] in its bucket or in the free list.
    nodes: Vec<Node>,
    free: u32,
    heads: Vec<u32>,
    occupied: Vec<u64>,
    /// Log2 of a bucket's width in ns.
    shift: u32,
    /// The bucket at hand, counted from time 0.
    at: u64,
    /// The events of the bucket at hand, last first.
    now: Vec<(Key, u32)>,
    far: BinaryHeap<Reverse<(Key, u32)>>,
    /// Events in buckets (neither at hand nor far).
    near: usize,
    /// Pops and the time of the first since the width was last judged.
    judged: (u32, u64),
}

const JUDGE_EVERY: u32 = 1 << 12;

impl Default for Schedule {
    fn default() -> Self {
        Self::new()
    }
}

impl Schedule {
    /// An empty calendar.
    pub fn new() -> Self {
        Schedule {
            nodes: Vec::new(),
            free: NONE,
            heads: vec![NONE; 256],
            occupied: vec![0; 4],
            shift: 17,
            at: 0,
            now: Vec::new(),
            far: BinaryHeap::new(),
            near: 0,
            judged: (0, 0),
        }
    }

    /// Events that wait.
    pub fn len(&self) -> usize {
        self.near + self.now.len() + self.far.len()
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>() + self.heads.capacity() * 4 + self.far.capacity() * 32
    }

    /// Adds an event; `count` orders simultaneous events of one kind and entity. Its time must not lie before the last popped one.
    #[inline]
    pub fn push(&mut self, time: Time, kind: Kind, entity: u32, count: u32, packet: &Packet) {
        let key = Key::new(time, kind, entity, count);
        let node = Node { key, packet: *packet };
        let index = self.free;
        if let Some(place) = self.nodes.get_mut(index as usize) {
            self.free = std::mem::replace(place, node).packet.next;
            self.file(key, index);
        } else {
            self.nodes.push(node);
            self.file(key, (self.nodes.len() - 1) as u32);
        }
    }

    #[inline]
    fn file(&mut self, key: Key, index: u32) {
        let bucket = key.time >> self.shift;
        // A bucket that has come or passed lies as far ahead as none of the year does.
        if bucket.wrapping_sub(self.at + 1) >= self.heads.len() as u64 - 1 {
            return self.file_apart(key, index, bucket);
        }
        let slot = (bucket as usize) & (self.heads.len() - 1);
        self.nodes[index as usize].packet.next = std::mem::replace(&mut self.heads[slot], index);
        self.occupied[slot / 64] |= 1 << (slot % 64);
        self.near += 1;
    }

    /// Files what belongs to the bucket at hand, or beyond the year.
    #[inline(never)]
    fn file_apart(&mut self, key: Key, index: u32, bucket: u64) {
        if bucket <= self.at {
            let place = self.now.partition_point(|&(other, _)| other > key);
            self.now.insert(place, (key, index));
        } else {
            self.far.push(Reverse((key, index)));
        }
    }

    /// Removes the next event if it is due by `end`.
    #[inline]
    pub fn pop(&mut self, end: Time) -> Option<Event> {
        let index = match self.now.pop() {
            Some((_, index)) => index,
            None => self.fill()?,
        };
        let node = &mut self.nodes[index as usize];
        let (time, order) = (Time::from_nanos(node.key.time), node.key.order);
        if time > end {
            self.now.push((node.key, index));
            return None;
        }
        node.packet.next = std::mem::replace(&mut self.free, index);
        self.judged.0 += 1;
        if self.judged.0 == JUDGE_EVERY {
            self.judge(time.as_nanos());
        }
        let kind = match (order >> 61) as u8 {
            0 => Kind::Departure,
            1 => Kind::Update,
            2 => Kind::Delivery,
            3 => Kind::SenderTimer,
            4 => Kind::ReceiverTimer,
            5 => Kind::Session,
            _ => Kind::Arrival,
        };
        Some(Event { time, kind, entity: (order >> 32) as u32 & 0x1fff_ffff, place: index })
    }

    /// What came with an event that has just been removed: the packet of an arrival or a delivery.
    #[inline]
    pub fn packet(&self, event: &Event) -> Packet {
        self.nodes[event.place as usize].packet
    }

    /// All packets that still travel.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        let mut taken = vec![false; self.nodes.len()];
        let mut free = self.free;
        while free != NONE {
            taken[free as usize] = true;
            free = self.nodes[free as usize].packet.next;
        }
        let arrival = |node: &&Node| [Kind::Arrival as u8, Kind::Delivery as u8].contains(&((node.key.order >> 61) as u8));
        self.nodes.iter().zip(taken).filter(|(_, free)| !free).map(|(node, _)| node).filter(arrival).map(|node| &node.packet)
    }

    /// Brings the next nonempty bucket to hand and takes out its first event.
    #[inline]
    fn fill(&mut self) -> Option<u32> {
        self.at = match self.next_bucket() {
            Some(bucket) => bucket,
            None => self.far.peek()?.0.0.time >> self.shift,
        };
        self.near_from_far();
        let slot = (self.at as usize) & (self.heads.len() - 1);
        let head = std::mem::replace(&mut self.heads[slot], NONE);
        self.occupied[slot / 64] &= !(1 << (slot % 64));
        match self.nodes.get(head as usize) {
            Some(node) if node.packet.next == NONE && self.now.is_empty() => {
                self.near -= 1;
                Some(head)
            }
            _ => self.take_bucket(head),
        }
    }

    /// The next occupied bucket of this year.
    #[inline]
    fn next_bucket(&self) -> Option<u64> {
        if self.near == 0 {
            return None;
        }
        let mask = self.heads.len() - 1;
        let first = (self.at as usize + 1) & mask;
        let (mut word, words) = (first / 64, self.occupied.len());
        let mut bits = self.occupied[word] & (u64::MAX << (first % 64));
        for _ in 0..=words {
            if bits != 0 {
                let slot = word * 64 + bits.trailing_zeros() as usize;
                return Some(self.at + 1 + (slot.wrapping_sub(first) & mask) as u64);
            }
            word = (word + 1) & (words - 1);
            bits = self.occupied[word];
        }
        None
    }

    /// Moves far events into the calendar where its year has come to reach them.
    #[inline]
    fn near_from_far(&mut self) {
        while let Some(&Reverse((key, _))) = self.far.peek()
            && self.reaches(key)
        {
            self.take_far();
        }
    }

    /// Whether the year at hand has come to reach this key.
    #[inline]
    fn reaches(&self, key: Key) -> bool {
        (key.time >> self.shift).saturating_sub(self.at) < self.heads.len() as u64
    }

    #[inline(never)]
    fn take_far(&mut self) {
        if let Some(Reverse((key, index))) = self.far.pop() {
            self.file(key, index);
        }
    }

    /// Empties the bucket at hand, which starts at `index`, into `now`, sorted last first; takes out the first event.
    #[inline(never)]
    fn take_bucket(&mut self, mut index: u32) -> Option<u32> {
        let mut sorted = self.now.is_empty();
        let mut last = None;
        while let Some(node) = self.nodes.get(index as usize) {
            let key = node.key;
            // What was filed last stands first and is mostly due last: then nothing needs sorting.
            sorted &= last.is_none_or(|last| key < last);
            last = Some(key);
            self.now.push((key, index));
            self.near -= 1;
            index = node.packet.next;
        }
        if !sorted {
            self.now.sort_unstable_by_key(|&(key, _)| Reverse(key));
        }
        self.now.pop().map(|(_, index)| index)
    }

    /// Fits the width and the number of buckets to the traffic: about one event a bucket.
    fn judge(&mut self, now: u64) {
        let (pops, since) = std::mem::replace(&mut self.judged, (0, now));
        let gap = (now.saturating_sub(since) / u64::from(pops)).max(1);
        let shift = gap.ilog2().saturating_sub(1).min(40);
        let slots = (4 * self.len()).next_power_of_two().clamp(256, 1 << 20);
        if shift.abs_diff(self.shift) > 1 || slots > self.heads.len() || slots * 8 < self.heads.len() {
            self.rebuild(shift, slots.max(self.heads.len().min(slots * 4)), now);
        }
    }

    fn rebuild(&mut self, shift: u32, slots: usize, now: u64) {
        let mut all: Vec<u32> = self.now.drain(..).map(|(_, index)| index).collect();
        all.extend(self.far.drain().map(|Reverse((_, index))| index));
        for head in &self.heads {
            let mut index = *head;
            while index != NONE {
                all.push(index);
                index = self.nodes[index as usize].packet.next;
            }
        }
        self.heads = vec![NONE; slots];
        self.occupied = vec![0; slots / 64];
        (self.shift, self.at, self.near) = (shift, now >> shift, 0);
        for index in all {
            self.file(self.nodes[index as usize].key, index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOTHING: &Packet = &Packet::NOTHING;

    proptest! {
        #[test]
        fn events_come_in_the_specified_order_whatever_the_order_of_insertion(
            steps in prop::collection::vec((0u64..5_000_000_000, 0u32..5, 0u32..4, 1usize..4), 1..3_000),
        ) {
            let (mut calendar, mut reference) = (Schedule::new(), std::collections::BTreeSet::new());
            let mut now = 0u64;
            for (count, (ahead, entity, spread, pops)) in steps.into_iter().enumerate() {
                // Most events lie close by, some far: shift by 0, 7, 14 or 21 bits.
                let time = Time::from_nanos(now + (ahead >> (7 * spread)));
                calendar.push(time, Kind::Arrival, entity, count as u32, NOTHING);
                reference.insert(Key::new(time, Kind::Arrival, entity, count as u32));
                if count % 2 == 0 {
                    for _ in 0..pops {
                        let Some(event) = calendar.pop(Time::NEVER) else { break };
                        let expected = reference.pop_first().unwrap();
                        prop_assert_eq!(event.time.as_nanos(), expected.time);
                        prop_assert_eq!(event.entity, (expected.order >> 32) as u32 & 0x1fff_ffff);
                        now = event.time.as_nanos();
                    }
                }
                prop_assert_eq!(calendar.len(), reference.len());
            }
            while let Some(event) = calendar.pop(Time::NEVER) {
                let expected = reference.pop_first().unwrap();
                prop_assert_eq!(event.time.as_nanos(), expected.time);
            }
            prop_assert!(reference.is_empty());
        }
    }

    #[test]
    fn the_calendar_refits_itself_to_the_traffic_without_losing_an_event() {
        let mut calendar = Schedule::new();
        for count in 0..50_000u32 {
            calendar.push(Time::from_nanos(u64::from(count) * 100), Kind::Arrival, 0, count, NOTHING);
        }
        let mut last = Time::ZERO;
        let mut popped = 0;
        while let Some(event) = calendar.pop(Time::NEVER) {
            assert!(event.time >= last);
            (last, popped) = (event.time, popped + 1);
        }
        assert_eq!(popped, 50_000);
    }

    #[test]
    fn nothing_is_due_after_the_end() {
        let mut calendar = Schedule::new();
        calendar.push(Time::from_nanos(10), Kind::Session, 0, 0, NOTHING);
        assert!(calendar.pop(Time::from_nanos(9)).is_none());
        assert!(calendar.pop(Time::from_nanos(10)).is_some());
    }
}
