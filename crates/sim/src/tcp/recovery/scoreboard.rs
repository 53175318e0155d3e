//! The scoreboard: which bytes above `snd_una` the receiver has, by its SACK blocks (rfc6675#3).

use crate::tcp::ranges::Ranges;
use crate::tcp::receiver::SackBlocks;

/// What is known to have arrived above the cumulative ACK.
#[derive(Clone, Debug, Default)]
pub struct Scoreboard {
    sacked: Ranges,
}

impl Scoreboard {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.sacked.clear();
    }

    /// Takes the SACK blocks of an ACK; gives the bytes newly known to have arrived (rfc6675#4 Update).
    pub fn update(&mut self, snd_una: u64, blocks: Option<&SackBlocks>) -> u64 {
        self.sacked.forget_below(snd_una);
        blocks.map_or(0, |blocks| blocks.iter().map(|(from, to)| self.sacked.insert(from.max(snd_una), to)).sum())
    }

    /// One past the highest SACKed byte; 0 if there is none.
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

    /// Every unacknowledged byte below this is lost: `dup_thresh` SACKed ranges, or more than `(dup_thresh - 1) * mss` SACKed
    /// bytes, lie above it (rfc6675#4 IsLost).
    pub fn lost_below(&self, dup_thresh: u32, mss: u32) -> u64 {
        let (mut ranges, mut bytes) = (0, 0);
        for (start, end) in self.sacked.iter().rev() {
            ranges += 1;
            bytes += end - start;
            if ranges >= dup_thresh || bytes > u64::from(dup_thresh - 1) * u64::from(mss) {
                return start;
            }
        }
        0
    }

    /// Bytes in flight of `outstanding` (snd_una to snd_max), where everything below `lost_below` is lost and everything below
    /// `high_rxt` was sent again (rfc6675#4 SetPipe).
    pub fn pipe(&self, outstanding: std::ops::Range<u64>, lost_below: u64, high_rxt: u64) -> u64 {
        let (una, max) = (outstanding.start, outstanding.end);
        let holes = |to: u64| {
            let to = to.clamp(una, max);
            (to - una) - (self.sacked.above(una).0 - self.sacked.above(to).0)
        };
        holes(max) - holes(lost_below) + holes(high_rxt)
    }

    /// Bytes of memory beyond its own size.
    pub fn memory(&self) -> usize {
        self.sacked.memory()
    }
}
