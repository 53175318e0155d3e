//! Forks a world: a copy that continues as another run.

use super::World;
use crate::flow::{Endpoint, Flow};
use crate::observer::Observer;
use sojourn_units::Time;

impl<O: Observer + Clone> World<O> {
    /// A copy of this world that continues as `other` would.
    /// `other` is a world of the same links, flows and traffic at time 0.
    /// The two may differ in the start, stop and TCP options of flows that start, and stop, at `start` or later in both.
    /// They may also differ in the TCP options of sessions that start then.
    /// This world has run to just before `start`, or is at time 0.
    ///
    /// `None` if other hops need events in `other`, because only one of the two has receivers with timers.
    ///
    /// If the seeds differ, `own` is this world at time 0.
    /// Then `None` if some random number has been drawn already that `other` would draw differently.
    #[must_use]
    pub fn fork(&self, own: Option<&World<O>>, other: World<O>, start: Time) -> Option<World<O>> {
        if !self.network.has_events_of(&other.network) {
            return None;
        }
        let mut copy = self.clone();
        if let Some(own) = own
            && !(copy.sessions.is_empty() && copy.adopt_streams(own, &other, start))
        {
            return None;
        }
        let World { flows, stacks, seed, starts, .. } = other;
        copy.take_starts(starts, &flows, start);
        for (here, there) in copy.flows.iter_mut().zip(flows).filter(|(_, there)| there.armed() >= start) {
            *here = there;
        }
        // The timer already set for the next start is stale, or setting it again has no effect.
        copy.plan_next_start();
        (copy.stacks, copy.seed) = (stacks, seed);
        Some(copy)
    }

    /// Moves everything that draws random numbers to the streams of `other`.
    /// Returns whether nothing has been drawn yet.
    /// `own` is this world at time 0.
    fn adopt_streams(&mut self, own: &World<O>, other: &World<O>, start: Time) -> bool {
        let others = own.flows.iter().zip(&other.flows);
        let running = self.flows.iter_mut().zip(others).filter(|(_, (own, _))| own.armed() < start);
        let mut flows = running.map(|(here, (own, there))| adopt_flow_streams(here, own, there));
        flows.all(|adopted| adopted) && self.network.adopt_streams(&own.network, &other.network)
    }
}

fn adopt_flow_streams(here: &mut Flow, own: &Flow, there: &Flow) -> bool {
    let phase = |flow: &Flow| if let Endpoint::Tcp(sender) = &flow.endpoint { Some(sender.clock_phase()) } else { None };
    let draws = matches!(&own.endpoint, Endpoint::Tcp(sender) if sender.draws());
    here.application.adopt_stream(&own.application, &there.application) && phase(own) == phase(there) && !draws
}
