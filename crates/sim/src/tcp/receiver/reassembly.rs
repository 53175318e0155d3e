//! What a receiver holds above a gap, and the blocks of it that ACKs report.

use crate::tcp::ack_options::{MAX_SACK_BLOCKS, SackBlocks};
use crate::tcp::ranges::Ranges;
use sojourn_units::{Memory, memory_of};

/// So many blocks may change before an ACK tells of them (Linux `TCP_SACK_BLOCKS_EXPECTED`).
const UNTOLD_BLOCKS: usize = 2;

/// What arrived above the next byte expected.
#[derive(Clone, Default, Debug)]
pub struct Reassembly {
    ranges: Ranges,
    /// Where the last range ends, if its block was reported last.
    following: Option<u64>,
    /// A byte of each block that was reported lately, the most recent first.
    recent_blocks: Vec<u64>,
    /// The blocks that were reported last, and whether they are still those of what waits but for where the last range ends, the first.
    told: SackBlocks,
    is_told: bool,
    /// What had arrived when the window of statistics opened.
    early: Option<Box<Ranges>>,
}

impl Reassembly {
    /// Whether nothing waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The window of statistics opens: remembers what has arrived and can't be read yet.
    #[cold]
    pub fn open_window(&mut self) {
        self.early = (!self.is_empty()).then(|| Box::new(self.ranges.clone()));
    }

    /// Bytes below `rcv_nxt` that had arrived before the window of statistics and became readable in it.
    pub fn arrived_early(&self, rcv_nxt: u64) -> u64 {
        self.early.as_ref().map_or(0, |early| early.iter().map(|(from, to)| to.min(rcv_nxt).saturating_sub(from)).sum())
    }

    /// Adds the bytes from `seq` to `end`, `reported` by SACK blocks or not; gives how many are new.
    pub fn insert(&mut self, seq: u64, end: u64, reported: bool) -> u64 {
        let new = self.ranges.insert(seq, end);
        self.is_told = false;
        if !reported {
            return new;
        }
        if !self.is_of_latest(seq) {
            self.recent_blocks.insert(0, seq);
        }
        let end = self.ranges.end();
        self.following = (end > 0 && self.is_of_latest(end - 1)).then_some(end);
        new
    }

    /// The byte that follows what [`Reassembly::follow`] can add to; `None` if there is nothing.
    #[inline]
    pub fn following(&self) -> Option<u64> {
        self.following
    }

    /// Adds the next bytes from there on.
    #[inline]
    pub fn follow(&mut self, bytes: u64) {
        if let Some(end) = &mut self.following {
            *end += bytes;
            self.told.blocks[0].1 = *end;
            self.ranges.extend(bytes);
        }
    }

    /// Whether this byte, which waits, lies in the block that was reported last.
    #[inline]
    fn is_of_latest(&self, byte: u64) -> bool {
        let latest = self.recent_blocks.first();
        latest.is_some_and(|latest| self.ranges.around(byte).is_some_and(|(start, end)| (start..end).contains(latest)))
    }

    /// Whether these bytes belong to none of the blocks that were reported last, and there are as many as may wait to be told of.
    pub fn pushes_block_out(&self, seq: u64, end: u64) -> bool {
        if self.following == Some(seq) {
            return false;
        }
        let (mut last, mut count) = ((0, 0), 0);
        for block in self.recent_blocks.iter().filter_map(|&byte| self.ranges.around(byte)) {
            if seq <= block.1 && block.0 <= end {
                return false;
            }
            // Blocks that have become one are counted once.
            count += usize::from(block != last);
            if count == UNTOLD_BLOCKS {
                return true;
            }
            last = block;
        }
        false
    }

    /// Takes out what lies below `rcv_nxt` or follows it without a gap; gives the next byte expected then.
    pub fn absorb(&mut self, rcv_nxt: u64) -> u64 {
        if self.is_empty() {
            return rcv_nxt;
        }
        self.is_told = false;
        let next = self.ranges.absorb(rcv_nxt);
        if self.is_empty() {
            self.following = None;
        }
        next
    }

    /// The blocks of what waits, the most recently reported first, after that of a duplicate (rfc2883#4).
    #[inline]
    pub fn sack_blocks(&mut self, duplicate: Option<(u64, u64)>) -> &SackBlocks {
        if !self.is_told || duplicate.is_some() {
            self.told = self.find_blocks(duplicate);
            self.is_told = duplicate.is_none() && self.following.is_some();
        }
        &self.told
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

    /// Checks that what waits lies above a gap.
    ///
    /// # Panics
    /// It does not.
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
        // Short segments were sent again as one, up to where the second range begins.
        assert_eq!(reassembly.absorb(1_300), 2_300);
        assert!(reassembly.is_empty());
    }
}
