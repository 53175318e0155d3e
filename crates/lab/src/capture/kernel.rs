//! Packets of a Linux kernel with the kernel's headers.

use super::{Host, Segment, Wire};
use sojourn_capture::wire::Headers;
use sojourn_linux::{Packet, flag};
use sojourn_scenario::plan::Plan;
use sojourn_sim::HostDoes;

impl Segment for Packet {
    fn is_same(&self, other: &Self) -> bool {
        (self.flow, self.flags & !flag::CE, self.header) == (other.flow, other.flags & !flag::CE, other.header)
    }

    fn is_marked(&self) -> bool {
        self.has(flag::CE)
    }

    fn mark(&mut self) {
        self.flags |= flag::CE;
    }
}

/// The hosts of a Linux kernel.
/// Flows that start or end at one node share a host, but a capture at a host contains the packets of one flow.
#[derive(Clone, Copy, Debug)]
pub struct KernelHosts;

impl Wire for KernelHosts {
    type Segment = Packet;

    fn host_of(&self, packet: &Packet, does: HostDoes) -> Host {
        Host { entry: packet.flow, receives: (does == HostDoes::Sends) == packet.has(flag::BACK) }
    }

    fn headers(&mut self, _plan: &Plan, packet: &Packet) -> Option<Headers> {
        Headers::of_host(packet.header.bytes(), u32::from(packet.size), packet.has(flag::CE))
    }
}
