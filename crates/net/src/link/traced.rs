//! The transmitter of a link with a trace: a packet is sent when the trace has sent its bits.

use crate::sent::SentByTrace;
use crate::window::Window;
use alloc::sync::Arc;
use sojourn_link::LinkTrace;
use sojourn_link::trace::Cursor;
use sojourn_units::{Duration, NANOBITS_PER_BYTE, Time};

/// The progress in the trace.
#[derive(Clone, Debug)]
pub(super) struct Traced {
    trace: Arc<LinkTrace>,
    /// The row of the end of the last packet, and that of the last delay.
    place: Cursor,
    delays: Cursor,
    /// The capacity of the trace by the end of the last packet, in billionths of a bit.
    used: u128,
}

impl Traced {
    pub fn new(trace: Arc<LinkTrace>) -> Traced {
        Traced { trace, place: Cursor::default(), delays: Cursor::default(), used: 0 }
    }

    /// Sends a packet from `start` on; returns the end of its transmission.
    /// Unused capacity of an `idle` link is lost.
    pub fn send(&mut self, start: Time, size: u32, idle: bool) -> Time {
        if idle {
            self.used = self.used.max(self.place.capacity_by(&self.trace, start));
        }
        self.used += nanobits(size.into());
        self.place.time_of(&self.trace, self.used).max(start)
    }

    /// The time for `bytes` behind the last packet, which ends at `free_at`.
    pub fn time_for_more(&self, free_at: Time, bytes: u64) -> Duration {
        if bytes == 0 {
            return Duration::ZERO;
        }
        self.place.clone().time_of(&self.trace, self.used + nanobits(bytes)).since(free_at)
    }

    /// The last packet, which has `size` bytes and ends at `end`.
    pub fn last(&self, size: u32, end: Time) -> SentByTrace {
        SentByTrace { trace: self.trace.clone(), size, end, capacity: self.used }
    }

    /// The delay for a packet whose transmission ends at `end`, not earlier than the one before.
    pub fn delay_at(&mut self, end: Time) -> Duration {
        self.delays.row_at(&self.trace, end).delay
    }

    /// The capacity within a window, in billionths of a bit.
    pub fn capacity_within(&self, window: Window) -> u128 {
        self.trace.capacity_before(window.until) - self.trace.capacity_before(window.from)
    }
}

fn nanobits(bytes: u64) -> u128 {
    u128::from(bytes) * u128::from(NANOBITS_PER_BYTE)
}
