//! Traces of flows.

use crate::capture::{Capture, Hosts, Simulated};
use crate::controllers::Controllers;
use crate::traced::Traced;
use sojourn_aqm::DropReason;
use sojourn_scenario::plan::Plan;
use sojourn_sim::tcp::{AckOptions, Sender, TcpOptions};
use sojourn_sim::{Completion, DropCause, HostDoes, Observer, Packet, flag};
use sojourn_units::{Duration, Memory, Time, memory_of};
use std::collections::HashSet;

/// A flow's congestion window at equal intervals.
#[derive(Clone, Debug, Default)]
pub struct Window {
    next: Time,
    /// The values since the last ACK.
    cwnd: f64,
    slow_start_threshold: f64,
    pub t: Vec<f64>,
    pub packets: Vec<f64>,
    pub ssthresh: Vec<f64>,
}

/// A drop or mark of a packet by a link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Signal {
    pub at: Time,
    pub flow: u32,
    pub cause: Cause,
}

/// The cause of a drop, or a mark, as numbered in series.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cause {
    Early,
    Forced,
    Tail,
    Impairment,
    Mark,
    AckFilter,
}

impl From<DropCause> for Cause {
    fn from(cause: DropCause) -> Cause {
        match cause {
            DropCause::Queue(DropReason::Early) => Cause::Early,
            DropCause::Queue(DropReason::Forced) => Cause::Forced,
            DropCause::Queue(DropReason::Tail) => Cause::Tail,
            DropCause::Queue(DropReason::AckFilter) => Cause::AckFilter,
            DropCause::Impairment | DropCause::Corruption => Cause::Impairment,
        }
    }
}

/// Records the traces of flows that a scenario requests.
/// Without traces it costs one branch per packet.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    /// The plan's flow of each flow of the world, by index.
    /// A session is one flow of the plan and many flows of the world.
    pub entries: Vec<u32>,
    window_every: Duration,
    bin: Duration,
    pub end: Time,
    pub windows: Traced<Window>,
    /// Bytes delivered in each interval.
    pub delivered: Traced<Vec<f64>>,
    /// All RTT samples with their times.
    pub rtts: Traced<Vec<(Time, Duration)>>,
    /// The drops and marks of traced links, by link.
    pub signals: Traced<Vec<Signal>>,
    /// The traced congestion controllers, by flow.
    pub controllers: Controllers,
    /// The retransmissions of traced flows: time, first byte and size on the wire.
    pub retransmissions: Traced<Vec<(Time, u64, u16)>>,
    /// The data segments that traced flows send: time, first byte and size on the wire.
    pub segments: Traced<Vec<(Time, u64, u16)>>,
    /// The ACKs that reach the senders of these flows: time, and the next byte expected.
    pub acks: Traced<Vec<(Time, u64)>>,
    completing: HashSet<u32>,
    pub completions: Vec<Completion>,
    /// The packet capture of the run, if any.
    pub capture: Option<Box<Capture<Hosts>>>,
}

impl Recorder {
    /// A recorder for the traces of a plan.
    pub fn new(plan: &Plan) -> Self {
        let trace = &plan.trace;
        let flows = |sampled: &Option<sojourn_scenario::check::Sampled>| sampled.iter().flat_map(|s| s.flows.clone()).collect::<Vec<_>>();
        Recorder {
            entries: Vec::new(),
            window_every: trace.cwnd.as_ref().map_or(Duration::MAX, |s| s.every),
            bin: trace.throughput.as_ref().map_or(Duration::MAX, |s| s.every),
            end: plan.duration,
            windows: flows(&trace.cwnd).into_iter().collect(),
            delivered: flows(&trace.throughput).into_iter().collect(),
            rtts: trace.rtt.iter().copied().collect(),
            signals: trace.signals.iter().copied().collect(),
            controllers: Controllers::new(&trace.controller),
            retransmissions: trace.retransmissions.iter().copied().collect(),
            segments: trace.segments.iter().copied().collect(),
            acks: trace.segments.iter().copied().collect(),
            completing: trace.completions.iter().copied().collect(),
            completions: Vec::new(),
            capture: None,
        }
    }

