//! Links: a queue, a transmitter and a propagation delay.
//!
//! There are four kinds, each in its file:
//!
//! - [`precomputed`]: the discipline decides at arrival, so a departure is known when the packet is accepted;
//! - [`ahead`]: the discipline decides at departure, but mostly knows before what it decides, so the link holds few packets;
//! - [`buffered`]: the discipline decides at departure too or inspects waiting packets, so the link holds them;
//! - [`access`]: nothing is decided or measured but whether a packet finds room.
//!
//! [`Link`] is one of the first three. [`tie_break`] says what happens first where an arrival and a departure are simultaneous.

pub(crate) mod access;
mod ahead;
mod buffered;
mod classes;
mod config;
mod meter;
mod offer;
mod pass;
mod precomputed;
mod queue;
mod router;
pub(crate) mod tie_break;
mod traced;
mod transmitter;
mod turns;
mod updates;
mod watching;

pub use classes::SubqueueStats;
pub use config::{LinkConfig, LinkStats};

use crate::contention::Order;
use crate::medium::TurnStats;
use crate::packet::Packet;
use crate::trace::QueueSample;
use crate::window::Window;
use ahead::Ahead;
use alloc::format;
use alloc::string::String;
pub(crate) use buffered::Report;
use buffered::{Buffered, Start};
use config::Volume;
use meter::Meter;
use precomputed::Precomputed;
use queue::Queue;
use router::Router;
use sojourn_aqm::{Aqm, Backlog, Counters, DropReason};
use sojourn_spec::queue::Hints;
use sojourn_units::{Rate, Time};
use transmitter::{Transmitter, sends_apart};
use updates::Updates;

/// One link.
#[derive(Clone, Debug)]
pub struct Link<P> {
    transmitter: Transmitter,
    /// When something is to be caught up with: a departure, the discipline's timer, a sample. Nothing is before.
    due: Time,
    /// The same without departures.
    due_besides: Time,
    /// It has a queue, but nothing is decided except whether there is room.
    undecided: bool,
    /// It is undecided, and nobody watches its packets: they may take the short way.
    passes: bool,
    /// Whether the observer sees each packet that arrives.
    watched: bool,
    measured: bool,
    filters_acks: bool,
    /// Whether it sends only in its turns on a medium.
    takes_turns: bool,
    /// Packets that passed without a decision; the queue's counters don't know them.
    passed: Volume,
    queue: Queue<P>,
    updates: Updates,
    meter: Meter,
    name: String,
    last_offer: Time,
}

/// What became of a packet that was offered to a link.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Offer {
    /// It will arrive at the other end at this time.
    Arrives(Time),
    /// The same, and it got a congestion mark.
    ArrivesMarked(Time),
    /// It was dropped.
    Dropped(DropReason),
    /// Undecided: another packet leaves the queue at the same time. The link needs the packet's transit time over the link before.
    NeedsTieBreak,
    /// The queue holds it: what is decided by then is to be asked for ([`Link::next_decided`]).
    Undecided,
    /// The queue took it, or dropped it ([`Link::next_report`]).
    Buffered,
    /// The same, and the link is to wait for a turn on its medium if it does not.
    Contends,
    /// The same, and the link started to send: a transmission ends at this time.
    Transmitting(Time),
}

/// A packet whose transmission has ended.
pub(crate) struct Departed {
    /// Where it stands on its route.
    pub hop: u32,
    /// When it arrives at the other end.
    pub arrival: Time,
    /// When the next packet's transmission ends.
    pub next: Option<Time>,
}

