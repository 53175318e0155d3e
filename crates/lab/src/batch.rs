//! Executes many runs in parallel and simulates their shared beginnings once.
//!
//! Two runs with the same links and traffic are identical until the first flow starts whose start or TCP options differ. At that time the
//! run is cloned, and each clone continues with its own plan. Runs with different seeds are also identical until a random number is drawn.

use crate::Error;
use crate::run::{Job, run};
use crate::simulation::{Outcome, Simulation};
use rayon::Scope;
use sojourn_scenario::Plan;
use sojourn_units::Time;
use std::collections::HashMap;
use std::sync::Arc;

/// Executes all jobs on `threads` threads and calls `done` after each, in any order.
/// 0 threads means one per core. Shared beginnings are simulated once. Results do not depend on the number of threads or on other jobs.
///
/// # Panics
/// The operating system cannot create threads.
pub fn run_many(jobs: &[Job], threads: usize, stop: &(dyn Fn() -> bool + Sync), done: &(dyn Fn(usize, Result<Outcome, Error>) + Sync)) {
    match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
        Ok(pool) => pool.install(|| run_in_pool(jobs, stop, done)),
        Err(_) => run_in_pool(jobs, stop, done),
    }
}

/// As [`run_many`], on the calling rayon thread pool.
pub fn run_in_pool(jobs: &[Job], stop: &(dyn Fn() -> bool + Sync), done: &(dyn Fn(usize, Result<Outcome, Error>) + Sync)) {
    let batch = Batch { jobs, stop, done };
    rayon::scope(|scope| batch.families().into_iter().for_each(|family| scope.spawn(|scope| batch.start(scope, family))));
}

/// Jobs, a stop condition, and the callback after each job.
struct Batch<'a> {
    jobs: &'a [Job],
    stop: &'a (dyn Fn() -> bool + Sync),
    done: &'a (dyn Fn(usize, Result<Outcome, Error>) + Sync),
}

/// A run of a family, as an index of the jobs.
struct Member {
    job: usize,
    plan: Arc<Plan>,
}

impl Batch<'_> {
    /// Groups jobs that may share a beginning, by index, in the order of their first job.
    /// Other jobs are alone.
    fn families(&self) -> Vec<Vec<usize>> {
        let mut families: Vec<Vec<usize>> = Vec::new();
        let mut known: HashMap<String, usize> = HashMap::new();
        for (position, job) in self.jobs.iter().enumerate() {
            let common = job.scenario.beginnings([job.seed.unwrap_or(job.scenario.seed)]).and_then(|mut keys| keys.next());
            let family = common.map(|key| *known.entry(key).or_insert(families.len()));
            match family.and_then(|family| families.get_mut(family)) {
                Some(family) => family.push(position),
                None => families.push(vec![position]),
            }
        }
        families
    }

    /// Executes a family. Members that diverge continue in their own tasks.
    fn start<'s>(&'s self, scope: &Scope<'s>, family: Vec<usize>) {
        if (self.stop)() {
            return;
        }
        let members = match family[..] {
            [job] => return (self.done)(job, run(&self.jobs[job].scenario, self.jobs[job].seed, &self.jobs[job].laws, self.stop)),
            _ => family.into_iter().map(|job| self.member(job)).collect(),
        };
        self.part(scope, members, |first| Simulation::of_plan(&first.plan));
    }

    fn member(&self, job: usize) -> Member {
        let Job { scenario, seed, .. } = &self.jobs[job];
        Member { job, plan: Arc::new(scenario.plan(seed.unwrap_or(scenario.seed))) }
    }

    /// Creates the run of the first member and continues with all members.
    /// Reports a member whose run is invalid.
    fn part<'s>(&'s self, scope: &Scope<'s>, mut members: Vec<Member>, make: impl Fn(&Member) -> Result<Simulation, Error>) {
        while !members.is_empty() {
            match make(&members[0]) {
                Ok(simulation) => return self.go_on(scope, simulation, members),
                Err(error) => (self.done)(members.remove(0).job, Err(error)),
            }
        }
    }

    /// Continues the first member's run, which is identical for all members so far.
    fn go_on<'s>(&'s self, scope: &Scope<'s>, mut simulation: Simulation, mut members: Vec<Member>) {
        loop {
            let parting = |member: &Member| parting(simulation.plan(), &member.plan);
            let Some(start) = members.iter().filter_map(parting).min() else { break };
            let (others, same) = members.into_iter().partition(|member| parting(member) == Some(start));
            members = same;
            if let Some(before) = start.as_nanos().checked_sub(1)
                && let Err(error) = simulation.advance(Time::from_nanos(before), self.stop)
            {
                return members.iter().chain(&others).for_each(|member| (self.done)(member.job, Err(error.clone())));
            }
            // Runs with other seeds can't continue from here after a draw. Runs with the same seed always can.
            let (alike, others): (Vec<_>, Vec<_>) = others.into_iter().partition(|member| member.plan.seed == simulation.plan().seed);
            for group in [alike, others] {
                self.part_later(scope, &simulation, group, start);
            }
        }
        // Members that never diverge are identical runs. Each is executed.
        for again in members.drain(1..) {
            let copy = simulation.clone();
            scope.spawn(move |_| self.finish(copy, &again));
        }
        self.finish(simulation, &members[0]);
    }

    fn finish(&self, mut simulation: Simulation, member: &Member) {
        (self.done)(member.job, simulation.advance(Time::NEVER, self.stop).and_then(|()| simulation.finish()));
    }

    /// Continues with the members that differ from `simulation` from `start` on.
    /// They continue in a task of their own.
    fn part_later<'s>(&'s self, scope: &Scope<'s>, simulation: &Simulation, others: Vec<Member>, start: Time) {
        if others.is_empty() {
            return;
        }
        let simulation = simulation.clone();
        scope.spawn(move |scope| self.part(scope, others, |first| simulation.fork(&first.plan, start)));
    }
}

/// The time at which the first differing flow starts, or stops if earlier.
/// `None` for identical runs. Runs with different seeds diverge at time 0 unless a later time is known.
fn parting(one: &Plan, other: &Plan) -> Option<Time> {
    let flows = one.flows.iter().zip(&other.flows);
    let differ = flows.filter(|(here, there)| (here.start, here.stop) != (there.start, there.stop) || one.tcp(here) != other.tcp(there));
    let first = differ.flat_map(|(here, there)| [here.start, here.stop, there.start, there.stop]).min();
    if one.seed == other.seed { first } else { first.or(Some(Time::ZERO)) }
}
