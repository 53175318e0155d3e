//! A running application: a flow model with its times and random stream.

use crate::kinds::bulk::Bulk;
use crate::{AnyFlowModel, FlowModel, Write};
use alloc::boxed::Box;
use sojourn_units::{Memory, Stream, Time};

/// An action of an application.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Writes data to its transport.
    Write(Write),
    /// Stops: nothing more is sent, and a TCP connection discards unsent data.
    Stop,
}

/// The application of one flow.
#[derive(Clone, Debug)]
pub struct Application {
    /// The time of its next write, or of its stop.
    due: Time,
    stop: Time,
    source: Source,
}

/// The source of an application's writes.
/// Most flows of a large world have bulk data, which draws no random numbers.
#[derive(Clone, Debug)]
enum Source {
    Bulk(Bulk),
    Drawn(Box<Drawn>),
}

/// A model and its random stream.
#[derive(Clone, Debug)]
struct Drawn {
    model: AnyFlowModel,
    random: Stream,
}

impl Application {
    /// An application with these start and stop times and its own stream.
    /// The stream is created lazily.
    pub fn new(model: AnyFlowModel, start: Time, stop: Time, random: impl FnOnce() -> Stream) -> Self {
        let source = match model {
            AnyFlowModel::Bulk(bulk) => Source::Bulk(bulk),
            model => Source::Drawn(Box::new(Drawn { model, random: random() })),
        };
        Application { due: start.min(stop), stop, source }
    }

    /// An application that never acts.
    pub fn idle() -> Self {
        Application { due: Time::NEVER, stop: Time::NEVER, source: Source::Bulk(Bulk::default()) }
    }

    /// Switches to the random stream of another run, if nothing has been drawn yet.
    /// See [`Stream::adopt`].
    #[must_use]
    pub fn adopt_stream(&mut self, start: &Self, other: &Self) -> bool {
        match (&mut self.source, &start.source, &other.source) {
            (Source::Drawn(drawn), Source::Drawn(start), Source::Drawn(other)) => drawn.random.adopt(&start.random, &other.random),
            (here, start, other) => [&*here, start, other].iter().all(|source| matches!(source, Source::Bulk(_))),
        }
    }

    /// The time of its next action; [`Time::NEVER`] after it has stopped.
    #[inline]
    pub fn due(&self) -> Time {
        self.due
    }

    /// The bytes of a finite transfer; `None` for other applications.
    pub fn transfer_size(&self) -> Option<u64> {
        if let Source::Bulk(bulk) = &self.source { bulk.size } else { None }
    }

    /// Performs the action that is due.
    pub fn act(&mut self) -> Action {
        if self.stop <= self.due {
            (self.due, self.stop) = (Time::NEVER, Time::NEVER);
            return Action::Stop;
        }
        let write = match &mut self.source {
            Source::Bulk(bulk) => bulk.all(),
            Source::Drawn(drawn) => drawn.model.write(&mut drawn.random),
        };
        self.due = write.next.map_or(Time::NEVER, |gap| self.due + gap).min(self.stop);
        Action::Write(write)
    }
}

impl Memory for Application {
    fn memory(&self) -> usize {
        if matches!(self.source, Source::Drawn(_)) { size_of::<Drawn>() } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_application_takes_half_of_a_cache_line() {
        assert_eq!(size_of::<Application>(), 32);
    }
}
