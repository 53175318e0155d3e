//! Many runs in parallel. What runs have in common at their start is run once.
//!
//! Two runs with the same links and the same traffic are the same until the first flow starts whose start or TCP options differ.
//! There the run is copied, and each copy goes on as its own plan says. Runs with other seeds are the same too, as long as no random
//! number has been drawn: a copy then draws its own.

use crate::Error;
use crate::run::{Job, run};
use crate::simulation::{Outcome, Simulation};
use rayon::Scope;
use sojourn_scenario::Plan;
use sojourn_units::Time;
use std::collections::HashMap;
use std::sync::Arc;

/// Runs all jobs on `threads` threads (0: one per core) and calls `done` after each, in no particular order. What runs have in
/// common from the start, until the first flow starts that differs, is run once. The result of a run does not depend
/// on the number of threads or on the other jobs.
///
/// # Panics
/// If the operating system gives no threads.
pub fn run_many(jobs: &[Job], threads: usize, stop: &(dyn Fn() -> bool + Sync), done: &(dyn Fn(usize, Result<Outcome, Error>) + Sync)) {
    match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
        Ok(pool) => pool.install(|| run_in_pool(jobs, stop, done)),
        Err(_) => run_in_pool(jobs, stop, done),
    }
}

/// As [`run_many`], on the threads of the pool of rayon in which it is called.
pub fn run_in_pool(jobs: &[Job], stop: &(dyn Fn() -> bool + Sync), done: &(dyn Fn(usize, Result<Outcome, Error>) + Sync)) {
    let batch = Batch { jobs, stop, done };
    rayon::scope(|scope| batch.families().into_iter().for_each(|family| scope.spawn(|scope| batch.start(scope, family))));
}

/// Jobs, whether to stop, and what to call after each.
struct Batch<'a> {
    jobs: &'a [Job],
    stop: &'a (dyn Fn() -> bool + Sync),
    done: &'a (dyn Fn(usize, Result<Outcome, Error>) + Sync),
}

/// A run that is part of a family, by its position among the jobs.
struct Member {
    job: usize,
    plan: Arc<Plan>,
}

impl Batch<'_> {
    /// The positions of jobs that may begin alike, together; the others alone. They come in the order of their first.
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

    /// Runs a family. Members that part go on in tasks of their own.
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

    /// Makes the run of the first member, then goes on with all; a member whose run can't be made is left out.
    fn part<'s>(&'s self, scope: &Scope<'s>, mut members: Vec<Member>, make: impl Fn(&Member) -> Result<Simulation, Error>) {
        while !members.is_empty() {
            match make(&members[0]) {
                Ok(simulation) => return self.go_on(scope, simulation, members),
                Err(error) => (self.done)(members.remove(0).job, Err(error)),
            }
        }
    }

    /// Goes on with a run that is the same for all members so far; it is that of the first.
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
            // Runs with other seeds can't go on from here where something has been drawn; those with the same seed always can.
            let (alike, others): (Vec<_>, Vec<_>) = others.into_iter().partition(|member| member.plan.seed == simulation.plan().seed);
            for group in [alike, others] {
                self.part_later(scope, &simulation, group, start);
            }
        }
        // Members that do not part are the same run twice; each is run.
        for again in members.drain(1..) {
            let copy = simulation.clone();
            scope.spawn(move |_| self.finish(copy, &again));
        }
        self.finish(simulation, &members[0]);
    }

    fn finish(&self, mut simulation: Simulation, member: &Member) {
        (self.done)(member.job, simulation.advance(Time::NEVER, self.stop).and_then(|()| simulation.finish()));
    }

    /// Goes on with members that differ from `simulation` from `start` on, if there are any, in a task of their own.
    fn part_later<'s>(&'s self, scope: &Scope<'s>, simulation: &Simulation, others: Vec<Member>, start: Time) {
        if others.is_empty() {
            return;
        }
        let simulation = simulation.clone();
        scope.spawn(move |scope| self.part(scope, others, |first| simulation.fork(&first.plan, start)));
    }
}

/// When the first flow starts that differs, or stops if it does that before; `None` if the runs are the same. Runs of two seeds part at the start where nothing says when.
fn parting(one: &Plan, other: &Plan) -> Option<Time> {
    let flows = one.flows.iter().zip(&other.flows);
    let differ = flows.filter(|(here, there)| (here.start, here.stop) != (there.start, there.stop) || one.tcp(here) != other.tcp(there));
    let first = differ.flat_map(|(here, there)| [here.start, here.stop, there.start, there.stop]).min();
    if one.seed == other.seed { first } else { first.or(Some(Time::ZERO)) }
}
