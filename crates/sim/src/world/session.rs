//! Sessions: hosts that open one connection after another.

use super::identity::Identity;
use super::{AddFlow, SESSION_TIMER, World};
use crate::flow::{Completion, Drops, Endpoint, Flow, FlowRoutes, Transfer};
use crate::observer::Observer;
use crate::tcp::Receiver;
use sojourn_traffic::Session;
use sojourn_units::{Duration, Time};
use std::collections::{BTreeMap, BTreeSet};

/// How long a slot rests after a connection: two segment lifetimes (rfc9293#3.4.1), here short ones. It rests longer while packets
/// of the connection are in the network: a receiver may have acted ahead of the world's time on what would otherwise reach it when
/// it already serves another connection.
const TIME_WAIT: Duration = Duration::from_secs(4);

/// Flow slots that are free, each from a time on.
type FreeSlots = BTreeSet<(Time, u32)>;

/// The connections of a session in one direction: their routes, and the slots that are free for the next one.
#[derive(Clone, Debug)]
pub(crate) struct Connections {
    routes: FlowRoutes,
    free: FreeSlots,
}

impl Connections {
    pub fn new(routes: FlowRoutes) -> Self {
        Connections { routes, free: FreeSlots::new() }
    }

    /// The slot that has been free for longest, of those that have rested by `now` and of which no packet is in the network.
    fn take_slot(&mut self, now: Time, flows: &[Flow], drops: &Drops) -> Option<u32> {
        let is_over = |slot: u32, transfer: &Transfer| transfer.travels.over_before(now, drops.of_slot(slot));
        let is_free = |slot: u32| flows[slot as usize].transfer.as_ref().is_some_and(|transfer| is_over(slot, transfer));
        let free = self.free.iter().copied().take_while(|&(from, _)| from <= now).find(|&(_, slot)| is_free(slot))?;
        self.free.remove(&free);
        Some(free.1)
    }
}

/// A session that runs.
#[derive(Clone, Debug)]
pub(crate) struct SessionState {
    pub session: Session,
    pub name: String,
    /// The position of its entry in the configuration.
    pub entry: u32,
    pub group: u32,
    /// The parameters of its TCP stacks, a position in the world's.
    pub stack: u32,
    /// What it loads.
    pub loads: Connections,
    /// Its requests, which travel the other way.
    pub requests: Connections,
    /// Connections opened so far, in both directions: the next one is called by this number.
    pub opened: u64,
    /// Objects that were requested and are about to be sent, by the tag of their timer.
    pub requested: BTreeMap<u32, RequestedObject>,
    /// The tag of the last object requested.
    pub last_tag: u32,
}

/// What a session's timer stands for.
pub(crate) enum SessionMessage {
    /// The session itself acts.
    Act,
    /// A request is complete: the server sends the object.
    Send(RequestedObject),
}

/// An object that a session has requested.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestedObject {
    bytes: u64,
    /// When the request was opened.
    since: Time,
}

/// A connection to open.
struct NewConnection {
    /// When what it carries was asked for.
    since: Time,
    bytes: u64,
    /// For a request: the bytes of the object that follows.
    requested_bytes: u64,
}

/// The tag of a timer at which the session itself acts.
const ACT: u32 = 0;

impl<O: Observer> World<O> {
    /// A finite transfer is complete at `now`.
    pub(crate) fn complete(&mut self, now: Time, index: u32) {
        let &mut Flow { entry, group, ref mut transfer, .. } = &mut self.flows[index as usize];
        let Some(transfer) = transfer else { return };
        let (requested, session) = (transfer.requested_bytes, transfer.session);
        transfer.completed += u64::from(now >= self.warmup && requested == 0);
        let completion = Completion { entry, group, opened: transfer.opened, closed: now, size: transfer.size };
        if requested == 0 {
            self.accounts.observer.on_complete(&completion);
            if now >= self.warmup {
                self.completions.push(completion);
            }
        }
        let Some(session) = session else { return };
        let state = &mut self.sessions[session as usize];
        if requested > 0 {
            state.requests.free.insert((now + TIME_WAIT, index));
            let object = RequestedObject { bytes: requested, since: completion.opened };
            return self.wake_session(session, now, SessionMessage::Send(object));
        }
        state.loads.free.insert((now + TIME_WAIT, index));
        if let Some(next) = state.session.on_complete(now) {
            self.wake_session(session, next, SessionMessage::Act);
        }
    }

