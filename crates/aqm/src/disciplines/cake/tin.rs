//! A tin of CAKE: its queues, the round-robin lists, and its part of the shaper.

use super::turns::{Hosts, List, QUEUES, Turns};
use crate::disciplines::flows::{FlowQueuing, Overflow};
use crate::{Fate, Packet, Subqueue};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use sojourn_units::{Rate, Time};

/// The number of queues among which a flow can have its own.
pub(crate) const WAYS: usize = 8;

/// The state of a queue, under the names of Linux.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Set {
    /// Empty and idle.
    None,
    /// New and not yet through its first quantum.
    Sparse,
    /// A sparse queue that was empty when its quantum ended; it is in the list of old queues.
    SparseWait,
    /// A queue that has used up its first quantum and still has packets.
    Bulk,
    /// Empty, while its algorithm still returns to its initial state.
    Decaying,
}

/// The sender of a packet: the hash of its flow, and its host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sender {
    pub hash: u32,
    pub host: u32,
}

/// The queue of a flow.
#[derive(Clone, Debug)]
pub(super) struct Flow<P> {
    pub waiting: VecDeque<(Time, P)>,
    pub bytes: u64,
    set: Set,
    /// The hash of the flow to which it is assigned (Linux `tags`).
    tag: Option<u32>,
}

/// The queues of a tin.
#[derive(Clone, Debug)]
pub(super) struct Tin<P> {
    flows: Vec<Flow<P>>,
    turns: Turns,
    /// The numbers of sparse and of bulk queues.
    sparse: u32,
    bulk: u32,
    hosts: Hosts,
    /// The bytes that the tin may send in a round of the tins, and what remains of them.
    pub quantum: i64,
    pub deficit: i64,
    rate: Option<Rate>,
    /// The time from which its rate allows another packet.
    pub next: Time,
    packets: u32,
    /// Its statistics, except for the number of waiting packets.
    did: Subqueue,
}

/// The quantum of the first tin.
const TIN_QUANTUM: i64 = 1024;

/// The bounds of the bytes that a queue may send in a round.
const QUANTUM: (u64, u64) = (300, 1514);

impl<P: Packet> Tin<P> {
    /// An empty tin with this rate of the shaper.
    /// Its quantum is that of the first tin, shifted right by `shift` bits.
    pub fn new(rate: Option<Rate>, shift: u32) -> Self {
        let empty = || Flow { waiting: VecDeque::new(), bytes: 0, set: Set::None, tag: None };
        let quantum = rate.map_or(QUANTUM.1, |rate| ((rate.as_bps() / 8) >> 12).clamp(QUANTUM.0, QUANTUM.1));
        Tin {
            flows: (0..QUEUES).map(|_| empty()).collect(),
            turns: Turns::new(),
            sparse: 0,
            bulk: 0,
            hosts: Hosts::new(quantum as u32),
            quantum: TIN_QUANTUM >> shift,
            deficit: 0,
            rate,
            next: Time::ZERO,
            packets: 0,
            did: Subqueue::default(),
        }
    }

    /// Takes out the packets of all queues, oldest first in each.
    pub fn drain(&mut self, take: &mut dyn FnMut(P)) {
        self.flows.iter_mut().flat_map(|flow| flow.waiting.drain(..)).for_each(|(_, packet)| take(packet));
    }

    pub fn flow(&self, at: usize) -> &Flow<P> {
        &self.flows[at]
    }

    /// Its statistics, including the number of waiting packets.
    pub fn subqueue(&self) -> Subqueue {
        Subqueue { packets: self.packets, ..self.did }
    }

    /// The arrival time of the packet that has waited longest.
    pub fn oldest(&self) -> Option<Time> {
        self.flows.iter().filter_map(|flow| flow.waiting.front()).map(|&(since, _)| since).min()
    }

    /// The waiting packets and bytes.
    pub fn backlog(&self) -> (u32, u64) {
        (self.packets, self.did.bytes)
    }

    /// Counts the fate of a packet: see [`CakeQueues::count`](super::CakeQueues::count).
    pub fn count(&mut self, size: u32, fate: Fate, is_earlier: bool) {
        self.did.counters.count(size, fate);
        self.did.drops_of_earlier += u64::from(is_earlier && matches!(fate, Fate::Dropped(_)));
    }

    /// Whether no queue has a turn.
    pub fn is_empty(&self) -> bool {
        self.sparse + self.bulk == 0
    }

    /// The queues that a flow with this hash may use, its own first.
    fn ways(of: u32) -> impl Iterator<Item = usize> {
        let hash = FlowQueuing { queues: QUEUES, quantum: 1, perturbation: 0, overflow: Overflow::HeadOfLongest, shows_all: false };
        let home = hash.queue_of(of) as usize;
        (0..WAYS).map(move |way| home - home % WAYS + (home + way) % WAYS)
    }

    /// The queue that is assigned to a flow with this hash.
    pub fn find(&self, hash: u32) -> Option<usize> {
        Self::ways(hash).find(|&at| self.flows[at].tag == Some(hash))
    }

    /// Assigns a queue to a flow (Linux `cake_hash`).
    /// It is the one that the flow has, or an empty one, or else one that it shares.
    fn assign(&mut self, Sender { hash, host }: Sender) -> usize {
        let empty = || Self::ways(hash).find(|&at| self.flows[at].set == Set::None);
        let at = self.find(hash).or_else(empty).or_else(|| Self::ways(hash).next()).unwrap_or(0);
        if self.flows[at].tag != Some(hash) || self.turns.host(at) != host {
            let is_bulk = self.flows[at].set == Set::Bulk;
            if is_bulk {
                self.count_bulk(at, false);
            }
            self.flows[at].tag = Some(hash);
            self.turns.set_host(at, host);
            if is_bulk {
                self.count_bulk(at, true);
            }
        }
        at
    }

