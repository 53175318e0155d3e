//! Metamorphic laws: changes of a scenario with a known effect on the results.
//!
//!
//! Each law is one entry of [`LAWS`]. A law applies to a world or one derived from it ([`Law::base`]), changes it ([`Law::change`]) and
//! compares both results ([`Law::agrees`]).

mod changes;
mod longer;
mod plain;
mod simple;
mod unaffected;
mod windows;

use crate::draw::Draw;
use crate::fault::{Fault, Way, fault};
use crate::supplied::laws;
use crate::valid::World;
use sojourn_lab::{Error, Outcome, Simulation};
use sojourn_units::Time;
use toml::Table;

/// Compares the results of two worlds; returns the difference, if any.
type Agreement = fn(&Pair<'_>) -> Option<String>;

/// A metamorphic law.
#[derive(Clone, Copy)]
pub struct Law {
    /// The execution mode that tests it.
    pub way: Way,
    /// The promise of the law.
    pub promise: &'static str,
    /// The world that the law starts from; `None` if the law does not apply.
    base: fn(&World, &mut Draw) -> Option<Base>,
    /// The changed world; `None` if there is nothing to change.
    change: fn(&World, &mut Draw) -> Option<Table>,
    /// Compares the results of the changed world.
    /// `None`: all parts that existed before must have the same results.
    agrees: Option<Agreement>,
}

/// The world that a law starts from.
enum Base {
    /// The world itself.
    AsItIs,
    /// The world with all traces.
    Traced,
    /// Another world.
    Built(Table),
}

/// A world and the changed one, with their results.
struct Pair<'a> {
    world: &'a World,
    before: &'a Outcome,
    changed: &'a World,
    after: &'a Outcome,
}

/// Every law.
pub const LAWS: [Law; 8] = [
    Law {
        way: Way::SilentFlow,
        promise: "a group of flows that starts after the end changes no other flow, no link and no trace",
        base: |_, _| Some(Base::AsItIs),
        change: changes::silent_flow,
        agrees: None,
    },
    Law {
        way: Way::UnusedLink,
        promise: "a link that no route takes changes no flow, no other link and no trace",
        base: |_, _| Some(Base::AsItIs),
        change: changes::unused_link,
        agrees: None,
    },
    Law {
        way: Way::RenamedNodes,
        promise: "other names of nodes change nothing",
        base: |_, _| Some(Base::AsItIs),
        change: changes::renamed_nodes,
        agrees: None,
    },
    Law {
        way: Way::SwappedGroups,
        promise: "two groups that exchange their names exchange their results, if no name seeds a random number",
        base: |world, _| plain::without_draws(world).map(Base::Built),
        change: changes::swapped_groups,
        agrees: Some(unaffected::agrees_swapped),
    },
    Law {
        way: Way::Scaled,
        promise: "twice all times and half all rates give the same packets at twice the times",
        base: |world, draw| simple::constant_rates(world, draw).map(simple::slower).map(Base::Built),
        change: |world, _| Some(simple::scaled(world)),
        agrees: Some(simple::agrees_scaled),
    },
    Law {
        way: Way::Merged,
        promise: "n flows at a constant rate that start together offer and carry what one at n times the rate does, to a packet each",
        base: |world, draw| simple::one_group(world, draw).map(Base::Built),
        change: |world, _| Some(simple::merged(world)),
        agrees: Some(simple::agrees_merged),
    },
    Law {
        way: Way::Longer,
        promise: "a longer run begins with the same traces",
        base: |_, _| Some(Base::Traced),
        change: |world, _| Some(longer::longer(world)),
        agrees: Some(longer::agrees),
    },
    Law {
        way: Way::Windows,
        promise: "the counts of two windows that follow each other add up",
        base: |_, _| Some(Base::AsItIs),
        change: windows::other_window,
        agrees: Some(windows::agrees),
    },
];

/// The results of a hunt's world and of its traced variant.
pub struct Runs<'a> {
    /// The world and its results.
    pub whole: (&'a World, &'a Outcome),
    /// The world with traces, and its results.
    pub traced: (&'a World, &'a Outcome),
}

