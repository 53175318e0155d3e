//! A device of smoltcp that exchanges TCP segments with the harness.

use smoltcp::phy::{self, DeviceCapabilities, Medium};
use smoltcp::time::Instant;
use smoltcp::wire::{IpProtocol, Ipv4Address, Ipv4Packet, Ipv4Repr};
use sojourn_harness::{Datagram, Ecn};
use std::collections::VecDeque;

/// Bytes of an IPv4 header without options.
pub const IP_HEADER: usize = 20;
/// The largest IP packet, as on Ethernet.
const MTU: usize = 1500;

/// The address of an end.
pub fn address(server: bool) -> Ipv4Address {
    Ipv4Address::new(10, 0, 0, if server { 2 } else { 1 })
}

/// The device of one end.
pub struct SegmentDevice {
    server: bool,
    arrived: VecDeque<Vec<u8>>,
    to_send: VecDeque<Datagram>,
}

impl SegmentDevice {
    /// A device without packets.
    pub fn new(server: bool) -> Self {
        SegmentDevice { server, arrived: VecDeque::new(), to_send: VecDeque::new() }
    }

    /// A TCP segment arrives; smoltcp receives it as an IP packet.
    pub fn arrive(&mut self, segment: &[u8]) {
        let header = Ipv4Repr {
            src_addr: address(!self.server),
            dst_addr: address(self.server),
            next_header: IpProtocol::Tcp,
            payload_len: segment.len(),
            hop_limit: 64,
        };
        let mut bytes = vec![0; IP_HEADER + segment.len()];
        header.emit(&mut Ipv4Packet::new_unchecked(&mut bytes[..]), &phy::ChecksumCapabilities::default());
        bytes[IP_HEADER..].copy_from_slice(segment);
        self.arrived.push_back(bytes);
    }

    /// The next TCP segment that smoltcp has sent.
    pub fn depart(&mut self) -> Option<Datagram> {
        self.to_send.pop_front()
    }
}

impl phy::Device for SegmentDevice {
    type RxToken<'a> = Received;
    type TxToken<'a> = Departing<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Received, Departing<'_>)> {
        self.arrived.pop_front().map(|packet| (Received(packet), Departing(&mut self.to_send)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Departing<'_>> {
        Some(Departing(&mut self.to_send))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = MTU;
        capabilities
    }
}

/// An IP packet that has arrived.
pub struct Received(Vec<u8>);

impl phy::RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

/// Room for an IP packet.
pub struct Departing<'a>(&'a mut VecDeque<Datagram>);

impl phy::TxToken for Departing<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, write: F) -> R {
        let mut bytes = vec![0; length];
        let result = write(&mut bytes);
        let payload = bytes.split_off(IP_HEADER);
        self.0.push_back(Datagram { payload, ecn: Ecn::NotEct });
        result
    }
}
