//! Classes: several queues of one link, each under a discipline of its own, and the rule by which they share the link.
//!
//! A class with a lower priority number goes first. Those of one priority take turns in bytes, by deficit round robin
//! (shreedhar-1995). Where classes have rates, those go first that have not used their own rate yet; what is left goes to those
//! below their highest rate (the two levels of Linux's `sch_htb`, with the link as the root). As in Linux, a packet that is sent with
//! what others leave is not taken from its class's own rate, a class has turns of its own at each level, and one that comes to its highest
//! rate loses its turn and waits for the next round.

mod rotation;
mod shares;

pub use shares::Shares;

use crate::classifier::{Classifier, Rule};
use crate::{Amount, Aqm, ArrivingAck, DropReason, FlowQueuing, Needs, Packet, Qdisc, QueueController};
use alloc::vec::Vec;
use rotation::{Rotation, Turns};
use shares::{Credits, Root, Turn};
use sojourn_units::{Duration, Time};

/// What a class is made from.
#[derive(Clone, Debug)]
pub struct ClassConfig {
    /// The packets that it takes; a packet that no rule takes goes to the last class.
    pub rule: Rule,
    /// Its discipline, its limit and its ECN switch.
    pub controller: QueueController,
    /// Classes with a lower number go first.
    pub priority: u32,
    /// Bytes that it may send in a round of its priority, above zero.
    pub quantum: u32,
    /// Its rates; `None`: it sends whenever it is its turn. All classes have them, or none.
    pub shares: Option<Shares>,
    /// A queue for each of its flows under the one discipline; `None`: one queue, or those that the discipline asks for.
    pub flow_queues: Option<FlowQueuing>,
}

impl ClassConfig {
    /// What the disciplines of these classes need together.
    pub fn needs(classes: &[ClassConfig]) -> Needs {
        let all = classes.iter().map(|class| class.controller.aqm.needs());
        all.fold(Needs { head_drop: true, ..Needs::default() }, Needs::and)
    }

    /// When the first timer of a discipline expires.
    pub fn first_update(classes: &[ClassConfig]) -> Time {
        classes.iter().map(|class| class.controller.aqm.first_update()).min().unwrap_or(Time::NEVER)
    }
}

/// The classes of a link, with the packets that wait.
#[derive(Clone, Debug)]
pub(crate) struct Classes<P> {
    classifier: Classifier,
    classes: Vec<Class<P>>,
    /// Who goes first: those that send at their own rates, then those that send with what is left.
    own: Vec<Rotation>,
    spare: Vec<Rotation>,
    root: Option<Root>,
    packets: u32,
    bytes: u64,
    /// The class of the last packet that was sent.
    last: usize,
    /// The queues of the classes that have dual queues, in order.
    within: Vec<Within>,
}

/// A queue of a class that has several.
#[derive(Clone, Copy, Debug)]
struct Within {
    class: usize,
    /// Which one of them.
    queue: usize,
}

#[derive(Clone, Debug)]
struct Class<P> {
    qdisc: Qdisc<P>,
    credits: Option<Credits>,
    limit: Amount,
    /// Since when it has been empty, if it is.
    empty_since: Time,
    /// Since when packets have waited in it, if some do.
    busy_since: Time,
}

impl<P: Packet> Class<P> {
    /// Since when a packet of `size` bytes finds its class without work; `None` if others wait in it, or if there is no room for it.
    fn idle_since(&self, link_is_idle: bool, size: u32) -> Option<Time> {
        let goes_straight = link_is_idle && self.credits.is_none();
        let fits = match self.limit {
            Amount::Packets(limit) => limit > 0,
            Amount::Bytes(limit) => u64::from(size) <= limit,
        };
        (self.qdisc.packets() == 0 && (goes_straight || fits)).then_some(self.empty_since)
    }

    /// Whether it has a packet to send in this turn.
    fn can_send(&mut self, now: Time, turn: Turn) -> bool {
        self.qdisc.packets() > 0 && self.busy_since <= now && self.credits.as_mut().map_or(Turn::Own, |credits| credits.turn(now)) == turn
    }
}

