//! Links: a queue, a transmitter and a propagation delay.
//!
//! A link whose discipline decides at arrival knows a packet's departure when it accepts it, so it
//! keeps no packets: only when each waiting one starts to be sent. Its backlog, its averages and its
//! discipline's timer follow lazily, in order, when the next packet arrives. A link whose discipline
//! drops at the head, or looks at waiting packets, keeps them and has events of its own.

mod body;

use crate::link_config::{Crossing, Hints, INSTANT, LinkConfig, LinkStats, Measure, Offer};
use crate::packet::Packet;
use crate::router::Router;
use crate::trace::LinkTrace;
use body::{Body, Queue, Waiting};
use sojourn_aqm::{AnyAqm, Aqm, ArrivalDecision, Backlog, Counters, Packet as _, PacketView, Qdisc};
use sojourn_units::{Duration, Rate, Serializer, Time};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// One link. What every packet touches comes first; the rest is apart, so that thousands of access links stay small.
#[derive(Clone, Debug)]
pub struct Link {
    delay: Duration,
    /// When the transmitter is free.
    free_at: Time,
    serializer: Option<Serializer>,
    /// When something follows next: a departure, the timer, a sample; until then there is nothing to catch up with.
    due: Time,
    /// Nothing is decided here but whether there is room: a packet that finds the link free passes at once.
    plain: bool,
    /// Its delay changes in the run.
    varies: bool,
    measured: bool,
    /// Packets and bytes that passed at once.
    passed: (u64, u64),
    body: Box<Body>,
}

