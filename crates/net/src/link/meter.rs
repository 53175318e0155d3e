//! The measurements on a link within a window: its queue, waits, transmissions and traces.

use super::stats::{LinkStats, Service, difference};
use super::transmitter::Transmitter;
use crate::trace::{PacketTraces, PacketWait, QueueSample, QueueTrace, ThroughputTrace};
use crate::window::Window;
use alloc::boxed::Box;
use sojourn_aqm::{Counters, SubqueueSample};
use sojourn_spec::link::Measure;
use sojourn_units::{Probability, Rate, Time};

/// The statistics and traces of a link.
#[derive(Clone, Debug)]
pub(super) struct Meter {
    pub window: Window,
    measure: Measure,
    pub stats: LinkStats,
    pub queue_trace: Option<Box<QueueTrace>>,
    /// The traces of single packets.
    pub packets: Option<Box<PacketTraces>>,
    /// The time of the next sample of any trace.
    pub next_sample: Time,
    /// The counters when the window opened; `None` before.
    at_opening: Option<Counters>,
}

impl Meter {
    /// The measurements of a link within a window; `rate` is its first rate.
    pub fn new(window: Window, measure: Measure, rate: Option<Rate>) -> Self {
        Meter {
            window,
            measure,
            stats: LinkStats { rate, ..Default::default() },
            queue_trace: None,
            packets: None,
            next_sample: Time::NEVER,
            at_opening: None,
        }
    }

    /// Whether it measures anything beyond packets and drops.
    #[inline]
    pub fn measures(&self) -> bool {
        self.measure != Measure::Counts
    }

    /// Whether the queue has classes, or is a dual queue.
    #[inline]
    pub fn has_subqueues(&self) -> bool {
        !self.stats.subqueues.is_empty()
    }

    /// Accounts for a packet of a subqueue that is sent.
    #[inline(always)]
    pub fn account_subqueue(&mut self, subqueue: usize, service: &Service) {
        let (window, all, measures) = (self.window, self.measure == Measure::All, self.measures());
        if let Some(subqueue) = self.stats.subqueues.get_mut(subqueue).filter(|_| measures) {
            subqueue.account(service, window, all);
        }
    }

    /// The time at which the window opens; never once it has.
    #[inline]
    pub fn opening(&self) -> Time {
        if self.at_opening.is_none() { self.window.from } else { Time::NEVER }
    }

    /// Opens the window, and resets the measurements.
    pub fn open(&mut self, counters: Counters) {
        self.stats.queue.restart(self.window.from);
        self.at_opening = Some(counters);
    }

    /// Ends the run, with the counters since the start.
    pub fn finish(&mut self, end: Time, total: &Counters) {
        self.stats.queue.finish(end);
        self.stats.counters = difference(total, &self.at_opening.unwrap_or_default());
    }

    /// Records an arrival in the queue at `now`, which then has this length.
    #[inline]
    pub fn queue_changes(&mut self, now: Time, packets: u64, bytes: u64) {
        if self.measures() {
            self.stats.queue.set(now, packets, bytes);
        }
    }

    /// Records a departure from the queue at `now`, which then has this length.
    #[inline]
    pub fn queue_shrinks(&mut self, now: Time, packets: u64, bytes: u64) {
        if self.measures() {
            self.stats.queue.shrink(now, packets, bytes);
        }
    }

    /// Whether the probability at an arrival at `now` is measured.
    #[inline]
    pub fn wants_probability(&self, now: Time) -> bool {
        self.measure == Measure::All && now >= self.window.from
    }

    /// Records the discipline's probability at an arrival, if it has one.
    #[inline]
    pub fn probability(&mut self, probability: Option<Probability>) {
        if let Some(probability) = probability {
            self.stats.probability.add(probability.get());
        }
    }

    /// The trace of throughput.
    pub fn throughput_trace(&self) -> Option<&ThroughputTrace> {
        self.packets.as_ref()?.throughput.as_ref()
    }

