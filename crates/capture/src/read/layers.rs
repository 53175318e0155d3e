//! Link layers: locates the IP packet of a frame.

use super::unread::Unread;

/// The link layer of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layer {
    /// The number of bytes before the IP packet.
    pub at: usize,
    /// The number of those bytes that the capturing system added. No link carried them.
    pub pseudo: usize,
    /// Source and destination stations of the frame, as numbers that can only be compared.
    pub stations: Option<[u64; 2]>,
}

/// The type of the next header.
#[derive(Clone, Copy)]
enum Next {
    Ip,
    Ether(u16),
    Ppp,
}

/// Finds the IP packet of a frame.
///
/// # Errors
/// The frame has no IP packet, or its link layer is unknown.
pub fn network(link_type: u16, bytes: &[u8]) -> Result<Layer, Unread> {
    let ether = |at| Ok(Next::Ether(number(bytes, at)?));
    let (mut at, mut next, pseudo) = match link_type {
        // Ethernet.
        1 => (14, ether(12)?, 0),
        // BSD loopback.
        0 | 108 => (4, Next::Ip, 4),
        // PPP, with or without an HDLC address.
        9 | 50 if bytes.starts_with(&[0xff, 3]) => (2, Next::Ppp, 0),
        9 => (0, Next::Ppp, 0),
        51 => (6, Next::Ppp, 0),
        // Cisco HDLC.
        104 => (4, ether(2)?, 0),
        // Raw IP, under the numbers of various systems.
        12 | 14 | 101 | 228 | 229 => (0, Next::Ip, 0),
        // Linux "cooked".
        113 => (16, ether(14)?, 16),
        276 => (20, ether(0)?, 20),
        other => return Err(Unread::LinkType(other)),
    };
    loop {
        let (size, following) = match next {
            Next::Ip | Next::Ether(0x0800 | 0x86dd) => return Ok(Layer { at, pseudo, stations: stations(link_type, bytes) }),
            // VLAN tags.
            Next::Ether(0x8100 | 0x88a8 | 0x9100 | 0x9200) => (4, ether(at + 2)?),
            // PPPoE.
            Next::Ether(0x8864) => (6, Next::Ppp),
            Next::Ether(other @ (0x8847 | 0x8848)) => mpls(&bytes[at.min(bytes.len())..]).ok_or(Unread::EtherType(other))?,
            // A length, then 802.2 with SNAP.
            Next::Ether(..=1500) if bytes.get(at..at + 3) == Some(&[0xaa, 0xaa, 3]) => (8, ether(at + 6)?),
            Next::Ether(..=1500) => return Err(Unread::Llc),
            Next::Ether(other) => return Err(Unread::EtherType(other)),
            Next::Ppp => ppp(&bytes[at.min(bytes.len())..])?,
        };
        (at, next) = (at + size, following);
    }
}

/// The stations of an Ethernet frame, except of a broadcast.
/// Also of a packet that Linux's "cooked" capture reports as incoming or outgoing.
fn stations(link_type: u16, bytes: &[u8]) -> Option<[u64; 2]> {
    let address = |at: usize| Some(bytes.get(at..at + 6)?.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)));
    let (source, destination) = match (link_type, bytes) {
        (1, [first, ..]) if first & 1 == 0 => (address(6)?, address(0)?),
        (113, [0, kind, ..]) | (276, [_, _, _, _, _, _, _, _, _, _, kind, ..]) => match kind {
            0 => (1, 2),
            4 => (2, 1),
            _ => return None,
        },
        _ => return None,
    };
    (source != destination).then_some([source, destination])
}

/// Skips MPLS labels; `None` if something other than IP follows.
fn mpls(bytes: &[u8]) -> Option<(usize, Next)> {
    let labels = bytes.chunks_exact(4).position(|label| label[2] & 1 == 1)? + 1;
    matches!(bytes.get(labels * 4)? >> 4, 4 | 6).then_some((labels * 4, Next::Ip))
}

/// The protocol of a PPP frame. Its first byte may be omitted (rfc1661#6.5).
fn ppp(bytes: &[u8]) -> Result<(usize, Next), Unread> {
    let (size, protocol) = match bytes {
        [short, ..] if short & 1 == 1 => (1, u16::from(*short)),
        _ => (2, number(bytes, 0)?),
    };
    if matches!(protocol, 0x21 | 0x57) { Ok((size, Next::Ip)) } else { Err(Unread::Ppp(protocol)) }
}

/// The 16-bit number at a position.
pub fn number(bytes: &[u8], at: usize) -> Result<u16, Unread> {
    let found = bytes.get(at..at + 2).and_then(|two| two.try_into().ok());
    found.map(u16::from_be_bytes).ok_or(Unread::Cut)
}

/// The 32-bit number at a position.
pub fn long(bytes: &[u8], at: usize) -> Result<u32, Unread> {
    let found = bytes.get(at..at + 4).and_then(|four| four.try_into().ok());
    found.map(u32::from_be_bytes).ok_or(Unread::Cut)
}
