//! Runs whose packets are captured.

use crate::Error;
use crate::capture::Capture;
use crate::recorder::Recorder;
use crate::run::Job;
use crate::simulation::{Outcome, Simulation};
use sojourn_capture::pcapng::{Interface, Writer};
use sojourn_scenario::plan::Plan;
use sojourn_sim::World;
use sojourn_units::Time;
use std::io::Write;

/// The links to capture, as positions in the plan: those of these names, or without names all that have a rate.
fn chosen(plan: &Plan, names: &[String]) -> Result<Vec<u32>, Error> {
    let known = || (0u32..).zip(&plan.links[..plan.shared_links as usize]).filter(|(_, link)| link.rate.is_some());
    let one = |name: &String| {
        known().find(|(_, link)| link.name == *name).map(|(at, _)| at).ok_or_else(|| {
            let names: Vec<_> = known().map(|(_, link)| link.name.as_str()).collect();
            Error::Build(format!("pcap_links: expected links with a rate ({}), got \"{name}\"", names.join(", ")))
        })
    };
    let mut links =
        if names.is_empty() { known().map(|(at, _)| at).collect() } else { names.iter().map(one).collect::<Result<Vec<_>, _>>()? };
    links.sort_unstable();
    links.dedup();
    if links.is_empty() {
        return Err(Error::Build("pcap: expected a link with a rate, got none".into()));
    }
    Ok(links)
}

/// Runs a scenario as [`run`](crate::run()) does, and writes a pcapng file of the packets at the links of these names, or at all that have
/// a rate.
///
/// # Errors
/// As `run`; a link that there is not; more flows than there are addresses; what writing gives.
pub fn run_captured(job: &Job, links: &[String], out: impl Write, stop: &dyn Fn() -> bool) -> Result<Outcome, Error> {
    let Job { scenario, seed, laws } = job;
    let mut simulation = Simulation::new(scenario, seed.unwrap_or(scenario.seed), laws)?;
    let plan = simulation.plan.clone();
    let links = chosen(&plan, links)?;
    let mut capture = Capture::new(&plan, &links, simulation.world.links_mut())?;
    let recorder = simulation.world.observer_mut();
    // The flows that there are at the start are not requests of sessions.
    recorder.entries.iter().for_each(|&entry| capture.on_flow(entry, false));
    recorder.capture = Some(Box::new(capture));
    let interfaces: Vec<_> =
        links.iter().map(|&link| &plan.links[link as usize]).map(|link| Interface { name: &link.name, rate: link.rate }).collect();
    let comment =
        format!("{}, seed {}, simulated: packets as they leave the queue, at the time of their arrival there", plan.name, plan.seed);
    let mut writer = Writer::new(out, &comment, &interfaces)?;
    simulation.advance_with(Time::NEVER, stop, &mut |world: &mut World<Recorder>| {
        let now = world.now();
        world.observer_mut().capture.as_mut().map_or(Ok(()), |capture| Ok(capture.write(&plan, now, false, &mut writer)?))
    })?;
    if let Some(capture) = &mut simulation.world.observer_mut().capture {
        capture.write(&plan, Time::NEVER, true, &mut writer)?;
    }
    writer.finish()?;
    simulation.finish()
}
