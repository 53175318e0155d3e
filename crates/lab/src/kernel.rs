//! Runs on a Linux kernel: what the kernel is told of a plan, and the record of what it logged.

use crate::Error;
use crate::build::start_traces;
use crate::recorder::Recorder;
use crate::report::{Finished, report};
use crate::simulation::Outcome;
use sojourn_cc::CcConfig;
use sojourn_linux::{ENTRY_BYTES, Entry, Fate, Flow as KernelFlow, KernelNetwork, Logged, Packet, Settled, Tcp, Wiring, flag};
use sojourn_scenario::plan::{Flow, Plan};
use sojourn_sim::{Completion, FlowReport, FlowStats, Observer, Quantiles, tcp::SenderStats};
use sojourn_spec::tcp::{Control, Recovery, TcpOptions};
use sojourn_units::{Duration, Time};
use std::collections::HashMap;

/// The ports that flows use are as many (`FIRST_PORT` to `FIRST_OWN_PORT` in `hosts/linux/kernel/sojourn.h`).
const MOST_FLOWS: usize = 61_000 - 1_024;

/// What a kernel must know of a plan.
///
/// # Errors
/// What the kernel can't do, with the path of its field.
pub fn wiring(plan: &Plan) -> Result<Wiring, Error> {
    let refused = |text: String| Err(Error::Build(text));
    if plan.flows.len() > MOST_FLOWS {
        return refused(format!("flows: expected at most {MOST_FLOWS} on a Linux host, got {}", plan.flows.len()));
    }
    if let Some(link) = plan.links.iter().find(|link| link.trace.is_some()) {
        return refused(format!("links.{}.trace: expected a rate on a Linux host, got a trace", link.name));
    }
    let mut hosts = HashMap::new();
    let mut flows = Vec::new();
    for flow in &plan.flows {
        let group = &plan.groups[flow.group as usize].name;
        let (Some(&first), Some(&last)) = (flow.forward.first(), flow.forward.last()) else {
            return refused(format!("flows.{group}: expected a link between its hosts on a Linux host, got none"));
        };
        if flow.traffic.opens_connections() || flow.traffic.echoes() {
            let kind = flow.traffic.name();
            return refused(format!("flows.{group}.traffic.kind: expected bulk, cbr, poisson or onoff on a Linux host, got {kind}"));
        }
        let mut number = |node: u32| {
            let next = hosts.len() as u32;
            *hosts.entry(node).or_insert(next)
        };
        let (source, destination) = (number(plan.links[first as usize].from), number(plan.links[last as usize].to));
        flows.push(KernelFlow {
            name: flow.name.clone(),
            source,
            destination,
            forward: flow.forward.clone(),
            back: flow.back.clone(),
            start: flow.start,
            stop: flow.stop,
            traffic: flow.traffic.clone(),
            tcp: flow.tcp.as_deref().map(|options| tcp(group, options)).transpose()?,
        });
    }
    let (seed, warmup, duration, packet) = (plan.seed, plan.warmup, plan.duration, plan.packet);
    Ok(Wiring { seed, warmup, duration, packet, hosts: hosts.len() as u32, links: plan.links.clone(), flows })
}

/// What is set on the sockets of a flow of this group.
fn tcp(group: &str, options: &TcpOptions) -> Result<Tcp, Error> {
    if let CcConfig::RLedbat(_) = options.control {
        let expected = "a controller of the sender on a Linux host";
        return Err(Error::Build(format!("flows.{group}.tcp.control.cc: expected {expected}, got rledbat")));
    }
    // The kernel's own Reno and CUBIC have no parameters; with other values than the defaults they are ours.
    let defaults = [CcConfig::Reno(Default::default()), CcConfig::Cubic(Default::default())];
    let own = !defaults.contains(&options.control);
    let controller = if own { "sojourn" } else { options.control.name() };
    let control = own.then(|| Control(options.control.clone()));
    let (packet, ecn) = (options.mss + options.header, options.ecn);
    Ok(Tcp { controller: controller.into(), control, packet, ecn, sack: options.recovery == Recovery::Sack })
}

/// The record of a run that a kernel has logged: the log is replayed through the same network.
///
/// # Errors
/// A log that is damaged or not of this plan, or an audit that fails.
pub fn replay(plan: &Plan, log: &[u8]) -> Result<Outcome, Error> {
    let mut network = KernelNetwork::new(&wiring(plan)?).map_err(Error::Build)?;
    start_traces(plan, network.links_mut());
    let mut accounts = Accounts::new(plan);
    let (entries, rest) = log.as_chunks::<ENTRY_BYTES>();
    let damaged = |at: usize| Error::Audit(format!("the log is damaged at byte {}", at * ENTRY_BYTES));
    let mut ended = None;
    for (number, bytes) in entries.iter().enumerate() {
        let logged = Logged::from_bytes(bytes).filter(|logged| ended.is_none() && accounts.knows(logged)).ok_or_else(|| damaged(number))?;
        if let Entry::Sent(packet) = logged.entry {
            network.send(logged.at, packet);
        } else {
            network.advance(logged.at);
        }
        while let Some(settled) = network.settled() {
            accounts.settle(&settled);
        }
        if let Entry::End { fingerprint } = logged.entry {
            ended = Some(fingerprint);
        }
        accounts.add(&logged);
    }
    match ended {
        Some(fingerprint) if fingerprint != network.fingerprint() => {
            return Err(Error::Audit("the kernel has a network of other code: `sojourn linux build` makes it anew".into()));
        }
        Some(_) if rest.is_empty() => {}
        _ => return Err(damaged(entries.len())),
    }
    let audit = network.finish(plan.duration).map_err(Error::Audit)?;
    while let Some(settled) = network.settled() {
        accounts.settle(&settled);
    }
    accounts.recorder.finish();
    let finished = Finished {
        links: network.links(),
        impairments: network.impairments(),
        flows: accounts.reports(),
        rtts: accounts.rtts.iter().map(Some).collect(),
        completions: &accounts.completions,
        recorder: &accounts.recorder,
        fingerprint: network.fingerprint(),
        audit,
    };
    let (record, series) = report(plan, &finished);
    Ok(Outcome { record, series })
}

