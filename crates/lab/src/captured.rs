//! Runs with packet captures.

use crate::Error;
use crate::capture::{Capture, Host, Hosts, KernelHosts, Place};
use crate::kernel::{Logs, Replay};
use crate::recorder::Recorder;
use crate::run::Job;
use crate::simulation::{Outcome, Simulation};
use sojourn_capture::pcapng::{Interface, Writer};
use sojourn_scenario::plan::Plan;
use sojourn_sim::World;
use sojourn_units::Time;
use std::io::Write;

/// The names of capture points. Default, if both lists are empty: all links with a rate.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct CapturePoints {
    /// Links with a rate.
    pub links: Vec<String>,
    /// Hosts of flows: `ftp/0:sender`, `ftp/0:receiver`, or `ftp/0` for both.
    /// `ftp/*` and `*` select several flows.
    pub hosts: Vec<String>,
}

impl CapturePoints {
    /// Rejects an unknown link or host.
    ///
    /// # Errors
    /// The unknown name, and the known ones.
    pub fn check(&self, plan: &Plan) -> Result<(), Error> {
        self.resolve(plan).map(|_| ())
    }

    /// The links as indices of the plan, then the hosts.
    pub(crate) fn resolve(&self, plan: &Plan) -> Result<Vec<Place>, Error> {
        let known = || (0u32..).zip(&plan.links).filter(|(_, link)| link.rate.is_some());
        let one = |name: &String| {
            known().find(|(_, link)| link.name == *name).map(|(at, _)| at).ok_or_else(|| {
                let names: Vec<_> = known().map(|(_, link)| link.name.as_str()).collect();
                Error::Build(format!("pcap_links: expected links with a rate ({}), got \"{name}\"", names.join(", ")))
            })
        };
        let all = self.links.is_empty() && self.hosts.is_empty();
        let mut links =
            if all { known().map(|(at, _)| at).collect() } else { self.links.iter().map(one).collect::<Result<Vec<_>, _>>()? };
        links.sort_unstable();
        links.dedup();
        let mut places: Vec<Place> = links.into_iter().map(Place::Link).collect();
        for name in &self.hosts {
            for host in Host::named(plan, name)?.into_iter().map(Place::Host) {
                if !places.contains(&host) {
                    places.push(host);
                }
            }
        }
        if places.is_empty() {
            return Err(Error::Build("pcap: expected a link with a rate, got none".into()));
        }
        Ok(places)
    }
}

/// Runs a scenario as [`run`](crate::run()) does, and captures packets at these points.
/// The packets are written as a pcapng file.
///
/// # Errors
/// The errors of `run`, an unknown link or host, more flows than addresses, and errors of writing.
pub fn run_captured(job: &Job, points: &CapturePoints, out: impl Write, stop: &dyn Fn() -> bool) -> Result<Outcome, Error> {
    let Job { scenario, seed, laws } = job;
    let mut simulation = Simulation::new(scenario, seed.unwrap_or(scenario.seed), laws)?;
    let plan = simulation.plan.clone();
    let places = points.resolve(&plan)?;
    let links = simulation.world.links_mut();
    let mut capture = Capture::new(Hosts::new(&plan)?, &places, |link| {
        links[link as usize].watch();
        links[link as usize].is_buffered()
    });
    let recorder = simulation.world.observer_mut();
    // The initial flows are not requests of sessions.
    recorder.entries.iter().for_each(|&entry| capture.hosts.add_flow(entry, false));
    recorder.capture = Some(Box::new(capture));
    let mut writer = begin(&plan, &places, "simulated", out)?;
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

/// As [`replay`](crate::replay), and writes a pcapng file of the packets at these points.
///
/// # Errors
/// The errors of `replay`, an unknown link or host, and errors of writing.
pub fn replay_captured(plan: &Plan, logs: &Logs<'_>, points: &CapturePoints, out: impl Write) -> Result<Outcome, Error> {
    let places = points.resolve(plan)?;
    let mut writer = begin(plan, &places, "of a Linux kernel", out)?;
    let mut replay = Replay::new(plan, logs)?;
    let hosted = &mut replay.hosted;
    hosted.capture = Some(Capture::new(KernelHosts, &places, |link| hosted.network.watch(link)));
    let outcome = replay.run(&mut |capture, until, end| Ok(capture.write(plan, until, end, &mut writer)?))?;
    writer.finish()?;
    Ok(outcome)
}

/// Starts a file. `how` describes the origin of its packets.
pub(crate) fn begin<W: Write>(plan: &Plan, places: &[Place], how: &str, out: W) -> Result<Writer<W>, Error> {
    let interface = |place: &Place| match *place {
        Place::Link(link) => (plan.links[link as usize].name.clone(), plan.links[link as usize].rate),
        Place::Host(host) => (host.name(plan), None),
    };
    let named: Vec<_> = places.iter().map(interface).collect();
    let interfaces: Vec<_> = named.iter().map(|(name, rate)| Interface { name, rate: *rate }).collect();
    let what = "packets as they leave the queue of a link, at the time of their arrival there, and as hosts send and get them";
    Ok(Writer::new(out, &format!("{}, seed {}, {how}: {what}", plan.name, plan.seed), &interfaces)?)
}
