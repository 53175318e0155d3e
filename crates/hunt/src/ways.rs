//! Runs a world in many ways, which all give the same record.

use crate::bounds;
use crate::draw::Draw;
use crate::repair::repair;
use crate::schema::{LAW, Schema};
use crate::valid::World;
use sojourn_aqm::{Aqm, AqmConfig, Law, Sample};
use sojourn_cc::RateSample;
use sojourn_cc::algorithms::external::{Decider, Decision, Reduction, Supplier};
use sojourn_lab::{Error, ExternalLaw, Job, Laws, Outcome, Simulation, run, run_many};
use sojourn_scenario::record::Record;
use sojourn_scenario::{Checked, Document, Varying};
use sojourn_units::{Duration, Probability, Time};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use toml::Value;

/// What is wrong: which promise is broken, and how.
#[derive(Clone, PartialEq, Debug)]
pub struct Fault {
    /// The promise; two worlds with the same fault break the same one.
    pub promise: String,
    /// What was seen.
    pub seen: String,
}

/// What became of a world that holds every promise.
#[derive(Clone, PartialEq, Debug)]
pub enum Fate {
    /// It ran; the fingerprint and a hash of the record.
    Ran {
        /// Of the packets.
        fingerprint: String,
        /// Of every number in the record.
        record: u64,
        /// Packets sent.
        packets: u64,
    },
    /// It was not run: too many events in too short a time.
    Dense,
    /// The engine ended it with this line.
    Ended(String),
}

/// The laws that a run of the hunt supplies.
pub fn laws() -> Laws {
    let law = Arc::new(|interval| Box::new(Linear(interval)) as Box<dyn ExternalLaw>) as _;
    let controller = Supplier(Arc::new(|_| Box::new(Steady) as Box<dyn Decider>));
    Laws { queues: [(LAW.to_string(), law)].into(), controllers: [(LAW.to_string(), controller)].into() }
}

/// A probability in proportion to the queue.
#[derive(Clone)]
struct Linear(Duration);

impl Law for Linear {
    fn interval(&self) -> Duration {
        self.0
    }
    fn step(&mut self, sample: &Sample) -> Probability {
        Probability::clamped(sample.backlog_packets / 100.0)
    }
}

/// A controller of the caller: halves its window for a loss, and for a mark; else it grows by a segment a round trip.
#[derive(Clone, Debug)]
struct Steady;

impl Decider for Steady {
    fn on_ack(&mut self, sample: &RateSample, last: Decision) -> Decision {
        let window = last.window + sample.newly_acked / last.window.max(1.0);
        Decision { window, rate: sample.rtt.map(|rtt| 2.0 * window / rtt.as_secs_f64().max(1e-6)) }
    }
    fn on_loss(&mut self, event: &Reduction, last: Decision) -> Decision {
        Decision { window: if event.timeout { 1.0 } else { event.window / 2.0 }, ..last }
    }
    fn on_mark(&mut self, event: &Reduction, last: Decision) -> Decision {
        self.on_loss(event, last)
    }
    fn boxed_clone(&self) -> Box<dyn Decider> {
        Box::new(self.clone())
    }
}

impl ExternalLaw for Linear {
    fn boxed_clone(&self) -> Box<dyn ExternalLaw> {
        Box::new(self.clone())
    }
}

fn fault(promise: &str, seen: impl Into<String>) -> Fault {
    Fault { promise: promise.to_string(), seen: seen.into() }
}

/// A way that gives what running a world as it is gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// Written and read again: the same scenario.
    Read,
    /// Stopped on the way at random times.
    Sliced,
    /// Copied on the way.
    Copied,
    /// With an event at every hop.
    AllEvents,
    /// With other traces.
    Traced,
    /// On several threads, beside a run that begins alike.
    Threads,
}

impl Way {
    /// All of them.
    pub const ALL: [Way; 6] = [Way::Read, Way::Sliced, Way::Copied, Way::AllEvents, Way::Traced, Way::Threads];
}

/// Runs a world as it is and in these ways, with about `budget` events each time. A world that takes more is shortened.
///
/// # Errors
/// The first promise that is broken.
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
    let (fingerprint, packets) = (whole.record.fingerprint.clone(), whole.record.audit.sent);
    Ok(Fate::Ran { fingerprint, record: hash(&text(&whole.record)), packets })
}

/// Whether a world gives the same record in this way.
fn in_way(way: Way, world: &World, whole: &Outcome) -> Result<(), Fault> {
    let scenario = &world.checked;
    match way {
        Way::Read => Ok(()),
        Way::Sliced => same("in slices", whole, sliced(scenario, &mut Draw::new(scenario.seed, "slices"))),
        Way::Copied => {
            let (original, copy) = copied(scenario, &mut Draw::new(scenario.seed, "copy"))?;
            same("copied in the middle: the copy", whole, copy)?;
            same("copied in the middle: the original", whole, original)
        }
        Way::AllEvents => {
            same("with an event at every hop", whole, simulated(Simulation::with_all_events(scenario, scenario.seed, &laws())))
        }
        Way::Traced => same("with other traces", whole, simulated(Simulation::new(&traced(world), scenario.seed, &laws()))),
        Way::Threads => on_threads(scenario, whole),
    }
}

