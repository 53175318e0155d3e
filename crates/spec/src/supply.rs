//! Information that flows supply to a queue, and that queues require.

use crate::queue::Hints;
use crate::tcp::{Handshake, RttHint, TcpOptions};
use sojourn_aqm::Needs;

/// The information that flows over a link supply to its queue.
#[derive(Clone, Copy, Default, Debug)]
pub struct Supply {
    /// Some TCP flow uses the link.
    tcp: bool,
    /// Some TCP flow writes RTTs into its packets.
    rtt_hints: bool,
    /// Some TCP flow has a handshake or timestamps, from which a router can measure RTTs.
    headers: bool,
}

impl Supply {
    /// The supply of a link without flows, for messages.
    pub const NOTHING: &'static str = "none over this link";

    /// Adds a TCP flow with these options.
    pub fn add(&mut self, options: &TcpOptions) {
        self.tcp = true;
        self.rtt_hints |= options.rtt_hint != RttHint::Off;
        self.headers |= options.handshake != Handshake::None || options.timestamps;
    }

    /// The requirement that a queue with these needs lacks; `None` if all are met.
    pub fn missing(self, needs: &Needs, hints: Hints) -> Option<&'static str> {
        if hints == Hints::Router {
            let lacks_headers = needs.rtt_hints && !self.headers;
            return lacks_headers
                .then_some("TCP flows with a handshake or `timestamps = true`, from which its router finds round-trip times");
        }
        if needs.flow_count && !self.tcp {
            return Some("TCP flows, because its discipline uses the number of active TCP flows");
        }
        let lacks_hints = needs.rtt_hints && !self.rtt_hints;
        lacks_hints
            .then_some("TCP flows with `rtt_hint = true`, or `hints = \"router\"`, because its discipline uses round-trip times of packets")
    }
}
