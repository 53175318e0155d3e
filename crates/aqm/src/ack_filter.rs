//! The ACK filter of a queue drops ACKs that a newer ACK makes redundant.
//! Source: Linux `sch_cake.c` `cake_ack_filter`.
//!
//! An ACK is redundant if a newer ACK of its connection acknowledges at least as much, has all its SACK blocks, and more of one or the
//! other. The sender therefore loses no information. Duplicate ACKs, which senders count, stay. An ACK whose ECN echo differs from that of
//! its neighbor stays too. One difference: Linux compares neighbors within the queue of a flow. This filter compares the ACKs of one flow
//! within any queue.

use crate::{Ecn, Timestamps};
use sojourn_units::comes_before;

/// Queued ACKs that a newer ACK replaces.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum AckFilter {
    /// No ACK is dropped.
    #[default]
    None,
    /// Drops the first of two redundant ACKs and keeps the other (`ack-filter` of tc-cake).
    Filter,
    /// Also drops a single redundant ACK directly before the new one (`ack-filter-aggressive`).
    Aggressive,
}

/// The header fields of an ACK that the filter compares.
#[derive(Clone, Copy, Debug)]
pub struct AckHeader {
    /// Distinguishes its connection from others of the same flow.
    pub connection: u64,
    /// The acknowledgment number, modulo 2^32 as on the wire.
    pub number: u32,
    /// Whether it is a pure ACK: it has no payload and neither SYN nor FIN.
    pub is_pure: bool,
    /// Its ECN echo: ECE and CWR, or the ACE field.
    pub echo: u16,
    /// Its time stamps, if it carries them.
    pub timestamps: Option<Timestamps>,
    /// Its SACK blocks, each as its first byte and the byte after its last.
    pub sack: [(u32, u32); 4],
    /// The number of SACK blocks.
    pub blocks: usize,
}

/// An ACK that arrives at a queue with a filter.
#[derive(Clone, Copy, Debug)]
pub struct ArrivingAck {
    /// The flow it belongs to.
    pub flow: u32,
    /// Its position on its route, from which classifiers derive its class.
    pub place: u32,
    /// Its ECN field.
    pub ecn: Ecn,
    /// The header fields that the filter compares.
    pub header: AckHeader,
}

impl AckHeader {
    fn sack(&self) -> &[(u32, u32)] {
        &self.sack[..self.blocks.min(self.sack.len())]
    }

    /// Whether this ACK has all SACK blocks of an `older` one; `Some(true)` if it has more bytes.
    fn covers(&self, older: &AckHeader) -> Option<bool> {
        let covered = |&(from, to): &(u32, u32)| {
            let has = |block: &(u32, u32)| !comes_before(from, block.0) && !comes_before(block.1, to);
            // A block below the number reports a duplicate (rfc2883#4), so no newer block replaces it.
            !comes_before(from, older.number) && self.sack().iter().any(has)
        };
        let bytes = |ack: &AckHeader| ack.sack().iter().map(|block| u64::from(block.1.wrapping_sub(block.0))).sum::<u64>();
        older.sack().iter().all(covered).then(|| bytes(self) > bytes(older))
    }

    /// Whether this ACK makes an `older` one redundant, whatever their ECN echoes.
    fn replaces(&self, older: &AckHeader) -> bool {
        let not_later = match (older.timestamps, self.timestamps) {
            (Some(old), Some(new)) => old.value <= new.value && old.echo <= new.echo,
            (old, _) => old.is_none(),
        };
        let more = comes_before(older.number, self.number);
        older.is_pure && not_later && (more || older.number == self.number) && self.covers(older).is_some_and(|sack| sack || more)
    }
}

