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
    /// Bytes that it writes, of a session those of a new connection; the largest number without end; 0 for none.
    pub bytes: u64,
    /// Bytes of the request that goes ahead of a connection of a session, the other way and on a connection of its own; 0: none.
    pub request: u64,
    /// 1 if nothing follows.
    pub last: u8,
}

/// The source of a flow.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// One connection, or datagrams.
    Application(Application),
    /// One connection after another; when it acts next, and the payload of a full packet in bytes.
    Session(Session, Time, u32),
}

/// What the kernel's TCP takes of a full packet: headers of IP and TCP with timestamps, in bytes.
const HEADERS: u32 = 52;

impl Source {
    /// The source of a flow. A session draws the same numbers as in the simulator.
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

    /// Performs its action at its time.
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

    /// A connection of a session is complete.
    pub fn on_complete(&mut self, now: Time) {
        if let Source::Session(session, next, _) = self
            && let Some(at) = session.on_complete(now)
        {
            *next = at.min(*next);
        }
    }
}
