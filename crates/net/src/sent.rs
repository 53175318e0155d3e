//! When the bits of a packet are sent.

use alloc::sync::Arc;
use sojourn_link::LinkTrace;
use sojourn_units::{NANOBITS_PER_BYTE, Time, Transmission};

/// The transmission of one packet.
#[derive(Clone, Debug)]
pub(crate) enum Sent {
    /// At a rate.
    AtRate(Transmission),
    /// By a trace.
    ByTrace(SentByTrace),
}

/// A packet on a link with a trace.
#[derive(Clone, Debug)]
pub(crate) struct SentByTrace {
    pub trace: Arc<LinkTrace>,
    /// Its size in bytes.
    pub size: u32,
    /// The nanosecond in which its transmission ends.
    pub end: Time,
    /// What the trace can send by the end of the packet, in billionths of a bit.
    pub capacity: u128,
}

impl Sent {
    /// The nanosecond in which it ends.
    pub fn end(&self) -> Time {
        match self {
            Sent::AtRate(sent) => sent.end,
            Sent::ByTrace(sent) => sent.end,
        }
    }

    /// All its billionths of a bit.
    pub fn all(&self) -> u128 {
        let size = match self {
            Sent::AtRate(sent) => sent.size,
            Sent::ByTrace(sent) => sent.size,
        };
        u128::from(size) * u128::from(NANOBITS_PER_BYTE)
    }

    /// Billionths of a bit that are sent before `at`.
    pub fn sent_by(&self, at: Time) -> u128 {
        match self {
            Sent::AtRate(sent) => sent.sent_by(at),
            Sent::ByTrace(sent) if at > sent.end => self.all(),
            Sent::ByTrace(sent) => (sent.trace.capacity_before(at) + self.all()).saturating_sub(sent.capacity).min(self.all()),
        }
    }
}
