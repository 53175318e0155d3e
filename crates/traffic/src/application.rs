//! A running application: a flow model with its times and its random stream.

use crate::{AnyFlowModel, FlowModel, Write};
use sojourn_units::{Stream, Time};

/// What an application does when it is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Gives data to its transport.
    Write(Write),
    /// Stops: nothing more is sent, and a TCP connection gives up what it has not sent.
    Stop,
}

/// The application of one flow.
#[derive(Clone, Debug)]
pub struct Application {
    model: AnyFlowModel,
    next_write: Time,
    stop: Time,
    random: Stream,
}

impl Application {
    /// An application that starts and stops at these times and draws from its own stream.
    pub fn new(model: AnyFlowModel, start: Time, stop: Time, random: Stream) -> Self {
        Application { model, next_write: start, stop, random }
    }

    /// Draws from now on as the application of another run, if it has not drawn yet: see [`Stream::go_over`].
    #[must_use]
    pub fn go_over(&mut self, start: &Self, other: &Self) -> bool {
        self.random.go_over(&start.random, &other.random)
    }

    /// When it acts next; [`Time::NEVER`] after it has stopped.
    #[inline]
    pub fn due(&self) -> Time {
        self.next_write.min(self.stop)
    }

    /// Acts at its due time.
    pub fn act(&mut self) -> Action {
        if self.stop <= self.next_write {
            (self.next_write, self.stop) = (Time::NEVER, Time::NEVER);
            return Action::Stop;
        }
        let write = self.model.write(&mut self.random);
        self.next_write = write.next.map_or(Time::NEVER, |gap| self.next_write + gap);
        Action::Write(write)
    }
}
