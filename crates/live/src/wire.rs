//! The headers of IP packets: what the network needs of them, and the ECN mark.

use sojourn_linux::{Packet, flag};
use std::net::IpAddr;

/// Protocol numbers (IANA).
mod protocol {
    pub const HOP_BY_HOP: u8 = 0;
    pub const ICMP: u8 = 1;
    pub const TCP: u8 = 6;
    pub const UDP: u8 = 17;
    pub const ROUTING: u8 = 43;
    pub const FRAGMENT: u8 = 44;
    pub const ICMP_V6: u8 = 58;
    pub const OPTIONS: u8 = 60;
}

/// The number of IPv6 extension headers after which a packet counts as malformed.
const MOST_EXTENSIONS: usize = 8;

/// Flags of TCP (rfc9293#3.1).
mod bit {
    pub const FIN: u8 = 1;
    pub const SYN: u8 = 2;
    pub const ACK: u8 = 16;
}

/// The ECN field that says "congestion experienced" (rfc3168#5).
const CE: u8 = 3;

/// What the transport header says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transport {
    /// A segment of TCP.
    Tcp {
        /// The sequence number of its first byte.
        seq: u32,
        /// The next byte that its sender expects; `None` without the flag ACK.
        ack: Option<u32>,
        /// Whether it opens the connection.
        syn: bool,
        /// Whether it ends the connection.
        fin: bool,
        /// TSval and TSecr, if it has them.
        timestamps: Option<(u32, u32)>,
    },
    /// A request or a reply of ICMP echo, with its sequence number.
    Echo {
        /// Whether it is a reply.
        reply: bool,
        /// Its sequence number.
        number: u16,
    },
    /// Anything else, such as UDP.
    Other,
}

/// The headers of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parsed {
    /// The address of its sender.
    pub source: IpAddr,
    /// The address of its receiver.
    pub destination: IpAddr,
    /// The protocol above IP.
    pub protocol: u8,
    /// The ports; those of an echo are its identifier. 0 for fragments and protocols without ports.
    pub ports: [u16; 2],
    /// The DSCP, 0 to 63.
    pub dscp: u8,
    /// The ECN field, 0 to 3.
    pub ecn: u8,
    /// The size in bytes with the IP header.
    pub size: u16,
    /// The bytes of payload above the transport header.
    pub payload: u16,
    /// The transport header.
    pub transport: Transport,
}

/// The IP header: where the transport header begins, and what is above IP.
struct Network {
    source: IpAddr,
    destination: IpAddr,
    protocol: u8,
    class: u8,
    size: usize,
    header: usize,
    fragment: bool,
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_be_bytes)
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_be_bytes)
}

fn v4(bytes: &[u8]) -> Option<Network> {
    let header = usize::from(bytes[0] & 15) * 4;
    let size = usize::from(half(bytes, 2)?);
    // Neither the flag "more fragments" nor an offset.
    let fragment = half(bytes, 6)? & 0x3fff != 0;
    let (source, destination) = (array::<4>(bytes, 12)?.into(), array::<4>(bytes, 16)?.into());
    (header >= 20 && size >= header).then_some(Network { source, destination, protocol: bytes[9], class: bytes[1], size, header, fragment })
}

fn v6(bytes: &[u8]) -> Option<Network> {
    let size = usize::from(half(bytes, 4)?) + 40;
    let (mut protocol, mut header, mut fragment) = (*bytes.get(6)?, 40, false);
    let (source, destination) = (array::<16>(bytes, 8)?.into(), array::<16>(bytes, 24)?.into());
    for _ in 0..MOST_EXTENSIONS {
        let length = match protocol {
            protocol::HOP_BY_HOP | protocol::ROUTING | protocol::OPTIONS => (usize::from(*bytes.get(header + 1)?) + 1) * 8,
            protocol::FRAGMENT => 8,
            _ => {
                let class = bytes[0] << 4 | bytes[1] >> 4;
                return (size >= header).then_some(Network { source, destination, protocol, class, size, header, fragment });
            }
        };
        fragment |= protocol == protocol::FRAGMENT;
        protocol = bytes[header];
        header += length;
    }
    None
}

/// The time stamps among the options of a TCP header.
fn timestamps(mut options: &[u8]) -> Option<(u32, u32)> {
    loop {
        match *options {
            [1, ref rest @ ..] => options = rest,
            [8, 10, ref stamps @ ..] => return Some((word(stamps, 0)?, word(stamps, 4)?)),
            [kind, length, ..] if kind > 1 && length >= 2 => options = options.get(usize::from(length)..)?,
            _ => return None,
        }
    }
}

