//! Runs on a Linux kernel: converts a plan for the kernel, and its log into a record.

use crate::Error;
use crate::hosted::{Hosted, WriteCaptured};
use crate::simulation::Outcome;
use sojourn_aqm::{AckFilter, Classification};
use sojourn_cc::CcConfig;
use sojourn_linux::{
    ClassRules, ENTRY_BYTES, Entry, Flow as KernelFlow, HeaderReader, HostQueue, Logged, Packet, QueueOrder, Script, Tcp, Wiring,
    WrittenTrace,
};
use sojourn_scenario::plan::{Flow, Plan};
use sojourn_spec::link::Link;
use sojourn_spec::tcp::{Control, Recovery, TcpOptions};
use sojourn_traffic::Traffic;
use std::borrow::Cow;
use std::collections::HashMap;

/// The maximum number of flows, which is the number of ports for flows.
/// Ports are `FIRST_PORT` to `FIRST_OWN_PORT` in `hosts/linux/kernel/sojourn.h`.
const MOST_FLOWS: usize = 61_000 - 1_024;

/// Converts a plan for the kernel.
///
/// # Errors
/// The kernel does not support a setting. The error has the path of its field.
pub fn wiring(plan: &Plan) -> Result<Wiring, Error> {
    let refused = |text: String| Err(Error::Build(text));
    if plan.flows.len() > MOST_FLOWS {
        return refused(format!("flows: expected at most {MOST_FLOWS} on a Linux host, got {}", plan.flows.len()));
    }
    let mut hosts = HashMap::new();
    let mut flows = Vec::new();
    for flow in &plan.flows {
        let group = &plan.groups[flow.group as usize].name;
        let (Some(&first), Some(&last)) = (flow.forward.first(), flow.forward.last()) else {
            return refused(format!("flows.{group}: expected a link between its hosts on a Linux host, got none"));
        };
        if let Some(host) = &flow.host {
            return refused(format!("flows.{group}.host: expected none on a Linux host, got \"{host}\""));
        }
        check_traffic(flow).map_err(|said| Error::Build(format!("flows.{group}.{said}")))?;
        let mut number = |node: u32| {
            let next = hosts.len() as u32;
            *hosts.entry(node).or_insert(next)
        };
        let (source, destination) = (number(plan.link(first).from), number(plan.link(last).to));
        flows.push(KernelFlow {
            name: flow.name.clone(),
            group: flow.group,
            dscp: plan.groups[flow.group as usize].dscp.0,
            source,
            destination,
            forward: flow.forward.clone(),
            back: flow.back.clone(),
            start: flow.start,
            stop: flow.stop,
            traffic: flow.traffic.clone(),
            tcp: plan.tcp(flow).map(|options| tcp(group, options)).transpose()?,
        });
    }
    let (seed, warmup, duration, packet) = (plan.seed, plan.warmup, plan.duration, plan.packet);
    let (mut traces, mut classes) = (Vec::new(), Vec::new());
    for (number, link) in (0u32..).zip(&plan.links) {
        traces.extend(link.trace.as_ref().map(|trace| WrittenTrace::of(number, &trace.rows)));
        let rules = link.queue.as_ref().map(|queue| plan.classifications(queue)).unwrap_or_default();
        if rules.iter().any(|packets| *packets != Classification::default()) {
            classes.push(ClassRules { link: number, rules });
        }
    }
    let (hosts, links) = (hosts.len() as u32, plan.all_links().map(Cow::into_owned).collect::<Vec<_>>());
    let headers = links.iter().any(reads_headers);
    Ok(Wiring { seed, warmup, duration, packet, hosts, headers, links, traces, classes, flows })
}

/// Whether a link reads headers of packets.
fn reads_headers(link: &Link) -> bool {
    let mut queues = link.queue.iter().flat_map(|queue| queue.disciplines());
    queues.any(|queue| queue.options.ack_filter != AckFilter::None) || link.impairments.iter().any(|each| each.kind.reads_headers())
}

/// The smallest ping datagram in bytes: IP, UDP, and its send time.
const LEAST_ECHO: u64 = 20 + 8 + 8;

/// Rejects settings that the kernel's senders do not support.
/// The error has the field within the group.
fn check_traffic(flow: &Flow) -> Result<(), String> {
    match &flow.traffic {
        Traffic::Ping(ping) if ping.size.0 < LEAST_ECHO => {
            Err(format!("traffic.size: expected {LEAST_ECHO} B or more on a Linux host, got {} B", ping.size.0))
        }
        _ => Ok(()),
    }
}

/// The kernel's congestion control that calls the simulator's controllers.
const OWN: &str = "sojourn";

/// The kernel's name of a flow's congestion control.
/// The kernel's Reno and CUBIC have no parameters. The simulator's are used if any value is not the default.
fn controller(options: &TcpOptions) -> &str {
    let defaults = [CcConfig::Reno(Default::default()), CcConfig::Cubic(Default::default())];
    match &options.control {
        CcConfig::Linux(params) => &params.linux,
        control if defaults.contains(control) => control.name(),
        _ => OWN,
    }
}

