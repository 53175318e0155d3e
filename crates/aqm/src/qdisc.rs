//! A queue that holds its packets and serves them as its controller decides.

mod acks;
mod classes;
mod host;
mod subqueues;

pub use classes::{ClassConfig, Rule, Shares};

use crate::cake_queues::CakeQueues;
use crate::controller::NO_LIMIT;
use crate::counters::Fate;
use crate::dual_queue::DualQueues;
use crate::host_queue::Held;
use crate::scheduler::FlowQueues;
use crate::{
    Amount, AnyAqm, Aqm, ArrivalDecision, Backlog, Counters, DepartureDecision, DropReason, Ecn, FlowQueuing, Packet, PacketView,
    QueueController,
};
use acks::Useless;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use classes::{Arrival, Classes, Next};
use core::mem::{replace, take};
use sojourn_units::{Duration, Time};

/// A queue that holds its packets. The simulator uses it where a packet's departure is not known when the packet arrives; a
/// router would use it with real packets.
#[derive(Clone, Debug)]
pub struct Qdisc<P> {
    controller: QueueController,
    waiting: Waiting<P>,
    held: Occupancy,
    departed: u64,
    next_update: Time,
    /// The size of a packet that departs at the instant of the next arrival and still counts for it.
    simultaneous_departure: Option<u32>,
    /// A waiting ACK that the next arrival makes useless.
    useless: Option<Useless>,
    earlier: DropsOfEarlier,
}

/// How much waits, in all queues together.
#[derive(Clone, Copy, Default, Debug)]
struct Occupancy {
    packets: u32,
    bytes: u64,
}

impl Occupancy {
    #[inline]
    fn add(&mut self, size: u32) {
        self.packets += 1;
        self.bytes += u64::from(size);
    }

    #[inline]
    fn take(&mut self, size: u32) {
        self.packets -= 1;
        self.bytes -= u64::from(size);
    }
}

/// Drops of packets that arrived before a time.
#[derive(Clone, Copy, Debug)]
struct DropsOfEarlier {
    from: Time,
    count: u64,
}

impl DropsOfEarlier {
    /// A packet that has waited since `since` is dropped.
    fn add(&mut self, since: Time) {
        self.count += u64::from(since < self.from);
    }
}

/// The packets that wait, in the order of service, each with the time of its arrival.
#[derive(Clone, Debug)]
enum Waiting<P> {
    /// First in, first out.
    Fifo(VecDeque<(Time, P)>),
    /// A queue for each flow, and the limit of all of them together.
    Flows(Box<FlowQueues<P>>, Amount),
    /// Two queues, one of them for scalable senders.
    Dual(Box<DualQueues<P>>),
    /// The queues of CAKE, and the limit of all of them together.
    Cake(Box<CakeQueues<P>>, Amount),
    /// In a queue of the host.
    Host(Box<Held<P>>),
    /// In classes, which count for themselves.
    Classes(Box<Classes<P>>),
}

/// The shortest interval of a timer: a plug-in that asks for a zero interval must not stop the clock.
const SHORTEST_INTERVAL: Duration = Duration::from_nanos(1);

impl<P: Packet> Qdisc<P> {
    /// An empty queue under `controller`.
    pub fn new(controller: QueueController) -> Self {
        Qdisc::with_flow_queues(controller, None)
    }

    /// Empty classes, each with a queue.
    pub fn of_classes(classes: Vec<ClassConfig>) -> Self {
        let next_update = ClassConfig::first_update(&classes);
        let waiting = Waiting::Classes(Box::new(Classes::new(classes)));
        Qdisc { waiting, next_update, ..Qdisc::new(QueueController::passing()) }
    }

