//! The times at which the bits of a packet are sent.

use alloc::sync::Arc;
use sojourn_link::LinkTrace;
use sojourn_units::{NANOBITS_PER_BYTE, Time, Transmission};

/// The transmission of one packet.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    /// The transmission on the link, with the overhead of the link layer.
    pub carried: Carried,
    /// The size of the packet itself, in bytes.
    pub size: u32,
}

/// The transmission of a packet with the overhead of the link layer.
#[derive(Clone, Debug)]
pub(crate) enum Carried {
    /// At a rate.
    AtRate(Transmission),
    /// By a trace.
    ByTrace(SentByTrace),
}

/// A packet on a link with a trace.
#[derive(Clone, Debug)]
pub(crate) struct SentByTrace {
    pub trace: Arc<LinkTrace>,
    /// Its size on the link in bytes.
    pub size: u32,
    /// The nanosecond in which its transmission ends.
    pub end: Time,
    /// The capacity of the trace by the end of the packet, in billionths of a bit.
    pub capacity: u128,
}

impl Sent {
    /// The nanosecond in which it ends.
    pub fn end(&self) -> Time {
        match &self.carried {
            Carried::AtRate(sent) => sent.end,
            Carried::ByTrace(sent) => sent.end,
        }
    }

    /// All billionths of a bit of the packet.
    pub fn all(&self) -> u128 {
        u128::from(self.size) * u128::from(NANOBITS_PER_BYTE)
    }

    /// Billionths of a bit of the packet that are sent before `at`.
    /// They are its share of the bits on the link.
    pub fn sent_by(&self, at: Time) -> u128 {
        let on_link = self.carried.size();
        let sent = self.carried.sent_by(at);
        if on_link == self.size { sent } else { sent * u128::from(self.size) / u128::from(on_link) }
    }
}

impl Carried {
    /// Its size on the link in bytes.
    fn size(&self) -> u32 {
        match self {
            Carried::AtRate(sent) => sent.size,
            Carried::ByTrace(sent) => sent.size,
        }
    }

    /// Billionths of a bit that are sent before `at`.
    pub fn sent_by(&self, at: Time) -> u128 {
        let all = u128::from(self.size()) * u128::from(NANOBITS_PER_BYTE);
        match self {
            Carried::AtRate(sent) => sent.sent_by(at),
            Carried::ByTrace(sent) if at > sent.end => all,
            Carried::ByTrace(sent) => (sent.trace.capacity_before(at) + all).saturating_sub(sent.capacity).min(all),
        }
    }
}
