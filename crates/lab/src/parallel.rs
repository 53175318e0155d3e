//! One run on several cores: parts of its network are simulated apart ([`World::divide`]).

use crate::Error;
use crate::build::Laws;
use crate::recorder::Recorder;
use crate::simulation::{Outcome, Simulation};
use crate::watch;
use sojourn_scenario::Checked;
use sojourn_scenario::plan::Plan;
use sojourn_sim::{Division, Mail, World};
use sojourn_units::{Duration, Time};
use std::hint::spin_loop;
use std::panic::resume_unwind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;

/// The number of looks for the other parts before a part leaves its core to other threads.
/// They take some microseconds, since parts of equal load come almost together.
const LOOKS: u32 = 1 << 12;

/// Runs a scenario on up to this many threads, with the outcome of [`run`](crate::run).
/// A run whose network has no parts of nearly equal load uses one thread.
///
/// # Errors
/// As [`run`](crate::run).
pub fn run_on(scenario: &Checked, seed: Option<u64>, laws: &Laws, threads: usize, stop: &dyn Fn() -> bool) -> Result<Outcome, Error> {
    let mut simulation = Simulation::new(scenario, seed.unwrap_or(scenario.seed), laws)?;
    match simulation.world.divide(threads.min(usize::from(u8::MAX)) as u8) {
        Some(division) => simulation.world = run_parts(&simulation.plan, division, stop)?,
        None => simulation.advance(Time::NEVER, stop)?,
    }
    simulation.finish()
}

/// Runs all parts to the end and joins them.
fn run_parts(plan: &Plan, division: Division<Recorder>, stop: &dyn Fn() -> bool) -> Result<World<Recorder>, Error> {
    let Division { worlds, lookahead } = division;
    let meeting = Meeting::new(worlds.len(), lookahead, plan.duration);
    let ended: Vec<Result<World<Recorder>, Error>> = thread::scope(|scope| {
        let meeting = &meeting;
        let mut worlds = worlds.into_iter().enumerate();
        let first = worlds.next();
        let others: Vec<_> = worlds.map(|(here, world)| scope.spawn(move || run_part(here, world, plan, meeting, &|| false))).collect();
        // The calling thread may be the one that learns of Ctrl-C.
        let first = first.map(|(here, world)| run_part(here, world, plan, meeting, stop));
        first.into_iter().chain(others.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))).collect()
    });
    // A part that was stopped by another one has no reason of its own.
    let reasons = ended.iter().filter_map(|part| part.as_ref().err());
    if let Some(reason) = reasons.min_by_key(|&reason| *reason == Error::Stopped) {
        return Err(reason.clone());
    }
    World::join(ended.into_iter().flatten().collect(), Recorder::absorb).map_err(Error::Audit)
}

/// Runs one part to the end, one lookahead after the other.
fn run_part(
    here: usize,
    mut world: World<Recorder>,
    plan: &Plan,
    meeting: &Meeting,
    stop: &dyn Fn() -> bool,
) -> Result<World<Recorder>, Error> {
    let mut guard = Unfinished { meeting, is_unfinished: true };
    let (mut until, mut pauses) = (Some(Time::ZERO), 0);
    for round in 0.. {
        let Some(end) = until else { break };
        while world.run_some(end) {
            pauses += 1;
            if stop() {
                return Err(Error::Stopped);
            }
            if pauses % watch::PAUSES == 0 {
                watch::memory(plan, &world)?;
            }
        }
        watch::progress(plan, &world)?;
        until = meeting.exchange(here, round, &mut world)?;
    }
    guard.is_unfinished = false;
    Ok(world)
}

/// Where the parts meet after each lookahead and exchange packets.
/// Rounds use two sets of boxes in turn. So one meeting per round suffices: a box is filled again only after its reader has come to the
/// next meeting.
struct Meeting {
    parts: usize,
    lookahead: Duration,
    end: Time,
    boxes: [Vec<Mutex<Mail>>; 2],
    /// The time of the next event of each part, or of the first of its packets in another one.
    next: [Vec<AtomicU64>; 2],
    /// The parts that have come to this round, and the number of past rounds.
    come: AtomicUsize,
    rounds: AtomicUsize,
    /// Whether a part ended early.
    is_broken: AtomicBool,
}

/// Ends the other parts if this one ends early, by an error or a panic.
struct Unfinished<'a> {
    meeting: &'a Meeting,
    is_unfinished: bool,
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if self.is_unfinished {
            self.meeting.is_broken.store(true, Ordering::Release);
        }
    }
}

impl Meeting {
    fn new(parts: usize, lookahead: Duration, end: Time) -> Self {
        let boxes = || (0..parts * parts).map(|_| Mutex::default()).collect();
        let next = || (0..parts).map(|_| AtomicU64::new(0)).collect();
        Meeting {
            parts,
            lookahead,
            end,
            boxes: [boxes(), boxes()],
            next: [next(), next()],
            come: AtomicUsize::new(0),
            rounds: AtomicUsize::new(0),
            is_broken: AtomicBool::new(false),
        }
    }

    /// Exchanges packets between the part `here` and all others.
    /// Returns the time until which it may run; `None` at the end.
    fn exchange(&self, here: usize, round: usize, world: &mut World<Recorder>) -> Result<Option<Time>, Error> {
        let (boxes, next) = (&self.boxes[round % 2], &self.next[round % 2]);
        let mail = |from: usize, to: usize| boxes[from * self.parts + to].lock().map_err(|_| Error::Stopped);
        let others = || (0..self.parts).filter(|&part| part != here);
        let mut first = world.next_event();
        for part in others() {
            let mut mail = mail(here, part)?;
            world.send_mail(part, &mut mail);
            first = first.into_iter().chain(mail.first()).min();
        }
        next[here].store(first.unwrap_or(Time::NEVER).as_nanos(), Ordering::Relaxed);
        self.meet(round)?;
        for part in others() {
            world.receive_mail(&mut *mail(part, here)?);
        }
        let first = next.iter().map(|next| next.load(Ordering::Relaxed)).min().map_or(Time::NEVER, Time::from_nanos);
        Ok((first < self.end).then(|| first + (self.lookahead - Duration::from_nanos(1))))
    }

    /// Waits until all parts have come to this round.
    fn meet(&self, round: usize) -> Result<(), Error> {
        if self.come.fetch_add(1, Ordering::AcqRel) + 1 == self.parts {
            self.come.store(0, Ordering::Relaxed);
            self.rounds.store(round + 1, Ordering::Release);
        }
        let mut looks = 0;
        while self.rounds.load(Ordering::Acquire) <= round {
            if self.is_broken.load(Ordering::Acquire) {
                return Err(Error::Stopped);
            }
            looks += 1;
            if looks < LOOKS { spin_loop() } else { thread::yield_now() }
        }
        Ok(())
    }
}
