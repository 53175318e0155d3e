//! The headers of packets on the wire: IPv4 (RFC 791), TCP (RFC 9293) and UDP (RFC 768).

/// The maximum length of headers in bytes: IPv4 without options, and the longest TCP header.
pub const MOST_BYTES: usize = 80;

const IP: usize = 20;
/// Version 4, and a header without options.
const PLAIN: u8 = 0x45;
/// The codepoint of a congestion mark.
const CE: u8 = 3;
const TCP: usize = 20;
const UDP: usize = 8;
const DONT_FRAGMENT: u16 = 0x4000;
const TTL: u8 = 64;
const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;

/// Bits of [`Tcp::flags`] (rfc9293#3.1, rfc9768#3.1).
pub mod flag {
    /// Ends the data of this direction.
    pub const FIN: u16 = 1;
    /// Opens the connection.
    pub const SYN: u16 = 2;
    /// Passes data to the application.
    pub const PSH: u16 = 8;
    /// The acknowledgment number is valid.
    pub const ACK: u16 = 16;
    /// Echoes a congestion mark.
    pub const ECE: u16 = 64;
    /// The sender has reduced its window.
    pub const CWR: u16 = 128;
    /// Accurate ECN.
    pub const AE: u16 = 256;
}

/// An address and a port.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Endpoint {
    /// The IPv4 address.
    pub address: [u8; 4],
    /// The port.
    pub port: u16,
}

/// The common header fields of TCP and UDP.
#[derive(Clone, Copy, Debug)]
pub struct Ip {
    /// The source.
    pub source: Endpoint,
    /// The destination.
    pub destination: Endpoint,
    /// The DSCP, 0 to 63.
    pub dscp: u8,
    /// The ECN codepoint: 0 none, 1 ECT(1), 2 ECT(0), 3 CE.
    pub ecn: u8,
    /// The identification.
    pub id: u16,
}

/// A TCP header.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tcp<'a> {
    /// The sequence number.
    pub seq: u32,
    /// The acknowledgment number.
    pub ack: u32,
    /// The flags: see [`flag`].
    pub flags: u16,
    /// The window field.
    pub window: u16,
    /// The MSS option.
    pub mss: Option<u16>,
    /// The window scale, 0 to 14.
    pub window_scale: Option<u8>,
    /// Whether SACK is permitted.
    pub sack_permitted: bool,
    /// Timestamp: value and echo reply.
    pub timestamps: Option<(u32, u32)>,
    /// `AccECN`'s option.
    pub accecn: Option<AccEcn<'a>>,
    /// SACK blocks: the first byte of each, and the byte after its last.
    /// At most 3 with timestamps, else 4.
    pub sack: &'a [(u32, u32)],
}

/// `AccECN`'s option (rfc9768#3.2.3).
#[derive(Clone, Copy, Debug)]
pub struct AccEcn<'a> {
    /// The kind: 172 or 174, by the order of the fields.
    pub kind: u8,
    /// The fields of 24 bits, at most three.
    pub fields: &'a [u32],
}

/// The headers of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Headers {
    bytes: [u8; MOST_BYTES],
    used: usize,
    /// The length of the packet in bytes, including its payload.
    pub length: u32,
}

impl Headers {
    /// The header bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.used]
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.used..self.used + bytes.len()].copy_from_slice(bytes);
        self.used += bytes.len();
    }

    /// Parses the headers of a packet of `length` bytes that starts with `bytes`.
    /// A host passed it to a device without checksums. `marked` is whether it was marked since (CE, rfc3168#5). `None` unless it is TCP or
    /// UDP over IPv4, without IP options and with complete headers.
    pub fn of_host(bytes: &[u8], length: u32, marked: bool) -> Option<Headers> {
        let (protocol, used) = match (*bytes.first()?, *bytes.get(9)?) {
            (PLAIN, PROTOCOL_TCP) => (PROTOCOL_TCP, IP + usize::from(*bytes.get(IP + 12)? >> 4) * 4),
            (PLAIN, PROTOCOL_UDP) => (PROTOCOL_UDP, IP + UDP),
            _ => return None,
        };
        let whole = bytes.get(..used).filter(|_| protocol == PROTOCOL_UDP || used >= IP + TCP)?;
        let mut headers = Headers { bytes: [0; MOST_BYTES], used: 0, length };
        headers.put(whole);
        headers.bytes[1] |= if marked { CE } else { 0 };
        headers.seal(protocol);
        Some(headers)
    }

    /// Starts headers with the IPv4 header of a packet of `length` bytes.
    fn ip(ip: &Ip, protocol: u8, length: u32) -> Headers {
        let mut headers = Headers { bytes: [0; MOST_BYTES], used: 0, length };
        headers.put(&[PLAIN, ip.dscp << 2 | ip.ecn]);
        headers.put(&(length as u16).to_be_bytes());
        headers.put(&ip.id.to_be_bytes());
        headers.put(&DONT_FRAGMENT.to_be_bytes());
        headers.put(&[TTL, protocol, 0, 0]);
        headers.put(&ip.source.address);
        headers.put(&ip.destination.address);
        headers
    }

    /// Fills in the checksums of the IPv4 header and of the transport header.
    /// The payload is zeros, which do not change the sum.
    fn seal(&mut self, protocol: u8) {
        let at = IP + if protocol == PROTOCOL_TCP { 16 } else { 6 };
        self.bytes[10..12].fill(0);
        self.bytes[at..at + 2].fill(0);
        let ip = checksum(0, &self.bytes[..IP]);
        self.bytes[10..12].copy_from_slice(&ip.to_be_bytes());
        let pseudo = sum(&self.bytes[12..20]) + u32::from(protocol) + self.length.saturating_sub(IP as u32);
        let sum = match checksum(pseudo, &self.bytes[IP..self.used]) {
            // 0 would mean that there is no checksum.
            0 if protocol == PROTOCOL_UDP => u16::MAX,
            sum => sum,
        };
        self.bytes[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    }
}

