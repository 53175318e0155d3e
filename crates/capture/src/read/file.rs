//! Reads the packets of a file in order of the file: pcapng and pcap.
//! The formats are draft-ietf-opsawg-pcapng and draft-ietf-opsawg-pcap.

use crate::pcapng::{BYTE_ORDER, INTERFACE, PACKET, SECTION};
use sojourn_units::range::HIGHEST_RATE_BPS;
use std::fmt;
use std::io::{ErrorKind, Read};

/// The largest plausible size of a block or packet in bytes.
const MOST: u32 = 16 << 20;
/// The maximum number of interfaces of a section.
const MOST_INTERFACES: usize = 65_536;

/// Magic numbers of pcap files, by the unit of their times.
const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;

/// Block types that only other programs write.
/// They are the obsolete packet block, and the simple packet block, which has no time.
const OLD_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;

/// Magic numbers of other files, and how to convert them to a capture.
const FOREIGN: &[(&[u8], &str)] = &[
    (b"\x1f\x8b", "a gzip file: unpack it first"),
    (b"\xfd7zXZ", "an xz file: unpack it first"),
    (b"BZh", "a bzip2 file: unpack it first"),
    (b"\x28\xb5\x2f\xfd", "a zstd file: unpack it first"),
    (b"\x04\x22\x4d\x18", "an lz4 file: unpack it first"),
    (b"PK\x03\x04", "a zip file: unpack it first"),
    (b"\x34\xcd\xb2\xa1", "a modified pcap file: convert it by `editcap -F pcap`"),
    (b"\xa1\xb2\xcd\x34", "a modified pcap file: convert it by `editcap -F pcap`"),
    (b"snoop\0", "a snoop file: convert it by `editcap -F pcap`"),
    (b"GMBU", "a file of Network Monitor: convert it by `editcap -F pcap`"),
    (b"RTSS", "a file of Network Monitor: convert it by `editcap -F pcap`"),
    (b"TRSNIFF", "a file of Sniffer: convert it by `editcap -F pcap`"),
    (b"XCP\0", "a file of NetXRay: convert it by `editcap -F pcap`"),
    (b"btsnoop\0", "a capture of Bluetooth"),
];

/// The reason why a file can't be read further, and its byte offset.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Damage {
    /// The byte offset of the error; 0 for a file that is not a capture.
    pub at: u64,
    /// The expectation and the value found.
    pub said: String,
    /// Whether the file is truncated. The data before the truncation is usable.
    pub cut: bool,
}

impl Damage {
    /// An error at a byte offset.
    pub(super) fn at(at: u64, said: String) -> Damage {
        Damage { at, said, cut: false }
    }

    /// The file ends `got` bytes into a part of `size` bytes.
    fn cut(at: u64, size: usize, got: usize) -> Damage {
        Damage { at, said: format!("expected {size} bytes more, got the end of the file after {got}"), cut: true }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.at > 0 { write!(f, "byte {}: {}", self.at, self.said) } else { f.write_str(&self.said) }
    }
}

impl std::error::Error for Damage {}

/// The kind of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// A section of pcapng.
    Pcapng,
    /// A classic pcap file.
    Pcap,
}

/// A packet of a file.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Its time in ns since 1970; `None` if unknown.
    pub at: Option<u64>,
    /// The number of the interface in its section.
    /// Sections of one file number the same interfaces equally.
    pub interface: usize,
    /// The link type, as a number in libpcap's list.
    pub link_type: u16,
    /// The first bytes of the packet.
    pub bytes: &'a [u8],
    /// The original length in bytes.
    pub length: u32,
    /// The byte offset of its block in the file.
    pub place: u64,
}

/// A point at which packets were captured.
#[derive(Clone, Debug, Default)]
pub struct Interface {
    /// The name, if the file has it.
    pub name: String,
    /// The number of the interface in its section.
    pub number: usize,
    /// The rate in bit/s; 0 if unknown.
    pub speed: u64,
    link_type: u16,
    /// The unit of its times: a power of 10, or of 2 if the highest bit is set.
    resolution: u8,
    /// Seconds to add to its times.
    offset: i64,
}

/// Reads a file from its beginning.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    format: Format,
    big_endian: bool,
    interfaces: Vec<Interface>,
    /// The index of the first interface of the current section.
    section: usize,
    /// The number of bytes read.
    position: u64,
    block: Vec<u8>,
    /// The position of a truncation.
    cut: Option<Damage>,
}

