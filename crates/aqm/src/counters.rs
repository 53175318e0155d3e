//! The counters of one queue.

/// Why a packet was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DropReason {
    /// The algorithm signaled congestion, and the packet could not be marked.
    Early,
    /// The algorithm asked for a drop even of packets that can be marked.
    Forced,
    /// The queue was full.
    Tail,
    /// A newer ACK made it useless ([`AckFilter`](crate::AckFilter)).
    AckFilter,
}

/// What happened to packets at one queue since the start.
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

    /// These and others together.
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
    pub(crate) fn count_arrival(&mut self, size: u32) {
        self.arrived += 1;
        self.arrived_bytes += u64::from(size);
    }

    /// Counts a dropped packet of `size` bytes.
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
