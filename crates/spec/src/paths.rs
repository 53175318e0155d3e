//! Several paths of one flow.

use alloc::vec::Vec;
use sojourn_units::Time;

/// Alternative paths of a flow or of its packets. A path is a list of links in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Paths {
    /// The paths of its data.
    pub forward: Vec<Vec<u32>>,
    /// The paths of its ACKs; empty over UDP. Their number may differ from `forward`.
    pub back: Vec<Vec<u32>>,
    /// Increasing times at which packets switch to the second, third, ... path.
    /// If empty, each packet takes the next path.
    pub times: Vec<Time>,
    /// Whether the flow has drawn one of them for all its packets.
    /// The paths then exclude the flow's own links.
    pub drawn: bool,
}