    /// Takes the samples that are due at `now`.
    /// `queue` is the state of the queue, and `subqueues` those of the queues that make it up.
    pub fn sample(&mut self, now: Time, queue: impl FnOnce() -> QueueSample, subqueues: impl Iterator<Item = SubqueueSample>) {
        if let Some(trace) = self.queue_trace.as_mut().filter(|trace| trace.next == now) {
            trace.sample(&queue(), subqueues);
        }
        if let Some(trace) = self.packets.as_mut().and_then(|packets| packets.throughput.as_mut()).filter(|trace| trace.next == now) {
            trace.sample();
        }
        self.plan_sample();
    }

    /// Plans the next sample.
    pub fn plan_sample(&mut self) {
        let queue = self.queue_trace.as_ref().map_or(Time::NEVER, |trace| trace.next);
        self.next_sample = self.throughput_trace().map_or(queue, |trace| trace.next.min(queue));
    }

    /// Traces the packet of the last planned transmission.
    #[cold]
    fn trace_packet(&mut self, arrived: Time, start: Time, size: u32, flow: u32, transmitter: &Transmitter) {
        let (Some(traces), Some(sent)) = (&mut self.packets, transmitter.last_transmission(size)) else { return };
        if let Some(throughput) = &mut traces.throughput {
            throughput.add(sent);
        }
        if let Some(waits) = traces.waits.as_mut().filter(|_| start < self.window.until) {
            waits.add(PacketWait { arrived, wait: start.since(arrived), flow, size });
        }
    }

    /// Records a packet of `flow` that is sent without waiting.
    /// Its transmission is the last that `transmitter` planned.
    #[inline(always)]
    pub fn account_unqueued(&mut self, start: Time, size: u32, flow: u32, transmitter: &Transmitter) {
        if self.packets.is_some() {
            self.trace_packet(start, start, size, flow, transmitter);
        }
        let end = transmitter.free_at;
        if start < self.window.from || end >= self.window.until {
            return self.account_in_part(start, start, size, transmitter);
        }
        self.stats.wait.add_zero();
        if self.measure == Measure::All {
            self.stats.waits.add(0);
        }
        self.stats.account_transmission(size, transmitter);
    }

    /// Records a packet of `flow` that is sent.
    /// Its transmission is the last that `transmitter` planned.
    #[inline(always)]
    pub fn account(&mut self, service: &Service, flow: u32, transmitter: &Transmitter) {
        let &Service { arrived, start, end, size } = service;
        if self.packets.is_some() {
            self.trace_packet(arrived, start, size, flow, transmitter);
        }
        if arrived < self.window.from || end >= self.window.until {
            return self.account_in_part(arrived, start, size, transmitter);
        }
        let (stats, wait) = (&mut self.stats, start.since(arrived));
        stats.wait.add(wait.as_secs_f64());
        if self.measure == Measure::All {
            stats.waits.add(wait.as_nanos());
        }
        stats.account_transmission(size, transmitter);
    }

    /// Records a packet that lies only partly in the window.
    /// It arrives before the window opens or is still being sent when it closes. The arguments are plain values so that the common path
    /// need not write a [`Service`] to memory.
    #[cold]
    fn account_in_part(&mut self, arrived: Time, start: Time, size: u32, transmitter: &Transmitter) {
        if transmitter.free_at < self.window.from && !transmitter.adjusts {
            return; // It is entirely before the window.
        }
        let (Window { from, until }, Some(sent)) = (self.window, transmitter.last_transmission(size)) else { return };
        let (stats, end) = (&mut self.stats, sent.end());
        if arrived >= from && start < until {
            let wait = start.since(arrived);
            stats.wait.add(wait.as_secs_f64());
            if self.measure == Measure::All {
                stats.waits.add(wait.as_nanos());
            }
        }
        if transmitter.adjusts {
            stats.at_rate(transmitter);
        }
        stats.sent += u64::from(end >= from && end < until);
        let of_packet = sent.sent_by(until) - sent.sent_by(from);
        stats.sent_in_part += of_packet;
        stats.added += sent.carried.sent_by(until) - sent.carried.sent_by(from) - of_packet;
    }
}