impl Law {
    /// The law that this mode tests.
    pub fn of(way: Way) -> Option<&'static Law> {
        LAWS.iter().find(|law| law.way == way)
    }

    fn draw(&self, world: &World) -> Draw {
        Draw::new(world.checked.seed, self.promise)
    }

    /// The worlds before and after the change; `None` if the law does not apply.
    pub fn worlds(&self, world: &World) -> Option<(World, World)> {
        let mut draw = self.draw(world);
        let base = match (self.base)(world, &mut draw)? {
            Base::AsItIs | Base::Traced => world.clone(),
            Base::Built(table) => World::from_table(table).ok()?,
        };
        let changed = (self.change)(&base, &mut draw)?;
        Some((base, World::from_table(changed).ok()?))
    }

    /// Checks that the law holds in this world.
    ///
    /// # Errors
    /// The difference.
    fn holds(&self, runs: &Runs<'_>) -> Result<(), Fault> {
        let mut draw = self.draw(runs.whole.0);
        let made;
        let (world, before) = match (self.base)(runs.whole.0, &mut draw) {
            None => return Ok(()),
            Some(Base::AsItIs) => runs.whole,
            Some(Base::Traced) => runs.traced,
            Some(Base::Built(table)) => {
                let Ok(world) = World::from_table(table) else { return Ok(()) };
                let Ok(before) = results(&world) else { return Ok(()) };
                made = (world, before);
                (&made.0, &made.1)
            }
        };
        let Some(table) = (self.change)(world, &mut draw) else { return Ok(()) };
        let Ok(changed) = World::from_table(table) else { return Ok(()) };
        compare(self.promise, (world, before), &changed, self.agrees.unwrap_or(unaffected::agrees))
    }
}

/// The maximum number of events of a run.
const MOST_EVENTS: u64 = 200_000;

/// Runs a world, unless it needs too many events.
fn results(world: &World) -> Result<Outcome, Error> {
    let mut simulation = Simulation::new(&world.checked, world.checked.seed, &laws())?;
    match simulation.run_events(Time::NEVER, MOST_EVENTS) {
        Some(_) => Err(Error::Endless(format!("more than {MOST_EVENTS} events"))),
        None => simulation.finish(),
    }
}

fn compare(promise: &str, (world, before): (&World, &Outcome), changed: &World, agrees: Agreement) -> Result<(), Fault> {
    let after = match results(changed) {
        Ok(after) => after,
        Err(Error::Endless(_)) => return Ok(()), // one step more than in the previous run
        Err(error) => return Err(fault(promise, error.to_string())),
    };
    let seen = agrees(&Pair { world, before, changed, after: &after });
    seen.map_or(Ok(()), |seen| {
        Err(fault(promise, format!("{seen}, in the world\n{}and in the changed one\n{}", world.text(), changed.text())))
    })
}

/// Checks that the laws of these modes hold.
///
/// # Errors
/// The first violated law.
pub fn hold(ways: &[Way], runs: &Runs<'_>) -> Result<(), Fault> {
    let asked: Vec<&Law> = ways.iter().filter_map(|&way| Law::of(way)).collect();
    let (together, alone): (Vec<&Law>, Vec<&Law>) = asked.into_iter().partition(|law| law.agrees.is_none());
    hold_together(&together, runs)?;
    alone.into_iter().try_for_each(|law| law.holds(runs))
}

/// Tests all laws whose changes have no effect in one run.
/// If the result differs, each law is tested alone to find the violated one.
fn hold_together(laws: &[&Law], runs: &Runs<'_>) -> Result<(), Fault> {
    let mut changed = runs.whole.0.clone();
    for law in laws {
        let table = (law.change)(&changed, &mut law.draw(&changed));
        if let Some(world) = table.and_then(|table| World::from_table(table).ok()) {
            changed = world;
        }
    }
    let Err(fault) = compare("changes that affect nothing affect nothing together", runs.whole, &changed, unaffected::agrees) else {
        return Ok(());
    };
    laws.iter().try_for_each(|law| law.holds(runs))?;
    Err(fault)
}