impl<P: Packet> Link<P> {
    /// A link at time 0, measured within `window`.
    pub fn new(config: LinkConfig, window: Window) -> Self {
        let needs = config.needs();
        let law_due = if config.link.rate.is_some() { config.first_update() } else { Time::NEVER };
        let router = if config.hints() == Hints::Router { Router::new(&needs) } else { None };
        let transmitter = Transmitter::new(&config.link);
        let has_queue = transmitter.serializer.is_some();
        let takes_turns = config.takes_turns();
        let undecided = has_queue && transmitter.is_steady() && config.has_plain_queue();
        let (name, mut meter) = (config.link.name.clone(), Meter::new(window, config.link.measure, config.link.rate));
        let queue = if has_queue && transmitter.is_steady() && config.decides_ahead() {
            Queue::Ahead(Ahead::new(config.controller, window.from))
        } else if config.holds_packets() {
            Queue::Buffered(Buffered::new(config, window.from))
        } else {
            Queue::Precomputed(Precomputed::new(config.controller))
        };
        meter.stats.subqueues = queue.subqueues().iter().map(SubqueueStats::new).collect();
        meter.stats.turns = takes_turns.then(TurnStats::default);
        if !has_queue {
            // Packets come in any order, and none waits: only what comes in the window is counted.
            meter.open(Counters::default());
        }
        Link {
            transmitter,
            due: Time::ZERO,
            due_besides: Time::ZERO,
            undecided,
            passes: undecided,
            watched: false,
            measured: meter.measures(),
            filters_acks: matches!(&queue, Queue::Buffered(queue) if queue.qdisc.filters_acks()),
            passed: Volume::default(),
            queue,
            updates: Updates::new(&needs, law_due, router),
            meter,
            takes_turns,
            name,
            last_offer: Time::ZERO,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its rate at the start; `None` if it only delays.
    pub fn first_rate(&self) -> Option<Rate> {
        self.transmitter.first_rate()
    }

    /// Its rate now; `None` if it only delays.
    pub fn rate(&self) -> Option<Rate> {
        self.transmitter.rate()
    }

    /// The part of the window in which it sends, 0 to 1; with a trace the part of what it can carry that it sends, `None` where that is nothing.
    pub fn utilization(&self) -> Option<f64> {
        match self.traced_capacity() {
            None => {
                Some(self.meter.stats.busy_attoseconds() as f64 / (u128::from(self.meter.window.span().as_nanos()) * 1_000_000_000) as f64)
            }
            Some(capacity) => (capacity > 0.0).then(|| self.meter.stats.bits_on_link() / capacity),
        }
    }

    /// Bits that its trace could carry in the window; `None` without a trace.
    pub fn traced_capacity(&self) -> Option<f64> {
        self.transmitter.traced_capacity(self.meter.window)
    }

    /// What it measured; complete after the end of the run.
    pub fn stats(&self) -> &LinkStats {
        &self.meter.stats
    }

    /// Something besides departures is due at `at`.
    fn is_due(&mut self, at: Time) {
        (self.due, self.due_besides) = (self.due.min(at), self.due_besides.min(at));
    }

    /// Whether it buffers packets, has events of its own, and may decide about a packet after its arrival.
    pub fn is_buffered(&self) -> bool {
        matches!(self.queue, Queue::Buffered(_) | Queue::Ahead(_)) && !self.is_pure_delay()
    }

    /// Whether packets must come to it in the order of time with all else: it buffers them, gets the number of active flows at given times, or its
    /// router reads what comes the other way.
    pub(crate) fn needs_order(&self) -> bool {
        self.is_buffered() || self.counts_flows() || self.reads_headers()
    }

    /// Whether something happened to a buffered packet that has not been reported yet.
    #[inline]
    pub(crate) fn has_reports(&self) -> bool {
        match &self.queue {
            Queue::Precomputed(_) => false,
            Queue::Ahead(queue) => queue.has_reports(),
            Queue::Buffered(queue) => queue.has_reports(),
        }
    }

    /// What happened to a buffered packet and has not been reported yet.
    #[inline]
    pub(crate) fn next_report(&mut self) -> Option<Report<P>> {
        match &mut self.queue {
            Queue::Precomputed(_) => None,
            Queue::Ahead(queue) => queue.next_report(),
            Queue::Buffered(queue) => queue.next_report(),
        }
    }

    /// Whether its discipline uses the number of active flows.
    #[inline]
    pub fn counts_flows(&self) -> bool {
        self.updates.counts_flows()
    }

    /// A flow over this link becomes active at `at`, or inactive. The discipline gets the new number at that time.
    pub(crate) fn flow_changes(&mut self, at: Time, active: bool) {
        self.updates.flow_changes(at, active);
        self.is_due(at);
    }

    /// Whether it only delays: without a rate there is no queue, and no order among those that use it.
    pub(crate) fn is_pure_delay(&self) -> bool {
        self.transmitter.serializer.is_none()
    }

    /// In which order packets leave it, of `least` bytes or more.
    pub(crate) fn order(&self, least: u32) -> Order {
        let transmitter = &self.transmitter;
        match transmitter.first_rate() {
            None if transmitter.is_steady() => Order::Delayed(transmitter.delay),
            None => Order::Changed,
            Some(rate) => Order::OfArrival { apart: transmitter.is_steady() && sends_apart(rate, least) },
        }
    }

    /// Packets buffered: they wait or are being sent.
    pub(crate) fn buffered_packets(&self) -> u64 {
        self.queue.held()
    }

    /// The counters since the start; of a link without a rate those of the window.
    pub fn counters(&self) -> Counters {
        let mut counters = *self.queue.counters();
        counters.arrived += self.passed.packets;
        counters.arrived_bytes += self.passed.bytes;
        counters
    }

    /// Checks at the end of a run that it never sent faster than its rate and that its queue balances.
    pub(crate) fn check(&self) -> Result<(), String> {
        let (stats, span) = (&self.meter.stats, self.meter.window.span());
        if !self.transmitter.allows(stats.nanobits_on_link(), self.meter.window) {
            return Err(format!("link {}: sent more than its rate allows, {} bits in {span}", self.name, stats.bits_on_link()));
        }
        if self.queue.balances() { Ok(()) } else { Err(format!("link {}: its queue does not balance", self.name)) }
    }

    /// Catches up with everything that is due by `now`.
    #[inline(always)]
    fn advance(&mut self, now: Time) {
        if now < self.due {
            return;
        }
        match &mut self.queue {
            // Mostly only departures are due.
            Queue::Precomputed(queue) | Queue::Ahead(Ahead { queue, .. }) if now < self.due_besides => {
                self.due = queue.release_until(now, &mut self.meter).min(self.due_besides);
            }
            _ => self.advance_all(now),
        }
    }

    #[inline(never)]
    fn advance_all(&mut self, now: Time) {
        self.open_window(now);
        self.due = self.catch_up(now, now);
    }

    /// Opens the window of statistics if that is due by `now`.
    fn open_window(&mut self, now: Time) {
        let opening = self.meter.opening();
        if now >= opening {
            // What departs as the window opens counts within it where it may have been decided just then.
            let is_decided_then = matches!(self.queue, Queue::Ahead(_));
            self.catch_up(opening, Time::from_nanos(opening.as_nanos() - u64::from(is_decided_then && opening > Time::ZERO)));
            self.meter.open(self.counters());
            self.meter.stats.open_subqueues(opening, &self.queue.subqueues());
            self.meter.stats.drops_of_earlier = self.queue.drops_of_earlier();
        }
    }

    /// Does in order what is due by `now`, departures only by `departures`: departures first, then the timers, then samples. Gives when something
    /// is due next.
    fn catch_up(&mut self, now: Time, departures: Time) -> Time {
        loop {
            let timer = self.updates.next.min(self.meter.next_sample);
            let departure = match &mut self.queue {
                Queue::Precomputed(queue) | Queue::Ahead(Ahead { queue, .. }) => {
                    queue.release_until(departures.min(timer), &mut self.meter)
                }
                Queue::Buffered(_) => Time::NEVER,
            };
            if timer > now {
                self.due_besides = timer.min(self.meter.opening());
                return departure.min(self.due_besides);
            } else if self.updates.next <= self.meter.next_sample {
                self.update(timer);
            } else {
                self.sample(timer);
            }
        }
    }

    /// Tells the discipline of active flows and runs its timer, as far as that is due.
    fn update(&mut self, due: Time) {
        while let Some((at, active)) = self.updates.next_flow_count(due) {
            self.queue.set_flows(at, active);
        }
        if self.updates.law_due <= due {
            self.updates.law_due = self.queue.run_timer(due, &self.transmitter);
        }
        self.updates.reschedule();
    }

    fn sample(&mut self, now: Time) {
        let (queue, transmitter) = (&self.queue, &self.transmitter);
        let sample = || {
            let Backlog { packets, bytes, .. } = queue.backlog();
            QueueSample { packets, bytes, delay: queue.delay(now, transmitter), probability: queue.aqm().probability() }
        };
        self.meter.sample(now, sample, queue.samples().into_iter());
    }

    /// Catches up with what is due before a departure at `now`.
    #[inline]
    fn catch_up_before(&mut self, now: Time) {
        // A departure comes before a timer that is due at the same time, as where departures are precomputed. Before 0 is nothing.
        if self.due <= now {
            self.advance(Time::from_nanos(now.as_nanos().saturating_sub(1)));
            self.open_window(now);
        }
    }

    /// The transmission of a buffered packet ends at `now`; the packet is moved to `packet`.
    pub(crate) fn depart(&mut self, now: Time, packet: &mut P) -> Departed {
        self.catch_up_before(now);
        let Queue::Buffered(queue) = &mut self.queue else { unreachable!("only buffered links have departures") };
        let hop = queue.take_transmitted(packet);
        let next = if self.takes_turns { None } else { queue.start_next(now, Start::Behind, &mut self.transmitter, &mut self.meter) };
        Departed { hop, arrival: self.transmitter.arrival(now), next }
    }

    /// Brings the statistics to the end of the run. The last sample may be due then: it shows the queue as it was just before.
    pub(crate) fn finish(&mut self, end: Time) {
        self.is_due(Time::ZERO);
        self.advance(self.meter.window.last());
        if self.meter.next_sample == end {
            self.sample(end);
        }
        let total = self.counters();
        self.meter.stats.drops_of_earlier = self.queue.drops_of_earlier() - self.meter.stats.drops_of_earlier;
        self.meter.stats.finish_subqueues(end, &self.queue.subqueues());
        self.meter.finish(end, &total);
    }

    /// Bytes of memory held, without those of its traces.
    pub fn memory(&self) -> usize {
        let queue = match &self.queue {
            Queue::Precomputed(queue) => queue.memory(),
            Queue::Ahead(queue) => queue.memory(),
            Queue::Buffered(queue) => queue.memory(),
        };
        let router = self.updates.router.as_ref().map_or(0, |router| router.memory());
        size_of::<Link<P>>() + queue + router + self.meter.stats.waits.memory()
    }
}
