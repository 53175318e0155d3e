//! Counters of packets that do not enter the network.

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
