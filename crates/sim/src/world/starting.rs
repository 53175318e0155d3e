//! How flows start: only the next start has an event.

use super::starts::Starts;
use super::{SENDER_TIMER, World};
use crate::flow::Flow;
use crate::observer::Observer;
use sojourn_units::Time;
use std::cmp::Reverse;

impl<O: Observer> World<O> {
    /// Plans the starts of all flows, in a new world.
    pub(super) fn plan_starts(&mut self) {
        let flows = &mut self.flows;
        let mut waiting = Vec::with_capacity(flows.len());
        for (index, flow) in (0u32..).zip(&mut *flows) {
            let due = flow.sender_due();
            *flow.armed_mut() = due;
            if due != Time::NEVER {
                waiting.push(index);
            }
        }
        waiting.sort_unstable_by_key(|&index| Reverse((flows[index as usize].armed(), index)));
        self.starts = Starts { waiting };
        self.plan_next_start();
    }

    /// Plans the next start if this flow's timer, which is due, is for its start.
    #[inline]
    pub(crate) fn after_start(&mut self, index: u32) {
        if self.starts.next() == Some(index) {
            self.starts.waiting.pop();
            self.plan_next_start();
        }
    }

    /// Sets the timer of the next flow to start.
    pub(super) fn plan_next_start(&mut self) {
        if let Some(index) = self.starts.next() {
            self.network.set_timer(self.flows[index as usize].armed(), SENDER_TIMER, index, 0);
        }
    }

    /// Takes over the starts of another world at time 0, which has these flows.
    /// Its starts before `start` are the same.
    pub(super) fn take_starts(&mut self, other: Starts, flows: &[Flow], start: Time) {
        let started = other.before(start, flows) - self.starts.before(start, &self.flows);
        self.starts = other;
        self.starts.waiting.truncate(self.starts.waiting.len() - started);
    }
}
