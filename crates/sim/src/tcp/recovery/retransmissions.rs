//! The retransmissions of rate halving, and which of them are lost (`ns-2 scoreboard1.cc`).

use sojourn_units::Memory;
use std::collections::BTreeMap;

/// The distance in segments below the highest SACKed byte at which a segment is lost.
/// It is DupThresh 3, and one.
pub const LOST_BELOW_SEGMENTS: u64 = 4;

/// Retransmissions that are not known to have arrived.
/// The cost of an ACK grows with its new information, not with their number.
#[derive(Clone, Default, Debug)]
pub struct Retransmissions {
    /// In the order of transmission: by number.
    sent: BTreeMap<u64, Retransmission>,
    /// By sequence number: the number of each.
    numbers: BTreeMap<u64, u64>,
    /// First bytes of those whose segment had arrived before the retransmission.
    needless: Vec<u64>,
    /// The number of the last retransmission.
    last_number: u64,
    /// The number of the latest retransmission that is known to have arrived.
    arrived_number: u64,
    /// The arrivals that the last ACK revealed, by sequence number.
    /// The first entry is the state before it, from 0 on.
    arrived: Vec<Arrived>,
}

/// A retransmission.
#[derive(Clone, Copy, Debug)]
struct Retransmission {
    seq: u64,
    /// `snd_max` when it was sent.
    snd_max: u64,
}

/// From a sequence number on, the number of the latest retransmission known to have arrived.
#[derive(Clone, Copy, Debug)]
struct Arrived {
    seq: u64,
    number: u64,
}

