//! A copy of a world that goes on as another run.

use super::World;
use crate::flow::{Endpoint, Flow};
use crate::observer::Observer;
use sojourn_units::Time;

impl<O: Observer + Clone> World<O> {
    /// A copy of this world that goes on as `other` would: another world of the same links, flows and traffic, at time 0. They may
    /// differ in the start, the stop and the TCP options of flows that start, and stop, at `start` or later in both, and in the TCP options
    /// of sessions that do. This world has run to just before that time, or is at time 0.
    ///
    /// There is no copy where other hops need events there, because its receivers have timers and these have none, or the other way round.
    ///
    /// If their seeds differ, `own` is this world at time 0, and there is no copy where some random number has been drawn already
    /// that is another one there.
    #[must_use]
    pub fn fork(&self, own: Option<&World<O>>, other: World<O>, start: Time) -> Option<World<O>> {
        if !self.network.has_events_of(&other.network) {
            return None;
        }
        let mut copy = self.clone();
        if let Some(own) = own
            && !(copy.sessions.is_empty() && copy.goes_over(own, &other, start))
        {
            return None;
        }
        let World { flows, stacks, seed, starts, .. } = other;
        copy.take_starts(starts, &flows, start);
        for (here, there) in copy.flows.iter_mut().zip(flows).filter(|(_, there)| there.armed() >= start) {
            *here = there;
        }
        // The timer that was set for the next start here is one that nobody waits for any more, or does nothing twice.
        copy.plan_next_start();
        (copy.stacks, copy.seed) = (stacks, seed);
        Some(copy)
    }

    /// Lets everything that draws random numbers go over to those of `other`; gives whether nothing has been drawn yet. `own` is this
    /// world at time 0.
    fn goes_over(&mut self, own: &World<O>, other: &World<O>, start: Time) -> bool {
        let others = own.flows.iter().zip(&other.flows);
        let running = self.flows.iter_mut().zip(others).filter(|(_, (own, _))| own.armed() < start);
        let mut flows = running.map(|(here, (own, there))| flow_goes_over(here, own, there));
        flows.all(|goes| goes) && self.network.go_over(&own.network, &other.network)
    }
}

fn flow_goes_over(here: &mut Flow, own: &Flow, there: &Flow) -> bool {
    let phase = |flow: &Flow| if let Endpoint::Tcp(sender) = &flow.endpoint { Some(sender.clock_phase()) } else { None };
    let draws = matches!(&own.endpoint, Endpoint::Tcp(sender) if sender.draws());
    here.application.go_over(&own.application, &there.application) && phase(own) == phase(there) && !draws
}