    /// Plans an event of a session at `at`.
    pub(crate) fn wake_session(&mut self, session: u32, at: Time, message: SessionMessage) {
        let state = &mut self.sessions[session as usize];
        let tag = match message {
            SessionMessage::Act => ACT,
            SessionMessage::Send(object) => {
                state.last_tag = state.last_tag.wrapping_add(1).max(1);
                state.requested.insert(state.last_tag, object);
                state.last_tag
            }
        };
        self.network.set_timer(at, SESSION_TIMER, session, tag);
    }

    /// A session's event is due.
    pub(crate) fn session_timer(&mut self, now: Time, session: u32, tag: u32) {
        let state = &mut self.sessions[session as usize];
        if tag != ACT {
            let Some(object) = state.requested.remove(&tag) else { unreachable!("a tag is that of a requested object") };
            return self.open(now, session, NewConnection { since: object.since, bytes: object.bytes, requested_bytes: 0 });
        }
        let mss = self.stacks[state.stack as usize].mss;
        let opening = state.session.open(now);
        if let Some(next) = opening.next {
            self.wake_session(session, next, SessionMessage::Act);
        }
        let Some(connection) = opening.connection else { return };
        let object = connection.size.in_bytes(mss);
        let (bytes, requested_bytes) = if connection.request == 0 { (object, 0) } else { (connection.request, object) };
        self.open(now, session, NewConnection { since: now, bytes, requested_bytes });
    }

    /// Opens a connection in a free slot or a new one.
    fn open(&mut self, now: Time, session: u32, connection: NewConnection) {
        let state = &mut self.sessions[session as usize];
        let name = format!("{}/{}", state.name, state.opened);
        state.opened += 1;
        let direction = if connection.requested_bytes > 0 { &mut state.requests } else { &mut state.loads };
        let slot = direction.take_slot(now, &self.flows, &self.accounts.drops);
        let index = match slot {
            Some(index) => {
                self.renew_slot(index, &name);
                index
            }
            None => {
                let &mut SessionState { entry, group, stack, .. } = state;
                let routes = direction.routes;
                let reversed = connection.requested_bytes > 0;
                let flow = AddFlow { name: &name, routes, entry, group, stack: Some(stack), session: Some(session), reversed };
                // The stack was checked when the world was made, so a new slot can't fail.
                let Ok(index) = self.add_flow(&flow) else { return };
                index
            }
        };
        if let Some(transfer) = &mut self.flows[index as usize].transfer {
            let NewConnection { since, bytes, requested_bytes } = connection;
            (transfer.opened, transfer.size, transfer.requested_bytes) = (since, bytes, requested_bytes);
        }
        self.write(now, index, connection.bytes);
    }

    /// Makes a used slot fresh for the connection of this name.
    fn renew_slot(&mut self, index: u32, name: &str) {
        let identity = Identity { seed: self.seed, name };
        if self.network.hashes_flows() {
            self.network.set_hash(index, identity.hash());
        }
        let flow = &mut self.flows[index as usize];
        let Endpoint::Tcp(sender) = &mut flow.endpoint else { return };
        let params = &self.stacks[flow.stack as usize];
        if let Ok(next) = sender.reopened(identity.clock_phase(params), params) {
            *sender = next.drawing(|| identity.stream("controller"));
        }
        let armed = flow.receiver.armed();
        flow.totals.delivered -= flow.receiver.arrived_early();
        flow.receiver = Receiver::new(params, self.predicts).unwrap_or_default();
        flow.receiver.set_armed(armed);
    }
}