impl Retransmissions {
    /// Removes all.
    pub fn clear(&mut self) {
        *self = Retransmissions::default();
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// Adds a retransmission of the segment at `seq`.
    /// `sacked` is whether the segment is known to have arrived.
    pub fn add(&mut self, seq: u64, snd_max: u64, sacked: bool) {
        self.last_number += 1;
        self.sent.insert(self.last_number, Retransmission { seq, snd_max });
        self.numbers.insert(seq, self.last_number);
        if sacked {
            self.needless.push(seq);
        }
    }

    /// Processes an ACK with its SACK blocks, and returns newly lost retransmissions.
    /// The result are their first bytes. The highest SACKed byte ends at `sacked_end`.
    ///
    /// A retransmission is lost if data arrived that was first sent after it, or another retransmission that was sent more than four later.
    /// As in ns-2 a single pass from below decides, so a retransmission that arrived higher up in the window counts from the next ACK on.
    pub fn on_ack(&mut self, snd_una: u64, blocks: impl Iterator<Item = (u64, u64)>, sacked_end: u64) -> Vec<u64> {
        if self.is_empty() {
            return Vec::new();
        }
        self.take_arrived(snd_una, blocks);
        let latest = self.arrived.iter().map(|arrived| arrived.number).max().unwrap_or(0);
        // `snd_max` never decreases with the number, so the search can stop early.
        let perhaps = self.sent.iter().take_while(|(number, sent)| sent.snd_max < sacked_end || *number + LOST_BELOW_SEGMENTS < latest);
        let is_lost = |number: u64, sent: &Retransmission| {
            let below = self.arrived.partition_point(|arrived| arrived.seq <= sent.seq);
            sent.snd_max < sacked_end || number + LOST_BELOW_SEGMENTS < self.arrived[below - 1].number
        };
        let lost: Vec<u64> = perhaps.filter(|&(&number, sent)| is_lost(number, sent)).map(|(_, sent)| sent.seq).collect();
        lost.iter().for_each(|&seq| self.take(seq));
        lost
    }

    /// Removes arrived retransmissions, and records the results of one pass from below.
    fn take_arrived(&mut self, snd_una: u64, blocks: impl Iterator<Item = (u64, u64)>) {
        while let Some((&seq, &number)) = self.numbers.first_key_value()
            && seq < snd_una
        {
            self.take(seq);
            self.arrived_number = self.arrived_number.max(number);
        }
        self.arrived.clear();
        self.arrived.push(Arrived { seq: 0, number: self.arrived_number });
        // Blocks of earlier ACKs were removed when those arrived.
        for (from, to) in blocks.filter(|(from, to)| from < to) {
            self.arrived.extend(self.numbers.range(from..to).map(|(&seq, &number)| Arrived { seq, number }));
        }
        let numbers = &self.numbers;
        self.arrived.extend(self.needless.drain(..).filter_map(|seq| numbers.get(&seq).map(|&number| Arrived { seq, number })));
        self.arrived[1..].sort_unstable_by_key(|arrived| arrived.seq);
        for at in 1..self.arrived.len() {
            let Arrived { seq, number } = self.arrived[at];
            self.take(seq);
            self.arrived_number = number;
        }
    }

    /// Removes the retransmission at `seq`.
    fn take(&mut self, seq: u64) {
        if let Some(number) = self.numbers.remove(&seq) {
            self.sent.remove(&number);
        }
    }
}

impl Memory for Retransmissions {
    fn memory(&self) -> usize {
        // A node of a B-tree is between half full and full.
        2 * self.sent.len() * (size_of::<(u64, Retransmission)>() + size_of::<(u64, u64)>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// The pass over all retransmissions as in ns-2.
    /// Each has its first byte, `snd_max` when it was sent, and its number.
    #[derive(Default)]
    struct Pass {
        sent: Vec<(u64, u64, u64)>,
        last_number: u64,
        arrived_number: u64,
    }

    impl Pass {
        fn add(&mut self, seq: u64, snd_max: u64) {
            self.last_number += 1;
            self.sent.push((seq, snd_max, self.last_number));
            self.sent.sort_unstable();
        }

        fn on_ack(&mut self, snd_una: u64, sacked: &BTreeSet<u64>) -> Vec<u64> {
            let (mut lost, end) = (Vec::new(), sacked.last().map_or(0, |last| last + 1));
            let arrived = &mut self.arrived_number;
            self.sent.retain(|&(seq, snd_max, number)| {
                if seq < snd_una {
                    *arrived = number.max(*arrived);
                    return false;
                }
                if sacked.contains(&seq) {
                    *arrived = number;
                    return false;
                }
                let is_lost = snd_max < end || number + LOST_BELOW_SEGMENTS < *arrived;
                if is_lost {
                    lost.push(seq);
                }
                !is_lost
            });
            lost
        }
    }

    proptest! {
        #[test]
        fn the_lost_ones_are_those_of_one_pass_over_all(
            // Retransmissions before an ACK, the advance of the ACK, its blocks, and the new data sent after it.
            steps in prop::collection::vec(
                (prop::collection::vec(0u64..120, 0..12), 0u64..4, prop::collection::vec((0u64..120, 0u64..6), 0..4), 0u64..3), 1..60),
        ) {
            let (mut all, mut pass) = (Retransmissions::default(), Pass::default());
            let (mut snd_una, mut snd_max, mut sacked) = (0, 100, BTreeSet::new());
            for (again, acked, blocks, new) in steps {
                for seq in again.into_iter().filter(|&seq| seq >= snd_una && seq < snd_max) {
                    if pass.sent.iter().all(|&(sent, ..)| sent != seq) {
                        all.add(seq, snd_max, sacked.contains(&seq));
                        pass.add(seq, snd_max);
                    }
                }
                snd_una += acked;
                snd_max = snd_max.max(snd_una) + new;
                let blocks: Vec<_> = blocks.into_iter().map(|(from, length)| (from.max(snd_una), (from + length).min(snd_max))).collect();
                sacked.extend(blocks.iter().flat_map(|&(from, to)| from..to));
                sacked = sacked.split_off(&snd_una);
                let end = sacked.last().map_or(0, |last| last + 1);
                let mut lost = all.on_ack(snd_una, blocks.into_iter(), end);
                lost.sort_unstable();
                prop_assert_eq!(lost, pass.on_ack(snd_una, &sacked));
                prop_assert_eq!((all.sent.len(), all.numbers.len()), (pass.sent.len(), pass.sent.len()));
                prop_assert_eq!(all.arrived_number, pass.arrived_number);
            }
        }
    }
}