/// The socket options of a flow of this group.
fn tcp(group: &str, options: &TcpOptions) -> Result<Tcp, Error> {
    if let CcConfig::RLedbat(_) = options.control {
        let expected = "a controller of the sender on a Linux host";
        return Err(Error::Build(format!("flows.{group}.tcp.control.cc: expected {expected}, got rledbat")));
    }
    let controller = controller(options);
    let control = (controller == OWN).then(|| Control(options.control.clone()));
    let (packet, ecn, pacing) = (options.mss + options.header, options.ecn.into(), options.pacing);
    Ok(Tcp { controller: controller.into(), control, packet, ecn, sack: options.recovery == Recovery::Sack, pacing })
}

/// The output of a kernel's run.
#[derive(Clone, Copy, Debug)]
pub struct Logs<'a> {
    /// The log of the hosts' actions.
    pub log: &'a [u8],
    /// The headers of their packets, if the plan requests them ([`Wiring::headers`]).
    pub headers: &'a [u8],
}

/// Replays a kernel's log through the same network and returns the outcome.
///
/// # Errors
/// The log is damaged or belongs to another plan, or the audit fails.
pub fn replay(plan: &Plan, logs: &Logs<'_>) -> Result<Outcome, Error> {
    Replay::new(plan, logs)?.run(&mut |_, _, _| Ok(()))
}

/// The number of log entries after which captured packets are written.
const WRITTEN_TOGETHER: usize = 1024;

/// A run that is being replayed.
pub(crate) struct Replay<'a> {
    entries: &'a [[u8; ENTRY_BYTES]],
    /// Whether the log ends with a partial entry.
    has_rest: bool,
    headers: HeaderReader<'a>,
    pub hosted: Hosted<'a>,
}

fn damaged(what: &str, at: usize) -> Error {
    Error::Audit(format!("the {what} is damaged at byte {at}"))
}

impl<'a> Replay<'a> {
    /// A run at its start.
    ///
    /// # Errors
    /// The kernel does not support a setting. The error has the path of its field.
    pub fn new(plan: &'a Plan, logs: &Logs<'a>) -> Result<Self, Error> {
        let (entries, rest) = logs.log.as_chunks::<ENTRY_BYTES>();
        let mut scripts = scripts(entries);
        let mut script = |order: &QueueOrder| Ok(Box::new(scripts.remove(&order.link).unwrap_or_default()) as Box<dyn HostQueue>);
        let hosted = Hosted::new(plan, &wiring(plan)?, 1, &mut script)?;
        Ok(Replay { entries, has_rest: !rest.is_empty(), headers: HeaderReader::new(logs.headers), hosted })
    }

    /// Replays the log to its end.
    ///
    /// # Errors
    /// The log is damaged or belongs to another plan, the audit fails, or `write` fails.
    pub fn run(mut self, write: &mut WriteCaptured<'_>) -> Result<Outcome, Error> {
        let mut ended = None;
        for (number, bytes) in self.entries.iter().enumerate() {
            let known = |logged: &Logged| ended.is_none() && self.hosted.accounts.knows(logged);
            let logged = Logged::from_bytes(bytes).filter(known).ok_or_else(|| damaged("log", number * ENTRY_BYTES))?;
            self.step(&logged)?;
            if let Entry::End { fingerprint } = logged.entry {
                ended = Some(fingerprint);
            }
            if number.is_multiple_of(WRITTEN_TOGETHER) {
                self.hosted.write(false, write)?;
            }
        }
        match ended {
            Some(fingerprint) if fingerprint != self.hosted.network.fingerprint() => {
                return Err(Error::Audit("the kernel has a network of other code: `sojourn linux build` makes it anew".into()));
            }
            Some(_) if !self.has_rest => {}
            _ => return Err(damaged("log", self.entries.len() * ENTRY_BYTES)),
        }
        self.hosted.finish(write)
    }

    /// Executes the next action of a host.
    fn step(&mut self, logged: &Logged) -> Result<(), Error> {
        let hosted = &mut self.hosted;
        match logged.entry {
            Entry::Sent(packet) => {
                let header = self.headers.read().ok_or_else(|| damaged("file of headers", self.headers.at))?;
                hosted.send(logged.at, Packet { header, ..packet });
            }
            Entry::Woken { link } => hosted.network.wake(logged.at, link),
            // Its packets are in the scripts.
            Entry::Decided { .. } => return Ok(()),
            _ => hosted.network.advance(logged.at),
        }
        hosted.settle(&mut |_| ());
        hosted.accounts.add(logged);
        Ok(())
    }
}

/// The counters of the kernel's own queues, by the numbers of their links.
fn scripts(entries: &[[u8; ENTRY_BYTES]]) -> HashMap<u32, Script> {
    let mut scripts: HashMap<u32, Script> = HashMap::new();
    for entry in entries.iter().filter_map(Logged::from_bytes) {
        if let Entry::Decided { link, decision } = entry.entry {
            scripts.entry(link).or_default().add(decision);
        }
    }
    scripts
}
