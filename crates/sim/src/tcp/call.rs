//! The context that the host passes to a TCP endpoint with every call.

use crate::packet::Packet;
use sojourn_spec::tcp::TcpOptions;
use sojourn_units::{Duration, Time};

/// The destination of a sender's segments.
pub trait SegmentSink {
    /// Sends a packet at `now`.
    fn send(&mut self, now: Time, packet: Packet);
}

/// The context of a call of a sender.
pub struct Call<'a, O> {
    /// The current time.
    pub now: Time,
    /// Nothing else reaches the sender before this time.
    /// Segments that its pace releases by then may be sent within this call, at their later times.
    pub until: Time,
    /// The options of this sender's stack.
    pub params: &'a TcpOptions,
    /// When the measurement window begins.
    pub count_from: Time,
    /// The RTT sample that the sender took, if any.
    pub rtt_sample: Option<Duration>,
    /// The destination of segments.
    pub out: O,
}

impl<O> Call<'_, O> {
    /// Whether `now` lies in the measurement window.
    #[inline]
    pub fn counts(&self) -> bool {
        self.now >= self.count_from
    }
}

impl<O: SegmentSink> Call<'_, O> {
    /// Sends a packet now.
    #[inline]
    pub fn send(&mut self, packet: Packet) {
        self.out.send(self.now, packet);
    }
}
