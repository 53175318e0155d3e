//! The round-robin lists of a tin, and the shares of hosts.
//! The lists are linked through the turns of their queues.

use alloc::vec;
use alloc::vec::Vec;

/// The number of queues of a tin.
pub(crate) const QUEUES: u32 = 1024;

/// A byte in the unit of deficits and quanta.
/// A queue's part of a host's quantum is a fraction of bytes, and the remainder counts in the next round.
const BYTE: i64 = 1 << 16;

/// The host of a flow whose group is unknown, or of any flow if hosts are not isolated.
pub(super) const NO_HOST: u32 = u32::MAX;

/// The shares of hosts.
#[derive(Clone, Debug)]
pub(super) struct Hosts {
    /// The number of bulk queues of each host.
    bulk: Vec<u32>,
    /// The bytes that the queues of a host may send in a round.
    quantum: u32,
}

impl Hosts {
    /// Hosts without bulk queues, which may send this many bytes in a round.
    pub fn new(quantum: u32) -> Self {
        Hosts { bulk: Vec::new(), quantum }
    }

    /// Changes the number of bulk queues of a host, if it is known.
    pub fn count(&mut self, host: u32, step: impl Fn(&mut u32)) {
        let host = host as usize;
        if host != NO_HOST as usize {
            if host >= self.bulk.len() {
                self.bulk.resize(host + 1, 0);
            }
            step(&mut self.bulk[host]);
        }
    }

    /// The quantum of a queue of this host, in parts of 2^16 of a byte.
    /// It is an equal part of the host's (Linux `cake_get_flow_quantum`).
    pub fn quantum_of(&self, host: u32) -> i64 {
        let load = self.bulk.get(host as usize).map_or(1, |&load| load.max(1));
        i64::from(self.quantum * (0xffff / load))
    }
}

/// One of the lists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum List {
    New,
    Old,
    Decaying,
}

/// The end of an empty list.
const NONE: u16 = u16::MAX;

/// The turn of a queue.
#[derive(Clone, Copy, Debug)]
struct Turn {
    /// What the queue may still send in this round, in parts of a [`BYTE`].
    deficit: i64,
    host: u32,
    /// The neighbors in its list, which is a circle.
    next: u16,
    previous: u16,
}

/// The turns of all queues.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    each: Vec<Turn>,
    /// The first queue of each list.
    first: [u16; 3],
}

impl Turns {
    /// The turns of queues that are in no list.
    pub fn new() -> Self {
        Turns { each: vec![Turn { deficit: 0, host: NO_HOST, next: NONE, previous: NONE }; QUEUES as usize], first: [NONE; 3] }
    }

    /// The host of a queue.
    pub fn host(&self, at: usize) -> u32 {
        self.each[at].host
    }

    pub fn set_host(&mut self, at: usize, host: u32) {
        self.each[at].host = host;
    }

    /// Whether a queue may send in this round.
    pub fn may_send(&self, at: usize) -> bool {
        self.each[at].deficit >= BYTE
    }

    /// Starts the first round of a queue with this quantum, in parts of a byte.
    pub fn start(&mut self, at: usize, quantum: i64) {
        let turn = &mut self.each[at];
        turn.deficit = turn.deficit.rem_euclid(BYTE) + quantum;
    }

    /// Adds a quantum, in parts of a byte.
    pub fn add(&mut self, at: usize, quantum: i64) {
        self.each[at].deficit += quantum;
    }

    /// Charges a sent packet of `size` bytes.
    pub fn charge(&mut self, at: usize, size: u32) {
        self.each[at].deficit -= i64::from(size) * BYTE;
    }

    /// The first queue of a list.
    pub fn first(&self, list: List) -> Option<usize> {
        let first = self.first[list as usize];
        (first != NONE).then_some(usize::from(first))
    }

    /// The queues of a list, in order.
    pub fn iter(&self, list: List) -> impl Iterator<Item = usize> {
        let first = self.first(list);
        let next = move |&at: &usize| Some(usize::from(self.each[at].next)).filter(|&next| Some(next) != first);
        core::iter::successors(first, next)
    }

    /// Appends a queue that is in no list.
    pub fn push(&mut self, list: List, at: usize) {
        let (number, first) = (at as u16, self.first[list as usize]);
        if first == NONE {
            self.first[list as usize] = number;
            (self.each[at].next, self.each[at].previous) = (number, number);
            return;
        }
        let last = core::mem::replace(&mut self.each[usize::from(first)].previous, number);
        self.each[usize::from(last)].next = number;
        (self.each[at].next, self.each[at].previous) = (first, last);
    }

    /// Removes a queue from its list.
    pub fn remove(&mut self, at: usize) {
        let Turn { next, previous, .. } = self.each[at];
        let after = if usize::from(next) == at { NONE } else { next };
        self.first.iter_mut().filter(|first| usize::from(**first) == at).for_each(|first| *first = after);
        self.each[usize::from(previous)].next = next;
        self.each[usize::from(next)].previous = previous;
    }

    /// Adds a quantum to each old queue in turn, until the first of them may send.
    /// If a host has many flows, each has a small quantum and needs many turns for a packet. The list must not be empty.
    pub fn refill_old(&mut self, hosts: &Hosts) {
        let (mut host, mut quantum) = (NO_HOST, hosts.quantum_of(NO_HOST));
        let first = &mut self.first[List::Old as usize];
        loop {
            let turn = &mut self.each[usize::from(*first)];
            if turn.deficit >= BYTE {
                return;
            }
            if turn.host != host {
                (host, quantum) = (turn.host, hosts.quantum_of(turn.host));
            }
            turn.deficit += quantum;
            *first = turn.next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(turns: &Turns, list: List) -> Vec<usize> {
        turns.iter(list).collect()
    }

    #[test]
    fn queues_leave_a_list_from_any_place_and_the_others_keep_their_order() {
        let mut turns = Turns::new();
        [7, 3, 900, 5].into_iter().for_each(|at| turns.push(List::Old, at));
        turns.push(List::Decaying, 4);
        turns.remove(900);
        assert_eq!(order(&turns, List::Old), [7, 3, 5]);
        turns.remove(7);
        turns.push(List::New, 7);
        turns.push(List::Old, 1);
        assert_eq!(order(&turns, List::Old), [3, 5, 1]);
        turns.remove(4);
        assert_eq!((order(&turns, List::New), order(&turns, List::Decaying)), (Vec::from([7]), Vec::new()));
    }

    #[test]
    fn a_fraction_of_a_byte_is_carried_to_the_next_first_round() {
        let mut turns = Turns::new();
        turns.start(0, BYTE / 2);
        assert!(!turns.may_send(0));
        turns.start(0, BYTE / 2);
        assert!(turns.may_send(0));
        turns.charge(0, 100);
        turns.start(0, BYTE - 1);
        assert!(!turns.may_send(0));
    }
}
