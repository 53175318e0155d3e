//! A queue for each flow: deficit round robin that serves new flows first (rfc8290).

use crate::disciplines::discipline::{Contents, Departure, Layout, NO_LIMIT, QueueSetup, QueueState, Queues, RemovedPacket, Waiting};
use crate::{Amount, Aqm, ArrivingAck, Backlog, Fate, FlowHashes, Packet, PacketView, ParamError};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use sojourn_units::{Bytes, Time};

/// How flows are assigned to queues and how queues are served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowQueuing {
    /// Number of queues, above zero; flows with the same hash share a queue (rfc8290#5.2.6).
    pub queues: u32,
    /// Bytes that a queue may send in a round, above zero (rfc8290#5.2.4).
    pub quantum: u32,
    /// Seed of the hash.
    /// With other seeds, flows that share a queue at one router do not share one at the next.
    pub perturbation: u32,
    /// The packet to drop if all queues together exceed the limit.
    pub overflow: Overflow,
    /// Whether the algorithm sees the backlog of all queues at a departure.
    /// Otherwise it sees the backlog of the packet's own queue.
    pub shows_all: bool,
}

/// The packet to drop if all queues together exceed the limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Overflow {
    /// The arriving packet.
    Arrival,
    /// The packet at the head of the longest queue (rfc8290#4.1.3).
    HeadOfLongest,
    /// Half of the bytes of the longest queue, from its head, at most [`BATCH`] packets.
    /// Linux: `fq_codel_drop`.
    HalfOfLongest,
}

impl FlowQueuing {
    /// The needs of queues per flow.
    pub const LAYOUT: Layout = Layout { hashes_flows: true, knows_groups: false, takes_filters: false };

    /// Queues that drop at the head of the longest one.
    /// The algorithm sees the backlog of a packet's own queue.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn checked(queues: u32, quantum: Bytes, perturbation: u32) -> Result<Self, ParamError> {
        ParamError::unless((1..=1_000_000).contains(&quantum.0), "quantum", &quantum.0, "1 B to 1 MB")?;
        ParamError::unless((1..=65_536).contains(&queues), "flows", &queues, "1 to 65536 queues")?;
        let (quantum, overflow) = (quantum.0 as u32, Overflow::HeadOfLongest);
        Ok(FlowQueuing { queues, quantum, perturbation, overflow, shows_all: false })
    }

    /// The queue of the flow with this hash ([`FlowHashes::of`]).
    #[inline]
    pub fn queue_of(&self, hash: u32) -> u32 {
        // The finalizer of MurmurHash3: every bit moves every bit of the result.
        let mut hash = hash ^ self.perturbation;
        hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
        hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
        hash ^= hash >> 16;
        ((u64::from(hash) * u64::from(self.queues.max(1))) >> 32) as u32
    }
}

/// An algorithm that fills a queue for each flow.
pub trait FlowAqm: Aqm {
    /// This queue was empty at its turn, at `now`.
    /// Returns whether its state is the initial one, so that it needs no more such calls.
    fn on_empty(&mut self, queue: u32, now: Time) -> bool {
        let _ = (queue, now);
        true
    }

    /// The timer is about to expire; `packets_and_bytes` returns the backlog of a queue.
    fn before_update(&mut self, packets_and_bytes: &dyn Fn(u32) -> (u32, u64)) {
        let _ = packets_and_bytes;
    }
}

/// The largest number of packets in a batch of drops (Linux `fq_codel`'s `drop_batch`).
const BATCH: u32 = 64;

/// The list that a queue is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum List {
    /// None: it is empty.
    None,
    /// New queues, which are served first.
    New,
    /// Old queues.
    Old,
}

#[derive(Clone, Debug)]
struct FlowQueue<P> {
    waiting: VecDeque<(Time, P)>,
    bytes: u64,
    /// Bytes that it may still send in this round.
    deficit: i64,
    list: List,
}

/// The queues and the two lists in which they are served.
#[derive(Clone, Debug)]
pub struct FlowQueues<P> {
    queuing: FlowQueuing,
    /// The limit of all queues together, if they drop for room.
    limit: Amount,
    hashes: FlowHashes,
    queues: Vec<FlowQueue<P>>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    packets: u32,
    /// The rest of a batch of drops.
    batch: Option<Batch>,
}

/// Packets and bytes of a queue that are still to be dropped.
#[derive(Clone, Copy, Debug)]
struct Batch {
    queue: u32,
    packets: u32,
    bytes: u64,
}

