//! Sorts the packets of a file by time and reads their headers.

use super::file::{Damage, Format, Reader};
use super::headers::{self, Packet};
use super::unread::Unread;
use std::collections::BTreeMap;
use std::io::Read;

/// The largest accepted backward step of times in ns.
/// Network cards with several queues and captures of several interfaces produce backward steps.
const WINDOW: u64 = 1_000_000_000;
/// The maximum number of packets held for sorting.
const MOST_WAITING: usize = 100_000;

/// Backward steps of times before sorting.
#[derive(Clone, Copy, Default, Debug)]
pub struct Falls {
    /// The number of packets whose time is before that of an earlier packet.
    pub count: u64,
    /// The largest backward step in ns.
    pub most: u64,
}

/// A packet.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// The time of the capture in ns since 1970.
    pub at: u64,
    /// The number of the interface.
    pub interface: usize,
    /// The length in bytes, including the link layer.
    pub length: u32,
    /// The byte offset in the file.
    pub place: u64,
    /// The headers.
    pub read: Result<Packet, Unread>,
}

/// Sorts the packets of a file.
#[derive(Debug)]
pub struct Ordered<R> {
    reader: Reader<R>,
    /// The waiting packets by time, then by position in the file.
    waiting: BTreeMap<(u64, u64), Arrival>,
    /// The number of packets read.
    count: u64,
    /// The largest time so far, and the time of the last returned packet.
    newest: u64,
    given: u64,
    /// The number of packets without a time, and their bytes.
    pub untimed: (u64, u64),
    /// Backward steps of times.
    pub falls: Falls,
}

impl<R: Read> Ordered<R> {
    /// Opens a capture.
    ///
    /// # Errors
    /// The file is not a capture.
    pub fn new(input: R) -> Result<Self, Damage> {
        let (reader, waiting) = (Reader::new(input)?, BTreeMap::new());
        Ok(Ordered { reader, waiting, count: 0, newest: 0, given: 0, untimed: (0, 0), falls: Falls::default() })
    }

    /// The kind of file.
    pub fn format(&self) -> Format {
        self.reader.format()
    }

    /// The speeds of its interfaces in bit/s, by number; 0 if unknown.
    pub fn speeds(&self) -> Vec<u64> {
        let interfaces = self.reader.interfaces();
        let mut speeds = vec![0; interfaces.iter().map(|interface| interface.number + 1).max().unwrap_or(0)];
        interfaces.iter().for_each(|interface| speeds[interface.number] = interface.speed.max(speeds[interface.number]));
        speeds
    }

    /// The truncation of the file, if any, after it was read to its end.
    pub fn cut(&self) -> Option<&Damage> {
        self.reader.cut()
    }

    /// The next packet in order of time; `None` at the end.
    ///
    /// # Errors
    /// The file is damaged, or has backward steps too large to sort.
    pub fn next_arrival(&mut self) -> Result<Option<Arrival>, Damage> {
        while !self.is_due() && self.read_one()? {}
        let next = self.waiting.pop_first().map(|(_, arrival)| arrival);
        self.given = next.map_or(self.given, |arrival| arrival.at);
        Ok(next)
    }

    /// Whether the first waiting packet precedes all packets that are not yet read.
    fn is_due(&self) -> bool {
        let first = self.waiting.first_key_value();
        first.is_some_and(|((at, _), _)| at + WINDOW <= self.newest) || self.waiting.len() > MOST_WAITING
    }

    /// Reads a packet; `false` at the end of the file.
    fn read_one(&mut self) -> Result<bool, Damage> {
        let Some(frame) = self.reader.next_frame()? else { return Ok(false) };
        let Some(at) = frame.at else {
            self.untimed = (self.untimed.0 + 1, self.untimed.1 + u64::from(frame.length));
            return Ok(true);
        };
        if at < self.newest {
            let fall = self.newest - at;
            if fall > WINDOW || at < self.given {
                let seconds = fall as f64 / 1e9;
                let said =
                    format!("expected times that rise (`reordercap` puts packets in order), got a packet {seconds} s before the last");
                return Err(Damage::at(frame.place, said));
            }
            self.falls = Falls { count: self.falls.count + 1, most: self.falls.most.max(fall) };
        }
        self.newest = self.newest.max(at);
        let read = headers::read(frame.link_type, frame.bytes, frame.length);
        let arrival = Arrival { at, interface: frame.interface, length: frame.length, place: frame.place, read };
        self.waiting.insert((at, self.count), arrival);
        self.count += 1;
        Ok(true)
    }
}
