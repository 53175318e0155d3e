//! A packet, and a host that records all reports, for all tests.
//! There is one kind of each, since the network is compiled for each kind.

use sojourn_net::{DropCause, LinkObserver, Sink};
use sojourn_units::Time;

#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Datagram {
    pub flow: u32,
    pub number: u64,
    pub size: u32,
    pub can_mark: bool,
    pub marked: bool,
}

impl sojourn_aqm::Packet for Datagram {
    fn size(&self) -> u32 {
        self.size
    }
    fn flow(&self) -> u32 {
        self.flow
    }
    fn can_mark(&self) -> bool {
        self.can_mark
    }
    fn mark(&mut self) {
        self.marked = true;
    }
}

impl sojourn_net::Packet for Datagram {}

/// A packet that a link dropped.
#[derive(PartialEq, Debug)]
pub struct Dropped {
    pub link: u32,
    pub cause: DropCause,
    pub packet: Datagram,
}

/// All reports to a host, in order.
#[derive(Default, PartialEq, Debug)]
pub struct HostLog {
    pub delivered: Vec<(Time, Datagram)>,
    pub dropped: Vec<Dropped>,
    /// Link and flow of each mark.
    pub marks: Vec<(u32, u32)>,
}

impl LinkObserver<Datagram> for HostLog {
    fn on_drop(&mut self, _: Time, link: u32, cause: DropCause, packet: Datagram) {
        self.dropped.push(Dropped { link, cause, packet });
    }
    fn on_mark(&mut self, _: Time, link: u32, flow: u32) {
        self.marks.push((link, flow));
    }
    fn on_duplicate(&mut self, _: Time, _: u32, packet: &Datagram) -> Option<Datagram> {
        Some(packet.clone())
    }
}

impl Sink<Datagram> for HostLog {
    fn on_deliver(&mut self, now: Time, packet: Datagram) {
        self.delivered.push((now, packet));
    }
}