impl<P: Packet> FlowQueues<P> {
    /// Empty queues.
    /// If the longest queue drops, an arriving packet is always admitted, and a drop makes room afterwards.
    pub fn new(queuing: FlowQueuing, setup: &mut QueueSetup) -> Self {
        let empty = || FlowQueue { waiting: VecDeque::new(), bytes: 0, deficit: 0, list: List::None };
        let queues = (0..queuing.queues.max(1)).map(|_| empty()).collect();
        let limit = if queuing.overflow == Overflow::Arrival { NO_LIMIT } else { setup.take_limit() };
        let hashes = FlowHashes::default();
        FlowQueues { queuing, limit, hashes, queues, new: VecDeque::new(), old: VecDeque::new(), packets: 0, batch: None }
    }

    /// The backlog that the algorithm sees when a packet of `queue` departs.
    /// `bytes` wait in all queues together.
    pub fn backlog(&self, queue: u32, bytes: u64) -> Backlog {
        if self.queuing.shows_all {
            return Backlog { packets: self.packets, bytes, idle_since: None };
        }
        let queue = &self.queues[queue as usize];
        Backlog { packets: queue.waiting.len() as u32, bytes: queue.bytes, idle_since: None }
    }

    /// The queue of a flow, and its number.
    fn queue_of_flow(&self, flow: u32) -> (u32, &Waiting<P>) {
        let index = self.queuing.queue_of(self.hashes.of(flow));
        (index, &self.queues[index as usize].waiting)
    }

    /// Adds a packet to its flow's queue (rfc8290#4.1.2).
    fn add(&mut self, now: Time, packet: P) {
        let index = self.queuing.queue_of(self.hashes.of(packet.flow()));
        let queue = &mut self.queues[index as usize];
        queue.bytes += u64::from(packet.size());
        queue.waiting.push_back((now, packet));
        self.packets += 1;
        if queue.list == List::None {
            queue.list = List::New;
            queue.deficit = i64::from(self.queuing.quantum.max(1));
            self.new.push_back(index);
        }
    }

    /// The next packet, its queue and the time of its arrival (rfc8290#4.2).
    /// A packet that is sent must be charged to its queue. `found_empty` is called with each queue whose turn comes while it is empty.
    #[inline(never)]
    fn take(&mut self, mut found_empty: impl FnMut(u32)) -> Option<(u32, Time, P)> {
        loop {
            let (index, is_new) = match self.new.front() {
                Some(&index) => (index, true),
                None => (*self.old.front()?, false),
            };
            let queue = &mut self.queues[index as usize];
            let out_of_turn = queue.deficit <= 0;
            if !out_of_turn && let Some((since, packet)) = queue.waiting.pop_front() {
                debug_assert!(
                    (1..=i64::from(self.queuing.quantum.max(1))).contains(&queue.deficit),
                    "a queue sends with a deficit of {} B and a quantum of {} B",
                    queue.deficit,
                    self.queuing.quantum
                );
                queue.bytes -= u64::from(packet.size());
                self.packets -= 1;
                return Some((index, since, packet));
            }
            let list = if is_new { &mut self.new } else { &mut self.old };
            list.pop_front();
            if out_of_turn {
                queue.deficit += i64::from(self.queuing.quantum.max(1));
            } else {
                found_empty(index);
            }
            // An empty new queue becomes an old one for a round: a flow that sends one packet at a time would otherwise always go first.
            if out_of_turn || (is_new && !self.old.is_empty()) {
                queue.list = List::Old;
                self.old.push_back(index);
            } else {
                queue.list = List::None;
            }
        }
    }

    /// Removes the packet at this position of a queue.
    fn take_at(&mut self, queue: u32, at: usize) -> Option<(Time, P)> {
        let queue = &mut self.queues[queue as usize];
        let (since, packet) = queue.waiting.remove(at)?;
        queue.bytes -= u64::from(packet.size());
        self.packets -= 1;
        Some((since, packet))
    }

    /// The queue with the most bytes.
    fn longest(&self) -> Option<u32> {
        let length = |index: u32| (self.queues[index as usize].bytes, u32::MAX - index);
        self.new.iter().chain(&self.old).copied().max_by_key(|&index| length(index))
    }

    /// Removes the packet at the head of the queue with the most bytes, or the next of a batch.
    fn drop_longest(&mut self) -> Option<(u32, Time, P)> {
        let batch = self.batch.take();
        let longest = batch.map_or_else(|| self.longest(), |batch| Some(batch.queue))?;
        let half = self.queues[longest as usize].bytes / 2;
        let (since, packet) = self.take_at(longest, 0)?;
        if self.queuing.overflow == Overflow::HalfOfLongest {
            let Batch { packets, bytes, .. } = batch.unwrap_or(Batch { queue: longest, packets: BATCH, bytes: half });
            let left = Batch { queue: longest, packets: packets - 1, bytes: bytes.saturating_sub(u64::from(packet.size())) };
            self.batch = Some(left).filter(|left| left.packets > 0 && left.bytes > 0);
        }
        Some((longest, since, packet))
    }
}

