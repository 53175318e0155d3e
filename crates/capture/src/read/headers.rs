//! What the headers of a packet say: link layer, IPv4 or IPv6, TCP.

use crate::wire::flag;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const TCP: u8 = 6;

/// A TCP segment.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    pub source: SocketAddr,
    pub destination: SocketAddr,
    pub seq: u32,
    pub flags: u16,
    pub payload: u32,
    /// Whether it has a mark, or could get one.
    pub ecn: u8,
    pub mss: Option<u16>,
    pub sack_permitted: bool,
    pub timestamps: Option<(u32, u32)>,
}

impl Segment {
    /// Whether all these flags are set.
    pub fn has(&self, flags: u16) -> bool {
        self.flags & flags == flags
    }
}

/// What a packet is.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Tcp(Segment),
    /// Another protocol, a fragment, or headers that are cut.
    Other,
}

/// Reads the headers of a packet; `None` for a link layer that is not known.
pub fn read(link_type: u16, bytes: &[u8]) -> Option<Kind> {
    let (mut at, mut kind) = match link_type {
        // Ethernet.
        1 => (14, number(bytes, 12)),
        // Raw IP, as various systems call it.
        12 | 14 | 101 | 228 | 229 => (0, None),
        // BSD loopback.
        0 | 108 => (4, None),
        // Linux "cooked".
        113 => (16, number(bytes, 14)),
        276 => (20, number(bytes, 0)),
        _ => return None,
    };
    // VLAN tags.
    while let Some(0x8100 | 0x88a8) = kind {
        kind = number(bytes, at + 2);
        at += 4;
    }
    let is_ip = matches!(kind, None | Some(0x0800 | 0x86dd)) || bytes.len() < at;
    Some(if is_ip { bytes.get(at..).and_then(ip).map_or(Kind::Other, Kind::Tcp) } else { Kind::Other })
}

/// The 16-bit number at a place.
fn number(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn ip(bytes: &[u8]) -> Option<Segment> {
    let (header, length, source, destination, ecn) = match bytes.first()? >> 4 {
        4 => {
            let fragment = number(bytes, 6)? & 0x3fff != 0;
            if *bytes.get(9)? != TCP || fragment {
                return None;
            }
            let address = |at| Some(IpAddr::V4(Ipv4Addr::from(long(bytes, at)?)));
            (usize::from(bytes[0] & 15) * 4, u32::from(number(bytes, 2)?), address(12)?, address(16)?, bytes[1] & 3)
        }
        6 => {
            if *bytes.get(6)? != TCP {
                return None;
            }
            let address = |at: usize| Some(IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(bytes.get(at..at + 16)?).ok()?)));
            (40, 40 + u32::from(number(bytes, 4)?), address(8)?, address(24)?, bytes[1] >> 4 & 3)
        }
        _ => return None,
    };
    let tcp = bytes.get(header..).filter(|_| header >= 20)?;
    let begins = usize::from(*tcp.get(12)? >> 4) * 4;
    let payload = length.checked_sub((header + begins) as u32).filter(|_| begins >= 20)?;
    let mut segment = Segment {
        source: SocketAddr::new(source, number(tcp, 0)?),
        destination: SocketAddr::new(destination, number(tcp, 2)?),
        seq: long(tcp, 4)?,
        flags: number(tcp, 12)? & 0x1ff,
        payload,
        ecn,
        mss: None,
        sack_permitted: false,
        timestamps: None,
    };
    segment.read_options(tcp.get(20..begins.min(tcp.len()))?);
    Some(segment)
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
                        (2, 2) => self.mss = number(value, 0).filter(|_| self.has(flag::SYN)),
                        (4, 0) => self.sack_permitted = true,
                        (8, 8) => self.timestamps = long(value, 0).zip(long(value, 4)),
                        _ => {}
                    }
                    &options[usize::from(*size)..]
                }
                _ => return,
            };
        }
    }
}
