//! What the flows over a link can tell its queue, and what queues ask for.

use crate::queue::Hints;
use crate::tcp::{Handshake, RttHint, TcpOptions};
use sojourn_aqm::Needs;

/// What the flows over a link can tell its queue.
#[derive(Clone, Copy, Default, Debug)]
pub struct Supply {
    /// Some TCP flow sends over it.
    tcp: bool,
    /// Some of these write round-trip times into their packets.
    rtt_hints: bool,
    /// Some of these have a handshake or time stamps, from which a router can find round-trip times.
    headers: bool,
}

impl Supply {
    /// What a link has that supplies nothing its queue asks for.
    pub const NOTHING: &'static str = "none over this link";

    /// A TCP flow with these options sends over the link.
    pub fn add(&mut self, options: &TcpOptions) {
        self.tcp = true;
        self.rtt_hints |= options.rtt_hint != RttHint::Off;
        self.headers |= options.handshake != Handshake::None || options.timestamps;
    }

    /// What a queue with these needs expects of the flows over its link and does not get; `None` if it gets everything.
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
