//! Moves the events of bins into the buckets of the calendar.

use super::Calendar;
use crate::packet::Packet;
use crate::prefetch::prefetch;

impl<P: Packet> Calendar<P> {
    /// Opens bins until a bucket has an event; returns that bucket.
    /// `None` if no event is left. All buckets are empty before.
    pub(super) fn open_bins(&mut self) -> Option<u64> {
        while self.near == 0 {
            let begin = self.bins.go_to_next(self.far.peek().map(|key| key.time))?;
            // All earlier bins are finished.
            self.bucket = self.bucket.max((begin >> self.shift) - 1);
            while self.far.peek().is_some_and(|key| self.bins.reach(key.time)) {
                self.take_far();
            }
            self.open_bin();
        }
        self.next_bucket()
    }

    /// Puts the events of the next bin into their buckets.
    fn open_bin(&mut self) {
        let mut block = self.bins.open();
        while let Some(places) = block {
            block = self.bins.open_before(&places);
            let next = block.as_ref().map(|places| *places.start());
            for (offset, index) in (0..).zip(places) {
                // Consecutive blocks are not adjacent in memory, so the processor does not read ahead by itself.
                if let Some(next) = next {
                    prefetch(&self.nodes, (next + offset) as usize);
                }
                let bucket = self.nodes[index as usize].key.time >> self.shift;
                self.nodes[index as usize].item.next = self.file(bucket, index);
            }
        }
    }
}
