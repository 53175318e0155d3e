//! The ends of an application's writes.
//! The last segment of a write carries PSH, which receivers acknowledge at once.

use sojourn_units::Memory;
use std::collections::VecDeque;
use std::ops::Range;

/// The application's writes (Linux `tcp_sendmsg_locked`, `sk_stream_write_space`).
#[derive(Clone, Default, Debug)]
pub struct Writes {
    /// One past the last byte written.
    written: u64,
    /// The last queried byte, and the first end of a write above it.
    /// Most queries lie between the two.
    looked_at: u64,
    next: u64,
    /// The ends of writes that are not acknowledged yet.
    ends: VecDeque<u64>,
}

impl Writes {
    /// Records that the application has written everything up to `end`.
    #[inline]
    pub fn note(&mut self, end: u64) {
        if end > self.written {
            self.add(end);
        }
    }

    fn add(&mut self, end: u64) {
        self.written = end;
        self.ends.push_back(end);
        self.next = self.next.min(end);
    }

    /// An endless application writes whole segments until `most` bytes wait unsent.
    /// It does so if less than half of that waits; 0 disables it.
    #[inline]
    pub fn fill(&mut self, snd_max: u64, most: u32, mss: u32) {
        let (most, mss) = (u64::from(most), u64::from(mss));
        self.written = self.written.max(snd_max);
        let unsent = self.written - snd_max;
        if 2 * unsent < most {
            self.add(self.written + (most - unsent).div_ceil(mss) * mss);
        }
    }

    /// Whether a write ends at the end of this segment.
    /// If it ends within the segment, another write followed before the segment left, and Linux does not mark the end.
    #[inline]
    pub fn end_with(&mut self, bytes: &Range<u64>) -> bool {
        let none = bytes.start >= self.looked_at && bytes.end < self.next;
        !none && self.look_for_end(bytes)
    }

    #[inline(never)]
    fn look_for_end(&mut self, bytes: &Range<u64>) -> bool {
        // Most segments are new, so that few writes end above them.
        let above = |from: u64| self.ends.iter().rev().copied().take_while(move |&end| end > from);
        let next = above(bytes.end).last().unwrap_or(u64::MAX);
        let ends = above(bytes.start).any(|end| end == bytes.end);
        (self.looked_at, self.next) = (bytes.end, next);
        ends
    }

    /// Discards the ends below this acknowledged byte.
    #[inline]
    pub fn forget_below(&mut self, snd_una: u64) {
        while self.ends.front().is_some_and(|&end| end <= snd_una) {
            self.ends.pop_front();
        }
    }
}

impl Memory for Writes {
    fn memory(&self) -> usize {
        self.ends.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn new_segments_and_older_ones_are_said_to_end_a_write_where_one_ends(asked in prop::collection::vec((0..60u64, 1..4u64), 1..80)) {
            let (mut writes, mut snd_max) = (Writes::default(), 0);
            for (back, length) in asked {
                writes.fill(snd_max, 8_000, 1_000);
                // Every other segment is sent again.
                let start = if back % 2 == 0 { snd_max } else { snd_max.saturating_sub(back * 1_000) };
                let bytes = start..start + length * 1_000;
                let ends = writes.ends.contains(&bytes.end);
                prop_assert_eq!(writes.end_with(&bytes), ends);
                snd_max = snd_max.max(bytes.end);
            }
        }
    }

    #[test]
    fn it_writes_again_when_half_is_sent_and_as_much_as_there_is_room_for() {
        let mut writes = Writes::default();
        writes.fill(10_000, 8_000, 1_000);
        assert_eq!(writes.written, 18_000);
        writes.fill(14_000, 8_000, 1_000);
        assert_eq!(writes.written, 18_000, "half of it waits");
        writes.fill(15_000, 8_000, 1_000);
        assert_eq!((writes.written, writes.ends.len()), (23_000, 2));
        let ends: Vec<u64> = (15..24).map(|number| number * 1_000).filter(|&from| writes.end_with(&(from..from + 1_000))).collect();
        assert_eq!(ends, [17_000, 22_000]);
        assert!(!writes.end_with(&(16_000..19_000)) && writes.end_with(&(16_000..18_000)));
        writes.forget_below(18_000);
        assert_eq!(writes.ends, [23_000]);
    }

    #[test]
    fn what_is_written_ends_a_write_where_its_last_segment_does() {
        let mut writes = Writes::default();
        [1_000, 2_500, 3_000].into_iter().for_each(|end| writes.note(end));
        assert_eq!([0..1_000, 1_000..2_000, 2_000..3_000].map(|bytes| writes.end_with(&bytes)), [true, false, true]);
    }

    #[test]
    fn without_a_size_no_write_ends() {
        let mut writes = Writes::default();
        (0..100).for_each(|sent| writes.fill(sent * 1_000, 0, 1_000));
        assert!(writes.ends.is_empty());
    }
}
