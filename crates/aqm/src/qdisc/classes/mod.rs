//! Classes: queues that share one link, each under its own discipline.
//!
//! A class with a lower priority number goes first. Those of one priority take turns in bytes, by deficit round robin (shreedhar-1995).
//!
//! Classes may have rates, as in Linux's `sch_htb`, with the link as the root. A class goes first while it has not used its own rate. The
//! rest of the link is lent to classes below their `ceil`. As in Linux:
//! - A packet that is sent with lent capacity is not charged to its class's own rate.
//! - A class has separate turns at each of the two levels.
//! - A class that reaches its `ceil` loses its turn and waits for the next round.

mod rotation;
mod shares;

pub use shares::Shares;

use super::{AnyDiscipline, Parent, Qdisc};
use crate::classifier::{Classifier, Rule};
use crate::disciplines::discipline::{Arrival, Contents, Desk, Discipline, Loss, Occupancy};
use crate::disciplines::flows::FlowQueuing;
use crate::{AckFilter, Amount, Aqm, ArrivingAck, Counters, Needs, Packet, QueueController, Subqueue, SubqueueSample};
use alloc::boxed::Box;
use alloc::vec::Vec;
use rotation::{Rotation, Turns};
use shares::{Credits, Root, Turn};
use sojourn_units::{Duration, Time};

/// The configuration of a class.
#[derive(Clone, Debug)]
pub struct ClassConfig {
    /// The packets that it matches; unmatched packets go to the last class.
    pub rule: Rule,
    /// Its queue, or its own classes.
    pub queue: QdiscConfig,
    /// Classes with a lower number go first.
    pub priority: u32,
    /// Bytes that it may send in a round of its priority, above zero.
    pub quantum: u32,
    /// Its rates; `None`: it sends whenever it is its turn.
    /// Either all classes have rates, or none.
    pub shares: Option<Shares>,
}

impl ClassConfig {
    /// The controllers of all disciplines in these classes.
    fn controllers(classes: &[ClassConfig]) -> impl Iterator<Item = &QueueController> {
        classes.iter().flat_map(|class| class.queue.controllers())
    }

    /// The needs of the disciplines of these classes together.
    pub fn needs(classes: &[ClassConfig]) -> Needs {
        let all = ClassConfig::controllers(classes).map(|controller| controller.aqm.needs());
        all.fold(Needs { head_drop: true, ..Needs::default() }, Needs::and)
    }

    /// The time at which the first timer of a discipline expires.
    pub fn first_update(classes: &[ClassConfig]) -> Time {
        ClassConfig::controllers(classes).map(|controller| controller.aqm.first_update()).min().unwrap_or(Time::NEVER)
    }
}

/// The configuration of a queue.
#[derive(Clone, Debug)]
pub enum QdiscConfig {
    /// A discipline, optionally with a queue for each flow under its one algorithm.
    One(Box<QueueController>, Option<FlowQueuing>),
    /// Classes, each with a queue.
    Classes(Vec<ClassConfig>),
}

impl QdiscConfig {
    /// The controllers of its disciplines, those of all classes.
    pub fn controllers(&self) -> Vec<&QueueController> {
        match self {
            QdiscConfig::One(controller, _) => Vec::from([&**controller]),
            QdiscConfig::Classes(classes) => classes.iter().flat_map(|class| class.queue.controllers()).collect(),
        }
    }

    /// The controllers of its disciplines, for changes.
    pub fn controllers_mut(&mut self) -> Vec<&mut QueueController> {
        match self {
            QdiscConfig::One(controller, _) => Vec::from([&mut **controller]),
            QdiscConfig::Classes(classes) => classes.iter_mut().flat_map(|class| class.queue.controllers_mut()).collect(),
        }
    }
}

impl<P: Packet> Qdisc<P> {
    /// An empty queue, or empty classes.
    pub fn of(config: QdiscConfig) -> Self {
        match config {
            QdiscConfig::One(controller, None) => Qdisc::new(*controller),
            QdiscConfig::One(controller, Some(queuing)) => Qdisc::with_flow_queues(*controller, queuing),
            QdiscConfig::Classes(classes) => Qdisc::of_classes(classes),
        }
    }

