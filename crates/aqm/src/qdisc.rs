//! A queue that holds its packets and serves them as its controller decides.

mod acks;
mod apart;
mod classes;
mod drain;
mod flows;
mod host;
mod subqueues;

pub use classes::{ClassConfig, Shares};

use crate::cake_queues::CakeQueues;
use crate::controller::NO_LIMIT;
use crate::counters::Fate;
use crate::dual_queue::DualQueues;
use crate::host_queue::Held;
use crate::scheduler::FlowQueues;
use crate::{
    Amount, AnyAqm, Aqm, ArrivalDecision, Backlog, Counters, DepartureDecision, DropReason, FlowQueuing, Overflow, Packet, PacketView,
    QueueController,
};
use acks::Useless;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use classes::Classes;
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

/// A packet that was taken out of the queue, about which the algorithm is to decide.
struct Taken<P> {
    since: Time,
    packet: P,
    /// How the algorithm sees it, and what is left behind it.
    departure: PacketView,
    backlog: Backlog,
    /// Its queue, where there is one for each flow.
    queue: u32,
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

    /// Takes a packet of this size, and gives what is left.
    #[inline]
    fn without(&mut self, size: u32) -> Backlog {
        self.take(size);
        Backlog { packets: self.packets, bytes: self.bytes, idle_since: None }
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

/// The packets that wait, in the order of service, each with the time of its arrival. Which it is stands in a byte of its own, and not
/// among what a `VecDeque` can't be: it is asked several times for each packet.
#[derive(Clone, Debug)]
#[repr(u8)]
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
                (Some(queuing), _) => Waiting::Dual(Box::new(DualQueues::new(queuing, take(&mut controller.filters)))),
                (None, Some(queuing)) => {
                    let queues = CakeQueues::new(queuing, take(&mut controller.dscps));
                    Waiting::Cake(Box::new(queues), replace(&mut controller.limit, NO_LIMIT))
                }
                (None, None) => Waiting::Fifo(VecDeque::new()),
            },
            // Where the longest queue drops, an arriving packet is always admitted: room is then made there.
            (None, Some(queuing)) => {
                let limit = if queuing.overflow != Overflow::Arrival { replace(&mut controller.limit, NO_LIMIT) } else { NO_LIMIT };
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
        let size = packet.size();
        let (departure, useless) = (self.simultaneous_departure.take(), self.useless.take());
        let mut backlog = departure.map_or(self.backlog(idle_since), |size| self.backlog(idle_since).with_packet(size));
        if let Some(useless) = useless {
            backlog = backlog.without_packet(useless.size);
        }
        let admits = self.controller.admits_unasked(size, &backlog);
        let decision = if admits { ArrivalDecision::Enqueue } else { self.decide_arrival(now, &packet, &backlog) };
        let mut is_l4s = false;
        if let Waiting::Dual(queues) = &mut self.waiting {
            is_l4s = queues.is_low_latency(&packet);
            queues.count_arrival(is_l4s, size, decision.fate());
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
        self.held.add(size);
        match &mut self.waiting {
            Waiting::Fifo(queue) => queue.push_back((now, packet)),
            Waiting::Flows(queues, _) => queues.push(now, packet),
            Waiting::Dual(queues) => queues.push(now, packet, is_l4s),
            Waiting::Cake(queues, _) => queues.push(now, packet),
            Waiting::Host(_) | Waiting::Classes(_) => unreachable!("the host or a class has taken the packet"),
        }
        // A packet that finds the link idle goes straight to it.
        if idle_since.is_none() || self.held.packets > 1 {
            self.make_room(now, departure, &mut dropped);
        }
    }

    /// Asks the algorithm about an arriving packet.
    #[inline(never)]
    fn decide_arrival(&mut self, now: Time, packet: &P, backlog: &Backlog) -> ArrivalDecision {
        let (mut arrival, can_mark) = (PacketView::of(now, packet), packet.can_mark());
        match &self.waiting {
            Waiting::Dual(queues) => arrival.class = queues.class_of(packet.place(), packet.ecn()),
            Waiting::Flows(queues, _) => arrival.flow = queues.hash_of(arrival.flow),
            Waiting::Fifo(_) | Waiting::Cake(..) | Waiting::Host(_) | Waiting::Classes(_) => {}
        }
        let mut decision = self.controller.decide_arrival(&arrival, can_mark, backlog);
        while let ArrivalDecision::Inspect(position) = decision {
            decision = self.inspect(position, &arrival, can_mark, backlog);
        }
        decision
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

    /// Drops from the head of the longest queue where all queues together hold too much (rfc8290#4.1.3).
    /// `departure` is the size of a packet that departs at this instant and still counts.
    fn make_room(&mut self, now: Time, departure: Option<u32>, dropped: &mut impl FnMut(P, DropReason)) {
        let (Waiting::Flows(_, limit) | Waiting::Cake(_, limit)) = self.waiting else { return };
        let (one, more) = (u32::from(departure.is_some()), u64::from(departure.unwrap_or(0)));
        let exceeded = |packets: u32, bytes: u64| match limit {
            Amount::Packets(limit) => packets > limit,
            Amount::Bytes(limit) => bytes > limit,
        };
        let goes_on = |waiting: &Waiting<P>| matches!(waiting, Waiting::Flows(queues, _) if queues.drops_more());
        while goes_on(&self.waiting) || exceeded(self.held.packets + one, self.held.bytes + more) {
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

    /// Takes out the next packet, about which the algorithm is to decide.
    #[inline(always)]
    fn take_next(&mut self, now: Time) -> Option<Taken<P>> {
        let (aqm, held) = (&mut self.controller.aqm, &mut self.held);
        let (mut departure, mut backlog, queue);
        let (since, packet) = match &mut self.waiting {
            Waiting::Fifo(waiting) => {
                let (since, packet) = waiting.pop_front()?;
                departure = PacketView::of(now, &packet);
                (backlog, queue) = (held.without(departure.size), 0);
                (since, packet)
            }
            Waiting::Flows(queues, _) => {
                let (of, since, packet) = queues.pop(|queue| {
                    aqm.on_empty(queue, now);
                })?;
                departure = PacketView::of(now, &packet);
                departure.flow = queues.hash_of(departure.flow);
                let left = held.without(departure.size).bytes;
                (backlog, queue) = (queues.backlog(of, left), of);
                (since, packet)
            }
            Waiting::Dual(queues) => {
                let (since, packet, class) = queues.pop()?;
                if let Some(length) = queues.take_length() {
                    aqm.on_low_latency(length);
                }
                departure = PacketView::of(now, &packet);
                departure.class = class;
                (backlog, queue) = (held.without(departure.size), 0);
                (since, packet)
            }
            Waiting::Cake(queues, _) => {
                let (of, since, packet) = queues.pop(now, |queue| aqm.on_empty(queue, now))?;
                departure = PacketView { flow: of, ..PacketView::of(now, &packet) };
                (backlog, queue) = (held.without(departure.size), of);
                (backlog.packets, backlog.bytes) = queues.backlog(of);
                (since, packet)
            }
            Waiting::Host(_) | Waiting::Classes(_) => return None,
        };
        Some(Taken { since, packet, departure, backlog, queue })
    }

    /// The next packet to send at `now` and how long it waited. `dropped` is called with packets that the algorithm drops at
    /// the head.
    pub fn dequeue(&mut self, now: Time, mut dropped: impl FnMut(P, DropReason)) -> Option<(P, Duration)> {
        if matches!(self.waiting, Waiting::Host(_) | Waiting::Classes(_)) {
            return self.dequeue_apart(now, &mut dropped);
        }
        loop {
            let Taken { since, mut packet, departure, backlog, queue } = self.take_next(now)?;
            let (size, sojourn, is_earlier) = (departure.size, now.since(since), since < self.earlier.from);
            let decision = self.controller.decide_departure(&departure, sojourn, packet.can_mark(), &backlog);
            let is_sent = !matches!(decision, DepartureDecision::Drop(_));
            match &mut self.waiting {
                Waiting::Dual(queues) => queues.leave(size, decision.fate(), is_earlier),
                Waiting::Cake(queues, _) => {
                    queues.count(queue, size, decision.fate(), is_earlier);
                    if is_sent {
                        queues.charge(queue, size, now);
                    }
                }
                Waiting::Flows(queues, _) if is_sent => queues.charge(queue, size),
                Waiting::Flows(..) | Waiting::Fifo(_) | Waiting::Host(_) | Waiting::Classes(_) => {}
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
            self.departed += 1;
            return Some((packet, sojourn));
        }
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
        let of_parts = self.first_subqueues().fold(Counters::default(), |sum, part| sum.and(&part.counters));
        counters.arrived == self.departed + counters.dropped() + u64::from(self.waiting.packets())
            && self.classes().all(Qdisc::balances)
            && (self.last_subqueue().is_none() || of_parts == *counters)
    }
}

#[cfg(test)]
mod tests;
