//! The headers of a packet on the wire, and the parsed ACK.

use alloc::vec::Vec;
use core::mem::offset_of;
use sojourn_aqm::{AckHeader, Timestamps};
use sojourn_link::TcpOption;

/// The maximum length of stored headers.
/// It fits an IPv4 header without options and the longest TCP header.
const MOST: usize = 80;

const IP: usize = 20;
const PLAIN: u8 = 0x45;
const TCP: u8 = 6;

/// Bits of the TCP header's flags (rfc9293#3.1). The reserved bits are above them.
mod bit {
    pub const SYN: u16 = 2;
    pub const ACK: u16 = 16;
    /// ECE and CWR.
    pub const ECHO: u16 = 0xc0;
    pub const ALL: u16 = 0xfff;
}

/// The first bytes of a packet, at most 80.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    length: u8,
    bytes: [u8; MOST],
}

// C declares the same struct (`sojourn_header`).
const _: () = assert!(offset_of!(Header, length) == 0 && offset_of!(Header, bytes) == 1 && size_of::<Header>() == 1 + MOST);

impl Default for Header {
    fn default() -> Self {
        Header { length: 0, bytes: [0; MOST] }
    }
}

impl Header {
    /// The header of a packet that starts with these bytes.
    pub fn new(first: &[u8]) -> Header {
        let mut header = Header::default();
        let kept = &first[..first.len().min(MOST)];
        header.bytes[..kept.len()].copy_from_slice(kept);
        header.length = kept.len() as u8;
        header
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length).min(MOST)]
    }

    /// Whether it is a TCP segment over IPv4 with this option.
    pub(crate) fn has(&self, option: TcpOption) -> bool {
        let Some((_, options)) = self.tcp() else { return false };
        let options = Options::read(options);
        match option {
            TcpOption::AccEcn => options.has_byte_counts,
            TcpOption::Sack => options.blocks > 0,
        }
    }

    /// The TCP header without options, and the options.
    /// `None` unless it is a TCP segment over IPv4.
    fn tcp(&self) -> Option<(&[u8], &[u8])> {
        let bytes = self.bytes();
        let tcp = bytes.get(IP..).filter(|_| bytes[0] == PLAIN && bytes[9] == TCP)?;
        tcp.get(..usize::from(*tcp.get(12)? >> 4) * 4)?.split_at_checked(20)
    }

    /// The ACK for an ACK filter.
    /// `None` unless it is a TCP segment over IPv4 with ACK and without SYN. As in Linux's CAKE (`cake_tcph_may_drop`), an ACK with unusual
    /// flags or options is not pure.
    pub(crate) fn ack(&self) -> Option<AckHeader> {
        let bytes = self.bytes();
        let (plain, options) = self.tcp()?;
        let length = plain.len() + options.len();
        let flags = u16::from_be_bytes([plain[12], plain[13]]) & bit::ALL;
        if flags & (bit::ACK | bit::SYN) != bit::ACK {
            return None;
        }
        let options = Options::read(options);
        let has_payload = usize::from(u16::from_be_bytes([bytes[2], bytes[3]])) > IP + length;
        Some(AckHeader {
            connection: u64::from(word(plain, 0)) | u64::from(word(bytes, 12) ^ word(bytes, 16).rotate_left(16)) << 32,
            number: word(plain, 8),
            is_pure: flags & !bit::ECHO == bit::ACK && !has_payload && !options.has_others,
            echo: flags & bit::ECHO,
            timestamps: options.timestamps,
            sack: options.sack,
            blocks: options.blocks,
        })
    }
}

/// Four bytes in network byte order.
fn word(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].iter().fold(0, |word, &byte| word << 8 | u32::from(byte))
}

/// The options of an ACK.
#[derive(Default)]
struct Options {
    timestamps: Option<Timestamps>,
    sack: [(u32, u32); 4],
    blocks: usize,
    /// Whether there are options other than these two, including `AccECN`'s.
    has_others: bool,
    has_byte_counts: bool,
}

impl Options {
    const END: u8 = 0;
    const NOP: u8 = 1;
    const SACK: u8 = 5;
    const TIMESTAMPS: u8 = 8;
    const BYTE_COUNTS: [u8; 2] = [172, 174];

    fn read(mut rest: &[u8]) -> Options {
        let mut options = Options::default();
        while let Some((&kind, after)) = rest.split_first() {
            if kind == Self::END {
                break;
            }
            if kind == Self::NOP {
                rest = after;
                continue;
            }
            let Some((option, next)) = after.first().and_then(|&length| rest.split_at_checked(usize::from(length).max(2))) else { break };
            options.add(kind, &option[2..]);
            rest = next;
        }
        options
    }

    fn add(&mut self, kind: u8, value: &[u8]) {
        match (kind, value.len()) {
            (Self::TIMESTAMPS, 8) => {
                self.timestamps = Some(Timestamps { value: u64::from(word(value, 0)), echo: u64::from(word(value, 4)) });
            }
            (Self::SACK, length) if length.is_multiple_of(8) => {
                for (block, from) in self.sack.iter_mut().zip(value.chunks_exact(8)) {
                    *block = (word(from, 0), word(from, 4));
                    self.blocks += 1;
                }
            }
            _ => {
                self.has_others = true;
                self.has_byte_counts |= Self::BYTE_COUNTS.contains(&kind);
            }
        }
    }
}