    /// Empty classes.
    pub fn of_classes(classes: Vec<ClassConfig>) -> Self {
        let classes = Classes::new(classes);
        let desk = Desk::new(classes.next_update(), AckFilter::None);
        Qdisc { desk, discipline: AnyDiscipline::Classes(Box::new(classes)), hashes_flows: false, knows_groups: true }
    }
}

/// The classes of a link, with the waiting packets.
#[derive(Clone, Debug)]
struct Classes<P> {
    counters: Counters,
    classifier: Classifier,
    classes: Vec<Class<P>>,
    /// The order of classes that send at their own rates, by priority.
    /// `spare` is the order of those that send with lent capacity.
    own: Vec<Rotation>,
    spare: Vec<Rotation>,
    root: Option<Root>,
    /// The class of the last packet that was sent.
    last: usize,
    /// The queues of the classes that consist of several, in order.
    within: Vec<Within>,
}

/// A queue of a class that consists of several.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Within {
    class: usize,
    /// Its index within the class.
    queue: usize,
}

#[derive(Clone, Debug)]
struct Class<P> {
    qdisc: Qdisc<P>,
    credits: Option<Credits>,
    /// Its limit if it has a single queue.
    limit: Option<Amount>,
    /// The time at which it became empty, if it is.
    empty_since: Time,
    /// The time at which packets began to wait in it, if some do.
    busy_since: Time,
    /// The time at which its queue returned no packet although some waited.
    refused_at: Option<Time>,
}

impl<P: Packet> Class<P> {
    /// The time since which the class has been idle, for an arriving packet of `size` bytes.
    /// `None` if others wait in it, or if there is no room for the packet.
    fn idle_since(&self, link_is_idle: bool, size: u32) -> Option<Time> {
        let goes_straight = link_is_idle && self.credits.is_none();
        let fits = self.limit.is_none_or(|limit| !limit.is_exceeded(1, size.into()));
        (self.qdisc.packets() == 0 && (goes_straight || fits)).then_some(self.empty_since)
    }

    /// Whether its queue has a packet that may be sent at `now`.
    fn is_ready(&self, now: Time) -> bool {
        self.qdisc.packets() > 0 && self.refused_at != Some(now) && self.qdisc.ready().is_none_or(|ready| ready <= now)
    }

    /// Whether it has a packet for this turn.
    /// The packet leaves the root at `leaves` and is sent at `now`.
    fn can_send(&mut self, [leaves, now]: [Time; 2], turn: Turn) -> bool {
        let ready = self.is_ready(now) && self.busy_since <= leaves;
        ready && self.credits.as_mut().map_or(Turn::Own, |credits| credits.turn(leaves)) == turn
    }

    /// The time at which it may send, if its rates or its queue hold packets back.
    fn ready(&self) -> Option<Time> {
        let by_rates = self.credits.as_ref().map(Credits::ready);
        [by_rates, self.qdisc.ready()].into_iter().flatten().max()
    }
}

impl<P: Packet> Classes<P> {
    pub fn new(classes: Vec<ClassConfig>) -> Self {
        let turns: Vec<(u32, u32)> = classes.iter().map(|class| (class.priority, class.quantum)).collect();
        let rules = classes.iter().map(|class| class.rule.clone()).collect();
        let class = |config: ClassConfig| Class {
            limit: if let QdiscConfig::One(controller, _) = &config.queue { Some(controller.limit) } else { None },
            qdisc: Qdisc::of(config.queue),
            credits: config.shares.map(Credits::new),
            empty_since: Time::ZERO,
            busy_since: Time::ZERO,
            refused_at: None,
        };
        let root = classes.iter().find_map(|class| class.shares?.link).map(|rate| Root::new(rate, classes.len()));
        let has_rates = classes.iter().any(|class| class.shares.is_some());
        let rotations = Rotation::by_priority(&turns, if has_rates { Turns::Htb } else { Turns::Drr });
        let classes: Vec<Class<P>> = classes.into_iter().map(class).collect();
        let parts = |(class, each): (usize, &Class<P>)| (0..each.qdisc.subqueues().len()).map(move |queue| Within { class, queue });
        Classes {
            counters: Counters::default(),
            within: classes.iter().enumerate().flat_map(parts).collect(),
            classifier: Classifier::new(rules),
            classes,
            spare: rotations.clone(),
            own: rotations,
            root,
            last: 0,
        }
    }

