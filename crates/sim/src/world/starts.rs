//! The flows yet to start, of which only the next has an event.

use crate::flow::Flow;
use sojourn_units::{Memory, Time};

/// The flows that have not started.
/// A hundred thousand waiting events would take more memory than this list.
/// The timer of each flow is armed for its start, as if it had one.
#[derive(Clone, Default, Debug)]
pub(crate) struct Starts {
    /// The flows in the order of their starts, the next one last.
    pub waiting: Vec<u32>,
}

impl Starts {
    /// The next flow to start.
    pub fn next(&self) -> Option<u32> {
        self.waiting.last().copied()
    }

    /// The number of flows that start before `start`, by the flows of their world.
    pub fn before(&self, start: Time, flows: &[Flow]) -> usize {
        self.waiting.iter().rev().take_while(|&&index| flows[index as usize].armed() < start).count()
    }
}

impl Memory for Starts {
    fn memory(&self) -> usize {
        self.waiting.memory()
    }
}
