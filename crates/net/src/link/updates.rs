//! The updates of a link's discipline: its timer and the number of active flows.

use super::router::Router;
use alloc::boxed::Box;
use alloc::collections::BinaryHeap;
use core::cmp::Reverse;
use sojourn_aqm::Needs;
use sojourn_units::Time;

/// The pending updates of a discipline.
#[derive(Clone, Debug)]
pub(super) struct Updates {
    /// The time of the first update.
    pub next: Time,
    /// The time of the discipline's timer.
    pub law_due: Time,
    /// Pending changes of the number of active flows: time, and whether a flow becomes active.
    /// Only if the discipline counts flows.
    flow_changes: BinaryHeap<Reverse<(Time, bool)>>,
    active_flows: u32,
    counts_flows: bool,
    /// Reads the discipline's needs from headers, if senders do not supply them.
    pub router: Option<Box<Router>>,
}

impl Updates {
    pub fn new(needs: &Needs, law_due: Time, router: Option<Box<Router>>) -> Self {
        Updates {
            next: router.as_ref().map_or(law_due, |router| law_due.min(router.due)),
            law_due,
            flow_changes: BinaryHeap::new(),
            active_flows: 0,
            counts_flows: needs.flow_count && router.is_none(),
            router,
        }
    }

    /// Whether the discipline uses the number of active flows.
    #[inline]
    pub fn counts_flows(&self) -> bool {
        self.counts_flows
    }

    /// Plans that a flow becomes active at `at`, or inactive.
    pub fn flow_changes(&mut self, at: Time, active: bool) {
        self.flow_changes.push(Reverse((at, active)));
        self.next = self.next.min(at);
    }

    /// The next change of the number of active flows that is due by `due`: time and new number.
    pub fn next_flow_count(&mut self, due: Time) -> Option<(Time, u32)> {
        if let Some(&Reverse((at, active))) = self.flow_changes.peek()
            && at <= due
        {
            self.flow_changes.pop();
            self.active_flows = if active { self.active_flows + 1 } else { self.active_flows.saturating_sub(1) };
            return Some((at, self.active_flows));
        }
        let router = self.router.as_mut().filter(|router| router.due <= due)?;
        self.active_flows = router.count();
        Some((due, self.active_flows))
    }

    /// Computes the time of the next update.
    pub fn reschedule(&mut self) {
        let next_change = self.flow_changes.peek().map_or(Time::NEVER, |&Reverse((at, _))| at);
        let next_count = self.router.as_ref().map_or(Time::NEVER, |router| router.due);
        self.next = self.law_due.min(next_change).min(next_count);
    }
}