/// What is written means the same when it is read again.
fn as_written(world: &World) -> Result<(), Fault> {
    let again = Document::from_toml("world.toml", &world.text()).and_then(|again| again.check());
    match again {
        Ok(again) if again.key(1, "") == world.checked.key(1, "") => Ok(()),
        Ok(_) => Err(fault("what is written means the same when it is read again", "another scenario")),
        Err(error) => Err(fault("what is written means the same when it is read again", error.to_string())),
    }
}

/// The world, shortened so that it takes about `budget` events; `None` if its first nanoseconds take more.
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

/// The world, at most so many nanoseconds long.
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

/// The same, stopped on the way at random times and at those that matter.
fn sliced(scenario: &Checked, draw: &mut Draw) -> Result<Outcome, Error> {
    let mut simulation = Simulation::new(scenario, scenario.seed, &laws())?;
    let mut stops: Vec<u64> = (0..12).map(|_| draw.whole(0, scenario.duration.as_nanos())).collect();
    let changes = scenario.links.iter().flat_map(|link| link.rate_changes.iter().map(|change| change.at.as_nanos()));
    stops.extend([0, scenario.warmup.as_nanos(), scenario.duration.as_nanos()].into_iter().chain(changes));
    stops.sort_unstable();
    stops.into_iter().for_each(|stop| simulation.run(Time::from_nanos(stop)));
    // And event by event for a while.
    for _ in 0..20 {
        simulation.run_events(Time::NEVER, 1);
    }
    simulation.finish()
}

type Pair = (Result<Outcome, Error>, Result<Outcome, Error>);

/// The ends of a run and of a copy of it that was made on the way.
fn copied(scenario: &Checked, draw: &mut Draw) -> Result<Pair, Fault> {
    let mut original =
        Simulation::new(scenario, scenario.seed, &laws()).map_err(|error| fault("what is checked can be run", error.to_string()))?;
    original.run(Time::from_nanos(draw.whole(0, scenario.duration.as_nanos())));
    let copy = original.clone();
    let copy = copy.finish();
    Ok((original.finish(), copy))
}

/// The scenario without its traces, or with all that it can have if it has none.
fn traced(world: &World) -> Checked {
    let mut table = world.document.table().clone();
    if table.remove("trace").is_none() {
        let every = format!("{} ns", (world.checked.duration.as_nanos() / 7).max(1));
        table.insert("trace".into(), Value::Table(Schema::get().every_trace(&every)));
    }
    repair(table).checked
}

/// Several of the same run on several threads, beside one that begins alike: the beginning is run once.
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

/// The scenario with other TCP options where flows start later.
fn begins_alike(scenario: &Checked) -> Checked {
    let mut other = scenario.clone();
    let later = other.groups.iter_mut().filter(|group| group.start != Varying::One(Duration::ZERO));
    for tcp in later.filter_map(|group| group.tcp.as_mut()) {
        (tcp.limited_transmit, tcp.timestamps) = (!tcp.limited_transmit, !tcp.timestamps);
    }
    other
}

/// Whether another way gives the same record.
fn same(way: &str, whole: &Outcome, other: Result<Outcome, Error>) -> Result<(), Fault> {
    let promise = format!("the same record {way}");
    let other = other.map_err(|error| fault(&promise, error.to_string()))?;
    if whole.record == other.record {
        return Ok(());
    }
    let (expected, got) = (text(&whole.record), text(&other.record));
    if expected == got {
        return Ok(()); // where something is not a number
    }
    let first = expected.iter().zip(&got).find(|(expected, got)| expected != got);
    Err(fault(&promise, first.map_or_else(|| "another length".to_string(), |(expected, got)| format!("expected {expected}, got {got}"))))
}

/// Every number of a record, a line each.
fn text(record: &Record) -> Vec<String> {
    let mut lines = Vec::new();
    if let Ok(json) = serde_json::to_value(record) {
        flat(&json, String::new(), &mut lines);
    }
    lines
}

fn flat(json: &serde_json::Value, path: String, lines: &mut Vec<String>) {
    match json {
        serde_json::Value::Object(object) => object.iter().for_each(|(key, value)| flat(value, format!("{path}.{key}"), lines)),
        serde_json::Value::Array(list) => list.iter().enumerate().for_each(|(i, value)| flat(value, format!("{path}[{i}]"), lines)),
        other => lines.push(format!("{path} = {other}")),
    }
}

/// FNV-1a of the lines.
fn hash(lines: &[String]) -> u64 {
    let bytes = lines.iter().flat_map(|line| line.bytes().chain([b'\n']));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
