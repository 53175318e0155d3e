//! The counters of one queue.

use sojourn_units::{Probability, Time};

/// The reason of a drop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DropReason {
    /// The algorithm signaled congestion, and the packet could not be marked.
    Early,
    /// The algorithm asked for a drop even of packets that can be marked.
    Forced,
    /// The queue was full.
    Tail,
    /// A newer ACK made it redundant ([`AckFilter`](crate::AckFilter)).
    AckFilter,
}

/// The fate of a packet at a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Passed without a mark from this queue.
    Passed,
    /// It got a congestion mark.
    Marked,
    /// It was dropped.
    Dropped(DropReason),
}

/// Counters of the packets of one queue since the start.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// Packets offered.
    pub arrived: u64,
    /// Bytes offered.
    pub arrived_bytes: u64,
    /// Packets marked with CE.
    pub marked: u64,
    /// Packets dropped for [`DropReason::Early`].
    pub dropped_early: u64,
    /// Packets dropped for [`DropReason::Forced`].
    pub dropped_forced: u64,
    /// Packets dropped for [`DropReason::Tail`].
    pub dropped_tail: u64,
    /// Packets dropped for [`DropReason::AckFilter`].
    pub dropped_acks: u64,
    /// Bytes dropped for any reason.
    pub dropped_bytes: u64,
}

impl Counters {
    /// Packets dropped for any reason.
    pub fn dropped(&self) -> u64 {
        self.dropped_early + self.dropped_forced + self.dropped_tail + self.dropped_acks
    }

    /// The sum of these and other counters.
    #[must_use]
    pub fn and(self, other: &Counters) -> Counters {
        Counters {
            arrived: self.arrived + other.arrived,
            arrived_bytes: self.arrived_bytes + other.arrived_bytes,
            marked: self.marked + other.marked,
            dropped_early: self.dropped_early + other.dropped_early,
            dropped_forced: self.dropped_forced + other.dropped_forced,
            dropped_tail: self.dropped_tail + other.dropped_tail,
            dropped_acks: self.dropped_acks + other.dropped_acks,
            dropped_bytes: self.dropped_bytes + other.dropped_bytes,
        }
    }

    /// Counts an offered packet of `size` bytes.
    #[inline]
    pub fn count_arrival(&mut self, size: u32) {
        self.arrived += 1;
        self.arrived_bytes += u64::from(size);
    }

    /// Counts the fate of a packet of `size` bytes.
    #[inline]
    pub(crate) fn count(&mut self, size: u32, fate: Fate) {
        match fate {
            Fate::Passed => {}
            Fate::Marked => self.marked += 1,
            Fate::Dropped(reason) => self.count_drop(size, reason),
        }
    }

    /// Counts a dropped packet of `size` bytes.
    #[cold]
    #[inline(never)]
    pub(crate) fn count_drop(&mut self, size: u32, reason: DropReason) {
        self.dropped_bytes += u64::from(size);
        match reason {
            DropReason::Early => self.dropped_early += 1,
            DropReason::Forced => self.dropped_forced += 1,
            DropReason::Tail => self.dropped_tail += 1,
            DropReason::AckFilter => self.dropped_acks += 1,
        }
    }
}

/// One of the queues that make up a queue, at one instant.
#[derive(Clone, Copy, Default, Debug)]
pub struct Subqueue {
    /// The counters since the start.
    pub counters: Counters,
    /// Drops of packets that had waited since before a set time.
    /// [`Qdisc::count_drops_of_earlier`](crate::Qdisc::count_drops_of_earlier) sets it.
    pub drops_of_earlier: u64,
    /// Packets waiting.
    pub packets: u32,
    /// Bytes waiting.
    pub bytes: u64,
    /// Whether it has an ACK filter.
    pub filters_acks: bool,
}

/// The backlog of one of the queues that make up a queue, for traces.
#[derive(Clone, Copy, Debug)]
pub struct SubqueueSample {
    /// Packets waiting.
    pub packets: u32,
    /// Bytes waiting.
    pub bytes: u64,
    /// The arrival time of the packet that has waited longest; `None` if none waits.
    pub oldest: Option<Time>,
    /// The present probability of a signal for its packets; `None` if it has no probability.
    pub probability: Option<Probability>,
}
