//! How the calendar fits itself to the traffic.

use super::bins::BinLayout;
use super::{Calendar, NONE, Pace};
use crate::packet::Packet;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::mem::replace;
use sojourn_units::Time;

/// The count of events from which on the events that are to come are counted anew at the next fit.
pub(super) const RENUMBER_FROM: u32 = 1 << 31;

/// Where more events than one of so many came from the heap, the year becomes longer, up to 2 to the power of [`MOST_REACH`] times:
/// some packets have much longer ways than others.
pub(super) const FAR_SHARE: u32 = 32;
const MOST_REACH: u32 = 4;

/// From so many events on the later ones wait in bins, until there are but a fourth: the cache has no room for them beside the flows.
const MANY: usize = 4096;

/// Log2 of the number of buckets of a bin, and by how much that may differ.
const BIN_BUCKETS: u32 = 10;
const BIN_TOLERANCE: u32 = 2;

/// Widths and numbers of buckets and bins.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Layout {
    /// Log2 of a bucket's width in ns.
    shift: u32,
    buckets: usize,
    bins: BinLayout,
}

impl<P: Packet> Calendar<P> {
    /// Fits the width and the number of buckets and bins to the traffic up to `now`, when the last event was due: about one event a
    /// bucket, and a year that few events lie beyond.
    pub fn fit(&mut self, now: Time) {
        let now = now.as_nanos();
        let Pace { pops, far, since } = replace(&mut self.pace, Pace { since: now, ..Pace::default() });
        let gap = (now.saturating_sub(since) / u64::from(pops.max(1))).max(1);
        if far > pops / FAR_SHARE && self.reach < MOST_REACH {
            self.reach += 1;
        }
        if self.count >= RENUMBER_FROM {
            self.renumber(now);
        }
        let layout = self.fitting(gap);
        if layout != self.layout() {
            self.rebuild(layout, now);
        }
    }

    fn layout(&self) -> Layout {
        Layout { shift: self.shift, buckets: self.heads.len(), bins: self.bins.layout() }
    }

    /// The layout that fits to events that come `gap` ns one after the other; the one that there is as far as it will do.
    fn fitting(&self, gap: u64) -> Layout {
        let Layout { shift, buckets, bins } = self.layout();
        let enough = |have: usize, wanted: usize| if wanted <= have && have <= wanted * 8 { have } else { wanted };
        let close = |have: u32, wanted: u32, tolerance: u32| if have.abs_diff(wanted) <= tolerance { have } else { wanted };
        let shift = close(shift, gap.ilog2().saturating_sub(1).min(40), 1);
        let year = ((4 * self.len()) << self.reach).next_power_of_two();
        if self.len() < if self.bins.are_used() { MANY / 4 } else { MANY } {
            return Layout { shift, buckets: enough(buckets, year.clamp(1024, 1 << 20)), bins: BinLayout { shift: 0, bins: 0 } };
        }
        let wanted = shift + BIN_BUCKETS;
        let bins = BinLayout {
            shift: if self.bins.are_used() { close(bins.shift, wanted, BIN_TOLERANCE) } else { wanted },
            bins: enough(bins.bins, (year >> BIN_BUCKETS).clamp(16, 1 << 16)),
        };
        // Room for the bins that are open: the current one, one that begins before the buckets at hand end, and one more.
        Layout { shift, buckets: 4 << (bins.shift - shift), bins }
    }

    fn rebuild(&mut self, layout: Layout, now: u64) {
        let all = self.take_all();
        let Layout { shift, buckets, bins } = layout;
        self.heads = vec![NONE; buckets];
        self.occupied = vec![0; buckets / 64];
        self.shift = shift;
        self.ahead = if bins.bins > 0 { 1 << (bins.shift - shift) } else { buckets as u64 - 1 };
        self.bucket = now >> shift;
        self.make_bins(bins, now);
        all.into_iter().for_each(|index| self.add_again(index));
    }

    /// Counts the events that are to come anew, in their order, before the count reaches the end of its 32 bits.
    fn renumber(&mut self, now: u64) {
        // Without bins all are in one array.
        self.rebuild(Layout { bins: BinLayout { shift: 0, bins: 0 }, ..self.layout() }, now);
        let mut all = self.take_all();
        all.sort_unstable_by_key(|&index| self.nodes[index as usize].key);
        self.count = 0;
        for &index in &all {
            self.count += 1;
            let key = &mut self.nodes[index as usize].key;
            key.order = (key.order & !u64::from(u32::MAX)) | u64::from(self.count);
        }
        all.into_iter().for_each(|index| self.add_again(index));
    }

    /// Empties all buckets and heaps; gives the events that were in them.
    fn take_all(&mut self) -> Vec<u32> {
        let mut all: Vec<u32> = self.current.drain(..).map(|(_, index)| index).collect();
        all.extend(self.rest.drain().map(|Reverse((_, index))| index));
        all.extend(self.far.drain().map(|Reverse((_, index))| index));
        for head in &mut self.heads {
            let mut index = replace(head, NONE);
            while index != NONE {
                all.push(index);
                index = self.nodes[index as usize].item.next;
            }
        }
        self.occupied.fill(0);
        (self.near, self.far_from) = (0, u64::MAX);
        all
    }
}