    /// The time at which the next timer of a discipline expires.
    pub fn next_update(&self) -> Time {
        self.classes.iter().map(|class| class.qdisc.next_update()).min().unwrap_or(Time::NEVER)
    }

    /// The backlog of all classes.
    fn held(&self) -> Occupancy {
        self.classes.iter().fold(Occupancy::default(), |sum, Class { qdisc, .. }| Occupancy {
            packets: sum.packets + qdisc.packets(),
            bytes: sum.bytes + qdisc.bytes(),
        })
    }

    /// The next packet to send at `now`, and its sojourn time.
    /// It comes from the first class that returns one.
    fn next(&mut self, now: Time, lost: Loss<P>) -> Option<(P, Duration)> {
        let times = [self.next_leaves(now), now];
        for turn in [Turn::Own, Turn::Spare] {
            let rotations = if turn == Turn::Own { &mut self.own } else { &mut self.spare };
            for rotation in rotations {
                let classes = &mut self.classes;
                while let Some(at) = rotation.next(|at| classes[at].can_send(times, turn)) {
                    let class = &mut classes[at];
                    let waiting = class.qdisc.packets();
                    let next = class.qdisc.dequeue(now, &mut *lost);
                    if class.qdisc.packets() == 0 {
                        class.empty_since = now;
                    }
                    // Its discipline may have dropped all waiting packets. If it dropped none, it holds them back: do not ask again at this
                    // time.
                    let Some((packet, wait)) = next else {
                        class.refused_at = Some(now).filter(|_| class.qdisc.packets() == waiting);
                        continue;
                    };
                    self.last = at;
                    rotation.charge(packet.size(), |other| classes[other].can_send(times, turn));
                    if let Some(credits) = &mut classes[at].credits {
                        credits.spend(turn, packet.size());
                    }
                    self.root.iter_mut().for_each(|root| root.spend(times[0], packet.size()));
                    // With lent capacity it keeps its turn until the next packet (Linux `htb_deactivate_prios`).
                    if turn == Turn::Own && !classes[at].can_send(times, turn) {
                        rotation.end_turn_of(at, |other| classes[other].can_send(times, turn));
                    }
                    return Some((packet, wait));
                }
            }
        }
        None
    }

    /// The time at which the packet that is sent at `now` leaves the root.
    /// `now` without a root, or if no packet leaves it by then.
    fn next_leaves(&self, now: Time) -> Time {
        let Some(root) = &self.root else { return now };
        let (earliest, spare) = (root.earliest(now), root.ready().min(now));
        let waiting = self.classes.iter().filter(|class| class.is_ready(now));
        let leaves = waiting.filter_map(|class| {
            let credits = class.credits.as_ref()?;
            Some(credits.own_ready().min(credits.ready().max(spare)).max(class.busy_since))
        });
        leaves.min().map_or(now, |leaves| leaves.max(earliest).min(now))
    }
}

impl<P: Packet> Discipline<P> for Classes<P> {
    fn enqueue(&mut self, desk: &mut Desk, arrival: Arrival<P>, lost: Loss<P>) {
        let Arrival { now, packet, link_is_idle, .. } = arrival;
        let size = packet.size();
        let at = self.classifier.class_of(packet.place(), packet.ecn());
        let class = &mut self.classes[at];
        let departure = desk.departure.take().filter(|_| at == self.last);
        let idle_since = class.idle_since(link_is_idle, size).filter(|_| departure.is_none());
        if class.qdisc.packets() == 0 {
            class.busy_since = now;
        }
        class.refused_at = None;
        let marked = class.qdisc.counters().marked;
        class.qdisc.set_simultaneous_departure(departure);
        let counters = &mut self.counters;
        counters.count_arrival(size);
        class.qdisc.arrive(Arrival { now, packet, idle_since, link_is_idle }, &mut |packet, reason| {
            counters.count_drop(packet.size(), reason);
            lost(packet, reason);
        });
        counters.marked += class.qdisc.counters().marked - marked;
        desk.held = self.held();
    }

