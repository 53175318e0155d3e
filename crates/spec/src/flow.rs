//! A flow as the simulator uses it, with all references resolved.

use crate::paths::Paths;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use sojourn_traffic::Traffic;
use sojourn_units::Time;

/// Traffic between two hosts: one flow, or a session that opens connections.
#[derive(Clone, PartialEq, Debug)]
pub struct Flow {
    /// The name; its random streams are `flow/<name>/...`, for a session `session/<name>`.
    pub name: String,
    /// The number of its group; statistics are kept per group.
    pub group: u32,
    /// The start time.
    pub start: Time,
    /// The time at which it stops sending.
    pub stop: Time,
    /// The links of its data, in order.
    pub forward: Vec<u32>,
    /// The links of its acknowledgments, in order; empty over UDP.
    pub back: Vec<u32>,
    /// All alternative paths.
    /// Either the flow has drawn one, which is `forward` and `back`, or each packet chooses.
    pub paths: Option<Arc<Paths>>,
    /// The TCP stack of both hosts, as an index of a list of TCP options.
    /// `None` over UDP and for endpoints of the caller. Sessions require one.
    pub stack: Option<u32>,
    /// The traffic that it sends.
    pub traffic: Traffic,
    /// The name of the endpoints that the caller supplies; `None` for the simulator's.
    pub host: Option<String>,
}

impl Flow {
    /// The links of all its paths in both directions, possibly with duplicates.
    pub fn links(&self) -> [impl Iterator<Item = u32> + '_; 2] {
        let none: &[Vec<u32>] = &[];
        let (forward, back) = self.paths.as_ref().map_or((none, none), |paths| (&paths.forward[..], &paths.back[..]));
        [(&self.forward, forward), (&self.back, back)].map(|(first, all)| first.iter().chain(all.iter().flatten()).copied())
    }
}
