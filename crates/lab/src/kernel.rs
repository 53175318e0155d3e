//! Runs on a Linux kernel: converts a plan for the kernel, and its log into a record.

use crate::Error;
use crate::build::start_traces;
use crate::capture::{Capture, KernelHosts};
use crate::recorder::{Cause, Recorder, Signal};
use crate::report::{Finished, report};
use crate::simulation::Outcome;
use sojourn_aqm::{AckFilter, Classification};
use sojourn_cc::CcConfig;
use sojourn_linux::{
    ClassRules, ENTRY_BYTES, Entry, Fate, Flow as KernelFlow, HeaderReader, HostQueue, KernelNetwork, LinkAction, LinkEvent, Logged,
    Packet, QueueOrder, Script, Settled, Tcp, Wiring, WrittenTrace, flag,
};
use sojourn_scenario::plan::{Flow, Plan};
use sojourn_sim::{Audit, Completion, DropCause, FlowReport, FlowStats, HostDoes, Observer, Quantiles, tcp::SenderStats};
use sojourn_spec::link::Link;
use sojourn_spec::tcp::{Control, Recovery, TcpOptions};
use sojourn_traffic::Traffic;
use sojourn_units::{Duration, Time};
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

/// Writes the packets that were captured until a time. The flag is true at the end.
type WriteCaptured<'a> = dyn FnMut(&mut Capture<KernelHosts>, Time, bool) -> Result<(), Error> + 'a;