impl<R: Read> Reader<R> {
    /// Opens a capture.
    ///
    /// # Errors
    /// The file is not a capture.
    pub fn new(input: R) -> Result<Self, Damage> {
        let (interfaces, block) = (Vec::new(), Vec::new());
        let mut reader = Reader { input, format: Format::Pcap, big_endian: false, interfaces, section: 0, position: 0, block, cut: None };
        let mut magic = [0; 4];
        let got = reader.fill(&mut magic)?;
        let little = u32::from_le_bytes(magic);
        reader.format = if little == SECTION { Format::Pcapng } else { Format::Pcap };
        match little {
            _ if got < 4 => return Err(Damage::at(0, format!("{CAPTURE}, got {got} bytes"))),
            SECTION => reader.section()?,
            MICROSECONDS => reader.pcap(6, false)?,
            NANOSECONDS => reader.pcap(9, false)?,
            other if other.swap_bytes() == MICROSECONDS => reader.pcap(6, true)?,
            other if other.swap_bytes() == NANOSECONDS => reader.pcap(9, true)?,
            _ => return Err(reader.foreign(magic)),
        }
        Ok(reader)
    }

    /// The kind of file.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The interfaces read so far.
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// The truncation of the file, if any, after it was read to its end.
    pub fn cut(&self) -> Option<&Damage> {
        self.cut.as_ref()
    }

