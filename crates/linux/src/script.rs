//! A queue of the kernel in a replay, which repeats the logged decisions.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use sojourn_aqm::{Dequeued, Fate, HostDecision, HostPacket, HostQueue, Lost};
use sojourn_units::Time;

/// The decisions of one queue, in order.
#[derive(Clone, Default, Debug)]
pub struct Script {
    decisions: VecDeque<HostDecision>,
    calls: u64,
}

impl Script {
    /// Adds the next decision.
    pub fn add(&mut self, decision: HostDecision) {
        self.decisions.push_back(decision);
    }

    /// The next decision of the current call.
    fn next(&mut self) -> Option<HostDecision> {
        let next = self.decisions.front()?;
        if next.call == self.calls { self.decisions.pop_front() } else { None }
    }

    /// Executes the decisions of the current call: reports drops and returns the sent packet.
    fn call(&mut self, lost: &mut Lost) -> Option<Dequeued> {
        let mut sent = None;
        while let Some(HostDecision { number, fate, .. }) = self.next() {
            match fate {
                Fate::Dropped(reason) => lost.push_back((number, reason)),
                Fate::Passed | Fate::Marked => sent = Some(Dequeued { number, handle: 0, marked: fate == Fate::Marked }),
            }
        }
        self.calls += 1;
        sent
    }
}

impl HostQueue for Script {
    fn enqueue(&mut self, _now: Time, _number: u32, _packet: HostPacket, lost: &mut Lost) {
        self.call(lost);
    }

    fn dequeue(&mut self, _now: Time, lost: &mut Lost) -> Option<Dequeued> {
        self.call(lost)
    }

    fn boxed_clone(&self) -> Box<dyn HostQueue> {
        Box::new(self.clone())
    }
}