/// A run that is being replayed.
pub(crate) struct Replay<'a> {
    plan: &'a Plan,
    entries: &'a [[u8; ENTRY_BYTES]],
    /// Whether the log ends with a partial entry.
    has_rest: bool,
    headers: HeaderReader<'a>,
    pub network: KernelNetwork,
    accounts: Accounts<'a>,
    pub capture: Option<Capture<KernelHosts>>,
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
        let mut network = KernelNetwork::new(&wiring(plan)?, &mut script).map_err(Error::Build)?;
        start_traces(plan, network.links_mut());
        if !plan.trace.signals.is_empty() {
            network.tell_signals();
        }
        let (headers, accounts) = (HeaderReader::new(logs.headers), Accounts::new(plan));
        Ok(Replay { plan, entries, has_rest: !rest.is_empty(), headers, network, accounts, capture: None })
    }

    /// Replays the log to its end.
    ///
    /// # Errors
    /// The log is damaged or belongs to another plan, the audit fails, or `write` fails.
    pub fn run(mut self, write: &mut WriteCaptured<'_>) -> Result<Outcome, Error> {
        let mut ended = None;
        for (number, bytes) in self.entries.iter().enumerate() {
            let known = |logged: &Logged| ended.is_none() && self.accounts.knows(logged);
            let logged = Logged::from_bytes(bytes).filter(known).ok_or_else(|| damaged("log", number * ENTRY_BYTES))?;
            self.step(&logged)?;
            if let Entry::End { fingerprint } = logged.entry {
                ended = Some(fingerprint);
            }
            if let Some(capture) = self.capture.as_mut().filter(|_| number.is_multiple_of(WRITTEN_TOGETHER)) {
                write(capture, self.network.now(), false)?;
            }
        }
        match ended {
            Some(fingerprint) if fingerprint != self.network.fingerprint() => {
                return Err(Error::Audit("the kernel has a network of other code: `sojourn linux build` makes it anew".into()));
            }
            Some(_) if !self.has_rest => {}
            _ => return Err(damaged("log", self.entries.len() * ENTRY_BYTES)),
        }
        let audit = self.network.finish(self.plan.duration).map_err(Error::Audit)?;
        self.settle();
        if let Some(capture) = &mut self.capture {
            write(capture, Time::NEVER, true)?;
        }
        Ok(self.outcome(audit))
    }

    /// Executes the next action of a host.
    fn step(&mut self, logged: &Logged) -> Result<(), Error> {
        match logged.entry {
            Entry::Sent(packet) => {
                let header = self.headers.read().ok_or_else(|| damaged("file of headers", self.headers.at))?;
                let packet = Packet { header, ..packet };
                if let Some(capture) = &mut self.capture {
                    capture.on_host(logged.at, packet, HostDoes::Sends);
                }
                self.network.send(logged.at, packet);
            }
            Entry::Woken { link } => self.network.wake(logged.at, link),
            // Its packets are in the scripts.
            Entry::Decided { .. } => return Ok(()),
            _ => self.network.advance(logged.at),
        }
        self.settle();
        self.accounts.add(logged);
        Ok(())
    }

    /// Processes the network's actions.
    fn settle(&mut self) {
        while let Some(settled) = self.network.settled() {
            self.accounts.settle(&settled);
            if let Some(capture) = self.capture.as_mut().filter(|_| settled.fate == Fate::Delivered) {
                capture.on_host(settled.at, settled.packet, HostDoes::Gets);
            }
        }
        while let Some(event) = self.network.next_link_event() {
            self.accounts.on_link_event(&event);
            let Some(capture) = &mut self.capture else { continue };
            let LinkEvent { at, link, action } = event;
            match action {
                LinkAction::Arrive(packet) => capture.on_arrival(at, link, packet),
                LinkAction::Depart(packet) => capture.on_departure(link, &packet),
                LinkAction::Drop(DropCause::Queue(reason), packet) => capture.on_drop(link, reason, &packet),
                LinkAction::Drop(..) => {}
                LinkAction::Mark { .. } => capture.on_mark(link),
            }
        }
    }

    fn outcome(mut self, audit: Audit) -> Outcome {
        self.accounts.recorder.finish();
        let finished = Finished {
            links: self.network.links(),
            impairments: self.network.impairments(),
            flows: self.accounts.reports(),
            rtts: self.accounts.rtts.iter().map(Some).collect(),
            completions: &self.accounts.completions,
            recorder: &self.accounts.recorder,
            fingerprint: self.network.fingerprint(),
            audit,
        };
        let (record, series) = report(self.plan, &finished);
        Outcome { record, series }
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

/// The statistics of one flow from the log.
#[derive(Clone, Default)]
struct Account {
    stats: FlowStats,
    sender: SenderStats,
    dropped: u64,
    completed: u64,
    cwnd: f64,
}

/// Statistics of the log within the window.
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
        (0..plan.flows.len() as u32).for_each(|flow| recorder.on_flow(flow, flow, false));
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

    /// Counts a packet that has left the network.
    fn settle(&mut self, settled: &Settled) {
        let Settled { at, packet, fate } = *settled;
        if at > self.plan.duration {
            return;
        }
        let counts = at >= self.plan.warmup;
        let asks = self.planned(packet.flow).traffic.requests();
        let flow = &mut self.flows[packet.flow as usize];
        if fate == Fate::Dropped {
            flow.dropped += u64::from(counts);
            return;
        }
        // Requests travel in the reverse direction, and their ACKs in the direction of data.
        let is_data = packet.payload > 0 && (asks || !packet.has(flag::BACK));
        if counts && (is_data || !asks && !packet.has(flag::BACK)) {
            flow.stats.received += u64::from(packet.size);
            flow.stats.packets += 1;
            flow.stats.marked += u64::from(packet.has(flag::CE));
        }
    }

    /// Counts the drops and marks of links.
    fn on_link_event(&mut self, event: &LinkEvent) {
        let (flow, cause) = match event.action {
            LinkAction::Drop(cause, packet) => (packet.flow, cause.into()),
            LinkAction::Mark { flow } => (flow, Cause::Mark),
            LinkAction::Arrive(_) | LinkAction::Depart(_) => return,
        };
        if event.at <= self.plan.duration {
            self.recorder.signal(event.link, Signal { at: event.at, flow, cause });
        }
    }

    /// Counts an action of a host.
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
            Entry::Recovery { flow } => self.flows[flow as usize].sender.fast_retransmits += counts as u32,
            Entry::Timeout { flow } => self.flows[flow as usize].sender.timeouts += counts as u32,
            Entry::Completed { flow, opened, bytes } => {
                let completion = Completion { entry: flow, group: self.planned(flow).group, opened, closed: at, size: bytes };
                self.recorder.on_complete(&completion);
                if counts > 0 {
                    self.flows[flow as usize].completed += 1;
                    self.completions.push(completion);
                }
            }
            Entry::Decided { .. } | Entry::Woken { .. } | Entry::End { .. } => {}
        }
    }

    fn sent(&mut self, packet: &Packet, counts: u64) {
        let asks = self.planned(packet.flow).traffic.requests();
        if packet.payload == 0 || packet.has(flag::BACK) && !asks {
            return;
        }
        let flow = &mut self.flows[packet.flow as usize];
        flow.sender.sent += counts;
        if packet.has(flag::AGAIN) {
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
                tcp: planned.stack.is_some(),
                completed: flow.completed,
                cwnd: flow.cwnd,
                delay_source: None,
            })
            .collect()
    }
}
