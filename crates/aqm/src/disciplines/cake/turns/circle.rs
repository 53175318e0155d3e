//! The old queues of a tin, which take turns in a circle.
//!
//! If a host has many flows, each has a small quantum, and nearly all of them have a turn for each packet. They stand side by side, so that
//! the processor need not know one turn to begin the next.

use alloc::vec::Vec;

/// A byte in the unit of deficits and quanta.
/// A queue's part of a host's quantum is a fraction of bytes, and the remainder counts in the next round.
pub(super) const BYTE: i64 = 1 << 16;

/// The turn of an old queue.
#[derive(Clone, Copy, Debug)]
struct Turn {
    /// What the queue may still send in this round, in parts of a [`BYTE`].
    deficit: i64,
    host: u32,
    queue: u16,
}

/// Queues in a circle.
#[derive(Clone, Default, Debug)]
pub(super) struct Circle {
    turns: Vec<Turn>,
    /// The index of the first queue; 0 if the circle is empty.
    first: usize,
}

impl Circle {
    /// The first queue.
    #[inline]
    pub fn first(&self) -> Option<u16> {
        self.turns.get(self.first).map(|turn| turn.queue)
    }

    /// The first queue and its deficit.
    #[inline]
    pub fn first_mut(&mut self) -> Option<(u16, &mut i64)> {
        self.turns.get_mut(self.first).map(|turn| (turn.queue, &mut turn.deficit))
    }

    /// All queues, in no particular order.
    pub fn queues(&self) -> impl Iterator<Item = u16> {
        self.turns.iter().map(|turn| turn.queue)
    }

    /// Changes the host of a queue, if it is here.
    pub fn set_host(&mut self, queue: u16, host: u32) {
        self.turns.iter_mut().filter(|turn| turn.queue == queue).for_each(|turn| turn.host = host);
    }

    /// Adds a queue behind all others.
    pub fn push(&mut self, queue: u16, host: u32, deficit: i64) {
        let behind_all = self.first;
        self.first += usize::from(!self.turns.is_empty());
        self.turns.insert(behind_all, Turn { deficit, host, queue });
    }

    /// Removes the first queue and returns its deficit.
    pub fn pop(&mut self) -> i64 {
        let Turn { deficit, .. } = self.turns.remove(self.first);
        if self.first == self.turns.len() {
            self.first = 0;
        }
        deficit
    }

    /// Adds a quantum to each queue in turn, until the first of them may send.
    pub fn refill(&mut self, quantum_of: impl Fn(u32) -> i64) {
        let Some(&Turn { mut host, .. }) = self.turns.get(self.first) else { return };
        let mut quantum = quantum_of(host);
        loop {
            for turn in &mut self.turns[self.first..] {
                if turn.deficit >= BYTE {
                    return;
                }
                if turn.host != host {
                    (host, quantum) = (turn.host, quantum_of(turn.host));
                }
                turn.deficit += quantum;
                self.first += 1;
            }
            self.first = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn queues_have_a_quantum_each_until_the_first_may_send(
            queues in prop::collection::vec((-20 * BYTE..BYTE, prop::sample::select(std::vec![1u32, 1, 1, 1, 1, 1, 2])), 1..60),
            rounds in 1usize..5,
        ) {
            let quantum_of = |host: u32| BYTE / (3 * i64::from(host));
            let mut circle = Circle::default();
            for (number, &(deficit, host)) in queues.iter().enumerate() {
                circle.push(number as u16, host, deficit);
            }
            let mut expected: std::collections::VecDeque<_> = queues.iter().copied().enumerate().collect();
            for _ in 0..rounds {
                circle.refill(quantum_of);
                while expected[0].1.0 < BYTE {
                    let (number, (deficit, host)) = expected.pop_front().unwrap();
                    expected.push_back((number, (deficit + quantum_of(host), host)));
                }
                prop_assert_eq!(circle.first(), Some(expected[0].0 as u16));
                *circle.first_mut().unwrap().1 -= 2 * BYTE;
                expected[0].1.0 -= 2 * BYTE;
            }
            for (number, (deficit, _)) in expected {
                prop_assert_eq!((circle.first(), circle.pop()), (Some(number as u16), deficit));
            }
            prop_assert_eq!(circle.first(), None);
        }
    }
}
