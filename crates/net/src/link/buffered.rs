//! The queue of a link that buffers packets.
//! Its discipline drops at the head, inspects waiting packets or has a queue for each flow.
//!
//! A departure is known only when the packet before has been sent. The network lets the link catch up with arrivals and departures when
//! someone could notice (`network/behind.rs`).

use super::meter::Meter;
use super::stats::Service;
use super::tie::LastDeparture;
use super::transmitter::Transmitter;
use crate::packet::{InFlight, Packet};
use alloc::collections::VecDeque;
use sojourn_aqm::{DropReason, Packet as _, Qdisc};
use sojourn_units::{Duration, Memory, Time};

#[derive(Clone, Debug)]
pub(super) struct Buffered<P> {
    pub qdisc: Qdisc<InFlight<P>>,
    /// The packet that is being sent.
    transmitting: Option<InFlight<P>>,
    pub last_departure: LastDeparture,
    /// Unreported events of packets.
    reports: VecDeque<Report<P>>,
    /// The next time at which the link is woken, if any.
    wake: Time,
    /// Packets that have arrived since it caught up with the network, each with its time.
    arrivals: VecDeque<(Time, InFlight<P>)>,
    /// How far it may be behind the network's time.
    pub lag: Duration,
    /// The time up to which it catches up.
    until: Time,
    /// Whether the event at which it catches up next is pending.
    has_event: bool,
    /// Whether it sends only in its turns ([`crate::medium`]).
    pub takes_turns: bool,
    /// Whether it has an ACK filter.
    pub filters_acks: bool,
}

/// The time at which a removed packet is sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// Immediately behind another one.
    Behind,
    /// Immediately, on a link that was idle.
    Idle,
    /// As the first of a turn on a shared medium, after this time.
    Turn(Duration),
}

/// The largest number of arrivals that a link is behind.
/// They and the code for them stay in the processor's cache.
const MOST_ARRIVALS: usize = 64;

/// A step of a link that catches up.
pub(crate) enum Step<P> {
    /// The transmission of a packet ends at this time.
    Departure(Time),
    /// A packet arrives at this time.
    Arrival(Time, InFlight<P>),
}

/// An event of a packet of a buffered queue.
#[derive(Clone, Debug)]
pub(crate) enum Report<P> {
    /// It was dropped.
    Dropped(P, DropReason),
    /// A packet of this flow got a congestion mark.
    Marked(u32),
    /// The queue holds its packets back until this time.
    HeldUntil(Time),
}

impl<P: Packet> Buffered<P> {
    /// An empty queue, measured from `from` on.
    /// The link sends in its turns, or whenever it is free.
    pub fn new(mut qdisc: Qdisc<InFlight<P>>, takes_turns: bool, from: Time) -> Self {
        qdisc.count_drops_of_earlier(from);
        Buffered {
            filters_acks: qdisc.filters_acks(),
            qdisc,
            transmitting: None,
            last_departure: LastDeparture::default(),
            reports: VecDeque::new(),
            wake: Time::ZERO,
            arrivals: VecDeque::new(),
            lag: Duration::ZERO,
            until: Time::ZERO,
            has_event: false,
            takes_turns,
        }
    }

    /// The number of packets that wait or are being sent.
    pub fn packets(&self) -> u64 {
        u64::from(self.qdisc.packets()) + u64::from(self.transmitting.is_some()) + self.arrivals.len() as u64
    }

    /// Registers a packet that arrives at `now`; returns whether the link must catch up at once.
    #[inline]
    pub fn defer(&mut self, now: Time, packet: InFlight<P>) -> bool {
        self.arrivals.push_back((now, packet));
        let is_due = self.lag == Duration::ZERO || self.arrivals.len() >= MOST_ARRIVALS;
        if is_due {
            self.until = now;
        }
        is_due
    }

    /// The time of its next departure or arrival.
    #[inline]
    fn next_step_at(&self, transmitter: &Transmitter) -> Time {
        let departure = if self.transmitting.is_some() { transmitter.free_at } else { Time::NEVER };
        self.arrivals.front().map_or(departure, |&(arrival, _)| departure.min(arrival))
    }

