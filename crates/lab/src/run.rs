//! One run, and many on all cores.

use crate::Error;
use crate::build::{Laws, build};
use crate::report::{Series, report};
use rayon::prelude::*;
use sojourn_scenario::Checked;
use sojourn_scenario::record::Record;
use sojourn_units::{Duration, Time};
use std::sync::Arc;

/// What a run gives.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The record, without series.
    pub record: Record,
    /// The traces asked for.
    pub series: Series,
}

/// A run to do.
#[derive(Clone, Debug)]
pub struct Job {
    /// The scenario.
    pub scenario: Arc<Checked>,
    /// The seed; the scenario's own if `None`.
    pub seed: Option<u64>,
}

/// Runs a scenario with a seed; `stop` is asked now and then whether to give up.
///
/// # Errors
/// A queue that can't be built on its link, a law that is not there, an audit that fails, a stop.
pub fn run(scenario: &Checked, seed: Option<u64>, laws: &Laws, stop: &dyn Fn() -> bool) -> Result<Outcome, Error> {
    let plan = scenario.plan(seed.unwrap_or(scenario.seed));
    let mut world = build(&plan, laws)?;
    // In slices of simulated time, so that a long run can be stopped.
    let slice = Duration::from_nanos((plan.duration.as_nanos() / 64).max(1));
    let mut until = Time::ZERO;
    while until < plan.duration {
        until += slice;
        world.run(until);
        if stop() {
            return Err(Error::Stopped);
        }
    }
    let audit = world.finish().map_err(Error::Audit)?;
    world.observer_mut().finish();
    let (record, series) = report(&plan, &world, audit);
    Ok(Outcome { record, series })
}

/// Does all jobs on `threads` threads (0: all cores); tells `done` of each as it finishes, in no
/// particular order. What each run gives does not depend on the number of threads.
///
/// # Panics
/// If the system gives no threads.
pub fn run_many(
    jobs: &[Job],
    threads: usize,
    laws: &Laws,
    stop: &(dyn Fn() -> bool + Sync),
    done: &(dyn Fn(usize, Result<Outcome, Error>) + Sync),
) {
    let work = || {
        jobs.par_iter().enumerate().with_max_len(1).for_each(|(index, job)| {
            if !stop() {
                done(index, run(&job.scenario, job.seed, laws, stop));
            }
        });
    };
    match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
        Ok(pool) => pool.install(work),
        Err(_) => work(),
    }
}
