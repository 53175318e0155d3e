//! The events of a calendar as stored.

use super::order::Key;
use crate::packet::InFlight;

/// Marks the end of a list of nodes.
pub(super) const NONE: u32 = u32::MAX;

/// An event, in its bin and in the list of its bucket, or in that of free nodes.
/// With a packet of 40 bytes it fills one cache line.
#[derive(Clone, Debug)]
pub(super) struct Node<P> {
    pub key: Key,
    pub item: InFlight<P>,
}
