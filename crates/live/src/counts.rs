//! Counters of packets that do not enter the network, and reports of senders.

use sojourn_units::Time;

/// Packets that do not enter the network, or do not reach their host.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Packets whose headers can't be read.
    pub malformed: u64,
    /// Packets to an address that no host has, such as multicast.
    pub strayed: u64,
    /// Packets between hosts that no flow of the scenario connects.
    pub unconnected: u64,
    /// Packets that the device of their host did not accept.
    pub refused: u64,
}

/// What a sender reports about its connection.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SenderState {
    /// The congestion window in segments.
    pub cwnd: u32,
    /// The slow-start threshold in segments.
    pub ssthresh: u32,
    /// Fast recoveries since the last report.
    pub recoveries: u32,
    /// Timeouts since the last report.
    pub timeouts: u32,
}

/// A connection whose data has arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completed {
    /// The time of its opening.
    pub opened: Time,
    /// The time at which its last byte was acknowledged.
    pub closed: Time,
    /// Its payload in bytes.
    pub bytes: u64,
}
