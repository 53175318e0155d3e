//! What the flows of a run with real hosts sent, received and measured.

use crate::recorder::{Cause, Recorder, Signal};
use sojourn_linux::{Entry, Fate, LinkAction, LinkEvent, Logged, Packet, Settled, flag};
use sojourn_scenario::plan::{Flow, Plan};
use sojourn_sim::{Completion, FlowReport, FlowStats, Observer, Quantiles, tcp::SenderStats};
use sojourn_units::{Duration, Time};

/// The statistics of one flow from its host's actions.
#[derive(Clone, Default)]
struct Account {
    stats: FlowStats,
    sender: SenderStats,
    dropped: u64,
    completed: u64,
    cwnd: f64,
}

/// Statistics of the hosts' actions within the window.
/// Several flows of the network may belong to one flow of the plan; the recorder's `entries` name it.
pub(crate) struct Accounts<'a> {
    plan: &'a Plan,
    /// The end of the run.
    pub end: Time,
    flows: Vec<Account>,
    pub rtts: Vec<Quantiles>,
    pub completions: Vec<Completion>,
    pub recorder: Recorder,
}

impl<'a> Accounts<'a> {
    /// The accounts at the start. Each flow of the plan has `share` flows of the network.
    pub fn new(plan: &'a Plan, share: u32) -> Self {
        let mut recorder = Recorder::new(plan);
        (0..plan.flows.len() as u32 * share).for_each(|flow| recorder.on_flow(flow, flow / share, false));
        Accounts {
            plan,
            end: plan.duration,
            flows: vec![Account::default(); plan.flows.len()],
            rtts: vec![Quantiles::default(); plan.groups.len()],
            completions: Vec::new(),
            recorder,
        }
    }

    /// Whether the flow of an entry is one of the plan.
    pub fn knows(&self, logged: &Logged) -> bool {
        logged.entry.flow().is_none_or(|flow| (flow as usize) < self.recorder.entries.len())
    }

    /// The plan's flow of a flow of the network.
    pub fn entry(&self, flow: u32) -> u32 {
        self.recorder.entries[flow as usize]
    }

    fn planned(&self, flow: u32) -> &'a Flow {
        &self.plan.flows[self.entry(flow) as usize]
    }

    fn account(&mut self, flow: u32) -> &mut Account {
        &mut self.flows[self.recorder.entries[flow as usize] as usize]
    }

    /// Counts a packet that has left the network.
    pub fn settle(&mut self, settled: &Settled) {
        let Settled { at, packet, fate } = *settled;
        if at > self.end {
            return;
        }
        let counts = at >= self.plan.warmup;
        let asks = self.planned(packet.flow).traffic.requests();
        let flow = self.account(packet.flow);
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
    pub fn on_link_event(&mut self, event: &LinkEvent) {
        let (flow, cause) = match event.action {
            LinkAction::Drop(cause, packet) => (packet.flow, cause.into()),
            LinkAction::Mark { flow } => (flow, Cause::Mark),
            LinkAction::Arrive(_) | LinkAction::Depart(_) => return,
        };
        if event.at <= self.end {
            self.recorder.signal(event.link, Signal { at: event.at, flow, cause });
        }
    }

    /// Counts an action of a host.
    pub fn add(&mut self, logged: &Logged) {
        let at = logged.at;
        let counts = u64::from(at >= self.plan.warmup && at <= self.end);
        match logged.entry {
            Entry::Sent(packet) => self.sent(&packet, counts),
            Entry::Read { flow, bytes } => {
                self.account(flow).stats.delivered += counts * bytes;
                let read = sojourn_sim::Packet { flow, ..sojourn_sim::Packet::EMPTY };
                self.recorder.on_deliver(at, &read, bytes);
            }
            Entry::Rtt { flow, rtt } => self.rtt(at, flow, rtt, counts),
            Entry::Window { flow, cwnd, ssthresh } => {
                self.account(flow).cwnd = f64::from(cwnd);
                self.recorder.on_window(at, flow, f64::from(cwnd), f64::from(ssthresh));
            }
            Entry::Recovery { flow } => self.account(flow).sender.fast_retransmits += counts as u32,
            Entry::Timeout { flow } => self.account(flow).sender.timeouts += counts as u32,
            Entry::Completed { flow, opened, bytes } => {
                let completion = Completion { entry: self.entry(flow), group: self.planned(flow).group, opened, closed: at, size: bytes };
                self.recorder.on_complete(&completion);
                if counts > 0 {
                    self.account(flow).completed += 1;
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
        let flow = self.account(packet.flow);
        flow.sender.sent += counts;
        if packet.has(flag::AGAIN) {
            flow.sender.retransmitted += counts;
        }
    }

    fn rtt(&mut self, at: Time, flow: u32, rtt: Duration, counts: u64) {
        if counts > 0 {
            self.account(flow).sender.rtt.add(rtt.as_secs_f64());
            let group = self.planned(flow).group;
            self.rtts[group as usize].add(rtt.as_nanos());
        }
        self.recorder.on_rtt(at, flow, rtt.as_nanos());
    }

    pub fn reports(&self) -> Vec<FlowReport> {
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
