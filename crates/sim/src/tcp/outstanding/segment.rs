//! A segment that was sent, as its sender keeps it until it is acknowledged. Two fit in a cache line: when its ACK comes, it is long out of
//! the cache.

use sojourn_units::Time;

/// What is known of a segment.
pub mod tag {
    /// The receiver has it above a gap, by a SACK block or by a guess.
    pub const SACKED: u8 = 1;
    /// It was lost; if `RETRANSMITTED` too, its retransmission is in flight.
    pub const LOST: u8 = 2;
    /// Its retransmission is in flight.
    pub const RETRANSMITTED: u8 = 4;
    /// It was sent more than once.
    pub const EVER_RETRANSMITTED: u8 = 8;
    /// Delivery-rate samples take it for lost: it is not in flight for them.
    pub const SAMPLED_LOST: u8 = 16;
}

/// What delivery-rate samples keep of the last transmission of a segment.
#[derive(Clone, Copy, Default, Debug)]
pub struct Sending {
    /// The number of what was delivered then (`rate/sampler.rs`).
    pub snapshot: u32,
    /// `P.tx_in_flight` (draft-ietf-ccwg-bbr#4.1.2.1.2): bytes in flight with it, at most 4 GiB.
    pub in_flight: u32,
}

/// A segment that was sent.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub struct Segment {
    /// Its first byte.
    pub start: u64,
    /// When it was sent last.
    pub sent: Time,
    size: u32,
    /// What samples keep of that.
    pub sending: Sending,
    tags: u8,
}

impl Segment {
    /// A segment of the bytes from `start` on below `end` that was sent now.
    #[inline]
    pub fn new(start: u64, end: u64, sent: Time, sending: Sending) -> Self {
        Segment { start, size: (end - start) as u32, sent, sending, tags: 0 }
    }

    /// Its bytes.
    #[inline]
    pub fn size(&self) -> u64 {
        u64::from(self.size)
    }

    /// One past its last byte.
    #[inline]
    pub fn end(&self) -> u64 {
        self.start + self.size()
    }

    /// Whether nothing is known of it: it was sent once.
    #[inline]
    pub fn is_untagged(&self) -> bool {
        self.tags == 0
    }

    /// Whether nothing is known of it but that it has arrived.
    #[inline]
    pub fn is_sacked_only(&self) -> bool {
        self.tags == tag::SACKED
    }

    /// Whether the same is known of it as of another.
    #[inline]
    pub fn has_tags_of(&self, other: &Segment) -> bool {
        self.tags == other.tags
    }

    /// Whether it has one of these tags.
    #[inline]
    pub fn has(&self, tags: u8) -> bool {
        self.tags & tags != 0
    }

    /// Gives it these tags.
    #[inline]
    pub fn set(&mut self, tags: u8) {
        self.tags |= tags;
    }

    /// Takes these tags from it.
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