/// The ports, the length of the transport header, and what it says; `None` if it is cut.
fn transport(protocol: u8, bytes: &[u8]) -> Option<([u16; 2], usize, Transport)> {
    match protocol {
        protocol::TCP => {
            let (length, flags) = (usize::from(*bytes.get(12)? >> 4) * 4, *bytes.get(13)?);
            let ack = word(bytes, 8).filter(|_| flags & bit::ACK != 0);
            let (syn, fin) = (flags & bit::SYN != 0, flags & bit::FIN != 0);
            let timestamps = timestamps(bytes.get(20..length)?);
            let transport = Transport::Tcp { seq: word(bytes, 4)?, ack, syn, fin, timestamps };
            Some(([half(bytes, 0)?, half(bytes, 2)?], length, transport))
        }
        protocol::UDP => Some(([half(bytes, 0)?, half(bytes, 2)?], 8, Transport::Other)).filter(|_| bytes.len() >= 8),
        protocol::ICMP | protocol::ICMP_V6 => {
            let (kind, identifier, number) = (*bytes.first()?, half(bytes, 4)?, half(bytes, 6)?);
            let replies = if protocol == protocol::ICMP { [8, 0] } else { [128, 129] };
            let transport = match replies.iter().position(|&of| of == kind) {
                Some(place) => Transport::Echo { reply: place == 1, number },
                None => return Some(([0; 2], 8, Transport::Other)),
            };
            Some(([identifier; 2], 8, transport))
        }
        _ => Some(([0; 2], 0, Transport::Other)),
    }
}

/// Reads the headers of an IP packet.
///
/// `None` if a header is cut or contradicts the packet's length.
pub fn parse(bytes: &[u8]) -> Option<Parsed> {
    let network = match bytes.first()? >> 4 {
        4 => v4(bytes),
        6 => v6(bytes),
        _ => None,
    }?;
    let above = bytes.get(network.header..network.size)?;
    let (ports, length, transport) = if network.fragment { ([0; 2], 0, Transport::Other) } else { transport(network.protocol, above)? };
    Some(Parsed {
        source: network.source,
        destination: network.destination,
        protocol: network.protocol,
        ports,
        dscp: network.class >> 2,
        ecn: network.class & 3,
        size: u16::try_from(network.size).ok()?,
        payload: u16::try_from(above.len().checked_sub(length)?).ok()?,
        transport,
    })
}

impl Parsed {
    /// The packet for the network, without flow and handle.
    pub(crate) fn packet(&self) -> Packet {
        let mut packet = Packet { size: self.size, payload: self.payload, ..Packet::default() };
        packet.flags |= [0, flag::ECT | flag::ECT1, flag::ECT, flag::ECT | flag::CE][usize::from(self.ecn)];
        if let Transport::Tcp { seq, syn, fin, timestamps, .. } = self.transport {
            packet.seq = seq;
            packet.flags |= if syn { flag::SYN } else { 0 } | if fin { flag::FIN } else { 0 };
            if let Some((value, echo)) = timestamps {
                (packet.ts_value, packet.ts_echo) = (value, echo);
                packet.flags |= flag::TIMESTAMPS;
            }
        }
        packet
    }
}