    /// The same with a queue for each flow under the one discipline, also where the discipline does not ask for that.
    pub fn with_flow_queues(mut controller: QueueController, flow_queues: Option<FlowQueuing>) -> Self {
        let next_update = controller.aqm.first_update();
        let needs = controller.aqm.needs();
        let waiting = match (controller.host.take(), needs.flow_queues.or(flow_queues)) {
            (Some(host), _) => Waiting::Host(Box::new(Held::new(host))),
            (None, None) => match (needs.dual_queue, needs.cake) {
                (Some(queuing), _) => Waiting::Dual(Box::new(DualQueues::new(queuing))),
                (None, Some(queuing)) => {
                    let queues = CakeQueues::new(queuing, take(&mut controller.dscps));
                    Waiting::Cake(Box::new(queues), replace(&mut controller.limit, NO_LIMIT))
                }
                (None, None) => Waiting::Fifo(VecDeque::new()),
            },
            // Where the longest queue drops, an arriving packet is always admitted: room is then made there.
            (None, Some(queuing)) => {
                let limit = if queuing.drop_longest { replace(&mut controller.limit, NO_LIMIT) } else { NO_LIMIT };
                Waiting::Flows(Box::new(FlowQueues::new(queuing)), limit)
            }
        };
        Qdisc {
            controller,
            waiting,
            held: Occupancy::default(),
            departed: 0,
            next_update,
            simultaneous_departure: None,
            useless: None,
            earlier: DropsOfEarlier { from: Time::NEVER, count: 0 },
        }
    }

    /// Draws from now on as this queue does in another run, if it has not drawn yet: see [`sojourn_units::Stream::go_over`].
    #[must_use]
    pub fn go_over(&mut self, start: &Self, other: &Self) -> bool {
        let classes = match (&mut self.waiting, &start.waiting, &other.waiting) {
            (Waiting::Classes(here), Waiting::Classes(start), Waiting::Classes(other)) => here.go_over(start, other),
            (Waiting::Classes(_) | Waiting::Host(_), ..) => false,
            // The controller draws for all their packets.
            (Waiting::Fifo(_) | Waiting::Flows(..) | Waiting::Dual(_) | Waiting::Cake(..), ..) => true,
        };
        classes && self.controller.go_over(&start.controller, &other.controller)
    }

    /// The counters.
    pub fn counters(&self) -> &Counters {
        &self.controller.counters
    }

    /// Counts the drops of packets that waited and had arrived before `from`.
    pub fn count_drops_of_earlier(&mut self, from: Time) {
        self.classes_mut().for_each(|class| class.count_drops_of_earlier(from));
        self.earlier = DropsOfEarlier { from, count: 0 };
    }

    /// How many packets that waited were dropped and had arrived before the time of [`Qdisc::count_drops_of_earlier`].
    pub fn drops_of_earlier(&self) -> u64 {
        self.earlier.count + self.classes().map(Qdisc::drops_of_earlier).sum::<u64>()
    }

    /// The queue of each class, if there are classes.
    pub fn classes(&self) -> impl Iterator<Item = &Qdisc<P>> {
        let classes = if let Waiting::Classes(classes) = &self.waiting { Some(classes) } else { None };
        classes.into_iter().flat_map(|classes| classes.queues())
    }

    fn classes_mut(&mut self) -> impl Iterator<Item = &mut Qdisc<P>> {
        let classes = if let Waiting::Classes(classes) = &mut self.waiting { Some(classes) } else { None };
        classes.into_iter().flat_map(|classes| classes.queues_mut())
    }

    /// Whether it goes by the groups of flows ([`Qdisc::add_place`]).
    pub fn knows_groups(&self) -> bool {
        matches!(self.waiting, Waiting::Classes(_) | Waiting::Cake(..))
    }

    /// Packets of flows of this group come to the link at this place of their route: what classes go by.
    pub fn add_place(&mut self, place: u32, group: u32) {
        match &mut self.waiting {
            Waiting::Classes(classes) => classes.add_place(place, group),
            Waiting::Cake(queues, _) => queues.add_place(place, group),
            Waiting::Fifo(_) | Waiting::Flows(..) | Waiting::Dual(_) | Waiting::Host(_) => {}
        }
    }

    /// When something may be sent again that is held back now; `None` if nothing is.
    pub fn ready(&self) -> Option<Time> {
        match &self.waiting {
            Waiting::Classes(classes) => classes.ready(),
            Waiting::Cake(queues, _) => queues.ready(),
            Waiting::Fifo(_) | Waiting::Flows(..) | Waiting::Dual(_) | Waiting::Host(_) => None,
        }
    }

    /// Whether packets may be held back although nothing is being sent: by classes, a shaper or the host.
    pub fn may_hold_back(&self) -> bool {
        self.ready().is_some() || matches!(self.waiting, Waiting::Host(_))
    }

