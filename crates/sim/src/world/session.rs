//! Sessions, which open one connection after another, and the state of each.

use crate::flow::{Drops, Flow, FlowRoutes, Transfer};
use sojourn_traffic::Session;
use sojourn_units::Time;
use std::collections::{BTreeMap, BTreeSet};

/// Free flow slots, each with the time from which it is free.
type FreeSlots = BTreeSet<(Time, u32)>;

/// The connections of a session in one direction.
/// It has their routes, and the slots that are free for the next one.
#[derive(Clone, Debug)]
pub(crate) struct Connections {
    pub routes: FlowRoutes,
    pub free: FreeSlots,
}

impl Connections {
    pub fn new(routes: FlowRoutes) -> Self {
        Connections { routes, free: FreeSlots::new() }
    }

    /// The slot that has been free for longest.
    /// Only those count that have rested by `now` and have no packet in the network.
    pub fn take_slot(&mut self, now: Time, flows: &[Flow], drops: &Drops) -> Option<u32> {
        let is_over = |slot: u32, transfer: &Transfer| transfer.travels.over_before(now, drops.of_slot(slot));
        let is_free = |slot: u32| flows[slot as usize].transfer.as_ref().is_some_and(|transfer| is_over(slot, transfer));
        let free = self.free.iter().copied().take_while(|&(from, _)| from <= now).find(|&(_, slot)| is_free(slot))?;
        self.free.remove(&free);
        Some(free.1)
    }
}

/// The state of a running session.
#[derive(Clone, Debug)]
pub(crate) struct SessionState {
    pub session: Session,
    pub name: String,
    /// The position of its entry in the configuration.
    pub entry: u32,
    pub group: u32,
    /// Its TCP options, as a position in the world's stacks.
    pub stack: u32,
    /// The connections that carry its objects.
    pub loads: Connections,
    /// The connections of its requests, in the opposite direction.
    pub requests: Connections,
    /// The number of connections opened so far in both directions.
    /// The next connection is named by it.
    pub opened: u64,
    /// Objects that were requested and wait to be sent, by the tag of their timer.
    pub requested: BTreeMap<u32, RequestedObject>,
    /// The tag of the last object requested.
    pub last_tag: u32,
}

/// What to do when a session's timer expires.
pub(crate) enum SessionMessage {
    /// The session itself acts.
    Act,
    /// A request is complete: the server sends the object.
    Send(RequestedObject),
}

/// An object that a session has requested.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestedObject {
    pub bytes: u64,
    /// When the request was opened.
    pub since: Time,
}
