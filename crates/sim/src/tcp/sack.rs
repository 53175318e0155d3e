//! The sender's scoreboard of what was selectively acknowledged (RFC 6675).

use super::ranges::Ranges;
use super::receiver::SackBlocks;

/// Segments below the highest that arrived before one counts as lost (`rate_halving`): a threshold of 3, and one.
pub const BELOW: u64 = 4;

/// A segment that was sent again.
#[derive(Clone, Debug)]
struct Again {
    seq: u64,
    /// One past the highest byte sent then.
    max: u64,
    number: u64,
}

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
    /// What was sent again and is not known to have arrived, by place (`rate_halving`).
    again: Vec<Again>,
    /// How many were sent again, and the number of the one that was last found to have arrived (`rate_halving`).
    count: u64,
    arrived: u64,
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
        self.lose_all(0);
    }

    /// After a timeout: whatever is not known to have arrived below this is lost, sent again or not.
    pub fn lose_all(&mut self, end: u64) {
        self.resent = 0;
        self.lost = end;
        self.again.clear();
        (self.count, self.arrived) = (0, 0);
        self.lost_again.clear();
        self.shrinking = 0;
    }

    /// The segment at `seq` is sent again, when nothing from `max` on has been sent.
    pub fn send_again(&mut self, seq: u64, max: u64) {
        self.count += 1;
        let place = self.again.partition_point(|again| again.seq < seq);
        self.again.insert(place, Again { seq, max, number: self.count });
    }

    /// One past the highest byte known to have arrived, 0 if none beyond the cumulative ACK.
    pub fn end(&self) -> u64 {
        self.sacked.end()
    }

    /// Marks as lost again what was sent again before new data that arrived, or five or more before another that was sent
    /// again and arrived; says whether there is any. As in ns-2's scoreboard one pass from below does it, so that what lies
    /// above in the window tells only at the next ACK.
    pub fn find_lost_again(&mut self, una: u64) -> bool {
        self.lost_again.retain(|&seq| seq >= una);
        if self.again.is_empty() {
            return false;
        }
        let sacked = &self.sacked;
        let outstanding = |seq| seq >= una && sacked.gap_from(seq) == seq;
        let (end, arrived, before) = (sacked.end(), &mut self.arrived, self.lost_again.len());
        let lost_again = &mut self.lost_again;
        self.again.retain(|again| {
            if !outstanding(again.seq) {
                *arrived = if again.seq < una { again.number.max(*arrived) } else { again.number };
                return false;
            }
            let lost = again.max < end || again.number + BELOW < *arrived;
            if lost {
                lost_again.push(again.seq);
            }
            !lost
        });
        self.lost_again.sort_unstable();
        self.lost_again.len() > before
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
