//! A run that its caller drives in slices. It can be cloned in between.

use crate::Error;
use crate::build::{Laws, build};
use crate::recorder::Recorder;
use crate::report::{Finished, report};
use crate::series::Series;
use crate::watch;
use sojourn_scenario::Checked;
use sojourn_scenario::plan::Plan;
use sojourn_scenario::record::Record;
use sojourn_sim::World;
use sojourn_units::Time;
use std::sync::Arc;

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The record, without series.
    pub record: Record,
    /// The time series that the scenario traces.
    pub series: Series,
}

/// Limits of a run for callers with few resources.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// The number of events, plus one per packet sent.
    pub events: u64,
    /// Memory in bytes of packets, flows and traces.
    pub memory: u64,
}

/// A run in progress, from time 0 to its record. A clone continues identically.
#[derive(Clone)]
pub struct Simulation {
    pub(crate) plan: Arc<Plan>,
    pub(crate) world: World<Recorder>,
    /// How often the stop condition was checked.
    pauses: u64,
}

impl Simulation {
    /// The run of a scenario with a seed, at time 0.
    ///
    /// # Errors
    /// A queue does not fit its link, or a law is missing.
    pub fn new(scenario: &Checked, seed: u64, laws: &Laws) -> Result<Self, Error> {
        Self::check_host(scenario)?;
        Self::from_plan(Arc::new(scenario.plan(seed)), laws, false)
    }

    /// The run of a plan without external laws, at time 0.
    ///
    /// # Errors
    /// As [`Simulation::new`].
    pub(crate) fn of_plan(plan: &Arc<Plan>) -> Result<Self, Error> {
        Self::from_plan(Arc::clone(plan), &Laws::default(), false)
    }

    /// As `new`, but with an event at every hop, to verify that omitted events change nothing.
    ///
    /// # Errors
    /// As [`Simulation::new`].
    #[doc(hidden)]
    pub fn with_all_events(scenario: &Checked, seed: u64, laws: &Laws) -> Result<Self, Error> {
        Self::from_plan(Arc::new(scenario.plan(seed)), laws, true)
    }

    fn from_plan(plan: Arc<Plan>, laws: &Laws, all_events: bool) -> Result<Self, Error> {
        if let Some((flow, host)) = plan.flows.iter().find_map(|flow| Some((flow, flow.host.as_ref()?))) {
            let group = &plan.groups[flow.group as usize].name;
            let expected = "expected none, because only a program with the crate sojourn-harness has such endpoints";
            return Err(Error::Build(format!("flows.{group}.host: {expected}, got \"{host}\"")));
        }
        let world = build(&plan, laws, all_events)?;
        Ok(Self::at_zero(plan, world))
    }

    /// A run at time 0.
    pub(crate) fn at_zero(plan: Arc<Plan>, world: World<Recorder>) -> Self {
        Simulation { plan, world, pauses: 0 }
    }

    /// Rejects a scenario for another host than the simulator.
    ///
    /// # Errors
    /// The host's name.
    pub(crate) fn check_host(scenario: &Checked) -> Result<(), Error> {
        match scenario.host.is_simulator() {
            true => Ok(()),
            false => Err(Error::Build("host: expected simulator, got linux, for which there is `sojourn linux`".into())),
        }
    }

    /// A clone that continues as the run of `plan`, a member of the same family.
    /// The flows of both that start before `start` are equal, and this run must be just before that time. If it has drawn random numbers
    /// that differ in `plan`, the result is the run of `plan` at time 0.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub(crate) fn fork(&self, plan: &Arc<Plan>, start: Time) -> Result<Self, Error> {
        let at_zero = |plan: &Arc<Plan>| Self::of_plan(plan);
        let other = at_zero(plan)?;
        if start == Time::ZERO || plan.links != self.plan.links || plan.access_links != self.plan.access_links {
            return Ok(other);
        }
        let own = if plan.seed == self.plan.seed { None } else { Some(at_zero(&self.plan)?.world) };
        match self.world.fork(own.as_ref(), other.world, start) {
            Some(world) => Ok(Simulation { plan: Arc::clone(plan), world, pauses: self.pauses }),
            None => at_zero(plan),
        }
    }

    /// Runs to `until` or to the end, whichever is first.
    /// `stop` is called after every few thousand events.
    ///
    /// # Errors
    /// The run does not advance or needs too much memory, or `stop` returned true.
    pub(crate) fn advance(&mut self, until: Time, stop: &dyn Fn() -> bool) -> Result<(), Error> {
        self.advance_with(until, stop, &mut |_| Ok(()))
    }

    /// As `advance`, and calls `visit` with the world at each pause.
    ///
    /// # Errors
    /// The errors of `advance` and of `visit`.
    pub(crate) fn advance_with(
        &mut self,
        until: Time,
        stop: &dyn Fn() -> bool,
        visit: &mut dyn FnMut(&mut World<Recorder>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let until = until.min(self.plan.duration);
        while self.world.run_some(until) {
            visit(&mut self.world)?;
            if stop() {
                return Err(Error::Stopped);
            }
            self.pauses += 1;
            if self.pauses.is_multiple_of(watch::PAUSES) {
                watch::memory(&self.plan, &self.world)?;
            }
        }
        if stop() { Err(Error::Stopped) } else { Ok(()) }
    }

    /// The plan of the run.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Runs to `until` or to the end, whichever is first.
    pub fn run(&mut self, until: Time) {
        self.world.run(until);
    }

    /// Runs to the end within `bounds`.
    ///
    /// # Errors
    /// The run exceeds the bounds. The error has its progress, or the owner of the memory.
    pub fn run_within(&mut self, bounds: &Bounds) -> Result<(), Error> {
        let mut left = bounds.events;
        while left > 0 {
            let some = left.min(watch::EVENTS);
            let Some(now) = self.world.run_events(self.plan.duration, some) else { return Ok(()) };
            watch::within(&self.plan, &self.world, bounds.memory)?;
            left -= some;
            if left == 0 {
                let (now, end) = (now.as_secs_f64(), self.plan.duration.since(Time::ZERO));
                let expected = format!("expected a run of at most {} events", bounds.events);
                return Err(Error::Endless(format!("duration: {expected}, got {end}, of which they are {now:.3} s")));
            }
        }
        Ok(())
    }

    /// Executes events up to `until`, but at most `most`; each packet sent counts as one more.
    /// Returns the time of the last event; `None` if no event is left until then.
    pub fn run_events(&mut self, until: Time, most: u64) -> Option<Time> {
        self.world.run_events(until, most)
    }

    /// Runs to the end and returns the outcome.
    ///
    /// # Errors
    /// The run does not advance, or the audit fails.
    pub fn finish(mut self) -> Result<Outcome, Error> {
        self.world.run(Time::NEVER);
        watch::progress(&self.plan, &self.world)?;
        let audit = self.world.finish().map_err(Error::Audit)?;
        self.world.observer_mut().finish();
        let (record, series) = report(&self.plan, &Finished::world(&self.plan, &self.world, audit));
        Ok(Outcome { record, series })
    }
}
