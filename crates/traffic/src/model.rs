//! The traits of traffic kinds: parameters and running state.

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
    /// A TCP connection.
    Tcp,
}

/// The parameters of a kind of traffic.
pub trait Params {
    /// The type of the state machine.
    type Model;

    /// Example parameters for lists and tests.
    fn example() -> Self;

    /// Checks that every parameter is in its range.
    ///
    /// # Errors
    /// The first parameter out of range.
    fn check(&self) -> Result<(), ParamError>;

    /// Reads tables from files. A kind with such a table rejects an unread one as empty.
    ///
    /// # Errors
    /// The first error of `read`, prefixed by the parameter that names the file.
    fn read_files<E>(&mut self, read: ReadFile<'_, E>) -> Result<(), (&'static str, E)> {
        let _ = read;
        Ok(())
    }

    /// The state machine at its start. The parameters are in their ranges.
    fn model(&self) -> Self::Model;

    /// Its transport protocol.
    fn transport(&self) -> Transport {
        Transport::Udp
    }

    /// The largest packet on the wire.
    /// `None` over TCP, where the connection determines it.
    fn largest_packet(&self) -> Option<Bytes> {
        None
    }

    /// Whether the receiver returns every packet to its sender.
    fn echoes(&self) -> bool {
        false
    }

    /// Upper bound of the segments of `mss` bytes written to TCP at one instant.
    /// For random amounts it is practically certain. Infinite for endless data.
    fn segments_at_once(&self, mss: u32) -> f64 {
        let _ = mss;
        0.0
    }

    /// Number of connections opened at one instant.
    fn connections_at_once(&self) -> u32 {
        1
    }

    /// Whether the receiver requests each transfer on a separate connection.
    fn requests(&self) -> bool {
        false
    }

    /// Whether it feeds one flow a finite amount of data.
    /// Every connection of a session has such an amount.
    fn is_finite(&self) -> bool {
        false
    }
}

/// A write of an application to its transport.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Write {
    /// Size in bytes: of a datagram on the wire, or of payload for TCP; `None` is endless.
    pub bytes: Option<u64>,
    /// Whether it is the last write; TCP closes the connection after it.
    pub last: bool,
    /// The time until the next write; `None` if this is the last.
    pub next: Option<Duration>,
}

/// The running state of traffic that feeds one flow.
pub trait FlowModel {
    /// Returns the write at this time.
    fn write(&mut self, random: &mut Stream) -> Write;
}

/// The amount of data of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Size {
    /// Bytes of payload.
    Bytes(u64),
    /// Full segments of the connection's MSS.
    Segments(u64),
}

impl Size {
    /// The size in bytes of payload; a full segment has `mss` bytes.
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
    /// Size in bytes of a request that is sent first; 0 is no request.
    /// It is sent in the reverse direction on a separate connection.
    pub request: u64,
    /// The data of the connection.
    pub size: Size,
}

/// The actions of a session at one time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Opening {
    /// The connection that it opens, if any.
    pub connection: Option<Connection>,
    /// The time of the next call; `None`: after a connection completes, or never.
    pub next: Option<Time>,
}

/// The running state of traffic that opens connections.
pub trait SessionModel {
    /// Returns the actions at this time. It may open a connection.
    fn open(&mut self, now: Time, random: &mut Stream) -> Opening;

    /// Handles a completed connection.
    /// Returns the time of the next call, if it depends on the completion.
    fn on_complete(&mut self, now: Time, random: &mut Stream) -> Option<Time> {
        let _ = (now, random);
        None
    }
}