    /// Bytes of memory used.
    pub fn memory(&self) -> usize {
        let Recorder { windows, delivered, rtts, signals, retransmissions, segments, acks, completions, .. } = self;
        memory_of([windows, delivered, rtts, signals, retransmissions, segments, acks, completions]) + self.controllers.memory()
    }

    /// Records a drop or mark of a packet by a link.
    #[inline]
    pub fn signal(&mut self, link: u32, signal: Signal) {
        if let Some(signals) = self.signals.get_mut(link) {
            signals.push(signal);
        }
    }

    /// Records a retransmitted segment.
    #[inline(never)]
    fn store_retransmission(&mut self, now: Time, packet: &Packet) {
        if let Some(segments) = self.retransmissions.get_mut(self.entries[packet.flow as usize]) {
            segments.push((now, packet.seq, packet.size));
        }
    }

    /// Records a data segment that a sender sends, or an ACK that it gets.
    fn store_segment(&mut self, now: Time, packet: &Packet, does: HostDoes) {
        let entry = self.entries[packet.flow as usize];
        let acks = packet.has(flag::ACK | flag::BACK) && !packet.has(flag::SYN);
        if does == HostDoes::Gets
            && acks
            && let Some(acks) = self.acks.get_mut(entry)
        {
            acks.push((now, packet.seq));
        }
        let data = !packet.has(flag::ACK) && !packet.has(flag::BACK) && !packet.has(flag::SYN);
        if does == HostDoes::Sends
            && data
            && let Some(segments) = self.segments.get_mut(entry)
        {
            segments.push((now, packet.seq, packet.size));
        }
    }

    /// Records bytes of a flow that become readable.
    #[inline(never)]
    fn count_delivered(&mut self, now: Time, flow: u32, bytes: u64) {
        if let Some(bins) = self.delivered.get_mut(self.entries[flow as usize]) {
            let bin = (now.as_nanos() / self.bin.as_nanos()) as usize;
            if bins.len() <= bin {
                bins.resize(bin + 1, 0.0);
            }
            bins[bin] += bytes as f64;
        }
    }

    /// Records the window of a flow, which may have changed.
    #[inline(never)]
    fn sample_window(&mut self, now: Time, flow: u32, cwnd: f64, ssthresh: f64) {
        let every = self.window_every;
        if let Some(window) = self.windows.get_mut(self.entries[flow as usize]) {
            // Samples before this time keep the previous value.
            if now > Time::ZERO {
                window.sample_to(Time::from_nanos(now.as_nanos() - 1), every);
            }
            (window.cwnd, window.slow_start_threshold) = (cwnd, ssthresh);
        }
    }

    /// Records an RTT sample of a sender.
    #[inline(never)]
    fn store_rtt(&mut self, now: Time, flow: u32, rtt: Duration) {
        if let Some(samples) = self.rtts.get_mut(self.entries[flow as usize]) {
            samples.push((now, rtt));
        }
    }

    /// Adds the traces of another part of the world, which observed other links and endpoints.
    pub fn absorb(&mut self, other: Recorder) {
        // All fields are named, so that no new trace is forgotten here.
        let Recorder {
            windows,
            delivered,
            rtts,
            signals,
            controllers,
            retransmissions,
            segments,
            acks,
            completions,
            entries: _,
            window_every: _,
            bin: _,
            end: _,
            completing: _,
            capture: _,
        } = other;
        self.windows.absorb(windows, |window| window.next == Time::ZERO && window.cwnd == 0.0);
        self.delivered.absorb(delivered, Vec::is_empty);
        self.rtts.absorb(rtts, Vec::is_empty);
        self.signals.absorb(signals, Vec::is_empty);
        self.controllers.by_flow.absorb(controllers.by_flow, |rows| rows.t.is_empty());
        self.retransmissions.absorb(retransmissions, Vec::is_empty);
        self.segments.absorb(segments, Vec::is_empty);
        self.acks.absorb(acks, Vec::is_empty);
        self.completions.extend(completions);
    }

    /// Completes every trace up to the end of the run.
    pub fn finish(&mut self) {
        let (every, end) = (self.window_every, self.end);
        self.windows.values_mut().for_each(|window| window.sample_to(end, every));
        if self.bin < Duration::MAX {
            let bins = (end.as_nanos() / self.bin.as_nanos()) as usize;
            self.delivered.values_mut().for_each(|bytes| bytes.resize(bins, 0.0));
        }
    }
}

