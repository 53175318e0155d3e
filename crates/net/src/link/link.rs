//! A link: a packet's path through its queue and its transmitter, and due updates.

use super::ahead::{Ahead, Decided};
use super::buffered::{Buffered, Report, Start, Step};
use super::config::LinkConfig;
use super::meter::Meter;
use super::precomputed::Precomputed;
use super::queue::Queue;
use super::router::Router;
use super::stats::{Service, SubqueueStats};
use super::transmitter::Transmitter;
use super::updates::Updates;
use crate::medium::TurnStats;
use crate::packet::{InFlight, Packet};
use crate::trace::QueueSample;
use crate::window::Window;
use alloc::string::String;
use sojourn_aqm::{Backlog, Counters, DropReason, Packet as _, Qdisc};
use sojourn_spec::queue::Hints;
use sojourn_units::{Duration, Time};

/// One link.
#[derive(Clone, Debug)]
pub struct Link<P> {
    pub(super) transmitter: Transmitter,
    /// The time of the next update: a departure, the discipline's timer, or a sample.
    /// Nothing is due before.
    due: Time,
    /// The time of the next update other than a departure.
    due_besides: Time,
    /// Whether it is steady, decides only by its limit, and is not watched.
    pub(super) passes: bool,
    /// Whether the observer sees each packet that arrives.
    pub(super) watched: bool,
    /// Packets that passed without a decision; the queue's counters do not include them.
    passed: Counters,
    pub(super) queue: Queue<P>,
    pub(super) updates: Updates,
    pub(super) meter: Meter,
    pub(super) name: String,
    last_offer: Time,
}

