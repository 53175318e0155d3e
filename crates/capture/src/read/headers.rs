//! The headers of a packet: link layer, IPv4 or IPv6, TCP or UDP.

use super::layers::{self, long, number};
use super::unread::Unread;
use crate::wire::flag;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const TCP: u8 = 6;
const UDP: u8 = 17;

/// A TCP segment.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    pub seq: u32,
    pub ack: u32,
    pub flags: u16,
    pub payload: u32,
    pub mss: Option<u16>,
    pub sack_permitted: bool,
    pub timestamps: Option<(u32, u32)>,
    /// The receive window as in the header.
    pub window: u16,
    /// The shift of the receive window that a SYN announces (rfc7323#2).
    pub scale: Option<u8>,
}

impl Segment {
    /// Whether all these flags are set.
    pub fn has(&self, flags: u16) -> bool {
        self.flags & flags == flags
    }
}

/// The content of an IP packet.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Tcp(Segment),
    /// A datagram, and whether it opens a QUIC connection.
    Udp {
        opens_quic: bool,
    },
}

/// A packet between two ports.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    pub source: SocketAddr,
    pub destination: SocketAddr,
    /// The ECN field of its IP header.
    pub ecn: u8,
    /// Its length on the link in bytes.
    pub length: u32,
    /// The link-layer bytes among them.
    pub layer: u32,
    /// Its source and destination stations of the link layer.
    pub stations: Option<[u64; 2]>,
    pub kind: Kind,
}

impl Packet {
    /// The stations of its flow's ends: sender first, or second if the packet is a reply.
    pub fn stations_of(&self, reply: bool) -> Option<[u64; 2]> {
        self.stations.map(|[source, destination]| if reply { [destination, source] } else { [source, destination] })
    }
}

/// The most bytes that a link layer, tunnels and padding add to a packet.
/// A link's `overhead` adds no more.
const MOST_LAYER: u32 = 256;

/// Reads the headers of a packet of `length` bytes, including its link layer.
///
/// # Errors
/// The packet is neither TCP nor UDP.
pub fn read(link_type: u16, bytes: &[u8], length: u32) -> Result<Packet, Unread> {
    let link = layers::network(link_type, bytes)?;
    let (mut at, mut rest) = (link.at, length.saturating_sub(link.at as u32));
    let ip = loop {
        let found = ip(bytes.get(at..).ok_or(Unread::Cut)?, rest)?;
        // IP in IP: the inner packet determines the flow.
        if !matches!(found.protocol, 4 | 41) {
            break found;
        }
        at += found.header;
        rest = found.length.saturating_sub(found.header as u32);
    };
    let inner = bytes.get(at + ip.header..).ok_or(Unread::Cut)?;
    let size = ip.length.checked_sub(ip.header as u32).ok_or(Unread::Malformed)?;
    let kind = match ip.protocol {
        TCP => Kind::Tcp(segment(inner, size)?),
        UDP => Kind::Udp { opens_quic: inner.get(8..).is_some_and(opens_quic) },
        other => return Err(Unread::Protocol(other)),
    };
    // Padding and tunnel headers used the link too. No link adds more: the length in the file is damaged then.
    let length = length.saturating_sub(link.pseudo as u32).max(ip.length);
    let length = if length - ip.length > MOST_LAYER { ip.length + (at - link.pseudo) as u32 } else { length };
    Ok(Packet {
        source: SocketAddr::new(ip.source, number(inner, 0)?),
        destination: SocketAddr::new(ip.destination, number(inner, 2)?),
        ecn: ip.ecn,
        length,
        layer: length - ip.length,
        stations: link.stations,
        kind,
    })
}

/// The header of an IP packet.
struct Ip {
    source: IpAddr,
    destination: IpAddr,
    ecn: u8,
    protocol: u8,
    /// The header's length in bytes, including extension headers.
    header: usize,
    /// The length of the whole packet in bytes.
    length: u32,
}

/// Reads an IP header.
/// `rest` is the length according to the link layer. It is used if the header has none, as with segmentation offload.
fn ip(bytes: &[u8], rest: u32) -> Result<Ip, Unread> {
    match bytes.first().ok_or(Unread::Cut)? >> 4 {
        4 => ipv4(bytes, rest),
        6 => ipv6(bytes, rest),
        _ => Err(Unread::Malformed),
    }
}