impl<P: Packet> Classes<P> {
    pub fn new(classes: Vec<ClassConfig>) -> Self {
        let turns: Vec<(u32, u32)> = classes.iter().map(|class| (class.priority, class.quantum)).collect();
        let rules = classes.iter().map(|class| class.rule.clone()).collect();
        let class = |config: ClassConfig| Class {
            limit: config.controller.limit,
            qdisc: Qdisc::with_flow_queues(config.controller, config.flow_queues),
            credits: config.shares.map(Credits::new),
            empty_since: Time::ZERO,
            busy_since: Time::ZERO,
        };
        let root = classes.iter().find_map(|class| class.shares?.link).map(|rate| Root::new(rate, classes.len()));
        let has_rates = classes.iter().any(|class| class.shares.is_some());
        let rotations = Rotation::by_priority(&turns, if has_rates { Turns::Htb } else { Turns::Drr });
        let classes: Vec<Class<P>> = classes.into_iter().map(class).collect();
        let parts = |(class, each): (usize, &Class<P>)| (0..each.qdisc.subqueues().count()).map(move |queue| Within { class, queue });
        Classes {
            within: classes.iter().enumerate().flat_map(parts).collect(),
            classifier: Classifier::new(rules),
            classes,
            spare: rotations.clone(),
            own: rotations,
            root,
            packets: 0,
            bytes: 0,
            last: 0,
        }
    }

    /// Packets of flows of this group come to the link at this place of their route.
    pub fn add_place(&mut self, place: u32, group: u32) {
        self.classifier.add_place(place, group);
        self.queues_mut().for_each(|queue| queue.add_place(place, group));
    }

    /// See [`Qdisc::go_over`].
    pub fn go_over(&mut self, start: &Self, other: &Self) -> bool {
        let others = start.classes.iter().zip(&other.classes);
        self.classes.iter_mut().zip(others).all(|(here, (start, other))| here.qdisc.go_over(&start.qdisc, &other.qdisc))
    }