    /// The algorithm.
    pub fn aqm(&self) -> &AnyAqm {
        &self.controller.aqm
    }

    /// Tells the algorithm that from `now` on `active` flows are active.
    pub fn set_flows(&mut self, now: Time, active: u32) {
        self.classes_mut().for_each(|class| class.set_flows(now, active));
        self.controller.aqm.on_flows(now, active);
        if let Waiting::Host(held) = &mut self.waiting {
            held.set_flows(now, active);
        }
    }

    /// Packets waiting.
    #[inline]
    pub fn packets(&self) -> u32 {
        self.held.packets
    }

    /// Bytes waiting.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.held.bytes
    }

    /// The time of the algorithm's next update.
    pub fn next_update(&self) -> Time {
        self.next_update
    }

    fn backlog(&self, idle_since: Option<Time>) -> Backlog {
        Backlog { packets: self.held.packets, bytes: self.held.bytes, idle_since }
    }

    /// Runs the algorithm's timer if it has expired. The host calls this at [`Qdisc::next_update`], before anything else
    /// that happens at that time: a timer that runs late sees the queue as it is now.
    pub fn update(&mut self, now: Time, idle_since: Option<Time>) {
        if let Waiting::Classes(classes) = &mut self.waiting {
            classes.update(now);
            self.next_update = classes.next_update();
            return;
        }
        while self.next_update <= now {
            let (due, backlog) = (self.next_update, self.backlog(idle_since));
            if let Waiting::Dual(queues) = &self.waiting {
                self.controller.aqm.on_oldest(queues.oldest());
            }
            self.controller.aqm.on_update(due, &backlog);
            self.next_update = self.controller.aqm.update_interval().map_or(Time::NEVER, |interval| due + interval.max(SHORTEST_INTERVAL));
        }
    }

    /// Adds a packet of this size to the backlog that the next arrival finds. For a host that knows that the packet departed at
    /// the same instant, and that the arrival comes first.
    pub fn set_simultaneous_departure(&mut self, size: Option<u32>) {
        self.simultaneous_departure = size;
    }

    /// Offers a packet at `now`; `idle_since` is the time at which the link became idle, `None` if it is sending. `dropped`
    /// is called with every packet that is lost, and why.
    pub fn enqueue(&mut self, now: Time, mut packet: P, idle_since: Option<Time>, mut dropped: impl FnMut(P, DropReason)) {
        if matches!(self.waiting, Waiting::Host(_) | Waiting::Classes(_)) {
            return self.enqueue_apart(now, packet, idle_since.is_some(), &mut dropped);
        }
        let arrival = PacketView::of(now, &packet);
        let (departure, useless) = (self.simultaneous_departure.take(), self.useless.take());
        let mut backlog = departure.map_or(self.backlog(idle_since), |size| self.backlog(idle_since).with_packet(size));
        if let Some(useless) = useless {
            backlog = backlog.without_packet(useless.size);
        }
        let mut decision = self.controller.decide_arrival(&arrival, packet.can_mark(), &backlog);
        while let ArrivalDecision::Inspect(position) = decision {
            decision = self.inspect(position, &arrival, packet.can_mark(), &backlog);
        }
        if let Waiting::Dual(queues) = &mut self.waiting {
            queues.count_arrival(queues.is_l4s(arrival.ecn), arrival.size, decision.fate());
        }
        match decision {
            ArrivalDecision::Drop(reason) => return dropped(packet, reason),
            ArrivalDecision::DropBoth(position) => {
                self.drop_waiting(position, &mut dropped);
                return dropped(packet, DropReason::Early);
            }
            ArrivalDecision::EnqueueMarked => packet.mark(),
            ArrivalDecision::Enqueue | ArrivalDecision::Inspect(_) => {}
        }
        if let Some(useless) = useless {
            self.drop_useless(useless, &mut dropped);
        }
        self.held.add(arrival.size);
        match &mut self.waiting {
            Waiting::Fifo(queue) => queue.push_back((now, packet)),
            Waiting::Flows(queues, _) => queues.push(now, packet),
            Waiting::Dual(queues) => queues.push(now, packet, queues.is_l4s(arrival.ecn)),
            Waiting::Cake(queues, _) => queues.push(now, packet),
            Waiting::Host(_) | Waiting::Classes(_) => unreachable!("the host or a class has taken the packet"),
        }
        // A packet that finds the link idle goes straight to it.
        if idle_since.is_none() || self.held.packets > 1 {
            self.make_room(now, departure, &mut dropped);
        }
    }

    /// Shows the algorithm the packet that waits at `position`.
    #[cold]
    fn inspect(&mut self, position: u32, arrival: &PacketView, can_mark: bool, backlog: &Backlog) -> ArrivalDecision {
        let waiting = match &self.waiting {
            Waiting::Fifo(queue) => queue.get(position as usize).map(|(since, other)| PacketView::of(*since, other)),
            Waiting::Flows(..) | Waiting::Dual(_) | Waiting::Cake(..) | Waiting::Host(_) | Waiting::Classes(_) => None,
        };
        self.controller.inspect(arrival, waiting.as_ref(), can_mark, backlog)
    }

    /// Gives an arriving packet to the host or to its class.
    #[cold]
    fn enqueue_apart(&mut self, now: Time, packet: P, is_idle: bool, dropped: &mut dyn FnMut(P, DropReason)) {
        self.controller.counters.count_arrival(packet.size());
        let departure = self.simultaneous_departure.take();
        match &mut self.waiting {
            Waiting::Host(held) => {
                self.held.add(packet.size());
                held.enqueue(now, packet);
                self.end_host_call(dropped);
            }
            Waiting::Classes(classes) => {
                let counters = &mut self.controller.counters;
                let mut count = |packet: P, reason| {
                    counters.count_drop(packet.size(), reason);
                    dropped(packet, reason);
                };
                let marked = classes.enqueue(now, packet, &Arrival { is_idle, departure }, &mut count);
                counters.marked += u64::from(marked);
                self.held = Occupancy { packets: classes.packets(), bytes: classes.bytes() };
            }
            Waiting::Fifo(_) | Waiting::Flows(..) | Waiting::Dual(_) | Waiting::Cake(..) => {
                unreachable!("the queue holds the packet itself")
            }
        }
    }

    /// Drops from the head of the longest queue while all queues together hold too much (rfc8290#4.1.3).
    /// `departure` is the size of a packet that departs at this instant and still counts.
    fn make_room(&mut self, now: Time, departure: Option<u32>, dropped: &mut impl FnMut(P, DropReason)) {
        let (Waiting::Flows(_, limit) | Waiting::Cake(_, limit)) = self.waiting else { return };
        let (one, more) = (u32::from(departure.is_some()), u64::from(departure.unwrap_or(0)));
        let exceeded = |packets: u32, bytes: u64| match limit {
            Amount::Packets(limit) => packets > limit,
            Amount::Bytes(limit) => bytes > limit,
        };
        while exceeded(self.held.packets + one, self.held.bytes + more) {
            let longest = match &mut self.waiting {
                Waiting::Flows(queues, _) => queues.drop_longest(),
                Waiting::Cake(queues, _) => queues.drop_longest(),
                _ => None,
            };
            let Some((queue, since, packet)) = longest else { return };
            self.earlier.add(since);
            self.held.take(packet.size());
            self.controller.counters.count_drop(packet.size(), DropReason::Tail);
            if let Waiting::Cake(queues, _) = &mut self.waiting {
                queues.count(queue, packet.size(), Fate::Dropped(DropReason::Tail), since < self.earlier.from);
            }
            self.controller.aqm.on_full(queue, now);
            dropped(packet, DropReason::Tail);
        }
    }

    /// The next packet to send at `now` and how long it waited. `dropped` is called with packets that the algorithm drops at
    /// the head.
    pub fn dequeue(&mut self, now: Time, mut dropped: impl FnMut(P, DropReason)) -> Option<(P, Duration)> {
        loop {
            let (since, mut packet, queue) = match &mut self.waiting {
                Waiting::Fifo(queue) => {
                    let (since, packet) = queue.pop_front()?;
                    (since, packet, 0)
                }
                Waiting::Flows(queues, _) => {
                    let aqm = &mut self.controller.aqm;
                    let (queue, since, packet) = queues.pop(|queue| {
                        aqm.on_empty(queue, now);
                    })?;
                    (since, packet, queue)
                }
                Waiting::Dual(queues) => {
                    let (since, packet, is_l4s) = queues.pop()?;
                    if let Some(length) = queues.take_length() {
                        self.controller.aqm.on_low_latency(length);
                    }
                    (since, packet, u32::from(is_l4s))
                }
                Waiting::Cake(queues, _) => {
                    let aqm = &mut self.controller.aqm;
                    let (queue, since, packet) = queues.pop(now, |queue| aqm.on_empty(queue, now))?;
                    (since, packet, queue)
                }
                Waiting::Host(_) => return self.dequeue_from_host(now, &mut dropped),
                Waiting::Classes(_) => return self.dequeue_from_class(now, &mut dropped),
            };
            let (mut departure, sojourn) = (PacketView::of(now, &packet), now.since(since));
            self.held.take(departure.size);
            let mut backlog = self.backlog(None);
            match &self.waiting {
                // The mark that this queue has set does not make a packet scalable.
                Waiting::Dual(_) => departure.ecn = if queue == 1 { Ecn::Ect1 } else { departure.ecn.unmarked() },
                Waiting::Flows(queues, _) => backlog = queues.backlog(queue, self.held.bytes),
                Waiting::Cake(queues, _) => {
                    departure.flow = queue;
                    (backlog.packets, backlog.bytes) = queues.backlog(queue);
                }
                Waiting::Fifo(_) | Waiting::Host(_) | Waiting::Classes(_) => {}
            }
            let decision = self.controller.decide_departure(&departure, sojourn, packet.can_mark(), &backlog);
            let is_earlier = since < self.earlier.from;
            match &mut self.waiting {
                Waiting::Dual(queues) => queues.leave(departure.size, decision.fate(), is_earlier),
                Waiting::Cake(queues, _) => queues.count(queue, departure.size, decision.fate(), is_earlier),
                Waiting::Fifo(_) | Waiting::Flows(..) | Waiting::Host(_) | Waiting::Classes(_) => {}
            }
            match decision {
                DepartureDecision::Send => {}
                DepartureDecision::SendMarked => packet.mark(),
                DepartureDecision::Drop(reason) => {
                    self.earlier.add(since);
                    dropped(packet, reason);
                    continue;
                }
            }
            match &mut self.waiting {
                Waiting::Flows(queues, _) => queues.charge(queue, departure.size),
                Waiting::Cake(queues, _) => queues.charge(queue, departure.size, now),
                Waiting::Fifo(_) | Waiting::Dual(_) | Waiting::Host(_) | Waiting::Classes(_) => {}
            }
            self.departed += 1;
            return Some((packet, sojourn));
        }
    }

    /// The next packet to send of those that wait in classes.
    #[cold]
    fn dequeue_from_class(&mut self, now: Time, dropped: &mut dyn FnMut(P, DropReason)) -> Option<(P, Duration)> {
        let Waiting::Classes(classes) = &mut self.waiting else { return None };
        let counters = &mut self.controller.counters;
        let next = classes.dequeue(now, &mut |packet: P, reason| {
            counters.count_drop(packet.size(), reason);
            dropped(packet, reason);
        });
        self.held = Occupancy { packets: classes.packets(), bytes: classes.bytes() };
        let Next { packet, wait, marked } = next?;
        self.controller.counters.marked += u64::from(marked);
        self.departed += 1;
        Some((packet, wait))
    }

    /// Drops the packet that waits at `position`, if there is one.
    fn drop_waiting(&mut self, position: u32, dropped: &mut impl FnMut(P, DropReason)) {
        let Waiting::Fifo(queue) = &mut self.waiting else { return };
        if let Some((since, other)) = queue.remove(position as usize) {
            self.earlier.add(since);
            self.held.take(other.size());
            self.controller.counters.count_drop(other.size(), DropReason::Early);
            dropped(other, DropReason::Early);
        }
    }

    /// Whether every packet that arrived has departed, was dropped or still waits, in each class too.
    pub fn balances(&self) -> bool {
        let counters = &self.controller.counters;
        let of_parts = self.subqueues().fold(Counters::default(), |sum, part| sum.and(&part.counters));
        counters.arrived == self.departed + counters.dropped() + u64::from(self.waiting.packets())
            && self.classes().all(Qdisc::balances)
            && (self.last_subqueue().is_none() || of_parts == *counters)
    }
}

#[cfg(test)]
mod tests;