/// What the log says of one flow.
#[derive(Clone, Default)]
struct Account {
    stats: FlowStats,
    sender: SenderStats,
    dropped: u64,
    completed: u64,
    cwnd: f64,
    /// One past the highest sequence number sent so far, once something was.
    highest: Option<u32>,
}

/// Counts what the log says, within the window of statistics.
struct Accounts<'a> {
    plan: &'a Plan,
    flows: Vec<Account>,
    rtts: Vec<Quantiles>,
    completions: Vec<Completion>,
    recorder: Recorder,
}

impl<'a> Accounts<'a> {
    fn new(plan: &'a Plan) -> Self {
        let mut recorder = Recorder::new(plan);
        (0..plan.flows.len() as u32).for_each(|flow| recorder.on_flow(flow, flow));
        Accounts {
            plan,
            flows: vec![Account::default(); plan.flows.len()],
            rtts: vec![Quantiles::default(); plan.groups.len()],
            completions: Vec::new(),
            recorder,
        }
    }

    /// Whether the flow of an entry is one of the plan.
    fn knows(&self, logged: &Logged) -> bool {
        logged.entry.flow().is_none_or(|flow| (flow as usize) < self.flows.len())
    }

    fn planned(&self, flow: u32) -> &'a Flow {
        &self.plan.flows[flow as usize]
    }

    /// A packet has left the network.
    fn settle(&mut self, settled: &Settled) {
        let Settled { at, packet, fate } = *settled;
        if at > self.plan.duration {
            return;
        }
        let counts = at >= self.plan.warmup;
        let flow = &mut self.flows[packet.flow as usize];
        if fate == Fate::Dropped {
            flow.dropped += u64::from(counts);
            return;
        }
        if !packet.has(flag::BACK) && counts {
            flow.stats.received += u64::from(packet.size);
            flow.stats.packets += 1;
            flow.stats.marked += u64::from(packet.has(flag::CE));
        }
    }

    /// Adds what a host did.
    fn add(&mut self, logged: &Logged) {
        let at = logged.at;
        let counts = u64::from(at >= self.plan.warmup && at <= self.plan.duration);
        match logged.entry {
            Entry::Sent(packet) => self.sent(&packet, counts),
            Entry::Read { flow, bytes } => {
                self.flows[flow as usize].stats.delivered += counts * bytes;
                let read = sojourn_sim::Packet { flow, ..sojourn_sim::Packet::EMPTY };
                self.recorder.on_deliver(at, &read, bytes);
            }
            Entry::Rtt { flow, rtt } => self.rtt(at, flow, rtt, counts),
            Entry::Window { flow, cwnd, ssthresh } => {
                self.flows[flow as usize].cwnd = f64::from(cwnd);
                self.recorder.on_window(at, flow, f64::from(cwnd), f64::from(ssthresh));
            }
            Entry::Recovery { flow } => self.flows[flow as usize].sender.fast_retransmits += counts,
            Entry::Timeout { flow } => self.flows[flow as usize].sender.timeouts += counts,
            Entry::Completed { flow, opened, bytes } => {
                let completion = Completion { entry: flow, group: self.planned(flow).group, opened, closed: at, size: bytes };
                self.recorder.on_complete(&completion);
                if counts > 0 {
                    self.flows[flow as usize].completed += 1;
                    self.completions.push(completion);
                }
            }
            Entry::End { .. } => {}
        }
    }

    fn sent(&mut self, packet: &Packet, counts: u64) {
        if packet.has(flag::BACK) || packet.payload == 0 {
            return;
        }
        let flow = &mut self.flows[packet.flow as usize];
        flow.stats.sent += counts;
        flow.sender.sent += counts;
        let end = packet.seq.wrapping_add(u32::from(packet.payload));
        // Sequence numbers wrap around (rfc9293#3.4).
        let again = flow.highest.is_some_and(|highest| end.wrapping_sub(highest) as i32 <= 0);
        if !again {
            flow.highest = Some(end);
        } else if self.plan.flows[packet.flow as usize].tcp.is_some() {
            flow.sender.retransmitted += counts;
        }
    }

    fn rtt(&mut self, at: Time, flow: u32, rtt: Duration, counts: u64) {
        if counts > 0 {
            self.flows[flow as usize].sender.rtt.add(rtt.as_secs_f64());
            let group = self.planned(flow).group;
            self.rtts[group as usize].add(rtt.as_nanos());
        }
        self.recorder.on_rtt(at, flow, rtt.as_nanos());
    }

    fn reports(&self) -> Vec<FlowReport> {
        let flows = (0u32..).zip(&self.flows).zip(&self.plan.flows);
        flows
            .map(|((entry, flow), planned)| FlowReport {
                entry,
                group: planned.group,
                stats: flow.stats,
                dropped: flow.dropped,
                sender: flow.sender,
                tcp: planned.tcp.is_some(),
                completed: flow.completed,
                cwnd: flow.cwnd,
                delay_source: None,
            })
            .collect()
    }
}
