//! Several paths of one flow.

use alloc::vec::Vec;
use sojourn_units::Time;

/// Alternative paths of a flow or its packets: each a list of links in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Paths {
    /// The paths of its data.
    pub forward: Vec<Vec<u32>>,
    /// The paths of its ACKs, possibly of another number; empty over UDP.
    pub back: Vec<Vec<u32>>,
    /// Increasing times at which packets switch to the second, third, ... path. Empty: each packet takes the next path.
    pub times: Vec<Time>,
    /// Whether the flow has drawn one of them for all its packets. They then lack its own links.
    pub drawn: bool,
}