impl<P: Packet> Contents<P> for FlowQueues<P> {
    fn packets(&self) -> u32 {
        self.packets
    }

    fn drain(&mut self, take: &mut dyn FnMut(P)) {
        self.queues.iter_mut().flat_map(|queue| queue.waiting.drain(..)).for_each(|(_, packet)| take(packet));
    }

    fn oldest(&self) -> Option<Time> {
        self.queues.iter().filter_map(|queue| queue.waiting.front()).map(|&(since, _)| since).min()
    }

    fn queue_of(&self, ack: &ArrivingAck) -> Option<(u32, &Waiting<P>)> {
        Some(self.queue_of_flow(ack.flow))
    }

    fn set_hash(&mut self, flow: u32, hash: u64) {
        self.hashes.set(flow, hash);
    }
}

impl<P: Packet, A: FlowAqm> Queues<P, A> for FlowQueues<P> {
    fn push(&mut self, now: Time, packet: P) {
        self.add(now, packet);
    }

    fn pop(&mut self, now: Time, state: &mut QueueState, aqm: &mut A) -> Option<RemovedPacket<P>> {
        let (queue, since, packet) = self.take(|queue| {
            aqm.on_empty(queue, now);
        })?;
        let mut view = PacketView::of(now, &packet);
        view.flow = self.hashes.of(view.flow);
        let left = state.without(view.size).bytes;
        Some(RemovedPacket { since, packet, view, backlog: self.backlog(queue, left), queue })
    }

    fn show(&self, _packet: &P, view: &mut PacketView, backlog: &mut Backlog) {
        view.flow = self.hashes.of(view.flow);
        if !self.queuing.shows_all {
            *backlog = Backlog { idle_since: backlog.idle_since, ..self.backlog(self.queuing.queue_of(view.flow), backlog.bytes) };
        }
    }

    fn leaves(&mut self, packet: &Departure, fate: Fate) {
        if !matches!(fate, Fate::Dropped(_)) {
            self.queues[packet.queue as usize].deficit -= i64::from(packet.size);
        }
    }

    fn make_room(&mut self, packets: u32, bytes: u64) -> Option<(u32, Time, P)> {
        if self.limit.is_exceeded(packets, bytes) || self.batch.is_some() { self.drop_longest() } else { None }
    }

    fn remove(&mut self, queue: u32, at: usize) -> Option<(Time, P)> {
        self.take_at(queue, at)
    }

    fn looked_into(&self, packet: &P) -> Option<(u32, &Waiting<P>)> {
        Some(self.queue_of_flow(packet.flow()))
    }

