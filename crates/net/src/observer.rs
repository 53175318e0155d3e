//! The reports of the network to a host.

use sojourn_aqm::{AckHeader, DropReason};
use sojourn_link::TcpOption;
use sojourn_units::Time;

/// The reason why a link dropped a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DropCause {
    /// Its queue dropped it.
    Queue(DropReason),
    /// An impairment, such as random loss, dropped it.
    Impairment,
    /// It reached the end of its route with bit errors; its last link was this one.
    Corruption,
}

/// Receives the effects of links on packets.
/// The calls of one link come in the order of time; those of different links may not, if packets travel ahead of the network's time
/// ([`crate::Delivery`]). Links are numbered in the order in which they were added.
pub trait LinkObserver<P> {
    /// A link drops this packet.
    #[inline]
    fn on_drop(&mut self, now: Time, link: u32, cause: DropCause, packet: P) {
        let _ = (now, link, cause, packet);
    }
    /// An impairment of a link duplicates a packet: the host returns the copy.
    /// The copy travels on its own from there. `None`: its packets cannot be copied, and there is no duplicate.
    fn on_duplicate(&mut self, now: Time, link: u32, packet: &P) -> Option<P> {
        let _ = (now, link, packet);
        None
    }
    /// The ACK header of a packet, for an ACK filter.
    /// `None` for a packet that is no ACK, and if the host cannot read it.
    fn ack_header(&self, packet: &P) -> Option<AckHeader> {
        let _ = packet;
        None
    }
    /// Whether a packet has this option; false if the host cannot read it.
    fn has_option(&self, packet: &P, option: TcpOption) -> bool {
        let _ = (packet, option);
        false
    }
    /// Removes this option from a packet, for an impairment.
    fn strip(&mut self, packet: &mut P, option: TcpOption) {
        let _ = (packet, option);
    }
    /// A packet arrives at a watched link ([`crate::Link::watch`]).
    /// The effects of the queue follow: a drop, a mark, and if the link buffers packets the end of its transmission.
    fn on_arrival(&mut self, now: Time, link: u32, packet: &P) {
        let _ = (now, link, packet);
    }
    /// A watched link that buffers packets has sent one, which may now be marked.
    fn on_departure(&mut self, now: Time, link: u32, packet: &P) {
        let _ = (now, link, packet);
    }
    /// A link marks a packet of this flow.
    #[inline]
    fn on_mark(&mut self, now: Time, link: u32, flow: u32) {
        let _ = (now, link, flow);
    }
}

/// Ignores everything.
impl<P> LinkObserver<P> for () {}

/// Receives deliveries too.
/// For a host that has no timers in the network's calendar and never answers a packet.
pub trait Sink<P>: LinkObserver<P> {
    /// A packet reaches the end of its route.
    fn on_deliver(&mut self, now: Time, packet: P);
}
