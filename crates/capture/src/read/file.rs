//! The packets of a file, one after the other: pcapng (draft-ietf-opsawg-pcapng) and pcap (draft-ietf-opsawg-pcap).

use crate::pcapng::{BYTE_ORDER, INTERFACE, PACKET, SECTION};
use std::fmt;
use std::io::{ErrorKind, Read};

/// The longest block or packet that is taken for one.
const MOST: u32 = 16 << 20;
/// The interfaces that a section has at most.
const MOST_INTERFACES: usize = 65_536;

/// What pcap files begin with: the unit of their times.
const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;

/// Why a file can't be read on, and at which byte.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Damage {
    /// The byte at which what is wrong begins; 0 for a file that is no capture at all.
    pub at: u64,
    /// What is expected and what it got.
    pub said: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.at > 0 { write!(f, "byte {}: {}", self.at, self.said) } else { f.write_str(&self.said) }
    }
}

impl std::error::Error for Damage {}

/// What a file is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// A section of pcapng.
    Pcapng,
    /// A classic file.
    Pcap,
}

/// A packet of a file.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// When it was captured, in ns since 1970.
    pub at: u64,
    /// Where, as a position in [`Reader::interfaces`].
    pub interface: usize,
    /// What follows the link layer: its number in the list of libpcap.
    pub link_type: u16,
    /// Its first bytes.
    pub bytes: &'a [u8],
    /// How long it was.
    pub length: u32,
    /// At which byte of the file its block begins.
    pub place: u64,
}

/// A point at which packets were captured.
#[derive(Clone, Debug, Default)]
pub struct Interface {
    /// Its name, if the file has it.
    pub name: String,
    /// Its rate in bit/s, 0 if the file does not say.
    pub speed: u64,
    link_type: u16,
    /// The unit of its times: a power of 10, or of 2 with the highest bit.
    resolution: u8,
    /// Seconds that are added to its times.
    offset: i64,
}

/// Reads a file from its beginning.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    format: Format,
    big_endian: bool,
    interfaces: Vec<Interface>,
    /// The first interface of the present section.
    section: usize,
    /// Bytes read.
    position: u64,
    block: Vec<u8>,
    /// The time of the last packet.
    last: u64,
}