    pub fn packets(&self) -> u32 {
        self.packets
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The queue of each class.
    pub fn queues(&self) -> impl Iterator<Item = &Qdisc<P>> {
        self.classes.iter().map(|class| &class.qdisc)
    }

    /// The queue of each class, by value.
    pub fn into_queues(self) -> impl Iterator<Item = Qdisc<P>> {
        self.classes.into_iter().map(|class| class.qdisc)
    }

    /// The packets and bytes that wait in this class, or behind the classes in this one of their queues.
    pub fn backlog(&self, at: usize) -> (u32, u64) {
        match self.classes.get(at) {
            Some(class) => (class.qdisc.packets(), class.qdisc.bytes()),
            None => {
                let Within { class, queue } = self.within[at - self.classes.len()];
                self.classes[class].qdisc.subqueue_backlog(queue)
            }
        }
    }

    /// The queue of the class that takes an ACK.
    pub fn queue_of(&mut self, ack: &ArrivingAck) -> &mut Qdisc<P> {
        let at = self.classifier.class_of(ack.place, ack.ecn);
        &mut self.classes[at].qdisc
    }

    /// The same, to tell their disciplines something.
    pub fn queues_mut(&mut self) -> impl Iterator<Item = &mut Qdisc<P>> {
        self.classes.iter_mut().map(|class| &mut class.qdisc)
    }

    /// The class of the last packet that was sent.
    pub fn last(&self) -> usize {
        self.last
    }

    /// The place behind the classes of the queue that it came from, if its class has several.
    pub fn last_within(&self) -> Option<usize> {
        let queue = self.classes[self.last].qdisc.last_subqueue()?;
        let at = self.within.iter().position(|within| within.class == self.last && within.queue == queue)?;
        Some(self.classes.len() + at)
    }

    /// When a timer of a discipline expires next.
    pub fn next_update(&self) -> Time {
        self.queues().map(Qdisc::next_update).min().unwrap_or(Time::NEVER)
    }

    /// Runs the timers that have expired.
    pub fn update(&mut self, now: Time) {
        for class in &mut self.classes {
            let idle_since = (class.qdisc.packets() == 0).then_some(class.empty_since);
            class.qdisc.update(now, idle_since);
        }
    }

    /// Offers a packet to its class; gives what that has counted before.
    pub fn enqueue(&mut self, now: Time, packet: P, link: &Arrival, dropped: &mut dyn FnMut(P, DropReason)) -> bool {
        let at = self.classifier.class_of(packet.place(), packet.ecn());
        let class = &mut self.classes[at];
        let departure = link.departure.filter(|_| at == self.last);
        let idle_since = class.idle_since(link.is_idle, packet.size()).filter(|_| departure.is_none());
        let before = (class.qdisc.packets(), class.qdisc.bytes(), class.qdisc.counters().marked);
        if before.0 == 0 {
            class.busy_since = now;
        }
        class.qdisc.set_simultaneous_departure(departure);
        class.qdisc.enqueue(now, packet, idle_since, dropped);
        self.packets = self.packets + class.qdisc.packets() - before.0;
        self.bytes = self.bytes + class.qdisc.bytes() - before.1;
        class.qdisc.counters().marked > before.2
    }

    /// The next packet to send at `now`; `None` if none waits or none of those that wait may be sent.
    pub fn dequeue(&mut self, now: Time, dropped: &mut dyn FnMut(P, DropReason)) -> Option<Next<P>> {
        let leaves = self.next_leaves(now);
        for turn in [Turn::Own, Turn::Spare] {
            let rotations = if turn == Turn::Own { &mut self.own } else { &mut self.spare };
            for rotation in rotations {
                let classes = &mut self.classes;
                while let Some(at) = rotation.next(|at| classes[at].can_send(leaves, turn)) {
                    let class = &mut classes[at];
                    let before = (class.qdisc.packets(), class.qdisc.bytes(), class.qdisc.counters().marked);
                    let next = class.qdisc.dequeue(now, &mut *dropped);
                    self.packets = self.packets + class.qdisc.packets() - before.0;
                    self.bytes = self.bytes + class.qdisc.bytes() - before.1;
                    if class.qdisc.packets() == 0 {
                        class.empty_since = now;
                    }
                    let marked = class.qdisc.counters().marked > before.2;
                    // Its discipline may have dropped everything that waited.
                    let Some((packet, wait)) = next else { continue };
                    self.last = at;
                    rotation.charge(packet.size(), |other| classes[other].can_send(leaves, turn));
                    if let Some(credits) = &mut classes[at].credits {
                        credits.spend(turn, packet.size());
                    }
                    self.root.iter_mut().for_each(|root| root.spend(leaves, packet.size()));
                    // With what is left it keeps its turn until the next packet (Linux `htb_deactivate_prios`).
                    if turn == Turn::Own && !classes[at].can_send(leaves, turn) {
                        rotation.end_turn_of(at, |other| classes[other].can_send(leaves, turn));
                    }
                    return Some(Next { packet, wait, marked });
                }
            }
        }
        None
    }

    /// When the next packet leaves the root that is sent at `now`: `now` without one, or if none leaves it by then.
    fn next_leaves(&self, now: Time) -> Time {
        let Some(root) = &self.root else { return now };
        let (earliest, spare) = (root.earliest(now), root.ready().min(now));
        let waiting = self.classes.iter().filter(|class| class.qdisc.packets() > 0);
        let leaves = waiting.filter_map(|class| {
            let credits = class.credits.as_ref()?;
            Some(credits.own_ready().min(credits.ready().max(spare)).max(class.busy_since))
        });
        leaves.min().map_or(now, |leaves| leaves.max(earliest).min(now))
    }

    /// When the next class may send of those that hold packets back; `None` if nothing waits.
    pub fn ready(&self) -> Option<Time> {
        let waiting = self.classes.iter().filter(|class| class.qdisc.packets() > 0);
        waiting.filter_map(|class| class.credits.as_ref().map(Credits::ready)).min()
    }
}

/// How a packet finds the link.
pub(crate) struct Arrival {
    /// Whether it is idle.
    pub is_idle: bool,
    /// The size of a packet that departs at this instant and still counts.
    pub departure: Option<u32>,
}

/// A packet to be sent.
pub(crate) struct Next<P> {
    pub packet: P,
    /// How long it waited.
    pub wait: Duration,
    /// Whether it was marked as it left.
    pub marked: bool,
}

#[cfg(test)]
mod tests;
