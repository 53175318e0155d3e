//! Writes pcapng files: a section, its interfaces, then its packets.
//! The format is draft-ietf-opsawg-pcapng.

use crate::wire::MOST_BYTES;
use sojourn_units::{Rate, Time};
use std::io::{Result, Write};

/// The types of blocks.
pub(crate) const SECTION: u32 = 0x0a0d_0d0a;
pub(crate) const INTERFACE: u32 = 1;
pub(crate) const PACKET: u32 = 6;
/// The byte-order magic of a section.
pub(crate) const BYTE_ORDER: u32 = 0x1a2b_3c4d;
/// Packets start with the IPv4 header (`DLT_RAW` of Linux).
/// `LINKTYPE_RAW`, 101, has the same meaning, but libpcap, tcpdump and tcptrace can't read files with several such interfaces.
const RAW_IP: u16 = 12;

const OPT_COMMENT: u16 = 1;
const SHB_USERAPPL: u16 = 4;
const IF_NAME: u16 = 2;
const IF_SPEED: u16 = 8;
const IF_TSRESOL: u16 = 9;

/// The date of time 0 of all runs in seconds since 1970: 2000-01-01.
/// A simulated run has no date.
pub const EPOCH_S: u64 = 946_684_800;

/// A point at which packets are captured.
#[derive(Clone, Debug)]
pub struct Interface<'a> {
    /// The name of the interface.
    pub name: &'a str,
    /// The rate of the interface.
    pub rate: Option<Rate>,
}

/// A packet to write.
#[derive(Clone, Copy, Debug)]
pub struct Captured<'a> {
    /// The index of the interface.
    pub interface: u32,
    /// The simulated time of the capture.
    pub at: Time,
    /// The first bytes of the packet.
    pub bytes: &'a [u8],
    /// The original length in bytes.
    pub length: u32,
    /// A comment; none if empty.
    pub comment: &'a str,
}

/// Writes a file.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    /// The current block.
    block: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Starts a file with a `comment`.
    ///
    /// # Errors
    /// Errors of writing.
    pub fn new(out: W, comment: &str, interfaces: &[Interface<'_>]) -> Result<Self> {
        let mut writer = Writer { out, block: Vec::with_capacity(256) };
        writer.begin(SECTION);
        writer.put(&BYTE_ORDER.to_le_bytes());
        // Version 1.0, with unknown section length.
        writer.put(&[1, 0, 0, 0]);
        writer.put(&u64::MAX.to_le_bytes());
        writer.option(OPT_COMMENT, comment.as_bytes());
        writer.option(SHB_USERAPPL, concat!("sojourn ", env!("CARGO_PKG_VERSION")).as_bytes());
        writer.end()?;
        for interface in interfaces {
            writer.begin(INTERFACE);
            writer.put(&RAW_IP.to_le_bytes());
            writer.put(&[0, 0]);
            writer.put(&(MOST_BYTES as u32).to_le_bytes());
            writer.option(IF_NAME, interface.name.as_bytes());
            if let Some(rate) = interface.rate {
                writer.option(IF_SPEED, &rate.as_bps().to_le_bytes());
            }
            // Time stamps are in nanoseconds.
            writer.option(IF_TSRESOL, &[9]);
            writer.end()?;
        }
        Ok(writer)
    }

    /// Adds a packet, whose time is not before that of the previous one.
    ///
    /// # Errors
    /// Errors of writing.
    pub fn packet(&mut self, packet: &Captured<'_>) -> Result<()> {
        let at = EPOCH_S * 1_000_000_000 + packet.at.as_nanos();
        self.begin(PACKET);
        self.put(&packet.interface.to_le_bytes());
        self.put(&((at >> 32) as u32).to_le_bytes());
        self.put(&(at as u32).to_le_bytes());
        self.put(&(packet.bytes.len() as u32).to_le_bytes());
        self.put(&packet.length.to_le_bytes());
        self.padded(packet.bytes);
        if !packet.comment.is_empty() {
            self.option(OPT_COMMENT, packet.comment.as_bytes());
        }
        self.end()
    }

    /// Flushes and returns the underlying writer.
    ///
    /// # Errors
    /// Errors of writing.
    pub fn finish(mut self) -> Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn begin(&mut self, kind: u32) {
        self.block.clear();
        self.put(&kind.to_le_bytes());
        // A placeholder for the length.
        self.put(&[0; 4]);
    }

    fn put(&mut self, bytes: &[u8]) {
        self.block.extend_from_slice(bytes);
    }

    fn padded(&mut self, bytes: &[u8]) {
        self.put(bytes);
        self.put(&[0; 3][..bytes.len().wrapping_neg() % 4]);
    }

    /// Adds a text option, truncated to 65,535 bytes.
    fn option(&mut self, code: u16, value: &[u8]) {
        let value = &value[..value.len().min(usize::from(u16::MAX))];
        self.put(&code.to_le_bytes());
        self.put(&(value.len() as u16).to_le_bytes());
        self.padded(value);
    }

    /// Ends the options of the block, if any, and writes it.
    fn end(&mut self) -> Result<()> {
        self.put(&[0; 4]);
        let length = (self.block.len() as u32 + 4).to_le_bytes();
        self.block[4..8].copy_from_slice(&length);
        self.put(&length);
        self.out.write_all(&self.block)
    }
}