/// The headers of a TCP segment with this payload size.
/// Options have at most 40 bytes; SACK blocks that do not fit are omitted.
pub fn tcp(ip: &Ip, tcp: &Tcp<'_>, payload: u32) -> Headers {
    let mut options = Options { bytes: [0; Options::ROOM], used: 0 };
    options.all(tcp);
    let header = TCP + options.used;
    let mut headers = Headers::ip(ip, PROTOCOL_TCP, (IP + header) as u32 + payload);
    headers.put(&ip.source.port.to_be_bytes());
    headers.put(&ip.destination.port.to_be_bytes());
    headers.put(&tcp.seq.to_be_bytes());
    headers.put(&tcp.ack.to_be_bytes());
    headers.put(&((header as u16 / 4) << 12 | tcp.flags & 0x1ff).to_be_bytes());
    headers.put(&tcp.window.to_be_bytes());
    headers.put(&[0; 4]);
    headers.put(&options.bytes[..options.used]);
    headers.seal(PROTOCOL_TCP);
    headers
}

/// The headers of a datagram of `length` bytes including headers, at least 28.
pub fn udp(ip: &Ip, length: u32) -> Headers {
    let mut headers = Headers::ip(ip, PROTOCOL_UDP, length.max((IP + UDP) as u32));
    headers.put(&ip.source.port.to_be_bytes());
    headers.put(&ip.destination.port.to_be_bytes());
    headers.put(&((headers.length - IP as u32) as u16).to_be_bytes());
    headers.put(&[0; 2]);
    headers.seal(PROTOCOL_UDP);
    headers
}

/// TCP options, in words of four bytes.
struct Options {
    bytes: [u8; Self::ROOM],
    used: usize,
}

impl Options {
    const ROOM: usize = 40;
    const NOP: u8 = 1;

    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.used..self.used + bytes.len()].copy_from_slice(bytes);
        self.used += bytes.len();
    }

    fn all(&mut self, tcp: &Tcp<'_>) {
        if let Some(mss) = tcp.mss {
            self.put(&[2, 4]);
            self.put(&mss.to_be_bytes());
        }
        let padding = if tcp.sack_permitted { [4, 2] } else { [Self::NOP; 2] };
        if tcp.sack_permitted || tcp.timestamps.is_some() {
            self.put(&padding);
        }
        if let Some((value, echo)) = tcp.timestamps {
            self.put(&[8, 10]);
            self.put(&value.to_be_bytes());
            self.put(&echo.to_be_bytes());
        } else if tcp.sack_permitted {
            self.put(&[Self::NOP; 2]);
        }
        if let Some(scale) = tcp.window_scale {
            self.put(&[Self::NOP, 3, 3, scale]);
        }
        if let Some(AccEcn { kind, fields }) = tcp.accecn {
            self.put(&[kind, 2 + 3 * fields.len() as u8]);
            fields.iter().for_each(|field| self.put(&field.to_be_bytes()[1..]));
        }
        // The previous option may use the space of its padding.
        let used = if self.used % 4 > 2 { self.used.next_multiple_of(4) } else { self.used / 4 * 4 };
        let room = (Self::ROOM - used).saturating_sub(4) / 8;
        let blocks = &tcp.sack[..tcp.sack.len().min(room)];
        while self.used % 4 != if blocks.is_empty() { 0 } else { 2 } {
            self.put(&[Self::NOP]);
        }
        if !blocks.is_empty() {
            self.put(&[5, 2 + 8 * blocks.len() as u8]);
        }
        for (from, to) in blocks {
            self.put(&from.to_be_bytes());
            self.put(&to.to_be_bytes());
        }
    }
}

/// The sum of the 16-bit words (rfc1071#1). An odd last byte is the high byte of a word.
fn sum(bytes: &[u8]) -> u32 {
    bytes.chunks(2).map(|word| u32::from(word[0]) << 8 | word.get(1).map_or(0, |&low| u32::from(low))).sum()
}

