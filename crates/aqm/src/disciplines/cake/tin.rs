//! A tin of CAKE: its queues, the round-robin lists, and its part of the shaper.

use crate::disciplines::flows::{FlowQueuing, Overflow};
use crate::{Fate, Packet, Subqueue};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use sojourn_units::{Rate, Time};

/// The number of queues of a tin, and of those among which a flow can have its own.
pub(crate) const QUEUES: u32 = 1024;
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

/// One of the round-robin lists of queues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum List {
    New,
    Old,
    Decaying,
}

/// The host of a flow whose group is unknown, or of any flow if hosts are not isolated.
pub(super) const NO_HOST: u32 = u32::MAX;

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
    /// Bytes that it may still send in this round.
    pub deficit: i64,
    /// The remainder of its last quantum after rounding down, in parts of 2^16.
    rest: u32,
    set: Set,
    /// The hash of the flow to which it is assigned (Linux `tags`).
    tag: Option<u32>,
    host: u32,
}

impl<P> Flow<P> {
    /// Adds a quantum in parts of 2^16 of a byte.
    /// What is less than a byte is carried over.
    #[inline]
    fn add(&mut self, quantum: u32) {
        let sum = quantum + self.rest;
        self.rest = sum & 0xffff;
        self.deficit += i64::from(sum >> 16);
    }
}

/// The shares of hosts.
#[derive(Clone, Debug)]
struct Hosts {
    /// The number of bulk queues of each host.
    bulk: Vec<u32>,
    /// The bytes that the queues of a host may send in a round.
    quantum: u32,
}

impl Hosts {
    /// The quantum of a queue of this host, in parts of 2^16 of a byte.
    /// It is an equal part of the host's (Linux `cake_get_flow_quantum`).
    fn quantum_of(&self, host: u32) -> u32 {
        let load = self.bulk.get(host as usize).map_or(1, |&load| load.max(1));
        self.quantum * (0xffff / load)
    }
}

/// The queues of a tin.
#[derive(Clone, Debug)]
pub(super) struct Tin<P> {
    flows: Vec<Flow<P>>,
    new: VecDeque<u16>,
    old: VecDeque<u16>,
    decaying: VecDeque<u16>,
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
        let empty = || Flow { waiting: VecDeque::new(), bytes: 0, deficit: 0, rest: 0, set: Set::None, tag: None, host: NO_HOST };
        let quantum = rate.map_or(QUANTUM.1, |rate| ((rate.as_bps() / 8) >> 12).clamp(QUANTUM.0, QUANTUM.1));
        Tin {
            flows: (0..QUEUES).map(|_| empty()).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            decaying: VecDeque::new(),
            sparse: 0,
            bulk: 0,
            hosts: Hosts { bulk: Vec::new(), quantum: quantum as u32 },
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
        if self.flows[at].tag != Some(hash) || self.flows[at].host != host {
            let is_bulk = self.flows[at].set == Set::Bulk;
            if is_bulk {
                self.count_bulk(at, false);
            }
            (self.flows[at].tag, self.flows[at].host) = (Some(hash), host);
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
        let host = self.flows[at].host as usize;
        if host != NO_HOST as usize {
            if host >= self.hosts.bulk.len() {
                self.hosts.bulk.resize(host + 1, 0);
            }
            step(&mut self.hosts.bulk[host]);
        }
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
                    for list in [&mut self.decaying, &mut self.old] {
                        list.iter().position(|&other| usize::from(other) == at).map(|place| list.remove(place));
                    }
                }
                self.new.push_back(at as u16);
                self.sparse += 1;
                self.flows[at].set = Set::Sparse;
                let quantum = self.hosts.quantum_of(self.flows[at].host);
                self.flows[at].deficit = 0;
                self.flows[at].add(quantum);
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

    fn list(&mut self, list: List) -> &mut VecDeque<u16> {
        match list {
            List::New => &mut self.new,
            List::Old => &mut self.old,
            List::Decaying => &mut self.decaying,
        }
    }

    /// The queue whose turn it is. The decaying list comes first if `decays`, else last.
    pub fn first(&mut self, decays: bool) -> Option<(List, usize)> {
        let order = if decays { [List::Decaying, List::New, List::Old] } else { [List::New, List::Old, List::Decaying] };
        order.into_iter().find_map(|list| self.list(list).front().map(|&at| (list, usize::from(at))))
    }

    /// Adds a quantum to the queue at the front of a list, which has used up its last one.
    /// The queue moves to the end of the old ones.
    pub fn refill(&mut self, list: List, at: usize) {
        if self.flows[at].set == Set::Sparse {
            if self.flows[at].waiting.is_empty() {
                self.flows[at].set = Set::SparseWait;
            } else {
                self.becomes_bulk(at);
            }
        }
        let quantum = self.hosts.quantum_of(self.flows[at].host);
        self.flows[at].add(quantum);
        self.list(list).pop_front();
        self.old.push_back(at as u16);
    }

    /// [`Tin::refill`] for the old queues, until the first of them may send.
    /// If a host has many flows, each has a small quantum and needs many turns for a packet.
    pub fn refill_old(&mut self) {
        let Tin { flows, old, hosts, .. } = self;
        let (mut host, mut quantum) = (NO_HOST, hosts.quantum_of(NO_HOST));
        loop {
            let is_ready = |&at: &u16| {
                let flow = &mut flows[usize::from(at)];
                if flow.deficit > 0 {
                    return true;
                }
                if flow.host != host {
                    (host, quantum) = (flow.host, hosts.quantum_of(flow.host));
                }
                flow.add(quantum);
                false
            };
            if let Some(turns) = old.iter().position(is_ready) {
                return old.rotate_left(turns);
            }
        }
    }

    /// Removes an empty queue from the front of its list: it becomes idle, or decays.
    pub fn leave(&mut self, list: List, at: usize, to: Set) {
        self.list(list).pop_front();
        match self.flows[at].set {
            Set::Sparse | Set::SparseWait => self.sparse -= 1,
            Set::Bulk => self.count_bulk(at, false),
            Set::Decaying | Set::None => {}
        }
        self.flows[at].set = to;
        if to == Set::Decaying {
            self.decaying.push_back(at as u16);
        }
    }

    /// The first packet of a queue.
    pub fn take(&mut self, at: usize) -> Option<(Time, P)> {
        self.remove(at, 0)
    }

    /// Removes the packet at this position of a queue.
    pub fn remove(&mut self, at: usize, place: usize) -> Option<(Time, P)> {
        let flow = &mut self.flows[at];
        let (since, packet) = flow.waiting.remove(place)?;
        flow.bytes -= u64::from(packet.size());
        self.did.bytes -= u64::from(packet.size());
        self.packets -= 1;
        Some((since, packet))
    }

    /// Charges a sent packet of `size` bytes to its queue, the tin, and the tin's rate.
    pub fn charge(&mut self, at: usize, size: u32, now: Time) {
        self.flows[at].deficit -= i64::from(size);
        self.deficit -= i64::from(size);
        if let Some(rate) = self.rate {
            let time = rate.time_for(u64::from(size));
            self.next = if self.next < now { self.next + time } else { self.next.max(now + time) };
        }
    }

    /// The queue with the most bytes, and their number.
    pub fn longest(&self) -> Option<(usize, u64)> {
        let active = self.new.iter().chain(&self.old).map(|&at| usize::from(at));
        active.map(|at| (at, self.flows[at].bytes)).max_by_key(|&(at, bytes)| (bytes, QUEUES as usize - at)).filter(|&(_, bytes)| bytes > 0)
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
