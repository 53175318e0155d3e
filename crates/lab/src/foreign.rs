//! A run in which a program supplies the endpoints of some flows.

use crate::Error;
use crate::build::{Laws, build};
use crate::simulation::{Outcome, Simulation};
use crate::watch;
use sojourn_scenario::{Checked, Plan};
use sojourn_sim::{ForeignEvent, ForeignPacket, World};
use sojourn_units::{Duration, Time};
use std::sync::Arc;

/// A run whose flows with a `host` have endpoints of the caller.
/// The other flows have the simulator's.
pub struct ForeignRun {
    simulation: Simulation,
}

impl ForeignRun {
    /// The run of a scenario with a seed, at time 0.
    ///
    /// # Errors
    /// The scenario's host is not the simulator, or a queue does not fit its link.
    pub fn new(scenario: &Checked, seed: u64) -> Result<Self, Error> {
        Simulation::check_host(scenario)?;
        let plan = Arc::new(scenario.plan(seed));
        let world = build(&plan, &Laws::default(), false)?;
        Ok(ForeignRun { simulation: Simulation::at_zero(plan, world) })
    }

    /// The plan of the run.
    pub fn plan(&self) -> &Plan {
        self.simulation.plan()
    }

    /// The next event of a flow of the caller; `None` if none is due by `until`.
    /// The caller sends what follows from an event before it takes the next one.
    ///
    /// # Errors
    /// The run does not advance.
    pub fn next(&mut self, until: Time) -> Result<Option<ForeignEvent>, Error> {
        let Simulation { plan, world, .. } = &mut self.simulation;
        let event = world.next_foreign(until.min(plan.duration));
        watch::progress(plan, world)?;
        Ok(event)
    }

    /// Sends a packet of a flow of the caller, at the time of the last event or later.
    pub fn send(&mut self, now: Time, packet: &ForeignPacket) {
        self.world().send_foreign(now, packet);
    }

    /// The receiving application of a flow can read `bytes` more.
    pub fn deliver(&mut self, now: Time, flow: u32, bytes: u64) {
        self.world().deliver_foreign(now, flow, bytes);
    }

    /// The sending endpoint of a flow has an RTT sample.
    pub fn sample_rtt(&mut self, now: Time, flow: u32, rtt: Duration) {
        self.world().sample_foreign_rtt(now, flow, rtt);
    }

    /// The finite transfer of a flow is complete.
    pub fn complete(&mut self, now: Time, flow: u32) {
        self.world().complete_foreign(now, flow);
    }

    /// Runs to the end and returns the outcome.
    ///
    /// # Errors
    /// The run does not advance, or the audit fails.
    pub fn finish(self) -> Result<Outcome, Error> {
        self.simulation.finish()
    }

    fn world(&mut self) -> &mut World<crate::recorder::Recorder> {
        &mut self.simulation.world
    }
}
