//! What a receiver holds above a gap, and the SACK blocks that ACKs report of it.

use crate::tcp::ack_options::{MAX_SACK_BLOCKS, SackBlocks};
use crate::tcp::ranges::Ranges;
use sojourn_units::{Memory, memory_of};

/// The number of blocks that may change before an ACK reports them.
/// Source: Linux `TCP_SACK_BLOCKS_EXPECTED`.
const MAX_UNREPORTED_BLOCKS: usize = 2;

/// The bytes that arrived above the next byte expected.
#[derive(Clone, Default, Debug)]
pub struct Reassembly {
    ranges: Ranges,
    /// The end of the last range, if its block was reported last.
    following: Option<u64>,
    /// A byte of each block that was reported recently, the most recent first.
    recent_blocks: Vec<u64>,
    /// The blocks that were reported last.
    /// `is_valid` is whether they still hold, except for the end of the first one, which is the last range.
    last_blocks: SackBlocks,
    is_valid: bool,
    /// The ranges that had arrived when the measurement window opened.
    early: Option<Box<Ranges>>,
}

impl Reassembly {
    /// Whether nothing is held.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The measurement window opens: notes what has arrived and is not readable yet.
    #[cold]
    pub fn open_window(&mut self) {
        self.early = (!self.is_empty()).then(|| Box::new(self.ranges.clone()));
    }

    /// The early bytes below `rcv_nxt`: they arrived before the measurement window.
    /// They became readable in it.
    pub fn arrived_early(&self, rcv_nxt: u64) -> u64 {
        self.early.as_ref().map_or(0, |early| early.iter().map(|(from, to)| to.min(rcv_nxt).saturating_sub(from)).sum())
    }

    /// Adds the bytes from `seq` to `end`; returns how many are new.
    /// `reported` is whether SACK blocks report them.
    pub fn insert(&mut self, seq: u64, end: u64, reported: bool) -> u64 {
        let new = self.ranges.insert(seq, end);
        self.is_valid = false;
        if !reported {
            return new;
        }
        if !self.is_of_latest(seq) {
            self.recent_blocks.insert(0, seq);
        }
        let end = self.ranges.end();
        self.following = self.is_of_latest(end - 1).then_some(end);
        new
    }

    /// The byte after the range that [`Reassembly::follow`] can extend.
    /// `None` if there is no such range.
    #[inline]
    pub fn following(&self) -> Option<u64> {
        self.following
    }

    /// Extends that range by this many bytes.
    #[inline]
    pub fn follow(&mut self, bytes: u64) {
        if let Some(end) = &mut self.following {
            *end += bytes;
            self.last_blocks.blocks[0].1 = *end;
            self.ranges.extend(bytes);
        }
    }

    /// Whether this byte, which is held, lies in the block that was reported last.
    #[inline]
    fn is_of_latest(&self, byte: u64) -> bool {
        let latest = self.recent_blocks.first();
        latest.is_some_and(|latest| self.ranges.around(byte).is_some_and(|(start, end)| (start..end).contains(latest)))
    }

    /// Whether these bytes would push a block out of the next ACK.
    /// They belong to none of the blocks that were reported last, and as many blocks as allowed wait to be reported.
    pub fn pushes_block_out(&self, seq: u64, end: u64) -> bool {
        if self.following == Some(seq) {
            return false;
        }
        let (mut last, mut count) = ((0, 0), 0);
        for block in self.recent_blocks.iter().filter_map(|&byte| self.ranges.around(byte)) {
            if seq <= block.1 && block.0 <= end {
                return false;
            }
            // Blocks that have merged are counted once.
            count += usize::from(block != last);
            if count == MAX_UNREPORTED_BLOCKS {
                return true;
            }
            last = block;
        }
        false
    }

    /// Removes the bytes below `rcv_nxt` and those that follow it without a gap.
    /// Returns the next byte expected.
    pub fn absorb(&mut self, rcv_nxt: u64) -> u64 {
        if self.is_empty() {
            return rcv_nxt;
        }
        self.is_valid = false;
        let next = self.ranges.absorb(rcv_nxt);
        if self.is_empty() {
            self.following = None;
        }
        next
    }

    /// The SACK blocks to report, that of a duplicate first (rfc2883#4).
    /// The others follow, the most recently reported first.
    #[inline]
    pub fn sack_blocks(&mut self, duplicate: Option<(u64, u64)>) -> &SackBlocks {
        if !self.is_valid || duplicate.is_some() {
            self.last_blocks = self.find_blocks(duplicate);
            self.is_valid = duplicate.is_none() && self.following.is_some();
        }
        &self.last_blocks
    }

    #[inline(never)]
    fn find_blocks(&mut self, duplicate: Option<(u64, u64)>) -> SackBlocks {
        let mut sack = SackBlocks::default();
        let first = duplicate.map_or(0, |block| {
            sack.blocks[0] = block;
            1
        });
        let (ranges, mut count) = (&self.ranges, first);
        self.recent_blocks.retain(|&byte| {
            let Some(block) = ranges.around(byte) else { return false };
            if count == MAX_SACK_BLOCKS || sack.blocks[first..count].contains(&block) {
                return false;
            }
            sack.blocks[count] = block;
            count += 1;
            true
        });
        sack.count = count as u8;
        sack
    }

    /// Checks that all held bytes lie above a gap.
    ///
    /// # Panics
    /// If they do not.
    pub fn check_invariants(&self, rcv_nxt: u64) {
        self.ranges.check_invariants(rcv_nxt + 1, u64::MAX);
        assert!(self.following.is_none_or(|end| end == self.ranges.end()), "{:?} of {:?}", self.following, self.ranges);
    }
}

impl Memory for Reassembly {
    fn memory(&self) -> usize {
        memory_of([&self.ranges, &self.recent_blocks, &self.early])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_that_covers_what_waits_is_followed_by_what_comes_next() {
        let mut reassembly = Reassembly::default();
        [(500, 900), (1_300, 2_300)].into_iter().for_each(|(from, to)| _ = reassembly.insert(from, to, true));
        // Short segments were sent again as one, up to the start of the second range.
        assert_eq!(reassembly.absorb(1_300), 2_300);
        assert!(reassembly.is_empty());
    }
}
