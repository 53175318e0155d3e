//! Several paths of one flow.

use alloc::vec::Vec;
use sojourn_units::Time;

/// The paths between which a flow or its packets choose: each a list of links, in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Paths {
    /// Those of its data.
    pub forward: Vec<Vec<u32>>,
    /// Those of its acknowledgments; of another number, or none over UDP.
    pub back: Vec<Vec<u32>>,
    /// From when on packets take the second path, the third and so on, rising. Empty: each packet takes the next path.
    pub times: Vec<Time>,
    /// Whether the flow has drawn one of them for all its packets. Then they lack its own links.
    pub drawn: bool,
}