impl<R: Read> Reader<R> {
    /// Begins to read.
    ///
    /// # Errors
    /// A file that is no capture.
    pub fn new(input: R) -> Result<Self, Damage> {
        let (interfaces, block) = (Vec::new(), Vec::new());
        let mut reader = Reader { input, format: Format::Pcap, big_endian: false, interfaces, section: 0, position: 0, block, last: 0 };
        let mut magic = [0; 4];
        let got = reader.fill(&mut magic)?;
        let little = u32::from_le_bytes(magic);
        reader.format = if little == SECTION { Format::Pcapng } else { Format::Pcap };
        match little {
            _ if got < 4 => return Err(Damage { at: 0, said: format!("{CAPTURE}, got {got} bytes") }),
            SECTION => reader.section()?,
            MICROSECONDS => reader.pcap(6, false)?,
            NANOSECONDS => reader.pcap(9, false)?,
            other if other.swap_bytes() == MICROSECONDS => reader.pcap(6, true)?,
            other if other.swap_bytes() == NANOSECONDS => reader.pcap(9, true)?,
            _ => {
                let said = match magic {
                    [0x1f, 0x8b, ..] => "a gzip file: unpack it first".into(),
                    text if text.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()) => "text".into(),
                    [a, b, c, d] => format!("a file that begins with {a:02x} {b:02x} {c:02x} {d:02x}"),
                };
                return Err(Damage { at: 0, said: format!("{CAPTURE}, got {said}") });
            }
        }
        Ok(reader)
    }

    /// What the file is.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The interfaces read so far.
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// The next packet; `None` at the end of the file.
    ///
    /// # Errors
    /// A damaged file, or a packet earlier than the one before.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, Damage> {
        let place = self.position;
        let found = match self.format {
            Format::Pcapng => self.next_packet_block()?,
            Format::Pcap => self.next_record()?,
        };
        let Some(Found { at, interface, range, length, place: own }) = found else { return Ok(None) };
        let place = if own > 0 { own } else { place };
        if at < self.last {
            let early = (self.last - at) as f64 / 1e9;
            let said = format!("expected times that rise (`reordercap` puts packets in order), got a packet {early} s before the last");
            return Err(Damage { at: place, said });
        }
        self.last = at;
        let link_type = self.interfaces[interface].link_type;
        Ok(Some(Frame { at, interface, link_type, bytes: &self.block[range], length, place }))
    }

    /// Reads up to as many bytes; gives how many there were.
    fn fill(&mut self, bytes: &mut [u8]) -> Result<usize, Damage> {
        let mut got = 0;
        while got < bytes.len() {
            match self.input.read(&mut bytes[got..]) {
                Ok(0) => break,
                Ok(more) => got += more,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Damage { at: self.position, said: format!("cannot be read: {error}") }),
            }
        }
        self.position += got as u64;
        Ok(got)
    }

    /// Reads as many bytes into the block, after those that are there.
    fn read_block(&mut self, size: u32, begin: u64) -> Result<(), Damage> {
        let mut block = std::mem::take(&mut self.block);
        let before = block.len();
        block.resize(before + size as usize, 0);
        let got = self.fill(&mut block[before..])?;
        self.block = block;
        if got < size as usize {
            return Err(Damage { at: begin, said: format!("expected {size} bytes more, got the end of the file after {got}") });
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

    /// The header of a classic file, after its first number.
    fn pcap(&mut self, resolution: u8, big_endian: bool) -> Result<(), Damage> {
        self.big_endian = big_endian;
        self.read_block(20, 0)?;
        let link_type = self.u32_at(16) as u16;
        self.interfaces.push(Interface { link_type, resolution, ..Interface::default() });
        Ok(())
    }

    fn next_record(&mut self) -> Result<Option<Found>, Damage> {
        let begin = self.position;
        let mut header = [0; 16];
        match self.fill(&mut header)? {
            0 => return Ok(None),
            16 => {}
            got => return Err(Damage { at: begin, said: format!("expected 16 bytes of a packet's header, got {got}") }),
        }
        let field = |at: usize| self.number(&header[at..at + 4]);
        let (seconds, part, kept, length) = (field(0), field(4), field(8) as u32, field(12) as u32);
        let unit = 10u64.pow(9 - u32::from(self.interfaces[0].resolution));
        if kept > MOST || part * unit >= 1_000_000_000 {
            let said = format!("expected a packet of at most {MOST} bytes, got {kept} bytes, {part} after second {seconds}");
            return Err(Damage { at: begin, said });
        }
        self.block.clear();
        self.read_block(kept, begin)?;
        Ok(Some(Found { at: seconds * 1_000_000_000 + part * unit, interface: 0, range: 0..kept as usize, length, place: 0 }))
    }

    /// The next block of packets; others are read on the way.
    fn next_packet_block(&mut self) -> Result<Option<Found>, Damage> {
        loop {
            let begin = self.position;
            let mut kind = [0; 4];
            match self.fill(&mut kind)? {
                0 => return Ok(None),
                4 => {}
                got => return Err(Damage { at: begin, said: format!("expected a block, got {got} bytes") }),
            }
            if u32::from_le_bytes(kind) == SECTION {
                self.section()?;
                continue;
            }
            let kind = self.number(&kind) as u32;
            self.body(begin)?;
            match kind {
                INTERFACE => self.interface(begin)?,
                PACKET => return self.packet(begin).map(Some),
                _ => {}
            }
        }
    }

    /// Reads the rest of a block whose kind was read: the block is then without kind and lengths.
    fn body(&mut self, begin: u64) -> Result<(), Damage> {
        self.block.clear();
        self.read_block(4, begin)?;
        let length = self.u32_at(0);
        if !(12..=MOST).contains(&length) || !length.is_multiple_of(4) {
            return Err(Damage { at: begin, said: format!("expected a block of 12 to {MOST} bytes, in fours, got {length}") });
        }
        self.block.clear();
        self.read_block(length - 8, begin)?;
        let again = self.u32_at(length as usize - 12);
        if again != length {
            return Err(Damage { at: begin, said: format!("expected the block's length {length} again at its end, got {again}") });
        }
        self.block.truncate(length as usize - 12);
        Ok(())
    }

    /// A section begins; its kind was read.
    fn section(&mut self) -> Result<(), Damage> {
        let begin = self.position - 4;
        self.block.clear();
        self.read_block(8, begin)?;
        let order = u32::from_le_bytes([self.block[4], self.block[5], self.block[6], self.block[7]]);
        self.big_endian = match order {
            BYTE_ORDER => false,
            other if other.swap_bytes() == BYTE_ORDER => true,
            _ => return Err(Damage { at: begin + 8, said: format!("expected the byte order 1a2b3c4d, got {order:08x}") }),
        };
        let length = self.u32_at(0);
        if !(28..=MOST).contains(&length) || !length.is_multiple_of(4) {
            return Err(Damage { at: begin, said: format!("expected a section's block of 28 to {MOST} bytes, in fours, got {length}") });
        }
        self.read_block(length - 12, begin)?;
        self.section = self.interfaces.len();
        Ok(())
    }

    fn interface(&mut self, begin: u64) -> Result<(), Damage> {
        if self.block.len() < 8 || self.interfaces.len() >= MOST_INTERFACES {
            return Err(Damage {
                at: begin,
                said: format!("expected at most {MOST_INTERFACES} interfaces of 20 bytes or more, got another"),
            });
        }
        let mut interface = Interface { link_type: self.u16_at(0), resolution: 6, ..Interface::default() };
        let mut at = 8;
        while at + 4 <= self.block.len() {
            let (code, size) = (self.u16_at(at), usize::from(self.u16_at(at + 2)));
            let Some(value) = self.block.get(at + 4..at + 4 + size) else { break };
            match (code, size) {
                (2, _) => interface.name = String::from_utf8_lossy(value).into_owned(),
                (8, 8) => interface.speed = self.number(value),
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

    fn packet(&self, begin: u64) -> Result<Found, Damage> {
        let damage = |said: String| Damage { at: begin, said };
        if self.block.len() < 20 {
            return Err(damage(format!("expected a packet's block of 32 bytes or more, got {}", self.block.len() + 12)));
        }
        let number = self.section + self.u32_at(0) as usize;
        let Some(interface) = self.interfaces.get(number) else {
            let known = self.interfaces.len() - self.section;
            return Err(damage(format!("expected one of {known} interfaces, got number {}", self.u32_at(0))));
        };
        let count = u64::from(self.u32_at(4)) << 32 | u64::from(self.u32_at(8));
        let (kept, length) = (self.u32_at(12) as usize, self.u32_at(16));
        if kept > self.block.len() - 20 {
            return Err(damage(format!("expected a packet that ends within its block, got one of {kept} bytes")));
        }
        let at = interface.time(count).ok_or_else(|| damage(format!("expected a time after 1970, got {count} units")))?;
        Ok(Found { at, interface: number, range: 20..20 + kept, length, place: begin })
    }
}

const CAPTURE: &str = "expected a capture (pcapng or pcap)";

/// A packet within the block.
struct Found {
    at: u64,
    interface: usize,
    range: std::ops::Range<usize>,
    length: u32,
    place: u64,
}

impl Interface {
    /// A time in ns since 1970; `None` if it is out of reach.
    fn time(&self, count: u64) -> Option<u64> {
        let exponent = u32::from(self.resolution & 0x7f);
        let unit = if self.resolution & 0x80 == 0 { 10u128.checked_pow(exponent)? } else { 1u128.checked_shl(exponent)? };
        let ns = (u128::from(count) * 1_000_000_000).checked_div(unit)?;
        let offset = i128::from(self.offset) * 1_000_000_000;
        u64::try_from(i128::try_from(ns).ok()?.checked_add(offset)?).ok()
    }
}