/// Appends headers to a file: length and bytes of each packet.
pub(crate) fn store(header: &Header, file: &mut Vec<u8>) {
    file.push(header.length);
    file.extend_from_slice(header.bytes());
}

/// Reads a file of headers: one entry per packet sent, in order.
#[derive(Clone, Debug)]
pub struct HeaderReader<'a> {
    file: &'a [u8],
    /// The position of the next entry.
    pub at: usize,
}

impl<'a> HeaderReader<'a> {
    /// Reads a file from its beginning.
    pub fn new(file: &'a [u8]) -> Self {
        HeaderReader { file, at: 0 }
    }

    /// Reads the headers of the next packet; `None` at the end and if the file is damaged.
    /// The headers are empty if the whole file is.
    pub fn read(&mut self) -> Option<Header> {
        if self.file.is_empty() {
            return Some(Header::default());
        }
        let length = usize::from(*self.file.get(self.at)?);
        let bytes = self.file.get(self.at + 1..self.at + 1 + length).filter(|bytes| bytes.len() <= MOST)?;
        self.at += 1 + length;
        Some(Header::new(bytes))
    }

    /// Whether the whole file has been read.
    pub fn is_over(&self) -> bool {
        self.at == self.file.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec;

    /// An ACK of 10.0.0.2 with these flags, number and options.
    fn ack(flags: u16, number: u32, options: &[u8]) -> Header {
        let length = 20 + options.len();
        let mut bytes = vec![PLAIN, 0, 0, (IP + length) as u8, 0, 7, 0x40, 0, 64, TCP, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1, 4, 0, 0xee, 0x48];
        bytes.extend([0, 0, 0, 9]);
        bytes.extend(number.to_be_bytes());
        bytes.extend(((length as u16 / 4) << 12 | flags).to_be_bytes());
        bytes.extend([1, 0, 0, 0, 0, 0]);
        bytes.extend(options);
        Header::new(&bytes)
    }

    const STAMPS: [u8; 12] = [1, 1, 8, 10, 0, 0, 1, 0, 0, 0, 0, 5];

    #[test]
    fn an_ack_is_read_with_its_options() {
        let sack = [&STAMPS[..], &[1, 1, 5, 18, 0, 0, 0, 1, 0, 0, 0, 2, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 3]].concat();
        let read = ack(bit::ACK | 0x40, 0x8000_0000, &sack).ack().unwrap();
        assert_eq!((read.number, read.echo, read.is_pure, read.blocks), (1 << 31, 0x40, true, 2));
        assert_eq!(read.sack[..2], [(1, 2), (u32::MAX, 3)]);
        assert_eq!(read.timestamps, Some(Timestamps { value: 256, echo: 5 }));
    }

    #[test]
    fn other_flags_options_and_payload_make_it_impure() {
        let pure = |flags, options: &[u8]| ack(flags, 1, options).ack().map(|read| read.is_pure);
        assert_eq!(pure(bit::ACK, &STAMPS), Some(true));
        // FIN, PSH and the bit of accurate ECN.
        assert_eq!([1, 8, 256].map(|flag| pure(bit::ACK | flag, &STAMPS)), [Some(false); 3]);
        assert_eq!(pure(bit::ACK, &[254, 4, 0, 0]), Some(false));
        assert_eq!((pure(bit::ACK | bit::SYN, &[]), pure(0, &[])), (None, None));
        // AccECN's option makes it impure too, even without counters.
        assert_eq!(pure(bit::ACK, &[174, 2, 0, 0]), Some(false));
        let has = |options: &[u8]| [TcpOption::AccEcn, TcpOption::Sack].map(|option| ack(bit::ACK | bit::SYN, 1, options).has(option));
        assert_eq!(
            [has(&[1, 1, 172, 2]), has(&[5, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 1]), has(&STAMPS)],
            [[true, false], [false, true], [false; 2]]
        );
        let mut longer = ack(bit::ACK, 1, &STAMPS);
        longer.bytes[3] += 1;
        assert!(!longer.ack().unwrap().is_pure);
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_ack_or_none(bytes in prop::collection::vec(any::<u8>(), 0..100), plain: bool) {
            let mut bytes = bytes;
            if plain && bytes.len() > 9 {
                (bytes[0], bytes[9]) = (PLAIN, TCP);
            }
            let header = Header::new(&bytes);
            prop_assert_eq!(header.bytes(), &bytes[..bytes.len().min(MOST)]);
            if let Some(ack) = header.ack() {
                prop_assert!(ack.blocks <= 4);
            }
        }

        #[test]
        fn headers_come_back_as_they_were_stored(all in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..90), 1..9)) {
            let mut file = Vec::new();
            let headers: Vec<_> = all.iter().map(|bytes| Header::new(bytes)).collect();
            headers.iter().for_each(|header| store(header, &mut file));
            let mut reader = HeaderReader::new(&file);
            for header in &headers {
                prop_assert_eq!(reader.read(), Some(*header));
            }
            prop_assert!(reader.is_over() && reader.read().is_none());
            let mut cut = HeaderReader::new(&file[..file.len() - 1]);
            prop_assert!(file.len() == 1 || !(0..headers.len()).all(|_| cut.read().is_some()) || headers.last().is_some_and(|last| last.bytes().is_empty()));
        }
    }
}
