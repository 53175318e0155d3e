//! Runs a scenario, or many in parallel.

use crate::Error;
use crate::build::Laws;
use crate::simulation::{Outcome, Simulation};
use crate::watch;
use rayon::prelude::*;
use sojourn_scenario::Checked;
use std::sync::Arc;

/// A run that is to be done.
#[derive(Clone)]
pub struct Job {
    /// The scenario.
    pub scenario: Arc<Checked>,
    /// The seed; `None`: the scenario's own.
    pub seed: Option<u64>,
    /// The laws that its queues name.
    pub laws: Laws,
}

/// Runs a scenario with a seed. `stop` is called after every few thousand events; if it returns true, the run ends.
///
/// # Errors
/// A queue that does not fit its link, a law that is missing, a run that would not end or needs too much memory, an audit that
/// fails, or a stop.
pub fn run(scenario: &Checked, seed: Option<u64>, laws: &Laws, stop: &dyn Fn() -> bool) -> Result<Outcome, Error> {
    let mut simulation = Simulation::new(scenario, seed.unwrap_or(scenario.seed), laws)?;
    let Simulation { plan, world } = &mut simulation;
    let mut pauses = 0u64;
    while world.run_some(plan.duration) {
        if stop() {
            return Err(Error::Stopped);
        }
        pauses += 1;
        if pauses.is_multiple_of(watch::PAUSES) {
            watch::memory(plan, world)?;
        }
    }
    if stop() {
        return Err(Error::Stopped);
    }
    simulation.finish()
}

/// Runs all jobs on `threads` threads (0: one per core) and calls `done` after each, in no particular order. The result of a
/// run does not depend on the number of threads.
///
/// # Panics
/// If the operating system gives no threads.
pub fn run_many(jobs: &[Job], threads: usize, stop: &(dyn Fn() -> bool + Sync), done: &(dyn Fn(usize, Result<Outcome, Error>) + Sync)) {
    let work = || {
        jobs.par_iter().enumerate().with_max_len(1).for_each(|(index, job)| {
            if !stop() {
                done(index, run(&job.scenario, job.seed, &job.laws, stop));
            }
        });
    };
    match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
        Ok(pool) => pool.install(work),
        Err(_) => work(),
    }
}