impl Memory for Window {
    fn memory(&self) -> usize {
        memory_of([&self.t, &self.packets, &self.ssthresh])
    }
}

impl Window {
    fn sample_to(&mut self, now: Time, every: Duration) {
        while self.next <= now {
            self.t.push(self.next.as_secs_f64());
            self.packets.push(self.cwnd);
            self.ssthresh.push(self.slow_start_threshold);
            self.next += every;
        }
    }
}

impl Observer for Recorder {
    fn on_flow(&mut self, flow: u32, entry: u32, reversed: bool) {
        debug_assert_eq!(self.entries.len(), flow as usize);
        self.entries.push(entry);
        if let Some(capture) = &mut self.capture {
            capture.hosts.add_flow(entry, reversed);
        }
    }

    #[inline(always)]
    fn watches_hosts(&self) -> bool {
        !self.segments.is_empty() || self.capture.as_ref().is_some_and(|capture| capture.watches_hosts())
    }

    fn on_host(&mut self, now: Time, packet: &Packet, does: HostDoes, options: &AckOptions) {
        self.store_segment(now, packet, does);
        if let Some(capture) = &mut self.capture
            && capture.watches_hosts()
        {
            capture.on_host(now, Simulated { packet: *packet, options: *options }, does);
        }
    }

    fn on_arrival(&mut self, now: Time, link: u32, packet: &Packet, options: &AckOptions) {
        if let Some(capture) = &mut self.capture {
            capture.on_arrival(now, link, Simulated { packet: *packet, options: *options });
        }
    }

    fn on_departure(&mut self, _: Time, link: u32, packet: &Packet) {
        if let Some(capture) = &mut self.capture {
            capture.on_departure(link, &Simulated { packet: *packet, options: AckOptions::default() });
        }
    }

    fn on_drop(&mut self, now: Time, link: u32, cause: DropCause, packet: &Packet) {
        self.signal(link, Signal { at: now, flow: packet.flow, cause: cause.into() });
        if let (Some(capture), DropCause::Queue(reason)) = (&mut self.capture, cause) {
            capture.on_drop(link, reason, &Simulated { packet: *packet, options: AckOptions::default() });
        }
    }

    #[inline]
    fn on_mark(&mut self, now: Time, link: u32, flow: u32) {
        if !self.signals.is_empty() {
            self.signal(link, Signal { at: now, flow, cause: Cause::Mark });
        }
        if let Some(capture) = &mut self.capture {
            capture.on_mark(link);
        }
    }

    fn on_complete(&mut self, completion: &Completion) {
        if self.completing.contains(&completion.entry) {
            self.completions.push(*completion);
        }
    }

    #[inline(always)]
    fn on_send(&mut self, now: Time, packet: &Packet) {
        if packet.has(flag::RETRANSMIT) {
            self.store_retransmission(now, packet);
        }
    }

    #[inline(always)]
    fn on_deliver(&mut self, now: Time, packet: &Packet, bytes: u64) {
        if !self.delivered.is_empty() && !packet.has(flag::BACK) {
            self.count_delivered(now, packet.flow, bytes);
        }
    }

    #[inline(always)]
    fn watches_senders(&self) -> bool {
        !self.windows.is_empty() || !self.controllers.is_empty()
    }

    #[inline(always)]
    fn on_window(&mut self, now: Time, flow: u32, cwnd: f64, ssthresh: f64) {
        if !self.windows.is_empty() {
            self.sample_window(now, flow, cwnd, ssthresh);
        }
    }

    #[inline(always)]
    fn on_controller(&mut self, now: Time, flow: u32, sender: &Sender, options: &TcpOptions) {
        if !self.controllers.is_empty() {
            self.controllers.add(now, self.entries[flow as usize], sender, options);
        }
    }

    #[inline(always)]
    fn on_rtt(&mut self, now: Time, flow: u32, rtt: u64) {
        if !self.rtts.is_empty() {
            self.store_rtt(now, flow, Duration::from_nanos(rtt));
        }
    }
}
