//! A segment that was sent, as its sender keeps it until it is acknowledged.
//! Two fit in a cache line: when its ACK comes, it has long left the cache.

use sojourn_units::Time;

/// Tags: the knowledge about a segment.
pub mod tag {
    /// The receiver has it above a gap, by a SACK block or by a guess.
    pub const SACKED: u8 = 1;
    /// It is lost; if `RETRANSMITTED` is set too, its retransmission is in flight.
    pub const LOST: u8 = 2;
    /// Its retransmission is in flight.
    pub const RETRANSMITTED: u8 = 4;
    /// It was sent more than once.
    pub const EVER_RETRANSMITTED: u8 = 8;
    /// Delivery-rate samples count it as lost, and not as in flight.
    pub const SAMPLED_LOST: u8 = 16;
}

/// The data of delivery-rate samples about the last transmission of a segment.
#[derive(Clone, Copy, Default, Debug)]
pub struct Sending {
    /// The number of the snapshot of what was delivered by then (`rate/sampler.rs`).
    pub snapshot: u32,
    /// Bytes in flight including it, at most 4 GiB.
    /// `P.tx_in_flight` of draft-ietf-ccwg-bbr#4.1.2.1.2.
    pub in_flight: u32,
}

/// A segment that was sent.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub struct Segment {
    /// The first byte.
    pub start: u64,
    /// The time of the last transmission.
    pub sent: Time,
    size: u32,
    /// The data of samples about that transmission.
    pub sending: Sending,
    tags: u8,
}

impl Segment {
    /// A segment of the bytes from `start` up to `end`, exclusive, sent now.
    #[inline]
    pub fn new(start: u64, end: u64, sent: Time, sending: Sending) -> Self {
        Segment { start, size: (end - start) as u32, sent, sending, tags: 0 }
    }

    /// The length, in bytes.
    #[inline]
    pub fn size(&self) -> u64 {
        u64::from(self.size)
    }

    /// One past the last byte.
    #[inline]
    pub fn end(&self) -> u64 {
        self.start + self.size()
    }

    /// Whether nothing is known of it beyond one transmission.
    #[inline]
    pub fn is_untagged(&self) -> bool {
        self.tags == 0
    }

    /// Whether only its arrival is known.
    #[inline]
    pub fn is_sacked_only(&self) -> bool {
        self.tags == tag::SACKED
    }

    /// Whether it has the same tags as another segment.
    #[inline]
    pub fn has_tags_of(&self, other: &Segment) -> bool {
        self.tags == other.tags
    }

    /// Whether it has any of these tags.
    #[inline]
    pub fn has(&self, tags: u8) -> bool {
        self.tags & tags != 0
    }

    /// Sets these tags.
    #[inline]
    pub fn set(&mut self, tags: u8) {
        self.tags |= tags;
    }

    /// Clears these tags.
    #[inline]
    pub fn clear(&mut self, tags: u8) {
        self.tags &= !tags;
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn two_segments_fit_in_a_cache_line() {
        assert_eq!(size_of::<super::Segment>(), 32);
    }
}