    fn dequeue(&mut self, desk: &mut Desk, now: Time, lost: Loss<P>) -> Option<(P, Duration)> {
        let marked = |classes: &[Class<P>]| classes.iter().map(|class| class.qdisc.counters().marked).sum::<u64>();
        let (before, mut counters) = (marked(&self.classes), self.counters);
        let next = self.next(now, &mut |packet: P, reason| {
            counters.count_drop(packet.size(), reason);
            lost(packet, reason);
        });
        counters.marked += marked(&self.classes) - before;
        self.counters = counters;
        desk.held = self.held();
        desk.departed += u64::from(next.is_some());
        next
    }

    fn update(&mut self, desk: &mut Desk, now: Time, _idle_since: Option<Time>) {
        for class in &mut self.classes {
            let idle_since = (class.qdisc.packets() == 0).then_some(class.empty_since);
            class.qdisc.update(now, idle_since);
        }
        desk.next_update = self.next_update();
    }

    fn contents(&self) -> &dyn Contents<P> {
        self
    }

    fn contents_mut(&mut self) -> &mut dyn Contents<P> {
        self
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    #[cfg(test)]
    fn counters_mut(&mut self) -> &mut Counters {
        &mut self.counters
    }

    fn samples(&self) -> Vec<SubqueueSample> {
        let of_class = |Class { qdisc, .. }: &Class<P>| SubqueueSample {
            packets: qdisc.packets(),
            bytes: qdisc.bytes(),
            oldest: qdisc.contents().oldest(),
            probability: qdisc.probability(),
        };
        self.classes.iter().map(of_class).collect()
    }

    fn boxed_clone(&self) -> Box<dyn Discipline<P>> {
        Box::new(self.clone())
    }
}

impl<P: Packet> Parent<P> for Classes<P> {
    fn children(&self) -> Vec<&Qdisc<P>> {
        self.classes.iter().map(|class| &class.qdisc).collect()
    }

    fn children_mut(&mut self) -> Vec<&mut Qdisc<P>> {
        self.classes.iter_mut().map(|class| &mut class.qdisc).collect()
    }

    fn child_of(&mut self, ack: &ArrivingAck) -> &mut Qdisc<P> {
        let at = self.classifier.class_of(ack.place, ack.ecn);
        &mut self.classes[at].qdisc
    }

    fn last_within(&self) -> Vec<usize> {
        let path = self.classes[self.last].qdisc.last_path().into_iter();
        let place = |queue| self.within.iter().position(|&within| within == Within { class: self.last, queue });
        path.filter_map(place).map(|at| self.classes.len() + at).collect()
    }

    fn cloned(&self) -> Box<dyn Parent<P>> {
        Box::new(self.clone())
    }
}

impl<P: Packet> Contents<P> for Classes<P> {
    fn packets(&self) -> u32 {
        self.held().packets
    }

    fn drain(&mut self, take: &mut dyn FnMut(P)) {
        self.classes.iter_mut().for_each(|class| class.qdisc.discipline.get_mut().contents_mut().drain(take));
    }

    fn ready(&self) -> Option<Time> {
        self.classes.iter().filter(|class| class.qdisc.packets() > 0).filter_map(Class::ready).min()
    }

    fn subqueues(&self) -> Vec<Subqueue> {
        let of_class = |Class { qdisc, .. }: &Class<P>| Subqueue {
            counters: *qdisc.counters(),
            drops_of_earlier: qdisc.drops_of_earlier(),
            packets: qdisc.packets(),
            bytes: qdisc.bytes(),
            filters_acks: qdisc.filters_acks(),
        };
        self.classes.iter().map(of_class).collect()
    }

    fn subqueue_backlog(&self, at: usize) -> (u32, u64) {
        match self.classes.get(at) {
            Some(Class { qdisc, .. }) => (qdisc.packets(), qdisc.bytes()),
            None => {
                let Within { class, queue } = self.within[at - self.classes.len()];
                self.classes[class].qdisc.subqueue_backlog(queue)
            }
        }
    }

    fn last_subqueue(&self) -> Option<usize> {
        Some(self.last)
    }

    fn add_place(&mut self, place: u32, group: u32) {
        self.classifier.add_place(place, group);
        self.classes.iter_mut().for_each(|class| class.qdisc.add_place(place, group));
    }
}

#[cfg(test)]
mod tests;