/// Sets the ECN field of an IP packet to CE, and corrects the checksum of its header (rfc1624#3).
pub fn set_ce(bytes: &mut [u8]) {
    match bytes.first().map(|first| first >> 4) {
        Some(4) if bytes.len() >= 20 => {
            let before = u16::from_be_bytes([bytes[0], bytes[1]]);
            bytes[1] |= CE;
            let after = u16::from_be_bytes([bytes[0], bytes[1]]);
            let sum = u32::from(!u16::from_be_bytes([bytes[10], bytes[11]])) + u32::from(!before) + u32::from(after);
            let folded = (sum & 0xffff) + (sum >> 16);
            let folded = (folded & 0xffff) + (folded >> 16);
            bytes[10..12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
        }
        // The traffic class ends in the first half of the second byte.
        Some(6) if bytes.len() >= 40 => bytes[1] |= CE << 4,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An IPv4 header with a right checksum (rfc1071#1), and what follows it.
    fn over_v4(class: u8, protocol: u8, rest: &[u8]) -> Vec<u8> {
        let size = (20 + rest.len()) as u16;
        let mut bytes = vec![0x45, class, 0, 0, 0x12, 0x34, 0x40, 0, 64, protocol, 0, 0, 10, 77, 0, 1, 10, 77, 0, 2];
        bytes[2..4].copy_from_slice(&size.to_be_bytes());
        let sum = !sum_of(&bytes);
        bytes[10..12].copy_from_slice(&sum.to_be_bytes());
        bytes.extend(rest);
        bytes
    }

    fn sum_of(header: &[u8]) -> u16 {
        let mut sum: u32 = header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }

    fn over_v6(class: u8, next: u8, rest: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x60 | class >> 4, class << 4 | 5, 1, 2, 0, rest.len() as u8, next, 64];
        bytes.extend(
            [[0xfd, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], [0xfd, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]].concat(),
        );
        bytes.extend(rest);
        bytes
    }

    const SEGMENT: [u8; 36] =
        [4, 0, 0, 80, 0, 0, 0, 7, 0, 0, 0, 9, 0x80, 0x10, 1, 0, 0, 0, 0, 0, 1, 1, 8, 10, 0, 0, 1, 0, 0, 0, 0, 5, 1, 2, 3, 4];

    #[test]
    fn a_segment_is_read_over_both_versions_of_ip() {
        for bytes in [over_v4(0xb9, 6, &SEGMENT), over_v6(0xb9, 6, &SEGMENT)] {
            let parsed = parse(&bytes).unwrap();
            assert_eq!((parsed.ports, parsed.dscp, parsed.ecn), ([1024, 80], 46, 1));
            assert_eq!((usize::from(parsed.size), parsed.payload), (bytes.len(), 4));
            let tcp = Transport::Tcp { seq: 7, ack: Some(9), syn: false, fin: false, timestamps: Some((256, 5)) };
            assert_eq!(parsed.transport, tcp);
        }
    }

    #[test]
    fn extension_headers_are_skipped_and_fragments_have_no_ports() {
        let datagram = [0x10, 0, 0x20, 0, 0, 9, 0, 0, 1];
        let options = [&[17, 0, 1, 4, 0, 0, 0, 0], &datagram[..]].concat();
        let parsed = parse(&over_v6(0, 60, &options)).unwrap();
        assert_eq!((parsed.protocol, parsed.ports, parsed.payload), (17, [0x1000, 0x2000], 1));
        let fragment = [&[17, 0, 0, 1, 0, 0, 0, 9], &datagram[..]].concat();
        assert_eq!(parse(&over_v6(0, 44, &fragment)).unwrap().ports, [0, 0]);
        let mut first = over_v4(0, 17, &datagram);
        first[6] = 0x20;
        assert_eq!(parse(&first).unwrap().ports, [0, 0]);
    }

    #[test]
    fn requests_and_replies_of_echo_have_their_number() {
        let echo = |kind| [kind, 0, 0, 0, 0, 3, 0, 8, 1, 1];
        let read = |bytes: &[u8]| parse(bytes).map(|parsed| (parsed.transport, parsed.ports, parsed.payload));
        let is = |reply| Some((Transport::Echo { reply, number: 8 }, [3, 3], 2));
        assert_eq!([read(&over_v4(0, 1, &echo(8))), read(&over_v4(0, 1, &echo(0)))], [is(false), is(true)]);
        assert_eq!([read(&over_v6(0, 58, &echo(128))), read(&over_v6(0, 58, &echo(129)))], [is(false), is(true)]);
    }

    #[test]
    fn a_cut_packet_is_malformed() {
        for whole in [over_v4(0, 6, &SEGMENT), over_v6(0, 6, &SEGMENT)] {
            assert!((0..whole.len()).all(|length| parse(&whole[..length]).is_none()));
            assert!(parse(&whole).is_some());
        }
    }

    proptest! {
        /// The sum over a header with its checksum is all ones (rfc1071#1).
        #[test]
        fn a_mark_leaves_the_checksum_right(class: u8, protocol: u8, rest in prop::collection::vec(any::<u8>(), 0..60)) {
            let mut bytes = over_v4(class, protocol, &rest);
            let before = bytes.clone();
            set_ce(&mut bytes);
            prop_assert_eq!((bytes[1], sum_of(&bytes[..20])), (class | 3, 0xffff));
            bytes[1] = class;
            bytes[10..12].copy_from_slice(&before[10..12]);
            prop_assert_eq!(bytes, before);
        }

        #[test]
        fn a_mark_changes_two_bits_of_ipv6(class: u8, rest in prop::collection::vec(any::<u8>(), 0..60)) {
            let mut bytes = over_v6(class, 59, &rest);
            set_ce(&mut bytes);
            prop_assert_eq!(bytes, over_v6(class | 3, 59, &rest));
        }
    }
}