/// The checksum of the bytes, added to the sum `before`. Their checksum field must be 0.
fn checksum(before: u32, bytes: &[u8]) -> u16 {
    let mut all = before + sum(bytes);
    while all > 0xffff {
        all = (all & 0xffff) + (all >> 16);
    }
    !(all as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: Endpoint = Endpoint { address: [10, 0, 0, 1], port: 32_768 };
    const PEER: Endpoint = Endpoint { address: [10, 1, 0, 1], port: 50_000 };
    const PACKET: Ip = Ip { source: HOST, destination: PEER, dscp: 46, ecn: 2, id: 7 };

    fn accecn(fields: &[u32]) -> Option<AccEcn<'_>> {
        Some(AccEcn { kind: 174, fields })
    }

    /// Sums a header including its checksum as a receiver does: 0 if valid (rfc1071#1).
    fn verified(headers: &Headers, protocol: u8) -> bool {
        let bytes = headers.bytes();
        let pseudo = sum(&bytes[12..20]) + u32::from(protocol) + headers.length - 20;
        checksum(0, &bytes[..20]) == 0 && checksum(pseudo, &bytes[20..]) == 0
    }

    #[test]
    fn checksums_are_those_that_a_receiver_computes() {
        let blocks = [(1, 2), (5, 9), (20, 40), (50, 60)];
        let cases = [
            Tcp::default(),
            Tcp { mss: Some(1460), window_scale: Some(7), sack_permitted: true, timestamps: Some((9, 0)), ..Tcp::default() },
            Tcp { timestamps: Some((u32::MAX, 3)), sack: &blocks, flags: flag::ACK | flag::AE, ..Tcp::default() },
            Tcp { sack: &blocks, ..Tcp::default() },
            Tcp { accecn: accecn(&[1, 0, 0xff_ffff]), ..Tcp::default() },
            Tcp { accecn: accecn(&[1, 0]), sack: &blocks[..2], timestamps: Some((9, 0)), ..Tcp::default() },
            Tcp { accecn: accecn(&[]), sack: &blocks, timestamps: Some((9, 0)), ..Tcp::default() },
        ];
        for (case, room) in cases.iter().zip([40, 60, 80, 76, 52, 80, 80]) {
            let headers = tcp(&PACKET, case, 1448);
            assert!(verified(&headers, PROTOCOL_TCP) && headers.bytes().len() == room, "{case:?}: {headers:?}");
            assert_eq!(headers.length as usize, room + 1448);
        }
        assert!([0, 28, 29, 1000].iter().all(|&size| verified(&udp(&PACKET, size), PROTOCOL_UDP)));
    }

    #[test]
    fn the_option_of_accurate_ecn_takes_the_place_of_the_padding_of_a_sack_option() {
        let options = |fields: &[u32], sack: &[(u32, u32)]| {
            let headers = tcp(&PACKET, &Tcp { accecn: accecn(fields), sack, ..Tcp::default() }, 0);
            headers.bytes()[40..].to_vec()
        };
        assert_eq!(options(&[1, 2, 3], &[]), [174, 11, 0, 0, 1, 0, 0, 2, 0, 0, 3, 1]);
        assert_eq!(options(&[0x01_0203], &[(4, 5)])[..8], [174, 5, 1, 2, 3, 1, 5, 10]);
        assert_eq!(options(&[], &[(4, 5)])[..4], [174, 2, 5, 10]);
        assert_eq!(options(&[1, 2, 3], &[(4, 5)])[11..16], [1, 1, 1, 5, 10]);
    }

    #[test]
    fn headers_of_a_host_are_its_own_with_checksums_and_its_mark() {
        let made = tcp(&PACKET, &Tcp { timestamps: Some((9, 3)), sack: &[(1, 2)], ..Tcp::default() }, 1448);
        let mut given = [made.bytes(), &[0; 100]].concat();
        // A device must fill in checksums that the host omitted.
        given[36..38].copy_from_slice(&[0xab, 0xcd]);
        let plain = Headers::of_host(&given, made.length, false).unwrap();
        assert_eq!((plain.bytes(), plain.length), (made.bytes(), made.length));
        let marked = Headers::of_host(&given, made.length, true).unwrap();
        assert!(verified(&marked, PROTOCOL_TCP) && marked.bytes()[1] == PACKET.dscp << 2 | 3);
        let datagram = udp(&PACKET, 200);
        assert_eq!(Headers::of_host(datagram.bytes(), 200, false).unwrap().bytes(), datagram.bytes());
        assert!((0..made.bytes().len()).all(|length| Headers::of_host(&given[..length], made.length, false).is_none()));
    }

    #[test]
    fn a_known_header_has_its_known_checksum() {
        // The example of Wikipedia's "Internet checksum": 45 00 00 73 00 00 40 00 40 11 b8 61 c0 a8 00 01 c0 a8 00 c7.
        let ends = [[192, 168, 0, 1], [192, 168, 0, 199]].map(|address| Endpoint { address, port: 1 });
        let headers = udp(&Ip { source: ends[0], destination: ends[1], dscp: 0, ecn: 0, id: 0 }, 115);
        assert_eq!(headers.bytes()[..20], [0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0xb8, 0x61, 192, 168, 0, 1, 192, 168, 0, 199]);
    }
}