/// The result of an offer to a link.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Offer {
    /// The packet arrives at the other end at this time.
    Arrives(Time),
    /// The packet arrives at the other end at this time, with a congestion mark.
    ArrivesMarked(Time),
    /// The packet was dropped.
    Dropped(DropReason),
    /// The packet is held until more is known.
    /// [`Link::next_decided`] then returns the decided packets.
    Undecided,
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
        let passes = has_queue && transmitter.is_steady() && config.has_plain_queue();
        let (name, mut meter) = (config.link.name.clone(), Meter::new(window, config.link.measure, config.link.rate));
        let queue = if has_queue && transmitter.is_steady() && config.decides_ahead() {
            Queue::Ahead(Ahead::new(config.controller, window.from))
        } else if config.holds_packets() {
            let LinkConfig { controller, classes, .. } = config;
            let qdisc = if classes.is_empty() { Qdisc::new(controller) } else { Qdisc::of_classes(classes) };
            Queue::Buffered(Buffered::new(qdisc, takes_turns, window.from))
        } else {
            Queue::Precomputed(Precomputed::new(config.controller))
        };
        meter.stats.subqueues = queue.subqueues().iter().map(SubqueueStats::new).collect();
        meter.stats.turns = takes_turns.then(TurnStats::default);
        if !has_queue {
            // Packets arrive in any order, and none waits: only arrivals in the window are counted.
            meter.open(Counters::default());
        }
        Link {
            transmitter,
            due: Time::ZERO,
            due_besides: Time::ZERO,
            passes,
            watched: false,
            passed: Counters::default(),
            queue,
            updates: Updates::new(&needs, law_due, router),
            meter,
            name,
            last_offer: Time::ZERO,
        }
    }

    /// Lets a packet that arrives at `now` pass, if no decision is needed.
    /// `now` is not earlier than the last arrival. Returns the arrival at the other end. If it returns `None` nothing has changed, and the
    /// packet must be offered.
    #[inline(always)]
    pub(crate) fn pass(&mut self, now: Time, packet: &P) -> Option<Time> {
        if !self.passes {
            return None;
        }
        if self.transmitter.free_at > now || self.due <= now {
            return self.pass_queue(now, packet.size(), packet.flow());
        }
        let size = packet.size();
        let end = self.transmitter.send_at_rate(now, size);
        self.passed.count_arrival(size);
        if self.meter.measures() {
            self.meter.account_unqueued(now, size, packet.flow(), &self.transmitter);
        }
        Some(end + self.transmitter.delay)
    }

    /// Lets a packet pass if the link is busy or has due updates.
    #[inline(never)]
    fn pass_queue(&mut self, now: Time, size: u32, flow: u32) -> Option<Time> {
        self.advance(now);
        let Queue::Precomputed(queue) = &mut self.queue else { unreachable!("a drop-tail queue is precomputed") };
        let service = queue.pass(now, size, &mut self.transmitter, &mut self.meter)?;
        if cfg!(debug_assertions) {
            queue.check_invariants(0);
        }
        self.passed.count_arrival(size);
        self.account(&service, flow);
        Some(service.end + self.transmitter.delay)
    }

    /// Offers a packet at `hop` to the link at `now`; the discipline may mark it.
    /// `now` is not earlier than the last arrival. `transit_time` is that of the packet over the link before; it is called only if another
    /// packet leaves at the same time.
    #[inline]
    pub(crate) fn offer(&mut self, now: Time, hop: u32, packet: &mut P, transit_time: impl FnOnce() -> Duration) -> Offer {
        if self.is_pure_delay() {
            if now >= self.meter.window.from {
                self.passed.count_arrival(packet.size());
            }
            return Offer::Arrives(now + self.transmitter.delay);
        }
        self.prepare(now, packet);
        let (Queue::Precomputed(queue) | Queue::Ahead(Ahead { queue, .. })) = &self.queue else {
            unreachable!("a buffered packet is deferred")
        };
        let (size, transmitter) = (packet.size(), &self.transmitter);
        let leaving = queue.last_departure.still_counted(now, transit_time, || transmitter.time_for(size));
        let offer = self.decide(now, hop, packet, leaving);
        self.check_invariants();
        offer
    }

    /// Runs what is due before a packet arrives at `now`.
    #[inline(always)]
    fn prepare(&mut self, now: Time, packet: &mut P) {
        debug_assert!(now >= self.last_offer, "link {}: offered at {now:?}, after {:?}", self.name, self.last_offer);
        self.last_offer = now;
        self.advance(now);
        if self.updates.router.is_some() {
            self.read_headers(now, packet);
        }
    }

    /// Checks the invariants after each packet, in debug builds.
    fn check_invariants(&self) {
        debug_assert!(self.due <= self.due_besides, "link {}: something is due before it is caught up with", self.name);
        if cfg!(debug_assertions) {
            self.queue.check_invariants();
        }
    }

    /// Offers a packet to a queue that knows most departures at arrivals.
    /// `leaving` is the size of a packet that leaves at `now` and still counts as waiting.
    #[inline(never)]
    fn decide(&mut self, now: Time, hop: u32, packet: &mut P, leaving: Option<u32>) -> Offer {
        let (transmitter, meter) = (&mut self.transmitter, &mut self.meter);
        let accepted = match &mut self.queue {
            Queue::Precomputed(queue) => queue.offer(now, packet, leaving, transmitter, meter).map(Some),
            Queue::Ahead(queue) => queue.offer(now, packet, leaving, transmitter, meter),
            Queue::Buffered(_) => unreachable!("a buffered packet is deferred"),
        };
        match accepted {
            Ok(Some(accepted)) => {
                let arrival = self.plan(&accepted.service, packet.flow());
                if accepted.marked { Offer::ArrivesMarked(arrival) } else { Offer::Arrives(arrival) }
            }
            Ok(None) => {
                if let Queue::Ahead(queue) = &mut self.queue {
                    queue.hold(InFlight { packet: packet.take(), hop, next: 0 });
                }
                Offer::Undecided
            }
            Err(reason) => Offer::Dropped(reason),
        }
    }

    /// Registers a packet that arrives at a queue that holds packets.
    /// Returns whether the link must catch up at once.
    #[inline]
    pub(crate) fn defer(&mut self, now: Time, hop: u32, packet: &mut P) -> bool {
        let Queue::Buffered(queue) = &mut self.queue else { unreachable!("only queues that hold packets defer arrivals") };
        queue.defer(now, InFlight { packet: packet.take(), hop, next: 0 })
    }

    /// The next departure or arrival of a link that catches up.
    #[inline]
    pub(crate) fn next_step(&mut self) -> Option<Step<P>> {
        let Queue::Buffered(queue) = &mut self.queue else { return None };
        queue.next_step(&self.transmitter)
    }

    /// Whether something has happened by `until` at a link that holds packets.
    /// It then catches up to that time.
    pub(crate) fn falls_behind(&mut self, until: Time) -> bool {
        let Queue::Buffered(queue) = &mut self.queue else { return false };
        queue.falls_behind(until, &self.transmitter)
    }

    /// Offers a deferred packet, which arrives at `now`; `transit_time` as in [`Link::offer`].
    #[inline]
    pub(crate) fn hold(&mut self, now: Time, mut held: InFlight<P>, transit_time: impl FnOnce() -> Duration) {
        self.prepare(now, &mut held.packet);
        let Queue::Buffered(queue) = &mut self.queue else { unreachable!("only queues that hold packets defer arrivals") };
        let (size, transmitter) = (held.size(), &self.transmitter);
        let leaving = queue.last_departure.still_counted(now, transit_time, || transmitter.time_for(size));
        queue.offer(now, held, leaving, &mut self.transmitter, &mut self.meter);
        self.check_invariants();
    }

    /// Plans the transmission of a packet of `flow`; returns its arrival at the other end.
    #[inline(always)]
    fn plan(&mut self, service: &Service, flow: u32) -> Time {
        self.account(service, flow);
        self.transmitter.arrival(service.end)
    }

    /// Counts a packet of `flow` that will be sent.
    /// The statistics are updated when its transmission starts.
    #[inline(always)]
    fn account(&mut self, service: &Service, flow: u32) {
        if service.start > service.arrived {
            self.due = self.due.min(service.start);
        }
        if self.meter.measures() {
            self.meter.account(service, flow, &self.transmitter);
        }
    }

    /// Shows a packet to the router, together with the delay in the queue.
    #[inline(never)]
    fn read_headers(&mut self, now: Time, packet: &mut P) {
        let ahead = self.queue.delay(now, &self.transmitter);
        if let Some(router) = &mut self.updates.router {
            router.forward(now, ahead, packet);
        }
    }

    /// The next packet whose decision was open, if it is decided by now.
    /// Its time has come at `now`, or it certainly passes. Returns its position on its route and its arrival at the other end.
    #[inline]
    pub(crate) fn next_decided(&mut self, now: Time, packet: &mut P) -> Option<(u32, Time)> {
        let Queue::Ahead(queue) = &mut self.queue else { return None };
        let Decided { packet: decided, service } = queue.next_decided(now, &mut self.transmitter, &mut self.meter)?;
        *packet = decided.packet;
        Some((decided.hop, self.plan(&service, packet.flow())))
    }

    /// The time of an event to plan, if it needs one to decide and none is pending.
    #[inline]
    pub(crate) fn plan_event(&mut self) -> Option<Time> {
        match &mut self.queue {
            Queue::Precomputed(_) => None,
            Queue::Ahead(queue) => queue.plan_event(&self.transmitter),
            Queue::Buffered(queue) => queue.plan_event(&self.transmitter),
        }
    }

    /// Handles its pending event.
    #[inline]
    pub(crate) fn event_comes(&mut self, now: Time) {
        match &mut self.queue {
            Queue::Precomputed(_) => {}
            Queue::Ahead(queue) => {
                queue.event_comes();
                self.catch_up_before(now);
            }
            Queue::Buffered(queue) => queue.event_comes(now),
        }
    }

    /// Ends the transmission of a buffered packet at `now`, and moves it to `packet`.
    /// Returns its position on its route, and its arrival at the other end.
    #[inline]
    pub(crate) fn depart(&mut self, now: Time, packet: &mut P) -> (u32, Time) {
        self.catch_up_before(now);
        let Queue::Buffered(queue) = &mut self.queue else { unreachable!("only buffered links have departures") };
        let hop = queue.take_transmitted(packet);
        if !queue.takes_turns {
            queue.start_next(now, Start::Behind, &mut self.transmitter, &mut self.meter);
        }
        let arrival = self.transmitter.arrival(now);
        self.check_invariants();
        (hop, arrival)
    }

    /// The queue has something to send after it held it back.
    pub(crate) fn wake(&mut self, now: Time) {
        self.advance(now);
        if matches!(&self.queue, Queue::Buffered(queue) if queue.idle_since(&self.transmitter).is_some()) {
            self.start(now, Start::Idle);
        }
    }

    /// Begins its turn at `now`, with the overhead before the first packet.
    /// Returns the end of the transmission, `None` if the queue returns no packet.
    pub(crate) fn start_turn(&mut self, now: Time, overhead: Duration) -> Option<Time> {
        self.catch_up_before(now);
        self.start(now, Start::Turn(overhead))
    }

    /// Continues its turn at `now`, immediately after the packet before.
    pub(crate) fn continue_turn(&mut self, now: Time) -> Option<Time> {
        self.start(now, Start::Behind)
    }

    fn start(&mut self, now: Time, start: Start) -> Option<Time> {
        let Queue::Buffered(queue) = &mut self.queue else { unreachable!("a link that takes turns holds its packets") };
        queue.start_next(now, start, &mut self.transmitter, &mut self.meter)
    }

    /// A packet that found the link idle waits for its turn.
    pub(crate) fn waits_for_turn(&mut self, now: Time) {
        if let Queue::Buffered(queue) = &mut self.queue {
            queue.queue_changes(now, false, &mut self.meter);
        }
    }

    /// Registers an update other than a departure at `at`.
    pub(super) fn is_due(&mut self, at: Time) {
        (self.due, self.due_besides) = (self.due.min(at), self.due_besides.min(at));
    }

    /// Whether a buffered packet has an unreported event.
    #[inline]
    pub(crate) fn has_reports(&self) -> bool {
        match &self.queue {
            Queue::Precomputed(_) => false,
            Queue::Ahead(queue) => queue.has_reports(),
            Queue::Buffered(queue) => queue.has_reports(),
        }
    }

    /// The next unreported event of a buffered packet.
    #[inline]
    pub(crate) fn next_report(&mut self) -> Option<Report<P>> {
        match &mut self.queue {
            Queue::Precomputed(_) => None,
            Queue::Ahead(queue) => queue.next_report(),
            Queue::Buffered(queue) => queue.next_report(),
        }
    }

    /// A flow over this link becomes active at `at`, or inactive.
    /// The discipline receives the new number at that time.
    pub(crate) fn flow_changes(&mut self, at: Time, active: bool) {
        self.updates.flow_changes(at, active);
        self.is_due(at);
    }

    /// The counters since the start; for a link without a rate those of the window.
    pub fn counters(&self) -> Counters {
        self.queue.counters().and(&self.passed)
    }

    /// Runs all updates that are due by `now`.
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
            // A departure at the opening of the window counts within it, if it may have been decided at that time.
            let is_decided_then = matches!(self.queue, Queue::Ahead(_));
            self.catch_up(opening, Time::from_nanos(opening.as_nanos() - u64::from(is_decided_then && opening > Time::ZERO)));
            self.meter.open(self.counters());
            self.meter.stats.open_subqueues(opening, &self.queue.subqueues());
            self.meter.stats.drops_of_earlier = self.queue.drops_of_earlier();
        }
    }

    /// Runs the updates that are due by `now` in order, departures only by `departures`.
    /// Departures come first, then the timers, then samples. Returns the time of the next update.
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

    /// Reports the active flows to the discipline and runs its timer, as far as due.
    fn update(&mut self, due: Time) {
        while let Some((at, active)) = self.updates.next_flow_count(due) {
            self.queue.set_flows(at, active);
        }
        if self.updates.law_due <= due {
            self.updates.law_due = self.queue.run_timer(due, &self.transmitter);
        }
        self.updates.reschedule();
    }

    /// The queue at `now`, the network's time.
    pub fn queue_at(&mut self, now: Time) -> QueueSample {
        self.advance(now);
        self.queue_sample(now)
    }

    fn queue_sample(&self, now: Time) -> QueueSample {
        let Backlog { packets, bytes, .. } = self.queue.backlog();
        let (delay, probability) = (self.queue.delay(now, &self.transmitter), self.queue.probability());
        QueueSample { packets, bytes, delay, probability }
    }

    fn sample(&mut self, now: Time) {
        let (sample, subqueues) = (self.queue_sample(now), self.queue.samples());
        self.meter.sample(now, || sample, subqueues.into_iter());
    }

    /// Runs the updates that are due before a departure at `now`.
    #[inline]
    fn catch_up_before(&mut self, now: Time) {
        // A departure comes before a simultaneous timer, as with precomputed departures. There is no time before 0.
        if self.due <= now {
            self.advance(Time::from_nanos(now.as_nanos().saturating_sub(1)));
            self.open_window(now);
        }
    }

    /// Completes the statistics at the end of the run.
    /// The last sample may be due then: it shows the queue just before.
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
}
