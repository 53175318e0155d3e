//! The datagrams between two ports.

use super::headers::Packet;
use super::load::Load;
use std::net::SocketAddr;

/// The time in ns within which the first datagrams of a QUIC connection are sent.
const TOGETHER: u64 = 10_000_000;

/// The datagrams of one direction.
#[derive(Clone, Default, Debug)]
pub struct DatagramDirection {
    /// The number of datagrams.
    pub packets: u64,
    /// Bytes of the datagrams, including the IP header.
    pub bytes: u64,
    /// Number of datagrams with ECT(1) or CE.
    pub scalable: u64,
    /// Times of the first and last packet, in ns since the first packet of the capture.
    pub first: u64,
    /// See `first`.
    pub last: u64,
    /// Its load on the link.
    pub load: Load,
}

/// The datagrams between two ports.
#[derive(Clone, Debug)]
pub struct Datagrams {
    /// The first sender and its peer.
    pub ends: [SocketAddr; 2],
    /// The directions: from the first sender, and to it.
    pub ways: [DatagramDirection; 2],
    /// Whether the first sender is on the left side of the link.
    pub left: bool,
    /// See [`Flow::stations`](super::flows::Flow::stations).
    pub(super) stations: Option<[u64; 2]>,
    /// Whether the datagrams are a QUIC connection.
    pub quic: bool,
    /// The handshake's RTT in ns.
    /// It is the time from the first datagram of a QUIC connection to the client's reply to the server's answer.
    pub handshake: Option<u64>,
}

impl Datagrams {
    pub(super) fn new(packet: &Packet, opens_quic: bool) -> Self {
        let (ends, ways) = ([packet.source, packet.destination], Default::default());
        Datagrams { ends, ways, left: true, stations: packet.stations, quic: opens_quic, handshake: None }
    }

    /// Adds a datagram that was captured at `at` at an interface.
    pub(super) fn add(&mut self, packet: &Packet, at: u64, interface: usize) {
        let back = usize::from(packet.source != self.ends[0]);
        self.stations = packet.stations_of(back == 1).filter(|stations| self.stations == Some(*stations));
        let [there, answers] = &self.ways;
        if self.quic && back == 0 && self.handshake.is_none() && answers.packets > 0 && there.last < answers.first {
            // If the opening was retransmitted, the answer may belong to either transmission.
            self.handshake = Some(at - there.first).filter(|_| there.last - there.first < TOGETHER);
        }
        let way = &mut self.ways[back];
        if !way.load.add(interface, at, u64::from(packet.length)) {
            return;
        }
        if way.packets == 0 {
            way.first = at;
        }
        way.last = at;
        way.packets += 1;
        way.bytes += u64::from(packet.length - packet.layer);
        way.scalable += u64::from(packet.ecn & 1);
    }

    /// The index of the direction with more data: 0 is from the first sender.
    pub fn data(&self) -> usize {
        usize::from(self.ways[1].bytes > self.ways[0].bytes)
    }
}