    /// Reads the next packet; `None` at the end of the file, even if that truncates a packet.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, Damage> {
        let place = self.position;
        let found = match self.format {
            Format::Pcapng => self.next_packet_block(),
            Format::Pcap => self.next_record(),
        };
        let Some(PacketRecord { at, interface, range, length, place: own }) = self.whole(found)? else { return Ok(None) };
        let place = if own > 0 { own } else { place };
        let link_type = self.interfaces[interface].link_type;
        let length = length.max(range.len() as u32);
        let interface = interface - self.section;
        Ok(Some(Frame { at, interface, link_type, bytes: &self.block[range], length, place }))
    }

    /// Treats a truncated packet as the end of the file.
    fn whole(&mut self, found: Result<Option<PacketRecord>, Damage>) -> Result<Option<PacketRecord>, Damage> {
        match found {
            Err(damage) if damage.cut => {
                self.cut = Some(damage);
                Ok(None)
            }
            other => other,
        }
    }

    /// The error for a file of another kind, by its first bytes.
    fn foreign(&mut self, magic: [u8; 4]) -> Damage {
        let mut begin = [0; 8];
        begin[..4].copy_from_slice(&magic);
        if let Err(damage) = self.fill(&mut begin[4..]) {
            return damage;
        }
        let is_text = magic.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace());
        let said = match FOREIGN.iter().find(|(known, _)| begin.starts_with(known)) {
            Some((_, said)) => (*said).into(),
            None if is_text => "text".into(),
            None => magic.iter().fold("a file that begins with".into(), |said, byte| format!("{said} {byte:02x}")),
        };
        Damage::at(0, format!("{CAPTURE}, got {said}"))
    }

    /// Reads up to this many bytes; returns their number.
    fn fill(&mut self, bytes: &mut [u8]) -> Result<usize, Damage> {
        let mut got = 0;
        while got < bytes.len() {
            match self.input.read(&mut bytes[got..]) {
                Ok(0) => break,
                Ok(more) => got += more,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Damage::at(self.position, format!("cannot be read: {error}"))),
            }
        }
        self.position += got as u64;
        Ok(got)
    }

    /// Appends this many bytes to the block.
    fn read_block(&mut self, size: u32, begin: u64) -> Result<(), Damage> {
        let mut block = std::mem::take(&mut self.block);
        let before = block.len();
        block.resize(before + size as usize, 0);
        let got = self.fill(&mut block[before..])?;
        self.block = block;
        if got < size as usize {
            return Err(Damage::cut(begin, size as usize, got));
        }
        Ok(())
    }

    fn number(&self, bytes: &[u8]) -> u64 {
        let digits = bytes.iter();
        let join = |sum: u64, &byte: &u8| sum << 8 | u64::from(byte);
        if self.big_endian { digits.fold(0, join) } else { digits.rev().fold(0, join) }
    }

    fn u32_at(&self, at: usize) -> u32 {
        self.number(&self.block[at..at + 4]) as u32
    }

    fn u16_at(&self, at: usize) -> u16 {
        self.number(&self.block[at..at + 2]) as u16
    }

    /// Reads the header of a classic file after its magic number.
    fn pcap(&mut self, resolution: u8, big_endian: bool) -> Result<(), Damage> {
        self.big_endian = big_endian;
        self.read_block(20, 0)?;
        let link_type = self.u32_at(16) as u16;
        self.interfaces.push(Interface { link_type, resolution, ..Interface::default() });
        Ok(())
    }

    fn next_record(&mut self) -> Result<Option<PacketRecord>, Damage> {
        let begin = self.position;
        let mut header = [0; 16];
        match self.fill(&mut header)? {
            0 => return Ok(None),
            16 => {}
            got => return Err(Damage::cut(begin, 16, got)),
        }
        let field = |at: usize| self.number(&header[at..at + 4]);
        let (seconds, part, kept, length) = (field(0), field(4), field(8) as u32, field(12) as u32);
        let unit = 10u64.pow(9 - u32::from(self.interfaces[0].resolution));
        if kept > MOST {
            return Err(Damage::at(begin, format!("expected a packet of at most {MOST} bytes, got {kept} bytes")));
        }
        if part * unit >= 1_000_000_000 {
            let said = format!("expected a time whose part of a second is below {}, got {part}", 1_000_000_000 / unit);
            return Err(Damage::at(begin, said));
        }
        self.block.clear();
        self.read_block(kept, begin)?;
        Ok(Some(PacketRecord { at: Some(seconds * 1_000_000_000 + part * unit), interface: 0, range: 0..kept as usize, length, place: 0 }))
    }

    /// Reads the next packet block, and the other blocks before it.
    fn next_packet_block(&mut self) -> Result<Option<PacketRecord>, Damage> {
        loop {
            let begin = self.position;
            let mut kind = [0; 4];
            match self.fill(&mut kind)? {
                0 => return Ok(None),
                4 => {}
                got => return Err(Damage::cut(begin, 4, got)),
            }
            if u32::from_le_bytes(kind) == SECTION {
                self.section()?;
                continue;
            }
            let kind = self.number(&kind) as u32;
            self.body(begin)?;
            match kind {
                INTERFACE => self.interface(begin)?,
                PACKET | OLD_PACKET => return self.packet(begin, kind == OLD_PACKET).map(Some),
                SIMPLE_PACKET => return self.simple_packet(begin).map(Some),
                _ => {}
            }
        }
    }

    /// Reads the rest of a block whose type has been read.
    /// The block is then without type and lengths.
    fn body(&mut self, begin: u64) -> Result<(), Damage> {
        self.block.clear();
        self.read_block(4, begin)?;
        let length = self.u32_at(0);
        if !(12..=MOST).contains(&length) || !length.is_multiple_of(4) {
            return Err(Damage::at(begin, format!("expected a block of 12 to {MOST} bytes, in fours, got {length}")));
        }
        self.block.clear();
        self.read_block(length - 8, begin)?;
        let again = self.u32_at(length as usize - 12);
        if again != length {
            return Err(Damage::at(begin, format!("expected the block's length {length} again at its end, got {again}")));
        }
        self.block.truncate(length as usize - 12);
        Ok(())
    }

    /// Reads the start of a section whose type has been read.
    fn section(&mut self) -> Result<(), Damage> {
        let begin = self.position - 4;
        self.block.clear();
        self.read_block(8, begin)?;
        let order = u32::from_le_bytes([self.block[4], self.block[5], self.block[6], self.block[7]]);
        self.big_endian = match order {
            BYTE_ORDER => false,
            other if other.swap_bytes() == BYTE_ORDER => true,
            _ => return Err(Damage::at(begin + 8, format!("expected the byte order 1a2b3c4d, got {order:08x}"))),
        };
        let length = self.u32_at(0);
        if !(28..=MOST).contains(&length) || !length.is_multiple_of(4) {
            return Err(Damage::at(begin, format!("expected a section's block of 28 to {MOST} bytes, in fours, got {length}")));
        }
        self.read_block(length - 12, begin)?;
        self.section = self.interfaces.len();
        Ok(())
    }

    fn interface(&mut self, begin: u64) -> Result<(), Damage> {
        if self.block.len() < 8 || self.interfaces.len() >= MOST_INTERFACES {
            let said = format!("expected at most {MOST_INTERFACES} interfaces of 20 bytes or more, got another");
            return Err(Damage::at(begin, said));
        }
        let (link_type, number) = (self.u16_at(0), self.interfaces.len() - self.section);
        let mut interface = Interface { link_type, number, resolution: 6, ..Interface::default() };
        let mut at = 8;
        while at + 4 <= self.block.len() {
            let (code, size) = (self.u16_at(at), usize::from(self.u16_at(at + 2)));
            let Some(value) = self.block.get(at + 4..at + 4 + size) else { break };
            match (code, size) {
                (2, _) => interface.name = String::from_utf8_lossy(value).into_owned(),
                // An impossible speed, such as 2^64 - 1, counts as unknown.
                (8, 8) => interface.speed = Some(self.number(value)).filter(|&speed| speed <= HIGHEST_RATE_BPS).unwrap_or(0),
                (9, 1) => interface.resolution = value[0],
                (14, 8) => interface.offset = self.number(value) as i64,
                (0, _) => break,
                _ => {}
            }
            at += 4 + size.next_multiple_of(4);
        }
        self.interfaces.push(interface);
        Ok(())
    }

    /// Parses a packet block. The obsolete form has 16 bits for the interface.
    fn packet(&self, begin: u64, old: bool) -> Result<PacketRecord, Damage> {
        let damage = |said: String| Damage::at(begin, said);
        if self.block.len() < 20 {
            return Err(damage(format!("expected a packet's block of 32 bytes or more, got {}", self.block.len() + 12)));
        }
        let number = if old { u32::from(self.u16_at(0)) } else { self.u32_at(0) };
        let (place, interface) = self.known(number, begin)?;
        let count = u64::from(self.u32_at(4)) << 32 | u64::from(self.u32_at(8));
        let (kept, length) = (self.u32_at(12) as usize, self.u32_at(16));
        if kept > self.block.len() - 20 {
            return Err(damage(format!("expected a packet that ends within its block, got one of {kept} bytes")));
        }
        let at = interface.time(count).ok_or_else(|| damage(format!("expected a time after 1970, got {count} units")))?;
        Ok(PacketRecord { at: Some(at), interface: place, range: 20..20 + kept, length, place: begin })
    }

    /// Parses a simple packet block. It belongs to the section's first interface and has no time.
    fn simple_packet(&self, begin: u64) -> Result<PacketRecord, Damage> {
        let (interface, _) = self.known(0, begin)?;
        if self.block.len() < 4 {
            return Err(Damage::at(begin, format!("expected a packet's block of 16 bytes or more, got {}", self.block.len() + 12)));
        }
        let length = self.u32_at(0);
        let kept = (self.block.len() - 4).min(length as usize);
        Ok(PacketRecord { at: None, interface, range: 4..4 + kept, length, place: begin })
    }

    /// An interface of the current section, and its index.
    fn known(&self, number: u32, begin: u64) -> Result<(usize, &Interface), Damage> {
        let (place, count) = (self.section + number as usize, self.interfaces.len() - self.section);
        let found = self.interfaces.get(place).map(|interface| (place, interface));
        found.ok_or_else(|| Damage::at(begin, format!("expected one of {count} interfaces, got number {number}")))
    }
}

const CAPTURE: &str = "expected a capture (pcapng or pcap)";

/// A packet within the block.
struct PacketRecord {
    at: Option<u64>,
    interface: usize,
    range: std::ops::Range<usize>,
    length: u32,
    place: u64,
}

impl Interface {
    /// The time in ns since 1970; `None` if it is out of range.
    fn time(&self, count: u64) -> Option<u64> {
        let exponent = u32::from(self.resolution & 0x7f);
        let unit = if self.resolution & 0x80 == 0 { 10u128.checked_pow(exponent)? } else { 1u128.checked_shl(exponent)? };
        let ns = (u128::from(count) * 1_000_000_000).checked_div(unit)?;
        let offset = i128::from(self.offset) * 1_000_000_000;
        u64::try_from(i128::try_from(ns).ok()?.checked_add(offset)?).ok()
    }
}