impl Link {
    /// A link at time 0, measured over `window`.
    pub fn new(config: LinkConfig, window: (Time, Time)) -> Self {
        let needs = config.controller.aqm.needs();
        let law_due = if config.rate.is_some() { config.controller.aqm.first_update() } else { Time::NEVER };
        let router = if config.hints == Hints::Senders { None } else { Router::new(&needs) };
        let measured = config.measure != Measure::Counts;
        let varies = !config.delays.is_empty();
        let plain = config.changes.is_empty() && !varies && matches!(config.controller.aqm, AnyAqm::DropTail(_));
        let queue = if needs.head_drop || needs.waiting_packets || needs.flow_queues.is_some() {
            Queue::Kept { qdisc: Qdisc::new(config.controller), sending: None }
        } else {
            Queue::Foretold { controller: config.controller, waiting: VecDeque::new(), bytes: 0, departures: needs.departures }
        };
        let body = Body {
            name: config.name,
            first_rate: config.rate,
            changes: config.changes.into(),
            delays: config.delays.into(),
            last_out: Time::ZERO,
            queue,
            next_update: router.as_ref().map_or(law_due, |router| law_due.min(router.due)),
            law_due,
            last_arrival: Time::ZERO,
            window,
            before: None,
            measure: config.measure,
            stats: LinkStats::default(),
            traces: Vec::new(),
            next_sample: Time::NEVER,
            begun: 0,
            left: (Time::ZERO, 0),
            lost: VecDeque::new(),
            flow_changes: BinaryHeap::new(),
            active_flows: 0,
            counts_flows: needs.flow_count && router.is_none(),
            router,
        };
        let serializer = config.rate.map(Serializer::new);
        Link {
            delay: config.delay,
            free_at: Time::ZERO,
            serializer,
            due: Time::ZERO,
            plain,
            varies,
            measured,
            passed: (0, 0),
            body: Box::new(body),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.body.name
    }

    /// The least of its propagation delay now and later.
    pub fn least_delay(&self) -> Duration {
        self.body.delays.iter().map(|&(_, delay)| delay).fold(self.delay, Duration::min)
    }

    /// Its rate at the start; `None` if it merely delays.
    pub fn first_rate(&self) -> Option<Rate> {
        self.body.first_rate
    }

    /// Its rate at this time; `None` if it merely delays.
    pub fn rate(&self) -> Option<Rate> {
        self.serializer.as_ref().map(Serializer::rate)
    }

    /// How packets cross it that do not wait; asked for before the run.
    pub(crate) fn crossing(&self) -> Crossing {
        let Body { first_rate, changes, delays, .. } = &*self.body;
        Crossing {
            rate: *first_rate,
            rates: changes.iter().copied().collect(),
            delay: self.delay,
            delays: delays.iter().copied().collect(),
        }
    }

    /// What it measured; complete after the end of the run.
    pub fn stats(&self) -> &LinkStats {
        &self.body.stats
    }

    /// Its traces, in the order they were started.
    pub fn traces(&self) -> &[LinkTrace] {
        &self.body.traces
    }

    /// Samples the link every so often from time 0 on.
    pub fn start_trace(&mut self, every: Duration) {
        self.body.traces.push(LinkTrace::new(every));
        self.body.next_sample = Time::ZERO;
        self.due = Time::ZERO;
    }

    /// A kept packet that was dropped and not yet told of.
    pub fn next_lost(&mut self) -> Option<Packet> {
        self.body.lost.pop_front()
    }

    /// Whether the router before it reads headers.
    pub(crate) fn reads_headers(&self) -> bool {
        self.body.router.is_some()
    }

    /// A packet has come back past the router before this link.
    pub(crate) fn hear(&mut self, now: Time, packet: &Packet) {
        if let Some(router) = &mut self.body.router {
            router.back(now, packet);
        }
    }

    /// Whether its discipline is told the number of active flows by them.
    #[inline]
    pub fn counts_flows(&self) -> bool {
        self.body.counts_flows
    }

    /// A flow over this link becomes active at `at`, or ceases to be. The discipline learns of it when its time comes.
    pub fn flow_changes(&mut self, at: Time, active: bool) {
        self.body.flow_changes.push(Reverse((at, active)));
        self.body.next_update = self.body.next_update.min(at);
        self.due = self.due.min(at);
    }

    /// Whether it merely delays: no rate, so no queue and no order to keep among its users.
    pub fn is_pure_delay(&self) -> bool {
        self.serializer.is_none()
    }

    /// Whether it keeps packets and has events of its own.
    pub fn keeps_packets(&self) -> bool {
        matches!(self.body.queue, Queue::Kept { .. }) && self.serializer.is_some()
    }

    /// Packets that wait or are being sent, where the link keeps them.
    pub fn kept(&self) -> u64 {
        match &self.body.queue {
            Queue::Foretold { .. } => 0,
            Queue::Kept { qdisc, sending } => u64::from(qdisc.packets()) + u64::from(sending.is_some()),
        }
    }

    /// The accounts since the start.
    pub fn counters(&self) -> Counters {
        let mut counters = match &self.body.queue {
            Queue::Foretold { controller, .. } => controller.counters,
            Queue::Kept { qdisc, .. } => *qdisc.counters(),
        };
        counters.arrived += self.passed.0;
        counters.arrived_bytes += self.passed.1;
        counters
    }

    /// Checks at the end of a run that it never sent faster than its rate and that its queue balances.
    pub fn check(&self, end: Time) -> Result<(), String> {
        let window = end.since(self.body.window.0);
        if self.body.stats.busy > window {
            return Err(format!("link {}: busy for {} of {window}", self.name(), self.body.stats.busy));
        }
        match &self.body.queue {
            Queue::Kept { qdisc, .. } if !qdisc.balances() => Err(format!("link {}: its queue does not balance", self.name())),
            _ => Ok(()),
        }
    }

    /// Offers a packet at `now`, not earlier than the one before; marks it if the discipline says so.
    #[inline(always)]
    pub(crate) fn offer(&mut self, now: Time, packet: &mut Packet) -> Offer {
        let size = u32::from(packet.size);
        let Some(serializer) = &mut self.serializer else {
            self.pass(size);
            return Offer::Arrives(now + self.delay);
        };
        if !self.plain {
            return self.decide(now, packet, None);
        }
        if self.free_at > now || self.due <= now {
            return self.queue_up(now, packet, None);
        }
        self.free_at = now + serializer.send_first(size);
        self.pass(size);
        if self.measured {
            self.body.account_at_once(now, self.free_at, size);
        }
        Offer::Arrives(self.free_at + self.delay)
    }

    /// Offers a packet again that came at the same instant as another left the queue ([`Offer::Tied`]), now with how long ago its
    /// sending began.
    #[cold]
    pub(crate) fn offer_again(&mut self, now: Time, packet: &mut Packet, under_way: Duration) -> Offer {
        if self.plain { self.queue_up(now, packet, Some(under_way)) } else { self.decide(now, packet, Some(under_way)) }
    }

    /// Counts a packet on which nothing is decided.
    #[inline]
    fn pass(&mut self, size: u32) {
        self.passed.0 += 1;
        self.passed.1 += u64::from(size);
    }

    /// Offers a packet to a plain link that is busy, or where something follows first: it waits if there is room.
    #[inline(never)]
    fn queue_up(&mut self, now: Time, packet: &Packet, under_way: Option<Duration>) -> Offer {
        self.advance(now);
        if under_way.is_none() && self.ties(now) {
            return Offer::Tied;
        }
        let (size, start) = (u32::from(packet.size), self.free_at.max(now));
        let beside = under_way.and_then(|long| self.beside(size, long));
        let (idle, body) = (self.free_at <= now, &mut *self.body);
        let (Queue::Foretold { controller, waiting, bytes, .. }, Some(serializer)) = (&mut body.queue, &mut self.serializer) else {
            unreachable!("a plain link has a rate and keeps no packets")
        };
        let backlog = backlog(waiting, *bytes, beside, idle.then_some(self.free_at));
        if !controller.admit_if_room(size, &backlog) {
            return Offer::Dropped;
        }
        if body.measure == Measure::All && now >= body.window.0 {
            body.stats.probability.add(0.0);
        }
        if idle {
            body.begun += u64::from(size);
            self.free_at = start + serializer.send_first(size);
        } else {
            waiting.push_back(Waiting { start, size, ..Waiting::UNSEEN });
            self.due = self.due.min(start);
            *bytes += u64::from(size);
            if self.measured {
                body.stats.queue.set(now, waiting.len() as u64, *bytes);
            }
            self.free_at = start + serializer.send(size);
        }
        if self.measured {
            body.account(now, start, self.free_at, size);
        }
        Offer::Arrives(self.free_at + self.delay)
    }

    /// Offers a packet to a link whose discipline has a say.
    #[inline(never)]
    fn decide(&mut self, now: Time, packet: &mut Packet, under_way: Option<Duration>) -> Offer {
        debug_assert!(
            now >= self.body.last_arrival,
            "link {}: a packet came at {now:?}, before its predecessor at {:?}",
            self.body.name,
            self.body.last_arrival
        );
        self.body.last_arrival = now;
        self.advance(now);
        if under_way.is_none() && self.ties(now) {
            return Offer::Tied;
        }
        if self.body.router.is_some() {
            self.read(now, packet);
        }
        let beside = under_way.and_then(|long| self.beside(u32::from(packet.size), long));
        if matches!(self.body.queue, Queue::Kept { .. }) { self.keep(now, *packet, beside) } else { self.foretell(now, packet, beside) }
    }

    /// Whether a packet that had waited left the queue at this very instant.
    #[inline]
    fn ties(&self, now: Time) -> bool {
        self.body.left.0 + INSTANT >= now
    }

    /// The size of the packet that left at this instant, if it counts for one of `size` bytes that comes now. What began earlier
    /// happens first, as in ns-2 and ns-3: the sending that ended (taken for that of a packet as large as the arriving one), or the
    /// arriving packet's on the link before.
    #[inline]
    fn beside(&self, size: u32, under_way: Duration) -> Option<u32> {
        let sending = self.rate().map_or(Duration::ZERO, |rate| rate.time_for(u64::from(size)));
        (under_way > sending).then_some(self.body.left.1).filter(|&size| size > 0)
    }

    /// Shows a packet to the router, which knows what waits ahead of it.
    fn read(&mut self, now: Time, packet: &mut Packet) {
        let kept = match (&self.body.queue, self.rate()) {
            (Queue::Kept { qdisc, .. }, Some(rate)) => rate.time_for(qdisc.bytes()),
            _ => Duration::ZERO,
        };
        let ahead = self.free_at.since(now) + kept;
        if let Some(router) = &mut self.body.router {
            router.forward(now, ahead, packet);
        }
    }

    /// Brings everything that follows lazily up to `now`: departures first, then the timer, then what is offered.
    #[inline]
    fn advance(&mut self, now: Time) {
        if now < self.due {
            return;
        }
        let from = self.body.window.0;
        if now >= from && self.body.before.is_none() {
            self.body.catch_up(from, self.free_at);
            self.body.stats.queue.restart(from);
            self.body.before = Some(self.counters());
        }
        self.due = self.body.catch_up(now, self.free_at);
    }

    /// The time to send `size` bytes from `start` on.
    #[inline]
    fn sending_time(&mut self, start: Time, idle: bool, size: u32) -> Duration {
        if !self.body.changes.is_empty() {
            self.change_rate(start);
        }
        match &mut self.serializer {
            None => Duration::ZERO,
            Some(serializer) if idle => serializer.send_first(size),
            Some(serializer) => serializer.send(size),
        }
    }

    /// When a packet whose sending ends at `end` arrives at the other end.
    #[inline]
    fn arrival(&mut self, end: Time) -> Time {
        if self.varies { self.arrival_in_order(end) } else { end + self.delay }
    }

    /// The same where the delay changes: after the packet ahead of it, so that the order stays and no two come at once.
    fn arrival_in_order(&mut self, end: Time) -> Time {
        while let Some(&(at, delay)) = self.body.delays.front()
            && at <= end
        {
            self.body.delays.pop_front();
            self.delay = delay;
        }
        self.body.last_out = (end + self.delay).max(self.body.last_out + Duration::from_nanos(1));
        self.body.last_out
    }

    fn change_rate(&mut self, start: Time) {
        while let Some(&(at, rate)) = self.body.changes.front() {
            if at > start {
                break;
            }
            self.body.changes.pop_front();
            self.serializer = Some(Serializer::new(rate));
        }
    }

    #[inline]
    fn foretell(&mut self, now: Time, packet: &mut Packet, beside: Option<u32>) -> Offer {
        let idle = self.free_at <= now;
        let body = &mut *self.body;
        let Queue::Foretold { controller, waiting, bytes, departures } = &mut body.queue else { unreachable!() };
        let backlog = backlog(waiting, *bytes, beside, idle.then_some(self.free_at));
        let arrival = view(now, packet);
        match controller.decide_arrival(&arrival, packet.can_mark(), &backlog) {
            // An algorithm that inspects waiting packets never runs here.
            ArrivalDecision::Enqueue | ArrivalDecision::Inspect(_) => {}
            ArrivalDecision::EnqueueMarked => packet.mark(),
            ArrivalDecision::Drop(_) | ArrivalDecision::DropBoth(_) => return Offer::Dropped,
        }
        if body.measure == Measure::All && now >= body.window.0 {
            body.stats.probability.add(controller.aqm.probability().get());
        }
        let start = if idle { now } else { self.free_at };
        if !idle {
            let PacketView { size, flow, rtt_hint_ms, has_data, .. } = arrival;
            waiting.push_back(Waiting { start, since: now, size, flow, rtt_hint_ms, has_data });
            self.due = self.due.min(start);
            *bytes += u64::from(arrival.size);
            if body.measure != Measure::Counts {
                body.stats.queue.set(now, waiting.len() as u64, *bytes);
            }
        } else {
            body.begun += u64::from(arrival.size);
        }
        if idle && *departures {
            controller.decide_departure(&arrival, Duration::ZERO, false, &Backlog { packets: 0, bytes: 0, idle_since: None });
        }
        let end = start + self.sending_time(start, idle, arrival.size);
        self.free_at = end;
        if self.body.measure != Measure::Counts {
            self.body.account(now, start, end, arrival.size);
        }
        Offer::Arrives(self.arrival(end))
    }

    fn keep(&mut self, now: Time, packet: Packet, beside: Option<u32>) -> Offer {
        let idle_since = self.body.idle_since(now, self.free_at);
        let body = &mut *self.body;
        let Queue::Kept { qdisc, .. } = &mut body.queue else { unreachable!() };
        let dropped = qdisc.counters().dropped();
        qdisc.set_simultaneous_departure(beside);
        qdisc.enqueue(now, packet, idle_since, |dropped, _| body.lost.push_back(dropped));
        if body.measure == Measure::All && now >= body.window.0 && qdisc.counters().dropped() == dropped {
            body.stats.probability.add(qdisc.aqm().probability().get());
        }
        if idle_since.is_some() {
            return Offer::Kept(self.start_next(now, true));
        }
        body.stats.queue.set(now, u64::from(qdisc.packets()), qdisc.bytes());
        Offer::Kept(None)
    }

    /// Starts to send the next waiting packet at `now`, on a link that was `idle` or has just sent another; gives the
    /// time its sending ends.
    fn start_next(&mut self, now: Time, idle: bool) -> Option<Time> {
        let body = &mut *self.body;
        let Queue::Kept { qdisc, sending } = &mut body.queue else { return None };
        let next = qdisc.dequeue(now, |dropped, _| body.lost.push_back(dropped));
        if body.measure != Measure::Counts {
            body.stats.queue.set(now, u64::from(qdisc.packets()), qdisc.bytes());
        }
        let Some((packet, wait)) = next else {
            // What found the link idle was dropped at the head: the link has been free since before.
            self.free_at = if idle { self.free_at } else { now };
            return None;
        };
        *sending = Some(packet);
        body.left = (now, if idle { 0 } else { u32::from(packet.size) });
        body.begun += u64::from(packet.size);
        let size = u32::from(packet.size);
        let end = now + self.sending_time(now, idle, size);
        self.free_at = end;
        let arrived = Time::from_nanos(now.as_nanos() - wait.as_nanos());
        self.body.account(arrived, now, end, size);
        Some(end)
    }

    /// A kept packet's sending ends at `now`: the packet, when it arrives at the other end, and when
    /// the next one's sending ends.
    pub fn depart(&mut self, now: Time) -> (Packet, Time, Option<Time>) {
        // Departures come before a timer that is due at the same time, as where they are foretold.
        self.advance(Time::from_nanos(now.as_nanos() - 1));
        let Queue::Kept { sending, .. } = &mut self.body.queue else { unreachable!("only links that keep packets have departures") };
        let Some(packet) = sending.take() else { unreachable!("a departure is scheduled for a packet that is being sent") };
        let next = self.start_next(now, false);
        (packet, self.arrival(now), next)
    }

    /// Brings the accounts to the end of the run.
    pub fn finish(&mut self, end: Time) {
        self.due = Time::ZERO;
        self.advance(end);
        let (total, before) = (self.counters(), self.body.before.unwrap_or_default());
        let stats = &mut self.body.stats;
        stats.queue.finish(end);
        stats.counters = Counters {
            arrived: total.arrived - before.arrived,
            arrived_bytes: total.arrived_bytes - before.arrived_bytes,
            marked: total.marked - before.marked,
            dropped_early: total.dropped_early - before.dropped_early,
            dropped_forced: total.dropped_forced - before.dropped_forced,
            dropped_tail: total.dropped_tail - before.dropped_tail,
            dropped_bytes: total.dropped_bytes - before.dropped_bytes,
        };
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        let queue = match &self.body.queue {
            Queue::Foretold { waiting, .. } => waiting.capacity() * size_of::<Waiting>(),
            Queue::Kept { qdisc, .. } => qdisc.packets() as usize * size_of::<(Time, Packet)>(),
        };
        let router = self.body.router.as_ref().map_or(0, |router| router.memory());
        size_of::<Link>() + size_of::<Body>() + queue + router + self.body.stats.waits.memory()
    }
}

#[inline]
fn view(now: Time, packet: &Packet) -> PacketView {
    PacketView { now, size: u32::from(packet.size), flow: packet.flow, rtt_hint_ms: packet.rtt_hint_ms(), has_data: packet.has_data() }
}

/// What an arriving packet finds where departures are foretold.
#[inline]
fn backlog(waiting: &VecDeque<Waiting>, bytes: u64, beside: Option<u32>, idle_since: Option<Time>) -> Backlog {
    let backlog = Backlog { packets: waiting.len() as u32, bytes, idle_since };
    beside.map_or(backlog, |size| backlog.with_packet(size))
}
