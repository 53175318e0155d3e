//! Fits the calendar to the traffic.

use super::bins::{BinLayout, Bins};
use super::node::{NONE, Node};
use super::{Calendar, Pace};
use crate::packet::{InFlight, Packet};
use alloc::vec;
use alloc::vec::Vec;
use core::mem::replace;
use sojourn_units::Time;

/// The count of events from which pending events are renumbered at the next fit.
pub(super) const RENUMBER_FROM: u32 = 1 << 31;

/// The share of events from the heap above which the year becomes longer: one of this number.
/// It grows up to 2 to the power of [`MOST_REACH`] times, for packets with much longer delays than others.
pub(super) const FAR_SHARE: u32 = 32;
const MOST_REACH: u32 = 4;

/// The number of events from which later ones wait in bins, until a fourth is left.
/// The cache then has no room for them besides the flows.
const MANY: usize = 4096;

/// Log2 of the number of buckets of a bin, and the tolerance below and above.
/// A new layout of bins takes as long as thousands of events, and wide bins do no harm.
const BIN_BUCKETS: u32 = 8;
const BIN_TOLERANCE: [u32; 2] = [2, 3];

/// Widths and numbers of buckets and bins.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Layout {
    /// Log2 of a bucket's width in ns.
    shift: u32,
    buckets: usize,
    bins: BinLayout,
}

impl<P: Packet> Calendar<P> {
    /// Fits width and number of buckets and bins to the traffic up to `now`, the last event.
    /// It aims at about one event a bucket, and a year with few events beyond.
    pub fn fit(&mut self, now: Time) {
        self.check_invariants();
        let now = now.as_nanos();
        let Pace { pops, far, since } = replace(&mut self.pace, Pace { since: now, ..Pace::default() });
        let gap = (now.saturating_sub(since) / u64::from(pops.max(1))).max(1);
        if far > pops / FAR_SHARE && self.reach < MOST_REACH {
            self.reach += 1;
        }
        let layout = self.fitting(gap);
        if layout != self.layout() || self.count >= RENUMBER_FROM {
            self.rebuild(layout, now);
        }
    }

    /// Checks the invariants, in debug builds.
    /// Each bucket holds the events of its time, the marks of occupied buckets are right, and the current events are in order.
    fn check_invariants(&self) {
        if !cfg!(debug_assertions) {
            return;
        }
        let mut near = 0;
        for (slot, &head) in self.heads.iter().enumerate() {
            assert_eq!(self.occupied[slot / 64] >> (slot % 64) & 1 == 1, head != NONE, "the mark of bucket {slot}");
            let mut index = head;
            while let Some(Node { key, item }) = self.nodes.get(index as usize) {
                let bucket = key.time >> self.shift;
                assert!(bucket as usize & (self.heads.len() - 1) == slot && bucket > self.bucket, "an event in bucket {slot}: {key:?}");
                near += 1;
                index = item.next;
            }
        }
        assert_eq!(self.near, near, "events in later buckets");
        assert!(self.current.is_sorted_by(|(later, _), (earlier, _)| later > earlier), "events of the current bucket");
    }

    fn layout(&self) -> Layout {
        Layout { shift: self.shift, buckets: self.heads.len(), bins: self.bins.layout() }
    }

    /// The layout for events that are `gap` ns apart.
    /// It keeps the present values as far as they are good enough.
    fn fitting(&self, gap: u64) -> Layout {
        let Layout { shift, buckets, bins } = self.layout();
        let enough = |have: usize, wanted: usize| if wanted <= have && have <= wanted * 8 { have } else { wanted };
        let close = |have: u32, wanted: u32, [less, more]: [u32; 2]| {
            if have + less >= wanted && have <= wanted + more { have } else { wanted }
        };
        let shift = close(shift, gap.ilog2().saturating_sub(1).min(40), [1, 1]);
        let year = ((4 * self.len()) << self.reach).next_power_of_two();
        if self.len() < if self.bins.are_used() { MANY / 4 } else { MANY } {
            return Layout { shift, buckets: enough(buckets, year.clamp(1024, 1 << 20)), bins: BinLayout { shift: 0, bins: 0 } };
        }
        let wanted = shift + BIN_BUCKETS;
        // A bin with few events leaves most of its block empty.
        let most = (self.len() / 64).next_power_of_two();
        let bins = BinLayout {
            shift: if self.bins.are_used() { close(bins.shift, wanted, BIN_TOLERANCE) } else { wanted },
            bins: enough(bins.bins, (year >> BIN_BUCKETS).clamp(16, most.clamp(16, 1 << 16))),
        };
        // Room for the open bins: the current one, one that begins before the end of the present buckets, and one more.
        Layout { shift, buckets: 4 << (bins.shift - shift), bins }
    }

    fn rebuild(&mut self, layout: Layout, now: u64) {
        let near = self.take_near();
        if self.count >= RENUMBER_FROM || !self.bins.grow(layout.bins) {
            return self.rebuild_all(layout, now, near);
        }
        self.lay_out(layout, now);
        for index in near {
            self.put(self.nodes[index as usize].key, index);
        }
    }

    /// Rebuilds with other bins or renumbered events; those in buckets are `near`.
    fn rebuild_all(&mut self, layout: Layout, now: u64, near: Vec<u32>) {
        let nodes = &mut self.nodes;
        let out = |index: u32| {
            let Node { key, item } = &mut nodes[index as usize];
            Node { key: *key, item: InFlight { packet: item.packet.take(), hop: item.hop, next: NONE } }
        };
        let mut all: Vec<Node<P>> = near.into_iter().chain(self.bins.waiting()).map(out).chain(self.far.take_all()).collect();
        if self.count >= RENUMBER_FROM {
            self.renumber(&mut all);
        }
        self.bins = Bins::new(layout.bins, now);
        self.free = NONE;
        // Without bins, their memory is released.
        if self.bins.are_used() {
            self.nodes.clear()
        } else {
            self.nodes = Vec::with_capacity(all.len())
        }
        self.lay_out(layout, now);
        self.plan_far();
        for Node { key, mut item } in all {
            self.add(key, item.hop, &mut item.packet);
        }
    }

    /// Makes empty buckets.
    fn lay_out(&mut self, layout: Layout, now: u64) {
        let Layout { shift, buckets, bins } = layout;
        self.heads = vec![NONE; buckets];
        self.occupied = vec![0; buckets / 64];
        self.shift = shift;
        self.ahead = if bins.bins > 0 { 0 } else { buckets as u64 - 1 };
        // A peek at the next event may have opened later bins.
        self.bucket = now.max(self.bins.begin()) >> shift;
    }

    /// Renumbers the pending events in their order, before the count exceeds its 32 bits.
    fn renumber(&mut self, all: &mut [Node<P>]) {
        all.sort_unstable_by_key(|node| node.key);
        self.count = 0;
        for Node { key, .. } in all {
            self.count += 1;
            key.order = (key.order & !u64::from(u32::MAX)) | u64::from(self.count);
        }
    }

    /// Takes all nodes out of the buckets.
    fn take_near(&mut self) -> Vec<u32> {
        let near = self.in_buckets().collect();
        self.current.clear();
        self.rest.clear();
        self.near = 0;
        near
    }
}
