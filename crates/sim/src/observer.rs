//! Observation of a run from outside.

use crate::flow::Completion;
use crate::packet::Packet;
use crate::tcp::{AckOptions, Sender, TcpOptions};
use sojourn_net::DropCause;
use sojourn_units::Time;

/// The action of a host on a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostDoes {
    /// The host sends the packet.
    Sends,
    /// The host receives the packet.
    Gets,
}

/// Sees what happens in a run, and cannot change it.
/// Methods that an observer does not implement do nothing.
/// The calls of one component (a link, a sender, a receiver) come in the order of time.
/// Those of different components may not, because endpoints run ahead and links behind.
pub trait Observer {
    /// A flow is added for this entry of the configuration.
    /// A session has many flows; each serves one connection after another.
    /// Its requests travel from the receiving host to the sending one: those are `reversed`.
    fn on_flow(&mut self, flow: u32, entry: u32, reversed: bool) {
        let _ = (flow, entry, reversed);
    }
    /// A packet arrives at a watched link ([`Link::watch`](crate::Link::watch)).
    /// `options` are those of an ACK.
    fn on_arrival(&mut self, now: Time, link: u32, packet: &Packet, options: &AckOptions) {
        let _ = (now, link, packet, options);
    }
    /// A watched link that buffers packets has sent one, which may have a mark now.
    fn on_departure(&mut self, now: Time, link: u32, packet: &Packet) {
        let _ = (now, link, packet);
    }
    /// Whether [`Observer::on_host`] is to be called.
    #[inline]
    fn watches_hosts(&self) -> bool {
        false
    }
    /// A host sends or receives a packet, as a capture there would show.
    /// `options` are those of an ACK.
    /// Only called if [`Observer::watches_hosts`].
    fn on_host(&mut self, now: Time, packet: &Packet, does: HostDoes, options: &AckOptions) {
        let _ = (now, packet, does, options);
    }
    /// A host sends a packet.
    fn on_send(&mut self, now: Time, packet: &Packet) {
        let _ = (now, packet);
    }
    /// A link drops a packet; links are numbered as in the configuration.
    fn on_drop(&mut self, now: Time, link: u32, cause: DropCause, packet: &Packet) {
        let _ = (now, link, cause, packet);
    }
    /// A packet reaches the end of its route; `bytes` became readable there.
    fn on_deliver(&mut self, now: Time, packet: &Packet, bytes: u64) {
        let _ = (now, packet, bytes);
    }
    /// A link marks a packet of this flow; links are numbered as in the configuration.
    fn on_mark(&mut self, now: Time, link: u32, flow: u32) {
        let _ = (now, link, flow);
    }
    /// A sender takes an RTT sample, in ns.
    fn on_rtt(&mut self, now: Time, flow: u32, rtt: u64) {
        let _ = (now, flow, rtt);
    }
    /// Whether [`Observer::on_window`] and [`Observer::on_controller`] are to be called.
    #[inline]
    fn watches_senders(&self) -> bool {
        false
    }
    /// A sender has processed an ACK, a timer or data of its application.
    /// `cwnd` is its congestion window and `ssthresh` its slow-start threshold, in segments. Only called if [`Observer::watches_senders`].
    fn on_window(&mut self, now: Time, flow: u32, cwnd: f64, ssthresh: f64) {
        let _ = (now, flow, cwnd, ssthresh);
    }
    /// The full state of the same sender, including its congestion controller.
    /// Only called if [`Observer::watches_senders`].
    fn on_controller(&mut self, now: Time, flow: u32, sender: &Sender, options: &TcpOptions) {
        let _ = (now, flow, sender, options);
    }
    /// The last byte of a finite transfer is acknowledged.
    /// Requests are not reported: their time is part of that of the answer.
    fn on_complete(&mut self, completion: &Completion) {
        let _ = completion;
    }
}

/// An observer that does nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoopObserver;

impl Observer for NoopObserver {}
