//! The scoreboard: the bytes above `snd_una` that SACK blocks report (rfc6675#3).

use crate::tcp::ack_options::SackBlocks;
use crate::tcp::ranges::Ranges;
use sojourn_units::Memory;

/// The bytes above the cumulative ACK that are known to have arrived.
#[derive(Clone, Debug, Default)]
pub struct Scoreboard {
    sacked: Ranges,
    /// A byte and the number of SACKed bytes below it.
    /// It follows `HighRxt`, which advances segment by segment.
    counted_to: u64,
    counted: u64,
}

impl Scoreboard {
    /// Removes everything.
    pub fn clear(&mut self) {
        *self = Scoreboard { sacked: std::mem::take(&mut self.sacked), ..Scoreboard::default() };
        self.sacked.clear();
    }

    /// Whether nothing above the cumulative ACK is known to have arrived.
    pub fn is_empty(&self) -> bool {
        self.sacked.is_empty()
    }

    /// Adds the SACK blocks of an ACK; returns the number of newly SACKed bytes.
    /// Source: rfc6675#4 Update.
    pub fn update(&mut self, snd_una: u64, blocks: Option<&SackBlocks>) -> u64 {
        let gone = self.sacked.forget_below(snd_una);
        self.counted = if snd_una < self.counted_to { self.counted - gone } else { 0 };
        blocks.map_or(0, |blocks| blocks.iter().map(|(from, to)| self.add(from.max(snd_una), to)).sum())
    }

    /// Adds a SACK block; returns the number of new bytes.
    fn add(&mut self, from: u64, to: u64) -> u64 {
        let counted = self.sacked.insert(from, to.min(self.counted_to));
        self.counted += counted;
        counted + self.sacked.insert(from.max(self.counted_to), to)
    }

    /// The number of SACKed bytes below `point`, which mostly advances a little at each call.
    fn count_to(&mut self, point: u64) -> u64 {
        self.counted = match point.checked_sub(self.counted_to) {
            Some(_) => self.counted + self.sacked.between(self.counted_to, point),
            None => self.sacked.below(point),
        };
        self.counted_to = point;
        self.counted
    }

    /// One past the highest SACKed byte; 0 without SACKed bytes.
    pub fn end(&self) -> u64 {
        self.sacked.end()
    }

    /// Whether `seq` is SACKed.
    pub fn has(&self, seq: u64) -> bool {
        self.gap_from(seq) != seq
    }

    /// The first byte at or after `seq` that is not SACKed.
    #[inline]
    pub fn gap_from(&self, seq: u64) -> u64 {
        if self.sacked.is_empty() { seq } else { self.sacked.gap_from(seq) }
    }

    /// The first hole at or after `from`: a byte that is not SACKed, below one that is.
    pub fn hole_from(&self, from: u64) -> Option<u64> {
        let hole = self.sacked.gap_from(from);
        (hole < self.end()).then_some(hole)
    }

    /// Every unacknowledged byte below the result is lost (rfc6675#4 IsLost).
    /// Above it lie `dup_thresh` SACKed ranges, or more than `(dup_thresh - 1) * mss` SACKed bytes.
    pub fn lost_below(&self, dup_thresh: u32, mss: u32) -> u64 {
        let (mut ranges, mut bytes) = (0, 0);
        for (start, end) in self.sacked.iter().rev() {
            ranges += 1;
            bytes += end - start;
            if ranges >= dup_thresh || bytes > u64::from(dup_thresh - 1) * u64::from(mss) {
                debug_assert!(ranges <= dup_thresh.max(1), "{ranges} SACKed ranges from {start} on, DupThresh {dup_thresh}");
                return start;
            }
        }
        debug_assert!(ranges < dup_thresh, "nothing is lost below {ranges} SACKed ranges, DupThresh {dup_thresh}");
        0
    }

    /// Bytes in flight of `outstanding` (snd_una to snd_max) (rfc6675#4 SetPipe).
    /// Everything below `lost_below` is lost, and everything below `high_rxt` was retransmitted.
    pub fn pipe(&mut self, outstanding: std::ops::Range<u64>, lost_below: u64, high_rxt: u64) -> u64 {
        let (una, max) = (outstanding.start, outstanding.end);
        let (lost_below, high_rxt) = (lost_below.clamp(una, max), high_rxt.clamp(una, max));
        // Few SACKed ranges lie between `lost_below` and the end: more of them would make further bytes lost.
        let recent = (max - lost_below) - (self.sacked.below(max) - self.sacked.below(lost_below));
        let sent_again = (high_rxt - una) - (self.count_to(high_rxt) - self.sacked.below(una));
        recent + sent_again
    }

    /// Checks that SACKed bytes are outstanding.
    ///
    /// # Panics
    /// If they are not.
    pub fn check_invariants(&self, snd_una: u64, snd_max: u64) {
        self.sacked.check_invariants(snd_una, snd_max);
    }
}

impl Memory for Scoreboard {
    fn memory(&self) -> usize {
        self.sacked.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The pipe by its definition, byte by byte (rfc6675#4 SetPipe).
        /// ACKs and retransmissions alternate.
        #[test]
        fn the_pipe_is_what_counting_every_byte_gives(
            steps in prop::collection::vec((0u64..20, prop::collection::vec((0u64..200, 1u64..20), 0..3), 0u64..250, 0u64..250), 1..40),
        ) {
            let (mut board, mut sacked) = (Scoreboard::default(), std::collections::BTreeSet::new());
            let (mut una, max) = (0u64, 240u64);
            for (acked, blocks, lost_below, high_rxt) in steps {
                una += acked.min(max - una);
                let blocks: Vec<(u64, u64)> = blocks.into_iter().map(|(from, length)| (from, (from + length).min(max))).collect();
                let mut new = board.update(una, None);
                for &(from, to) in &blocks {
                    new += board.add(from.max(una), to);
                }
                let before = sacked.len();
                sacked.extend(blocks.iter().flat_map(|&(from, to)| from.max(una)..to));
                prop_assert_eq!(new, (sacked.len() - before) as u64);
                sacked = sacked.split_off(&una);
                let holes = |range: std::ops::Range<u64>| range.filter(|byte| !sacked.contains(byte)).count() as u64;
                let pipe = holes(lost_below.clamp(una, max)..max) + holes(una..high_rxt.clamp(una, max));
                prop_assert_eq!(board.pipe(una..max, lost_below, high_rxt), pipe);
            }
        }

        /// Lost bytes by their definition, byte by byte (rfc6675#4 IsLost).
        /// Short ranges and a small MSS make both conditions decide.
        #[test]
        fn the_lost_bytes_are_what_looking_above_every_byte_gives(
            blocks in prop::collection::vec((1u64..200, 1u64..12), 0..12), dup_thresh in 1u32..6, mss in 1u32..20,
        ) {
            let (mut board, mut sacked) = (Scoreboard::default(), std::collections::BTreeSet::new());
            for (from, length) in blocks {
                board.add(from, from + length);
                sacked.extend(from..from + length);
            }
            let lost_below = board.lost_below(dup_thresh, mss);
            for byte in (0..212).filter(|byte| !sacked.contains(byte)) {
                let above: Vec<u64> = sacked.range(byte..).copied().collect();
                let ranges = above.iter().filter(|&start| !sacked.contains(&(start - 1))).count();
                let is_lost = ranges >= dup_thresh as usize || above.len() > ((dup_thresh - 1) * mss) as usize;
                prop_assert_eq!(byte < lost_below, is_lost, "byte {}", byte);
            }
        }
    }
}
