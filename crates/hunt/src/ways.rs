//! Executes a world in several modes, which must all yield the same record.

use crate::bounds;
use crate::compare::{hash, same, text};
use crate::draw::Draw;
use crate::fault::{Fate, Fault, Way, fault};
use crate::metamorphic::{self, Runs};
use crate::repair::repair;
use crate::schema::Schema;
use crate::supplied::laws;
use crate::valid::World;
use sojourn_aqm::{Aqm, AqmConfig};
use sojourn_lab::{Error, Job, Outcome, Simulation, run, run_many, run_on};
use sojourn_scenario::{Checked, Document, Varying};
use sojourn_units::{Duration, Time};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use toml::Value;

/// Executes a world as it is and in these modes, with about `budget` events each.
/// A longer world is shortened.
///
/// # Errors
/// The first violated promise.
pub fn hunt(world: &World, budget: u64, ways: &[Way]) -> Result<Fate, Fault> {
    let tried = catch_unwind(AssertUnwindSafe(|| in_ways(world, budget, ways)));
    tried.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
        Err(fault("no panic", text.unwrap_or_default()))
    })
}

fn in_ways(world: &World, budget: u64, ways: &[Way]) -> Result<Fate, Fault> {
    if ways.contains(&Way::Read) {
        as_written(world)?;
    }
    let fitting = match fitting(world, budget)? {
        Some(fitting) => fitting,
        None => return Ok(Fate::Dense),
    };
    let scenario = &fitting.checked;
    let whole = match run(scenario, None, &laws(), &|| false) {
        Ok(whole) => whole,
        Err(Error::Audit(problem)) => return Err(fault("the audit balances", problem)),
        Err(Error::Build(problem)) => return Err(fault("what is checked can be run", problem)),
        Err(error) => return Ok(Fate::Ended(error.to_string())),
    };
    let plan = scenario.plan(scenario.seed);
    if let Some(broken) = bounds::broken(&plan, &whole).into_iter().next() {
        // The name of the link or flow is not part of the promise.
        let measure = broken.split(": ").nth(1).unwrap_or_default().to_string();
        return Err(fault(&format!("measures are in their bounds: {measure}"), broken));
    }
    ways.iter().try_for_each(|way| in_way(*way, &fitting, &whole))?;
    in_laws(ways, &fitting, &whole)?;
    let (fingerprint, packets) = (whole.record.fingerprint.clone(), whole.record.audit.sent);
    Ok(Fate::Ran { fingerprint, record: hash(&text(&whole.record)), packets })
}

/// Checks that a world yields the same record in this mode.
fn in_way(way: Way, world: &World, whole: &Outcome) -> Result<(), Fault> {
    let scenario = &world.checked;
    match way {
        Way::Sliced => same("in slices", whole, sliced(scenario, &mut Draw::new(scenario.seed, "slices"))),
        Way::Copied => {
            let (original, copy) = copied(scenario, &mut Draw::new(scenario.seed, "copy"))?;
            same("copied in the middle: the copy", whole, copy)?;
            same("copied in the middle: the original", whole, original)
        }
        Way::AllEvents => {
            same("with an event at every hop", whole, simulated(Simulation::with_all_events(scenario, scenario.seed, &laws())))
        }
        Way::Threads => on_threads(scenario, whole),
        Way::Parts => {
            let threads = 2 + (scenario.seed % 3) as usize;
            same("in parts on several threads", whole, run_on(scenario, None, &laws(), threads, &|| false))
        }
        // The world was parsed again before it was shortened. The other modes share runs.
        _ => Ok(()),
    }
}

/// Checks that the world yields the same with other traces.
/// Also checks the metamorphic laws of these modes.
fn in_laws(ways: &[Way], world: &World, whole: &Outcome) -> Result<(), Fault> {
    let has_traces = world.document.table().contains_key("trace");
    let mut runs = Runs { whole: (world, whole), traced: (world, whole) };
    if !ways.contains(&Way::Traced) && (has_traces || !ways.contains(&Way::Longer)) {
        return metamorphic::hold(ways, &runs);
    }
    let other = traced(world);
    let traced = simulated(Simulation::new(&other.checked, other.checked.seed, &laws()));
    let traced = traced.map_err(|error| fault("the same record with other traces", error.to_string()))?;
    same("with other traces", whole, Ok(&traced))?;
    if !has_traces {
        runs.traced = (&other, &traced);
    }
    metamorphic::hold(ways, &runs)
}

/// Checks that a serialized scenario is unchanged when parsed again, and has its warnings.
fn as_written(world: &World) -> Result<(), Fault> {
    let again = || {
        let document = Document::from_toml("world.toml", &world.text())?;
        document.check_with_lints()
    };
    match again() {
        Ok((again, _)) if again.key(1, "") == world.checked.key(1, "") => Ok(()),
        Ok(_) => Err(fault("what is written means the same when it is read again", "another scenario")),
        Err(error) => Err(fault("what is written means the same when it is read again", error.to_string())),
    }
}

