//! What the host gives to a TCP endpoint with every call.

use crate::packet::Packet;
use sojourn_spec::tcp::TcpOptions;
use sojourn_units::{Duration, Time};

/// Where a sender's segments go.
pub trait SegmentSink {
    /// Sends a packet at `now`.
    fn send(&mut self, now: Time, packet: Packet);
}

/// What every call of a sender needs.
pub struct Call<'a, O> {
    /// The current time.
    pub now: Time,
    /// Nothing else comes to the sender before this time: what its pace lets go by then may be sent within this call, which is later then.
    pub until: Time,
    /// The options of this sender's stack.
    pub params: &'a TcpOptions,
    /// Statistics count from here.
    pub count_from: Time,
    /// The RTT sample that it took, if it took one.
    pub rtt_sample: Option<Duration>,
    /// Where segments go.
    pub out: O,
}

impl<O> Call<'_, O> {
    /// Whether statistics count now.
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
