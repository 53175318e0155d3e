//! Sources of flows: an application, or a session that opens connections.

use crate::wiring::{Flow, Wiring};
use alloc::format;
use alloc::string::String;
use sojourn_traffic::{Action, Application, Model, Session, Write};
use sojourn_units::{Stream, Time};

/// An action of an application; declared in C too.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Written {
    /// Bytes to write; the maximum is endless, 0 is none.
    /// For a session they are the bytes of a new connection.
    pub bytes: u64,
    /// Bytes of the request before a session's connection; 0 is none.
    /// It is sent in the reverse direction, on a connection of its own.
    pub request: u64,
    /// 1 if this is the last action.
    pub last: u8,
}

/// The source of a flow.
#[derive(Clone, Debug)]
pub enum Source {
    /// One connection, or datagrams.
    Application(Application),
    /// A session with the time of its next action, and the payload of a full packet in bytes.
    Session(Session, Time, u32),
}

/// Bytes of a full packet that are not payload in the kernel's TCP.
/// They are the headers of IP and TCP with timestamps.
const HEADERS: u32 = 52;

impl Source {
    /// The source of a flow. A session draws the same random numbers as in the simulator.
    pub fn new(flow: &Flow, wiring: &Wiring) -> Source {
        let random = |name: String| Stream::named(wiring.seed, &name);
        let stop = if flow.stop >= wiring.duration { Time::NEVER } else { flow.stop };
        match flow.traffic.model() {
            Model::Flow(model) => {
                Source::Application(Application::new(model, flow.start, stop, || random(format!("flow/{}/application", flow.name))))
            }
            Model::Session(model) => {
                let payload = flow.tcp.as_ref().map_or(wiring.packet, |tcp| tcp.packet).saturating_sub(HEADERS).max(1);
                let random = random(format!("session/{}", flow.name));
                Source::Session(Session::new(model, stop, random), flow.start, payload)
            }
        }
    }

    /// The time of its next action; [`Time::NEVER`] if none is known.
    pub fn due(&self) -> Time {
        match self {
            Source::Application(application) => application.due(),
            Source::Session(_, next, _) => *next,
        }
    }

    /// Performs the action that is due.
    pub fn act(&mut self) -> Written {
        match self {
            Source::Application(application) => match application.act() {
                Action::Write(Write { bytes, last, .. }) => Written { bytes: bytes.unwrap_or(u64::MAX), request: 0, last: u8::from(last) },
                Action::Stop => Written { last: 1, ..Written::default() },
            },
            Source::Session(session, next, payload) => {
                let opening = session.open(*next);
                *next = opening.next.unwrap_or(Time::NEVER);
                opening.connection.map_or_else(Written::default, |connection| Written {
                    bytes: connection.size.in_bytes(*payload),
                    request: connection.request,
                    last: 0,
                })
            }
        }
    }

    /// Whether each of its actions opens a connection.
    pub fn is_session(&self) -> bool {
        matches!(self, Source::Session(..))
    }

    /// Handles the completion of a session's connection.
    pub fn on_complete(&mut self, now: Time) {
        if let Source::Session(session, next, _) = self
            && let Some(at) = session.on_complete(now)
        {
            *next = at.min(*next);
        }
    }
}