    /// Whether something has happened by `until`; then the link catches up to that time.
    pub fn falls_behind(&mut self, until: Time, transmitter: &Transmitter) -> bool {
        self.until = until;
        self.next_step_at(transmitter) <= until
    }

    /// Handles the event at which it catches up with the network's time.
    pub fn event_comes(&mut self, now: Time) {
        (self.until, self.has_event) = (now, false);
    }

    /// The time of the event by which it must catch up, if none is pending.
    #[inline]
    pub fn plan_event(&mut self, transmitter: &Transmitter) -> Option<Time> {
        if self.has_event {
            return None;
        }
        let next = self.next_step_at(transmitter);
        self.has_event = next < Time::NEVER;
        self.has_event.then_some(next + self.lag)
    }

    /// The next departure or arrival, until it has caught up.
    /// A departure precedes a simultaneous arrival.
    #[inline]
    pub fn next_step(&mut self, transmitter: &Transmitter) -> Option<Step<P>> {
        let departure = transmitter.free_at;
        let arrival = self.arrivals.front().map_or(Time::NEVER, |&(arrival, _)| arrival);
        if self.transmitting.is_some() && departure <= self.until.min(arrival) {
            return Some(Step::Departure(departure));
        }
        if arrival > self.until {
            return None;
        }
        self.arrivals.pop_front().map(|(arrival, packet)| Step::Arrival(arrival, packet))
    }

    /// Whether a packet is being sent.
    pub fn is_sending(&self) -> bool {
        self.transmitting.is_some()
    }

    /// The time since which the link has been idle; `None` while it sends or waits for its turn.
    #[inline]
    pub fn idle_since(&self, transmitter: &Transmitter) -> Option<Time> {
        let idle = self.transmitting.is_none() && !(self.takes_turns && self.qdisc.packets() > 0);
        idle.then_some(transmitter.free_at)
    }

    /// Whether a packet has an unreported event.
    #[inline]
    pub fn has_reports(&self) -> bool {
        !self.reports.is_empty()
    }

    /// The next unreported event of a packet.
    #[inline]
    pub fn next_report(&mut self) -> Option<Report<P>> {
        self.reports.pop_front()
    }

    /// Offers a packet that arrives at `now`.
    /// `simultaneous` is the size of a packet that leaves now and still counts.
    pub fn offer(&mut self, now: Time, packet: InFlight<P>, simultaneous: Option<u32>, transmitter: &mut Transmitter, meter: &mut Meter) {
        let idle_since = self.idle_since(transmitter);
        let marked = self.qdisc.marked();
        let flow = packet.flow();
        let reports = &mut self.reports;
        self.qdisc.set_simultaneous_departure(simultaneous);
        self.qdisc.enqueue(now, packet, idle_since, |dropped, reason| reports.push_back(Report::Dropped(dropped.packet, reason)));
        // Earlier events have been reported: the only ones are those of this arrival.
        if meter.wants_probability(now) && reports.is_empty() {
            meter.probability(self.qdisc.probability());
        }
        let others_stay = reports.is_empty();
        if self.qdisc.marked() > marked {
            reports.push_back(Report::Marked(flow));
        }
        match idle_since {
            Some(_) if self.takes_turns => {}
            Some(_) => {
                self.start_next(now, Start::Idle, transmitter, meter);
            }
            None => self.queue_changes(now, others_stay, meter),
        }
    }

    /// Records that a packet may have joined the queue.
    /// `others_stay` is whether that is the only possible change.
    #[inline(always)]
    pub fn queue_changes(&self, now: Time, others_stay: bool, meter: &mut Meter) {
        meter.queue_changes(now, u64::from(self.qdisc.packets()), self.qdisc.bytes());
        if meter.has_subqueues() {
            match self.qdisc.changed_subqueue().filter(|_| others_stay) {
                Some(changed) => meter.stats.set_subqueue(&changed, now),
                None => meter.stats.set_subqueues(now, &self.qdisc),
            }
        }
    }

