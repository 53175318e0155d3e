//! A running session: a session model with its end and its random stream.

use crate::{AnySessionModel, Opening, SessionModel};
use sojourn_units::{Stream, Time};

/// A session: it opens connections until its end.
#[derive(Clone, Debug)]
pub struct Session {
    model: AnySessionModel,
    stop: Time,
    random: Stream,
}

impl Session {
    /// A session until `stop` that draws from its own stream.
    pub fn new(model: AnySessionModel, stop: Time, random: Stream) -> Self {
        Session { model, stop, random }
    }

    /// Its actions at a requested time. After its end it has none.
    pub fn open(&mut self, now: Time) -> Opening {
        if now >= self.stop {
            return Opening { connection: None, next: None };
        }
        self.model.open(now, &mut self.random)
    }

    /// Handles a completed connection.
    /// Returns the time of the next call, if it depends on the completion.
    pub fn on_complete(&mut self, now: Time) -> Option<Time> {
        self.model.on_complete(now, &mut self.random)
    }
}