    /// Counts a queue that becomes bulk (`more`) or stops being bulk.
    fn count_bulk(&mut self, at: usize, more: bool) {
        let step = |count: &mut u32| if more { *count += 1 } else { *count -= 1 };
        step(&mut self.bulk);
        self.hosts.count(self.turns.host(at), step);
    }

    pub fn push(&mut self, now: Time, packet: P, sender: Sender) {
        if self.packets == 0 {
            self.next = self.next.max(now);
        }
        self.did.counters.count_arrival(packet.size());
        self.did.bytes += u64::from(packet.size());
        let at = self.assign(sender);
        let flow = &mut self.flows[at];
        flow.bytes += u64::from(packet.size());
        flow.waiting.push_back((now, packet));
        self.packets += 1;
        match self.flows[at].set {
            Set::None | Set::Decaying => {
                if self.flows[at].set == Set::Decaying {
                    self.turns.remove(at);
                }
                self.turns.push(List::New, at);
                self.sparse += 1;
                self.flows[at].set = Set::Sparse;
                self.turns.start(at, self.hosts.quantum_of(self.turns.host(at)));
            }
            Set::SparseWait => self.becomes_bulk(at),
            Set::Sparse | Set::Bulk => {}
        }
    }

    fn becomes_bulk(&mut self, at: usize) {
        self.sparse -= 1;
        self.flows[at].set = Set::Bulk;
        self.count_bulk(at, true);
    }

    /// The queue whose turn it is. The decaying list comes first if `decays`, else last.
    pub fn first(&self, decays: bool) -> Option<(List, usize)> {
        let order = if decays { [List::Decaying, List::New, List::Old] } else { [List::New, List::Old, List::Decaying] };
        order.into_iter().find_map(|list| self.turns.first(list).map(|at| (list, at)))
    }

    /// Adds a quantum to the queue at the front of a list, which has used up its last one.
    /// The queue moves to the end of the old ones.
    pub fn refill(&mut self, at: usize) {
        if self.flows[at].set == Set::Sparse {
            if self.flows[at].waiting.is_empty() {
                self.flows[at].set = Set::SparseWait;
            } else {
                self.becomes_bulk(at);
            }
        }
        self.turns.add(at, self.hosts.quantum_of(self.turns.host(at)));
        self.turns.remove(at);
        self.turns.push(List::Old, at);
    }

    /// [`Tin::refill`] for the old queues, until the first of them may send.
    pub fn refill_old(&mut self) {
        self.turns.refill_old(&self.hosts);
    }

    /// Whether a queue may send in this round.
    pub fn may_send(&mut self, at: usize) -> bool {
        self.turns.may_send(at)
    }

    /// Removes an empty queue from its list: it becomes idle, or decays.
    pub fn leave(&mut self, at: usize, to: Set) {
        self.turns.remove(at);
        match self.flows[at].set {
            Set::Sparse | Set::SparseWait => self.sparse -= 1,
            Set::Bulk => self.count_bulk(at, false),
            Set::Decaying | Set::None => {}
        }
        self.flows[at].set = to;
        if to == Set::Decaying {
            self.turns.push(List::Decaying, at);
        }
    }

    /// Removes the first packet of a queue.
    pub fn take(&mut self, at: usize) -> Option<(Time, P)> {
        let (since, packet) = self.flows[at].waiting.pop_front()?;
        self.forget(at, packet.size());
        Some((since, packet))
    }

    /// Removes the packet at this position of a queue.
    pub fn remove(&mut self, at: usize, place: usize) -> Option<(Time, P)> {
        let (since, packet) = self.flows[at].waiting.remove(place)?;
        self.forget(at, packet.size());
        Some((since, packet))
    }

    /// A packet of `size` bytes no longer waits in a queue.
    fn forget(&mut self, at: usize, size: u32) {
        self.flows[at].bytes -= u64::from(size);
        self.did.bytes -= u64::from(size);
        self.packets -= 1;
    }

    /// Charges a sent packet of `size` bytes to its queue, the tin, and the tin's rate.
    pub fn charge(&mut self, at: usize, size: u32, now: Time) {
        self.turns.charge(at, size);
        self.deficit -= i64::from(size);
        if let Some(rate) = self.rate {
            let time = rate.time_for(u64::from(size));
            self.next = if self.next < now { self.next + time } else { self.next.max(now + time) };
        }
    }

    /// The queue with the most bytes, and their number.
    pub fn longest(&self) -> Option<(usize, u64)> {
        self.turns
            .active()
            .map(|at| (at, self.flows[at].bytes))
            .max_by_key(|&(at, bytes)| (bytes, QUEUES as usize - at))
            .filter(|&(_, bytes)| bytes > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parcel::Parcel;

    /// A flow may use any queue of its set of 8, and tries its own first (Linux `cake_hash`).
    /// The 1024 queues form sets of 8.
    #[test]
    fn a_flow_may_have_each_queue_of_its_set_once() {
        for flow in 0..500 {
            let ways: Vec<usize> = Tin::<Parcel>::ways(flow).collect();
            let set = ways[0] / 8;
            assert!(ways.iter().all(|&at| at < 1024 && at / 8 == set), "{ways:?}");
            assert!((1..8).all(|i| ways[i] % 8 == (ways[0] + i) % 8), "{ways:?}");
            assert_eq!(ways.len(), 8);
        }
    }
}
