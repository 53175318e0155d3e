//! What sessions do: they open connections, wait for their ends, and reuse their slots.

use super::identity::Identity;
use super::session::{RequestedObject, SessionMessage, SessionState};
use super::{AddFlow, SESSION_TIMER, World};
use crate::flow::{Completion, Endpoint, Flow};
use crate::observer::Observer;
use crate::tcp::Receiver;
use sojourn_units::{Duration, Time};

/// How long a slot rests after a connection.
/// It is two segment lifetimes (rfc9293#3.4.1), which are short here.
/// A slot rests longer while packets of the connection are in the network.
/// A receiver may have acted on those ahead of the world's time.
/// Otherwise they could reach it when it already serves another connection.
const TIME_WAIT: Duration = Duration::from_secs(4);

/// A connection to open.
struct NewConnection {
    /// When the data that it carries was requested.
    since: Time,
    bytes: u64,
    /// For a request, the size of the requested object, in bytes; 0 otherwise.
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

    /// Resets a used slot for the connection of this name.
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
