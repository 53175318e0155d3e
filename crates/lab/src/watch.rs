//! A watchdog: ends a run that does not advance or needs too much memory.
//! The error has the reason and the place.

use crate::Error;
use crate::recorder::Recorder;
use sojourn_scenario::plan::Plan;
use sojourn_sim::{Place, World};
use sojourn_units::Memory;

/// The memory limit of packets, flows and traces of one run: 8 GB.
pub(crate) const MOST_MEMORY: u64 = 8_000_000_000;

/// The interval of memory checks in pauses of a world: about once per million events.
pub(crate) const PAUSES: u64 = 256;

/// The interval of memory checks in events.
pub(crate) const EVENTS: u64 = 100_000;

/// Checks the memory limit of packets, flows and traces.
///
/// # Errors
/// They use more than [`MOST_MEMORY`]. The error has the link that uses most of it.
pub(crate) fn memory(plan: &Plan, world: &World<Recorder>) -> Result<(), Error> {
    within(plan, world, MOST_MEMORY)
}

/// Checks that they use at most `most` bytes.
///
/// # Errors
/// They use more. The error has the link that uses most of it.
pub(crate) fn within(plan: &Plan, world: &World<Recorder>, most: u64) -> Result<(), Error> {
    // The record has its own copy of the traces.
    let traced = 2 * (world.observer().memory() + world.links().iter().map(|link| link.traced_memory()).sum::<usize>());
    let held = world.memory() + traced;
    if held as u64 <= most {
        return Ok(());
    }
    let queues = world.links().iter().map(|link| link.memory());
    let field = match queues.enumerate().max_by_key(|&(_, bytes)| bytes) {
        // A waiting packet is partly in the queue and partly in the calendar.
        _ if traced > held / 2 => "trace".into(),
        Some((link, bytes)) if bytes > held / 8 => format!("links.{}.queue", plan.links[link].name),
        _ => "flows".into(),
    };
    let gb = |bytes: u64| bytes as f64 / 1e9;
    Err(Error::Endless(format!(
        "{field}: expected packets, flows and traces of at most {} GB in memory, got {:.1} GB",
        gb(most),
        gb(held as u64)
    )))
}

/// Checks that a run has not stopped because its time does not advance.
///
/// # Errors
/// The flow and the link at which this was detected.
pub(crate) fn progress(plan: &Plan, world: &World<Recorder>) -> Result<(), Error> {
    let Some(&Place { now, events, flow, link }) = world.stalled() else { return Ok(()) };
    let flow = flow.and_then(|flow| flow_name(plan, world, flow));
    let link = link.and_then(|link| plan.links.get(link as usize)).map(|link| link.name.as_str());
    let field = match (link, flow) {
        (Some(link), _) => format!("links.{link}"),
        (None, Some(flow)) => format!("flows.{flow}"),
        (None, None) => "links".into(),
    };
    let path = flow.map_or(String::new(), |flow| format!(" on the path of {flow} and back"));
    let seconds = now.as_secs_f64();
    Err(Error::Endless(format!("{field}: expected a rate or a delay{path}, got {events} events at {seconds} s, and time does not advance")))
}

/// The plan's name of a flow of the world.
/// The plan's flows come first, then the connections of sessions.
fn flow_name<'a>(plan: &'a Plan, world: &World<Recorder>, flow: u32) -> Option<&'a str> {
    let session = world.session_of(flow);
    let mut alike = plan.flows.iter().filter(|flow| flow.traffic.opens_connections() == session.is_some());
    alike.nth(session.unwrap_or(flow) as usize).map(|flow| flow.name.as_str())
}