/// The world, shortened to about `budget` events.
/// `None` if its first nanoseconds need more.
fn fitting(world: &World, budget: u64) -> Result<Option<World>, Fault> {
    let world = &within(world, most_time(&world.checked, budget))?;
    let scenario = &world.checked;
    let mut probe = match Simulation::new(scenario, scenario.seed, &laws()) {
        Ok(probe) => probe,
        Err(error) => return Err(fault("what is checked can be run", error.to_string())),
    };
    let Some(reached) = probe.run_events(Time::NEVER, budget) else { return Ok(Some(world.clone())) };
    let reached = reached.as_nanos().min(scenario.duration.as_nanos());
    if reached < 2 {
        return Ok(None);
    }
    within(world, reached).map(Some)
}

/// The time in which the timers of queues expire `budget` times.
fn most_time(scenario: &Checked, budget: u64) -> u64 {
    let timers = scenario.links.iter().filter_map(|link| {
        let queues = link.queue.as_ref()?.disciplines();
        let intervals = queues.filter_map(|queue| match &queue.aqm {
            AqmConfig::External(law) => Some(law.interval),
            _ => queue.build(link.rate?, link.delay, scenario.packet).ok()?.update_interval(),
        });
        intervals.min()
    });
    timers.min().map_or(u64::MAX, |interval| interval.as_nanos().saturating_mul(budget))
}

/// The world, limited to this duration in ns.
fn within(world: &World, most: u64) -> Result<World, Fault> {
    let scenario = &world.checked;
    let duration = scenario.duration.as_nanos();
    if duration <= most {
        return Ok(world.clone());
    }
    let warmup = (u128::from(scenario.warmup.as_nanos()) * u128::from(most) / u128::from(duration)) as u64;
    let mut table = world.document.table().clone();
    let time = |nanos: u64| Value::String(format!("{nanos} ns"));
    table.insert("duration".into(), time(most));
    table.insert("warmup".into(), time(warmup.min(most - 1)));
    World::from_table(table).map_err(|error| fault("a shorter run is valid too", error))
}

fn simulated(simulation: Result<Simulation, Error>) -> Result<Outcome, Error> {
    simulation?.finish()
}

/// The results of a run that is interrupted at random and at critical times.
fn sliced(scenario: &Checked, draw: &mut Draw) -> Result<Outcome, Error> {
    let mut simulation = Simulation::new(scenario, scenario.seed, &laws())?;
    let mut stops: Vec<u64> = (0..12).map(|_| draw.whole(0, scenario.duration.as_nanos())).collect();
    let changes = scenario.links.iter().flat_map(|link| link.rate_changes.iter().map(|change| change.at.as_nanos()));
    stops.extend([0, scenario.warmup.as_nanos(), scenario.duration.as_nanos()].into_iter().chain(changes));
    stops.sort_unstable();
    stops.into_iter().for_each(|stop| simulation.run(Time::from_nanos(stop)));
    // Then single events for some time.
    for _ in 0..20 {
        simulation.run_events(Time::NEVER, 1);
    }
    simulation.finish()
}

type Pair = (Result<Outcome, Error>, Result<Outcome, Error>);

/// The results of a run and of a clone made during it.
fn copied(scenario: &Checked, draw: &mut Draw) -> Result<Pair, Fault> {
    let mut original =
        Simulation::new(scenario, scenario.seed, &laws()).map_err(|error| fault("what is checked can be run", error.to_string()))?;
    original.run(Time::from_nanos(draw.whole(0, scenario.duration.as_nanos())));
    let copy = original.clone();
    let copy = copy.finish();
    Ok((original.finish(), copy))
}

/// The world without its traces, or with all possible traces if it has none.
fn traced(world: &World) -> World {
    let mut table = world.document.table().clone();
    if table.remove("trace").is_none() {
        let every = format!("{} ns", (world.checked.duration.as_nanos() / 7).max(1));
        table.insert("trace".into(), Value::Table(Schema::get().every_trace(&every)));
    }
    repair(table)
}

/// Runs several copies on several threads, with another run that shares their beginning.
fn on_threads(scenario: &Checked, whole: &Outcome) -> Result<(), Fault> {
    let threads = 1 + (scenario.seed % 4) as usize;
    let (shared, alike) = (Arc::new(scenario.clone()), Arc::new(begins_alike(scenario)));
    let scenarios = std::iter::once(alike).chain(std::iter::repeat_n(shared, threads));
    let jobs: Vec<Job> = scenarios.map(|scenario| Job { scenario, seed: None, laws: laws() }).collect();
    let done = Mutex::new(Vec::new());
    let push = |job, outcome| {
        if let Ok(mut done) = done.lock() {
            done.push((job, outcome));
        }
    };
    run_many(&jobs, threads, &|| false, &push);
    let done = done.into_inner().unwrap_or_default();
    if done.len() != jobs.len() {
        return Err(fault("every run of many ends", format!("{} of {}", done.len(), jobs.len())));
    }
    let mut same_runs = done.into_iter().filter(|&(job, _)| job > 0);
    same_runs.try_for_each(|(_, outcome)| same("on several threads, beside a run that begins alike", whole, outcome))
}

/// The scenario with other TCP options for flows that start later.
fn begins_alike(scenario: &Checked) -> Checked {
    let mut other = scenario.clone();
    let later = other.groups.iter_mut().filter(|group| group.start != Varying::One(Duration::ZERO));
    for tcp in later.filter_map(|group| group.tcp.as_mut()) {
        (tcp.limited_transmit, tcp.timestamps) = (!tcp.limited_transmit, !tcp.timestamps);
    }
    other
}
