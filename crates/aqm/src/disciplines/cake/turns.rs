//! The round-robin lists of a tin, and the shares of hosts.
//! New and decaying queues are linked through their turns. Old ones, many of which may have a turn for each packet, are in a [`Circle`].

mod circle;

use alloc::vec;
use alloc::vec::Vec;
use circle::{BYTE, Circle};

/// The number of queues of a tin.
pub(crate) const QUEUES: u32 = 1024;

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
    Decaying,
    Old,
}

/// The end of an empty list.
const NONE: u16 = u16::MAX;

/// The turn of a queue.
#[derive(Clone, Copy, Debug)]
struct Turn {
    /// What the queue may still send in this round, in parts of a [`BYTE`].
    /// That of an old queue is in the [`Circle`].
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
    /// The first new and the first decaying queue.
    first: [u16; 2],
    old: Circle,
}

impl Turns {
    /// The turns of queues that are in no list.
    pub fn new() -> Self {
        let each = vec![Turn { deficit: 0, host: NO_HOST, next: NONE, previous: NONE }; QUEUES as usize];
        Turns { each, first: [NONE; 2], old: Circle::default() }
    }

    /// The host of a queue.
    pub fn host(&self, at: usize) -> u32 {
        self.each[at].host
    }

    pub fn set_host(&mut self, at: usize, host: u32) {
        self.each[at].host = host;
        self.old.set_host(at as u16, host);
    }

    /// The deficit of the first old queue, or of one that is not old.
    #[inline]
    fn deficit(&mut self, at: usize) -> &mut i64 {
        match self.old.first_mut() {
            Some((queue, deficit)) if usize::from(queue) == at => deficit,
            _ => &mut self.each[at].deficit,
        }
    }

    /// Whether the first queue of a list may send in this round.
    #[inline]
    pub fn may_send(&mut self, at: usize) -> bool {
        *self.deficit(at) >= BYTE
    }

    /// Starts the first round of a queue that is not old with this quantum, in parts of a byte.
    pub fn start(&mut self, at: usize, quantum: i64) {
        let turn = &mut self.each[at];
        turn.deficit = turn.deficit.rem_euclid(BYTE) + quantum;
    }

    /// Adds a quantum to the first queue of a list, in parts of a byte.
    pub fn add(&mut self, at: usize, quantum: i64) {
        *self.deficit(at) += quantum;
    }

    /// Charges a packet of `size` bytes that the first queue of a list has sent.
    pub fn charge(&mut self, at: usize, size: u32) {
        *self.deficit(at) -= i64::from(size) * BYTE;
    }

    /// The first queue of a list.
    pub fn first(&self, list: List) -> Option<usize> {
        match self.first.get(list as usize) {
            Some(&first) => (first != NONE).then_some(usize::from(first)),
            None => self.old.first().map(usize::from),
        }
    }

    /// The new and the old queues.
    pub fn active(&self) -> impl Iterator<Item = usize> {
        let first = self.first(List::New);
        let next = move |&at: &usize| Some(usize::from(self.each[at].next)).filter(|&next| Some(next) != first);
        core::iter::successors(first, next).chain(self.old.queues().map(usize::from))
    }

    /// Appends a queue that is in no list.
    pub fn push(&mut self, list: List, at: usize) {
        let number = at as u16;
        if list == List::Old {
            let Turn { deficit, host, .. } = self.each[at];
            return self.old.push(number, host, deficit);
        }
        let first = self.first[list as usize];
        if first == NONE {
            self.first[list as usize] = number;
            (self.each[at].next, self.each[at].previous) = (number, number);
            return;
        }
        let last = core::mem::replace(&mut self.each[usize::from(first)].previous, number);
        self.each[usize::from(last)].next = number;
        (self.each[at].next, self.each[at].previous) = (first, last);
    }

    /// Removes the first old queue, or one that is not old, from its list.
    pub fn remove(&mut self, at: usize) {
        if self.first(List::Old) == Some(at) {
            self.each[at].deficit = self.old.pop();
            return;
        }
        let Turn { next, previous, .. } = self.each[at];
        let after = if usize::from(next) == at { NONE } else { next };
        self.first.iter_mut().filter(|first| usize::from(**first) == at).for_each(|first| *first = after);
        self.each[usize::from(previous)].next = next;
        self.each[usize::from(next)].previous = previous;
    }

    /// Adds a quantum to each old queue in turn, until the first of them may send.
    /// If a host has many flows, each has a small quantum and needs many turns for a packet. The list must not be empty.
    pub fn refill_old(&mut self, hosts: &Hosts) {
        self.old.refill(|host| hosts.quantum_of(host));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Removes all queues of a list, in order.
    fn emptied(turns: &mut Turns, list: List) -> Vec<usize> {
        let mut next = || {
            let at = turns.first(list)?;
            turns.remove(at);
            Some(at)
        };
        core::iter::from_fn(&mut next).collect()
    }

    #[test]
    fn queues_leave_a_list_from_any_place_and_the_others_keep_their_order() {
        let mut turns = Turns::new();
        [7, 3, 900, 5].into_iter().for_each(|at| turns.push(List::Decaying, at));
        turns.push(List::New, 4);
        turns.remove(900);
        turns.remove(7);
        turns.push(List::Decaying, 1);
        assert_eq!(emptied(&mut turns, List::Decaying), [3, 5, 1]);
        turns.remove(4);
        assert_eq!(turns.first(List::New), None);
    }

    #[test]
    fn an_old_queue_leaves_in_its_turn_and_a_new_one_joins_behind_all_others() {
        let (mut turns, hosts) = (Turns::new(), Hosts::new(10));
        [7, 3, 900, 5].into_iter().for_each(|at| turns.push(List::Old, at));
        turns.charge(7, 1000);
        turns.refill_old(&hosts);
        assert_eq!(turns.first(List::Old), Some(3), "the others had a quantum, and it has the first of the next round");
        turns.remove(3);
        turns.push(List::Old, 1);
        turns.push(List::Old, 3);
        assert_eq!(emptied(&mut turns, List::Old), [900, 5, 7, 1, 3]);
    }

    /// A queue keeps its deficit when it changes its list, and its host in any list.
    #[test]
    fn a_queue_has_one_deficit_and_one_host_in_whatever_list_it_is() {
        let (mut turns, mut hosts) = (Turns::new(), Hosts::new(1000));
        (0..2).for_each(|_| hosts.count(8, |count| *count += 1));
        [7, 3].into_iter().for_each(|at| turns.push(List::Old, at));
        turns.set_host(3, 8);
        turns.charge(7, 900);
        turns.charge(3, 0);
        turns.refill_old(&hosts);
        assert_eq!((turns.first(List::Old), turns.host(3), turns.host(7)), (Some(7), 8, NO_HOST));
        turns.remove(7);
        turns.charge(7, 99);
        assert!(!turns.may_send(7));
        turns.add(7, BYTE);
        assert!(turns.may_send(7) && !turns.may_send(900));
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