impl AckFilter {
    /// Its name in scenario files.
    pub fn name(self) -> &'static str {
        match self {
            AckFilter::None => "none",
            AckFilter::Filter => "filter",
            AckFilter::Aggressive => "aggressive",
        }
    }

    /// The index of a waiting packet that `newer` makes redundant, if one can be dropped.
    /// `waiting` are the packets of its flow with their indices, oldest first; packets that are no pure ACKs have no header.
    pub(crate) fn redundant(self, waiting: impl Iterator<Item = (usize, Option<AckHeader>)>, newer: &AckHeader) -> Option<usize> {
        let (mut first, mut found, mut last): (Option<(usize, u16)>, u32, Option<usize>) = (None, 0, None);
        for (at, header) in waiting {
            last = Some(at);
            let Some(older) = header.filter(|older| older.connection == newer.connection) else { continue };
            if first.is_some_and(|(_, echo)| echo != older.echo) {
                (first, found) = (None, found - 1);
            }
            if !newer.replaces(&older) {
                continue;
            }
            first.get_or_insert((at, older.echo));
            found += 1;
            if found > 1 {
                break;
            }
        }
        let (at, echo) = first?;
        let only = self == AckFilter::Aggressive && last == Some(at) && echo == newer.echo;
        (self != AckFilter::None && (found > 1 || only)).then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    const ACK: AckHeader = AckHeader { connection: 1, number: 0, is_pure: true, echo: 0, timestamps: None, sack: [(0, 0); 4], blocks: 0 };

    fn ack(number: u32) -> AckHeader {
        AckHeader { number, ..ACK }
    }

    fn sack(number: u32, blocks: &[(u32, u32)]) -> AckHeader {
        let mut ack = AckHeader { blocks: blocks.len(), ..ack(number) };
        ack.sack[..blocks.len()].copy_from_slice(blocks);
        ack
    }

    /// The indices of the ACKs that each of the two filters drops.
    fn dropped(waiting: &[AckHeader], newer: AckHeader) -> [Option<usize>; 2] {
        let waiting: Vec<_> = waiting.iter().copied().map(Some).enumerate().collect();
        [AckFilter::Filter, AckFilter::Aggressive].map(|filter| filter.redundant(waiting.iter().copied(), &newer))
    }

    #[test]
    fn an_ack_whose_blocks_are_not_all_within_those_of_a_newer_one_stays() {
        let older = sack(1, &[(10, 20)]);
        for (blocks, redundant) in [([(10, 20)], true), ([(5, 25)], true), ([(11, 25)], false), ([(5, 19)], false), ([(30, 40)], false)] {
            assert_eq!(dropped(&[older], sack(2, &blocks))[1].is_some(), redundant, "{blocks:?}");
        }
    }

    #[test]
    fn a_newer_ack_makes_the_first_of_two_useless_and_aggressively_the_only_one() {
        assert_eq!(dropped(&[ack(1), ack(2)], ack(3)), [Some(0), Some(0)]);
        assert_eq!(dropped(&[ack(1)], ack(3)), [None, Some(0)]);
        assert_eq!(dropped(&[], ack(3)), [None, None]);
        // Sequence numbers wrap around.
        assert_eq!(dropped(&[ack(u32::MAX - 1), ack(u32::MAX)], ack(5)), [Some(0), Some(0)]);
        assert_eq!(dropped(&[ack(5), ack(6)], ack(u32::MAX)), [None, None]);
        assert_eq!(AckFilter::None.redundant([(0, Some(ack(1))), (1, Some(ack(2)))].into_iter(), &ack(3)), None);
    }

    #[test]
    fn duplicate_acks_and_those_of_other_connections_stay() {
        assert_eq!(dropped(&[ack(3), ack(3), ack(3)], ack(3)), [None, None]);
        let other = AckHeader { connection: 2, ..ACK };
        assert_eq!(dropped(&[other, other], ack(3)), [None, None]);
        let fin = AckHeader { is_pure: false, ..ACK };
        assert_eq!(dropped(&[fin, fin], ack(3)), [None, None]);
    }

    #[test]
    fn sack_blocks_that_the_newer_ack_lacks_keep_an_ack() {
        let (one, both) = (sack(1, &[(5, 6)]), sack(1, &[(7, 8), (5, 6)]));
        assert_eq!(dropped(&[one, one], both), [Some(0), Some(0)]);
        assert_eq!(dropped(&[both, both], one), [None, None]);
        assert_eq!(dropped(&[both, both], ack(2)), [None, None]);
        // With a higher number the same blocks replace the older ACKs; with the same number it is a duplicate ACK.
        assert_eq!(dropped(&[one, one], sack(2, &[(5, 6)])), [Some(0), Some(0)]);
        assert_eq!(dropped(&[one, one], one), [None, None]);
        // A duplicate segment is reported only once (D-SACK), so its report must not be dropped.
        let duplicate = sack(4, &[(2, 3)]);
        assert_eq!(dropped(&[duplicate, duplicate], sack(5, &[(2, 3), (7, 9)])), [None, None]);
    }

    #[test]
    fn an_ecn_echo_that_begins_or_ends_is_kept() {
        let echo = |number| AckHeader { echo: 1, ..ack(number) };
        assert_eq!(dropped(&[ack(1), echo(2)], ack(3)), [None, None]);
        assert_eq!(dropped(&[echo(1), echo(2)], ack(3)), [Some(0), Some(0)]);
        assert_eq!(dropped(&[echo(1)], ack(3)), [None, None]);
        assert_eq!(dropped(&[ack(1), echo(2), echo(3), echo(4)], ack(5)), [Some(1), Some(1)]);
    }

    #[test]
    fn a_later_time_stamp_keeps_an_ack_and_so_does_a_packet_between_in_aggressive_mode() {
        let at = |number, value| AckHeader { timestamps: Some(Timestamps { value, echo: 0 }), ..ack(number) };
        assert_eq!(dropped(&[at(1, 9), at(2, 9)], at(3, 8)), [None, None]);
        assert_eq!(dropped(&[at(1, 9), at(2, 9)], at(3, 9)), [Some(0), Some(0)]);
        let between = [(0, Some(ack(1))), (1, None)];
        assert_eq!(AckFilter::Aggressive.redundant(between.into_iter(), &ack(2)), None);
    }
}
