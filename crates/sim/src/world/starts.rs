//! The starts of flows, of which only the next has an event.

use crate::flow::Flow;
use sojourn_units::{Memory, Time};

/// The flows that have not started: a hundred thousand events that wait would take more room than this list. The timer of each is
/// armed for its start, as if it had one.
#[derive(Clone, Default, Debug)]
pub(crate) struct Starts {
    /// In the order of their starts, the next one last.
    pub waiting: Vec<u32>,
}

impl Starts {
    /// The next flow to start.
    pub fn next(&self) -> Option<u32> {
        self.waiting.last().copied()
    }

    /// Those that start before `start`, by the flows of their world.
    pub fn before(&self, start: Time, flows: &[Flow]) -> usize {
        self.waiting.iter().rev().take_while(|&&index| flows[index as usize].armed() < start).count()
    }
}

impl Memory for Starts {
    fn memory(&self) -> usize {
        self.waiting.memory()
    }
}
