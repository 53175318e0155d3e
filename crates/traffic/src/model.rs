//! What a kind of traffic is asked: of its parameters, and of its running state.

use crate::pairs::ReadFile;
use sojourn_units::{Bytes, Duration, ParamError, Stream, Time};

/// The transport protocol of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Transport {
    /// Datagrams without feedback.
    #[default]
    Udp,
    /// A connection.
    Tcp,
}

/// The parameters of a kind of traffic.
pub trait Params {
    /// The state machine that they describe.
    type Model;

    /// Parameters for a listing and for tests over all kinds.
    fn example() -> Self;

    /// Whether every parameter is in its range.
    ///
    /// # Errors
    /// The first parameter that is not.
    fn check(&self) -> Result<(), ParamError>;

    /// Reads the tables that a scenario has in files. A kind with such a table refuses one that is not read as empty.
    ///
    /// # Errors
    /// The first file that `read` refuses, after the parameter that names it.
    fn read_files<E>(&mut self, read: ReadFile<'_, E>) -> Result<(), (&'static str, E)> {
        let _ = read;
        Ok(())
    }

    /// The state machine at its start. The parameters are in their ranges.
    fn model(&self) -> Self::Model;

    /// What carries the data.
    fn transport(&self) -> Transport {
        Transport::Udp
    }

    /// The largest packet on the wire; `None` over TCP, where that is the connection's.
    fn largest_packet(&self) -> Option<Bytes> {
        None
    }

    /// Whether the receiver returns every packet to its sender.
    fn echoes(&self) -> bool {
        false
    }

    /// About how many segments of `mss` bytes it hands to TCP at one time: of random amounts, so many that more are not to be expected.
    /// Infinite for data without end.
    fn segments_at_once(&self, mss: u32) -> f64 {
        let _ = mss;
        0.0
    }

    /// How many connections it opens at one time.
    fn connections_at_once(&self) -> u32 {
        1
    }

    /// Whether the receiver asks for each transfer, on a connection of its own.
    fn requests(&self) -> bool {
        false
    }

    /// Whether it feeds one flow an amount of data that has an end. Every connection of a session has one.
    fn is_finite(&self) -> bool {
        false
    }
}

/// Data that an application gives to its transport.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Write {
    /// How many bytes: the size of a datagram on the wire, or payload for TCP. `None`: without end.
    pub bytes: Option<u64>,
    /// Whether these are the last; TCP closes the connection after them.
    pub last: bool,
    /// The time until the next write; `None`: there is none.
    pub next: Option<Duration>,
}

/// The running state of traffic that feeds one flow.
pub trait FlowModel {
    /// Writes now.
    fn write(&mut self, random: &mut Stream) -> Write;
}

/// How much a connection carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Size {
    /// Bytes of payload.
    Bytes(u64),
    /// Full segments of the connection's MSS.
    Segments(u64),
}

impl Size {
    /// In bytes of payload, where a full segment has `mss` bytes.
    pub fn in_bytes(self, mss: u32) -> u64 {
        match self {
            Size::Bytes(bytes) => bytes,
            Size::Segments(segments) => segments * u64::from(mss),
        }
    }
}

/// A TCP connection that a session opens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Connection {
    /// Bytes of a request that is sent first, the other way and on a connection of its own; 0: none.
    pub request: u64,
    /// What the connection carries.
    pub size: Size,
}

/// What a session does at one time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Opening {
    /// The connection that it opens, if any.
    pub connection: Option<Connection>,
    /// When to ask it again; `None`: after a connection is complete, or never.
    pub next: Option<Time>,
}

/// The running state of traffic that opens connections.
pub trait SessionModel {
    /// Opens a connection, perhaps.
    fn open(&mut self, now: Time, random: &mut Stream) -> Opening;

    /// One of its connections is complete: when to ask it again, if that decides it.
    fn on_complete(&mut self, now: Time, random: &mut Stream) -> Option<Time> {
        let _ = (now, random);
        None
    }
}