    /// The queue returned no packet. If it holds some back, plans when to wake the link.
    #[cold]
    fn hold(&mut self, now: Time, meter: &mut Meter) {
        // A packet that found the link idle may have joined packets that are held back.
        self.queue_changes(now, false, meter);
        let Some(ready) = self.qdisc.ready() else { return };
        if self.wake <= now || ready < self.wake {
            self.wake = ready.max(now);
            self.reports.push_back(Report::HeldUntil(self.wake));
        }
    }

    /// Removes the next packet at `now` and starts to send it.
    /// Returns the end of the transmission.
    pub fn start_next(&mut self, now: Time, start: Start, transmitter: &mut Transmitter, meter: &mut Meter) -> Option<Time> {
        let marked = self.qdisc.marked();
        let reports = &mut self.reports;
        let next = self.qdisc.dequeue(now, |dropped, reason| reports.push_back(Report::Dropped(dropped.packet, reason)));
        let Some((packet, wait)) = next else {
            self.hold(now, meter);
            return None;
        };
        meter.queue_shrinks(now, u64::from(self.qdisc.packets()), self.qdisc.bytes());
        // No packet arrived or was dropped since the queue was last recorded.
        let others_stay = start == Start::Behind && reports.is_empty();
        if self.qdisc.marked() > marked {
            reports.push_back(Report::Marked(packet.flow()));
        }
        let (size, flow) = (packet.size(), packet.flow());
        self.transmitting = Some(packet);
        self.last_departure = LastDeparture { at: now, size: if start == Start::Behind { size } else { 0 } };
        let end = match start {
            Start::Behind => transmitter.send(now, size, false),
            Start::Idle => transmitter.send(now, size, true),
            Start::Turn(overhead) => transmitter.send(now + overhead, size, true),
        };
        let arrived = Time::from_nanos(now.as_nanos() - wait.as_nanos());
        if meter.measures() {
            meter.account(&Service { arrived, start: now, end, size }, flow, transmitter);
        }
        if meter.has_subqueues() {
            self.account_subqueue(&Service { arrived, start: now, end, size }, others_stay, meter);
        }
        Some(end)
    }

    /// Records a sent packet of a subqueue; `others_stay` is whether the others are unchanged.
    #[inline(always)]
    fn account_subqueue(&self, service: &Service, others_stay: bool, meter: &mut Meter) {
        if self.qdisc.has_classes() {
            return self.account_class(service, meter);
        }
        let Some(changed) = self.qdisc.changed_subqueue() else { return };
        if others_stay {
            meter.stats.subqueues[changed.at].queue.shrink(service.start, changed.packets.into(), changed.bytes);
        } else {
            meter.stats.set_subqueues(service.start, &self.qdisc);
        }
        meter.account_subqueue(changed.at, service);
    }

    /// Records a sent packet of a class, and of its queue if the class has several.
    #[inline(never)]
    fn account_class(&self, service: &Service, meter: &mut Meter) {
        meter.stats.set_subqueues(service.start, &self.qdisc);
        for at in self.qdisc.last_path() {
            meter.account_subqueue(at, service);
        }
    }

    /// Moves the transmitted packet to `packet`; returns its position on its route.
    #[inline]
    pub fn take_transmitted(&mut self, packet: &mut P) -> u32 {
        let Some(departed) = self.transmitting.take() else { unreachable!("a departure belongs to a packet that is being sent") };
        *packet = departed.packet;
        departed.hop
    }

    /// Checks, in debug builds, that the link sends while it may send a waiting packet.
    pub fn check_invariants(&self) {
        if cfg!(debug_assertions) && self.qdisc.packets() > 0 && !self.takes_turns {
            assert!(self.is_sending() || self.qdisc.may_hold_back(), "packets wait for an idle link");
        }
    }
}

impl<P: Packet> Memory for Buffered<P> {
    fn memory(&self) -> usize {
        self.qdisc.packets() as usize * size_of::<(Time, InFlight<P>)>() + self.arrivals.memory()
    }
}
