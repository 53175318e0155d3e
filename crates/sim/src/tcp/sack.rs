//! The sender's scoreboard of what was selectively acknowledged (RFC 6675).

use super::ranges::Ranges;
use super::receiver::SackBlocks;
use std::collections::VecDeque;

/// What is known to have arrived beyond the cumulative ACK, and what was sent again.
#[derive(Clone, Debug, Default)]
pub struct Board {
    sacked: Ranges,
    /// Nothing below this is to be sent again in this recovery (RFC 6675: HighRxt, one past).
    pub resent: u64,
    /// Whether the last hole was sent again on suspicion in this recovery (RFC 6675: RescueRxt).
    pub rescued: bool,
    /// Segments thought to be in flight, where they are counted instead of computed (ns-2's `pipe_`).
    pub pipe: i64,
    /// Everything below counts as lost, after a timeout or by what arrived above it (`rate_halving`).
    pub lost: u64,
    /// What was sent again, with the byte after the last one sent then (`rate_halving`).
    pub again: VecDeque<(u64, u64)>,
    /// What was sent again and is lost again, rising (`rate_halving`).
    pub lost_again: Vec<u64>,
    /// Segments that may still be in flight while the window shrinks to its new size (`rate_halving`).
    pub shrinking: u64,
}

impl Board {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.sacked.clear();
        self.resent = 0;
        self.rescued = false;
        self.lost = 0;
        self.again.clear();
        self.lost_again.clear();
        self.shrinking = 0;
    }

    /// One past the highest byte known to have arrived, 0 if none beyond the cumulative ACK.
    pub fn end(&self) -> u64 {
        self.sacked.end()
    }

    /// Marks as lost again what was sent again before something that arrived; says whether there is any.
    pub fn find_lost_again(&mut self, una: u64) -> bool {
        let (end, before) = (self.sacked.end(), self.lost_again.len());
        while let Some(&(seq, then)) = self.again.front()
            && (then < end || seq < una)
        {
            self.again.pop_front();
            if seq >= una && self.gap_from(seq) == seq {
                self.lost_again.push(seq);
            }
        }
        let found = self.lost_again.len() > before;
        self.lost_again.retain(|&seq| seq >= una);
        self.lost_again.sort_unstable();
        found
    }

    /// Bytes thought to be in flight where whatever is lost again is known.
    pub fn still_in_flight(&self, una: u64, max: u64, mss: u64) -> u64 {
        self.in_flight(una, max, self.lost.max(una)).saturating_sub(self.lost_again.len() as u64 * mss)
    }

    /// Learns from an ACK; gives the bytes newly known to have arrived.
    pub fn update(&mut self, una: u64, blocks: Option<SackBlocks>) -> u64 {
        self.sacked.forget_below(una);
        blocks.map_or(0, |blocks| blocks.iter().map(|(from, to)| self.sacked.insert(from.max(una), to)).sum())
    }

    /// Whether nothing beyond the cumulative ACK is known to have arrived.
    pub fn is_empty(&self) -> bool {
        self.sacked.is_empty()
    }

    /// Where the last segment of the window before recovery begins, if nothing beyond tells of it and it was not sent
    /// again (RFC 6675 section 4, `NextSeg` rule 4; what was sent since is too young to be suspected).
    pub fn tail(&self, una: u64, recover: u64, mss: u32) -> Option<u64> {
        let seq = recover.saturating_sub(u64::from(mss)).max(self.sacked.end()).max(una);
        (seq < recover && seq >= self.resent).then_some(seq)
    }

    /// The first byte at or after `point` that is not known to have arrived.
    pub fn gap_from(&self, point: u64) -> u64 {
        self.sacked.gap_from(point)
    }

    /// The next hole to fill: not sent again yet, below something that arrived.
    pub fn next_hole(&self, una: u64) -> Option<u64> {
        let hole = self.sacked.gap_from(self.resent.max(una));
        (hole < self.sacked.end()).then_some(hole)
    }

    /// Every unacknowledged byte below this counts as lost: `threshold` ranges, or more than
    /// `(threshold - 1) mss` bytes, arrived above it (RFC 6675 section 4, `IsLost`).
    pub fn lost_below(&self, threshold: u32, mss: u32) -> u64 {
        let (mut ranges, mut bytes) = (0, 0);
        for (start, end) in self.sacked.iter().rev() {
            ranges += 1;
            bytes += end - start;
            if ranges >= threshold || bytes > u64::from(threshold - 1) * u64::from(mss) {
                return start;
            }
        }
        0
    }

    /// Bytes thought to be in flight between `una` and `max` (RFC 6675 section 4, `SetPipe`).
    pub fn in_flight(&self, una: u64, max: u64, lost_below: u64) -> u64 {
        let holes = |to: u64| {
            let to = to.clamp(una, max);
            (to - una) - (self.sacked.above(una).0 - self.sacked.above(to).0)
        };
        holes(max) - holes(lost_below) + holes(self.resent)
    }

    /// Bytes of memory beyond its own size.
    pub fn memory(&self) -> usize {
        self.sacked.memory() + size_of::<Self>()
    }
}