fn ipv4(bytes: &[u8], rest: u32) -> Result<Ip, Unread> {
    let address = |at| Ok(IpAddr::V4(Ipv4Addr::from(long(bytes, at)?)));
    let (source, destination, header) = (address(12)?, address(16)?, usize::from(bytes[0] & 15) * 4);
    if header < 20 {
        return Err(Unread::Malformed);
    }
    if number(bytes, 6)? & 0x1fff != 0 {
        return Err(Unread::Fragment);
    }
    let length = Some(u32::from(number(bytes, 2)?)).filter(|&length| length > 0).unwrap_or(rest);
    Ok(Ip { source, destination, ecn: bytes[1] & 3, protocol: bytes[9], header, length })
}

fn ipv6(bytes: &[u8], rest: u32) -> Result<Ip, Unread> {
    let address = |at: usize| {
        let found = bytes.get(at..at + 16).and_then(|address| <[u8; 16]>::try_from(address).ok());
        found.map(|address| IpAddr::V6(Ipv6Addr::from(address))).ok_or(Unread::Cut)
    };
    let (source, destination, ecn) = (address(8)?, address(24)?, bytes[1] >> 4 & 3);
    let mut length = Some(u32::from(number(bytes, 4)?)).filter(|&length| length > 0).map_or(rest, |length| 40 + length);
    let (mut protocol, mut header) = (bytes[6], 40);
    // Skip extension headers (rfc8200#4).
    loop {
        let size = match protocol {
            0 | 43 | 60 | 135 | 139 | 140 => 8 + usize::from(*bytes.get(header + 1).ok_or(Unread::Cut)?) * 8,
            44 if number(bytes, header + 2)? & 0xfff8 != 0 => return Err(Unread::Fragment),
            44 => 8,
            // The authentication header counts words of four bytes (rfc4302#2.2).
            51 => 8 + usize::from(*bytes.get(header + 1).ok_or(Unread::Cut)?) * 4,
            _ => return Ok(Ip { source, destination, ecn, protocol, header, length }),
        };
        let options = bytes.get(header..header + size).ok_or(Unread::Cut)?;
        if protocol == 0 {
            length = jumbo(&options[2..]).map_or(length, |jumbo| jumbo.saturating_add(40));
        }
        (protocol, header) = (options[0], header + size);
    }
}

/// The length in a jumbo payload option (rfc2675#2).
fn jumbo(mut options: &[u8]) -> Option<u32> {
    loop {
        options = match options {
            // One byte of padding.
            [0, rest @ ..] => rest,
            [0xc2, 4, rest @ ..] => return long(rest, 0).ok(),
            [_, size, rest @ ..] => rest.get(usize::from(*size)..)?,
            _ => return None,
        };
    }
}

/// Reads a TCP segment of `size` bytes including its header.
fn segment(bytes: &[u8], size: u32) -> Result<Segment, Unread> {
    let (offset, flags) = (number(bytes, 12)?, number(bytes, 12)? & 0x1ff);
    let begins = usize::from(offset >> 12) * 4;
    let payload = size.checked_sub(begins as u32).filter(|_| begins >= 20).ok_or(Unread::Malformed)?;
    let (seq, ack) = (long(bytes, 4)?, long(bytes, 8)?);
    let window = number(bytes, 14)?;
    let mut segment = Segment { seq, ack, flags, payload, mss: None, sack_permitted: false, timestamps: None, window, scale: None };
    segment.read_options(bytes.get(20..begins.min(bytes.len())).ok_or(Unread::Cut)?);
    Ok(segment)
}

/// Whether a datagram is the first of a QUIC connection.
/// It has a long header of a known version (rfc9000#17.2, rfc9369#3).
fn opens_quic(bytes: &[u8]) -> bool {
    let Ok(version) = long(bytes, 1) else { return false };
    let drafts = 0xff00_0000..=0xff00_00ff;
    bytes[0] & 0xc0 == 0xc0 && (matches!(version, 1 | 0x6b33_43cf) || drafts.contains(&version) || version >> 24 == u32::from(b'Q'))
}

impl Segment {
    fn read_options(&mut self, mut options: &[u8]) {
        while let [kind, rest @ ..] = options {
            options = match (kind, rest) {
                (0, _) => return,
                (1, _) => rest,
                (_, [size, ..]) if (2..=options.len()).contains(&usize::from(*size)) => {
                    let value = &options[2..usize::from(*size)];
                    match (kind, value.len()) {
                        (2, 2) => self.mss = number(value, 0).ok().filter(|_| self.has(flag::SYN)),
                        (3, 1) => self.scale = self.has(flag::SYN).then_some(value[0].min(14)),
                        (4, 0) => self.sack_permitted = true,
                        (8, 8) => self.timestamps = long(value, 0).ok().zip(long(value, 4).ok()),
                        _ => {}
                    }
                    &options[usize::from(*size)..]
                }
                _ => return,
            };
        }
    }
}