    fn before_update(&self, aqm: &mut A) {
        aqm.before_update(&|queue| {
            let queue = &self.queues[queue as usize];
            (queue.waiting.len() as u32, queue.bytes)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AnyAqm;
    use std::vec::Vec;

    #[derive(Clone, Copy, PartialEq, Debug)]
    struct Parcel(u32, u32);

    impl Packet for Parcel {
        fn size(&self) -> u32 {
            self.1
        }
        fn flow(&self) -> u32 {
            self.0
        }
        fn can_mark(&self) -> bool {
            false
        }
        fn mark(&mut self) {}
    }

    const QUEUING: FlowQueuing =
        FlowQueuing { queues: 1024, quantum: 1000, perturbation: 0, overflow: Overflow::HeadOfLongest, shows_all: false };

    fn empty(queuing: FlowQueuing) -> FlowQueues<Parcel> {
        FlowQueues::new(queuing, &mut QueueSetup { limit: Amount::Packets(1000), dscps: Vec::new(), filters: Vec::new() })
    }

    /// Sends up to `n` packets and returns their flows.
    fn served(queues: &mut FlowQueues<Parcel>, n: usize) -> Vec<u32> {
        let next = |_| {
            let (queue, _, packet) = queues.take(|_| ())?;
            Queues::<_, AnyAqm>::leaves(
                queues,
                &Departure { queue, size: packet.1, at: Some(Time::ZERO), is_earlier: false },
                Fate::Passed,
            );
            Some(packet.0)
        };
        (0..n).map_while(next).collect()
    }

    #[test]
    fn queues_take_turns_in_bytes_and_a_new_flow_is_first() {
        let mut queues = empty(QUEUING);
        (0..6).for_each(|_| queues.add(Time::ZERO, Parcel(1, 1000)));
        (0..12).for_each(|_| queues.add(Time::ZERO, Parcel(2, 500)));
        assert_eq!(served(&mut queues, 6), [1, 2, 2, 1, 2, 2]);
        queues.add(Time::ZERO, Parcel(3, 100));
        assert_eq!(served(&mut queues, 4), [3, 1, 2, 2]);
        assert_eq!(served(&mut queues, 99).len(), 9);
        assert_eq!(queues.packets(), 0);
    }

    /// An empty new queue moves to the end of the old ones (rfc8290#4.2).
    /// It leaves them only when its turn comes there.
    #[test]
    fn a_flow_that_sends_a_little_at_a_time_is_new_only_once_a_round() {
        let mut queues = empty(QUEUING);
        (0..40).for_each(|_| queues.add(Time::ZERO, Parcel(1, 100)));
        // A quantum of ten packets is used up: flow 1 is an old one.
        assert_eq!(served(&mut queues, 11), [1; 11]);
        queues.add(Time::ZERO, Parcel(2, 100));
        assert_eq!(served(&mut queues, 2), [2, 1]);
        // Its queue ran empty while flow 1 has 800 bytes left in its turn: it waits behind them.
        queues.add(Time::ZERO, Parcel(2, 100));
        assert_eq!(served(&mut queues, 9), [1, 1, 1, 1, 1, 1, 1, 1, 2]);
        // Once its turn has found it empty, it is new again.
        assert_eq!(served(&mut queues, 11), [1; 11]);
        queues.add(Time::ZERO, Parcel(2, 100));
        assert_eq!(served(&mut queues, 1), [2]);
    }

    #[test]
    fn the_queue_with_the_most_bytes_loses_the_packet_at_its_head() {
        let mut queues = empty(QUEUING);
        (0..3).for_each(|_| queues.add(Time::ZERO, Parcel(1, 100)));
        queues.add(Time::ZERO, Parcel(2, 900));
        assert_eq!(queues.drop_longest(), Some((QUEUING.queue_of(2), Time::ZERO, Parcel(2, 900))));
        assert_eq!(queues.drop_longest(), Some((QUEUING.queue_of(1), Time::ZERO, Parcel(1, 100))));
        assert_eq!((queues.packets(), served(&mut queues, 9)), (2, std::vec![1, 1]));
        assert_eq!(queues.drop_longest(), None);
    }

    #[test]
    fn a_batch_takes_half_of_the_longest_queue_and_no_more_than_64_packets() {
        let dropped = |packets: u32| {
            let mut queues = empty(FlowQueuing { overflow: Overflow::HalfOfLongest, ..QUEUING });
            (0..packets).for_each(|_| queues.add(Time::ZERO, Parcel(1, 100)));
            queues.add(Time::ZERO, Parcel(2, 100));
            let mut from = Vec::new();
            while from.is_empty() || queues.batch.is_some() {
                from.push(queues.drop_longest().unwrap().2.0);
            }
            assert!(from.iter().all(|&flow| flow == 1));
            from.len()
        };
        assert_eq!([2, 9, 10, 300].map(dropped), [1, 5, 5, 64]);
    }

    #[test]
    fn flows_use_all_queues_and_another_perturbation_moves_them() {
        let mut hits = std::vec![0; 1024];
        (0..102_400).for_each(|flow| hits[QUEUING.queue_of(flow) as usize] += 1);
        assert!(hits.iter().all(|&n| (50..170).contains(&n)), "{hits:?}");
        let other = FlowQueuing { perturbation: 7, ..QUEUING };
        assert!((0..1000).filter(|&flow| other.queue_of(flow) != QUEUING.queue_of(flow)).count() > 900);
    }

    /// The finalizer of MurmurHash3; the upper bits choose the queue.
    /// It maps 1 to 0x514e28b7, 2 to 0x30f4c306 and 0xdeadbeef to 0x0de5c6a9.
    #[test]
    fn a_flow_has_the_queue_of_its_hash() {
        for (flow, hash) in [(0, 0), (1, 0x514e_28b7_u32), (2, 0x30f4_c306), (0xdead_beef, 0x0de5_c6a9)] {
            let all = FlowQueuing { queues: 1 << 31, ..QUEUING };
            assert_eq!(all.queue_of(flow), hash >> 1, "{flow}");
            assert_eq!(QUEUING.queue_of(flow), hash >> 22);
            assert_eq!(FlowQueuing { perturbation: 5, ..all }.queue_of(flow ^ 5), hash >> 1);
            assert_eq!(FlowQueuing { queues: 0, ..QUEUING }.queue_of(flow), 0);
        }
    }
}
