//! Classes: queues that share one link, each under its own discipline.
//!
//! Classes with a lower priority number go first. Classes of one priority take turns in bytes, by deficit round robin (shreedhar-1995).
//! Classes with rates lend to each other as in Linux's `sch_htb`, with the link as the root ([`Tree`]). Classes with rates in a class with
//! rates belong to the same tree.

mod group;
mod rotation;
mod shares;
mod tree;

pub use shares::Shares;

use super::{AnyDiscipline, Parent, Qdisc};
use crate::classifier::{Classifier, Rule};
use crate::disciplines::discipline::{Arrival, Contents, Discipline, Loss, Occupancy, QueueState};
use crate::disciplines::flows::FlowQueuing;
use crate::{AckFilter, Amount, Aqm, ArrivingAck, Counters, Needs, Packet, QueueController, Subqueue, SubqueueSample};
use alloc::boxed::Box;
use alloc::vec::Vec;
use group::{Group, Member, Part};
use rotation::Rotation;
use shares::Root;
use sojourn_units::{Duration, Time};
use tree::{Branch, Chosen, Tree};

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
        let state = QueueState::new(classes.next_update(), AckFilter::None);
        Qdisc { state, discipline: AnyDiscipline::Classes(Box::new(classes)), hashes_flows: false, knows_groups: true }
    }
}

/// The classes of a link, with the waiting packets.
#[derive(Clone, Debug)]
struct Classes<P> {
    counters: Counters,
    /// The nested classes.
    group: Group,
    /// The classes that hold packets.
    leaves: Vec<Leaf<P>>,
    order: Order,
    /// The class of the last packet that was sent.
    last: usize,
    /// The measured parts: the outer classes, then the parts of each of them.
    parts: Vec<Part>,
    /// The number of outer classes.
    outer: usize,
}

/// The order in which classes send.
#[derive(Clone, Debug)]
enum Order {
    /// Strict priority, and turns within a priority.
    Turns(Vec<Rotation>),
    /// Classes with rates, and the root if the rate of the link is constant.
    Rates(Box<Tree>, Option<Root>),
}

/// A class that holds packets.
#[derive(Clone, Debug)]
struct Leaf<P> {
    qdisc: Qdisc<P>,
    /// Whether it has rates.
    has_rates: bool,
    /// Its limit if it has a single queue.
    limit: Option<Amount>,
    /// The time at which it became empty, if it is.
    empty_since: Time,
    /// The time at which packets began to wait in it, if some do.
    busy_since: Time,
    /// The time at which its queue returned no packet although some waited.
    refused_at: Option<Time>,
}

impl<P: Packet> Leaf<P> {
    fn new(queue: QdiscConfig, has_rates: bool) -> Self {
        Leaf {
            limit: if let QdiscConfig::One(controller, _) = &queue { Some(controller.limit) } else { None },
            qdisc: Qdisc::of(queue),
            has_rates,
            empty_since: Time::ZERO,
            busy_since: Time::ZERO,
            refused_at: None,
        }
    }

    /// The time since which the class has been idle, for an arriving packet of `size` bytes.
    /// `None` if others wait in it, or if there is no room for the packet.
    fn idle_since(&self, link_is_idle: bool, size: u32) -> Option<Time> {
        let goes_straight = link_is_idle && !self.has_rates;
        let fits = self.limit.is_none_or(|limit| !limit.is_exceeded(1, size.into()));
        (self.qdisc.packets() == 0 && (goes_straight || fits)).then_some(self.empty_since)
    }

    /// Whether its queue has a packet that may be sent at `now`.
    fn is_ready(&self, now: Time) -> bool {
        self.qdisc.packets() > 0 && self.refused_at != Some(now) && self.qdisc.ready().is_none_or(|ready| ready <= now)
    }

    /// Whether it has a packet that leaves the root at `leaves` and is sent at `now`.
    fn can_send(&self, [leaves, now]: [Time; 2]) -> bool {
        self.is_ready(now) && self.busy_since <= leaves
    }
}

/// Adds the leaves of a class to `leaves`. Returns the class, and its branch if it has rates.
fn branch<P: Packet>(config: ClassConfig, leaves: &mut Vec<Leaf<P>>) -> (Member, Option<Branch>) {
    let ClassConfig { queue, priority, quantum, shares, .. } = config;
    match (queue, shares) {
        (QdiscConfig::Classes(within), Some(shares)) if within.iter().all(|class| class.shares.is_some()) => {
            let (group, within) = group(within, leaves);
            (Member::Inner(group), Some(Branch::Inner { shares, within }))
        }
        (queue, shares) => {
            let class = leaves.len();
            leaves.push(Leaf::new(queue, shares.is_some()));
            (Member::Leaf(class), shares.map(|shares| Branch::Leaf { shares, class, priority, quantum }))
        }
    }
}

/// Adds the leaves of classes to `leaves`.
/// Returns the classes, and the branches of those with rates.
fn group<P: Packet>(configs: Vec<ClassConfig>, leaves: &mut Vec<Leaf<P>>) -> (Group, Vec<Branch>) {
    let classifier = Classifier::new(configs.iter().map(|config| config.rule.clone()).collect());
    let (members, branches): (Vec<Member>, Vec<Option<Branch>>) = configs.into_iter().map(|config| branch(config, leaves)).unzip();
    (Group { classifier, members }, branches.into_iter().flatten().collect())
}

impl<P: Packet> Classes<P> {
    fn new(configs: Vec<ClassConfig>) -> Self {
        let turns: Vec<(u32, u32)> = configs.iter().map(|class| (class.priority, class.quantum)).collect();
        let link = configs.iter().find_map(|class| class.shares?.link);
        let mut leaves = Vec::new();
        let (group, branches) = group(configs, &mut leaves);
        let order = match branches.is_empty() {
            true => Order::Turns(Rotation::by_priority(&turns)),
            false => Order::Rates(Box::new(Tree::new(&branches)), link.map(|rate| Root::new(rate, leaves.len()))),
        };
        let queues: Vec<usize> = leaves.iter().map(|leaf| leaf.qdisc.subqueues().len()).collect();
        let (parts, outer) = (group.parts(&queues), group.members.len());
        Classes { counters: Counters::default(), group, leaves, order, last: 0, parts, outer }
    }

    /// The time at which the next timer of a discipline expires.
    fn next_update(&self) -> Time {
        self.leaves.iter().map(|leaf| leaf.qdisc.next_update()).min().unwrap_or(Time::NEVER)
    }

    /// The backlog of all classes.
    fn held(&self) -> Occupancy {
        let (packets, bytes) = held(self.leaves.iter());
        Occupancy { packets, bytes }
    }

    /// The next packet to send at `now`, and its sojourn time.
    /// It comes from the first class that returns one.
    fn next(&mut self, now: Time, lost: Loss<P>) -> Option<(P, Duration)> {
        let times = [self.next_leaves(now), now];
        loop {
            let leaves = &self.leaves;
            let can_send = |leaf: usize| leaves[leaf].can_send(times);
            let chosen = match &mut self.order {
                Order::Turns(rotations) => {
                    let mut turns = rotations.iter_mut().enumerate();
                    Next::InTurn(turns.find_map(|(rotation, turns)| Some((turns.next(can_send)?, rotation)))?)
                }
                Order::Rates(tree, _) => Next::ByRate(tree.choose(times[0], can_send)?),
            };
            let (Next::InTurn((at, _)) | Next::ByRate(Chosen { class: at, .. })) = chosen;
            let leaf = &mut self.leaves[at];
            let waiting = leaf.qdisc.packets();
            let next = leaf.qdisc.dequeue(now, &mut *lost);
            if leaf.qdisc.packets() == 0 {
                leaf.empty_since = now;
            }
            // Its discipline may have dropped all waiting packets. If it dropped none, it holds them back: do not ask again at this time.
            let Some((packet, wait)) = next else {
                leaf.refused_at = Some(now).filter(|_| leaf.qdisc.packets() == waiting);
                continue;
            };
            self.last = at;
            let leaves = &self.leaves;
            match (&mut self.order, chosen) {
                (Order::Turns(rotations), Next::InTurn((_, rotation))) => rotations[rotation].charge(packet.size()),
                (Order::Rates(tree, root), Next::ByRate(chosen)) => {
                    tree.sent(chosen, packet.size(), times[0], |leaf| leaves[leaf].can_send(times));
                    root.iter_mut().for_each(|root| root.spend(times[0], packet.size()));
                }
                _ => unreachable!("classes keep their order"),
            }
            return Some((packet, wait));
        }
    }

    /// The time at which the packet that is sent at `now` leaves the root.
    /// `now` without a root, or if no packet leaves it by then.
    fn next_leaves(&self, now: Time) -> Time {
        let Order::Rates(tree, Some(root)) = &self.order else { return now };
        let (earliest, spare) = (root.earliest(now), root.ready().min(now));
        let waiting = tree.ready(spare).filter(|&(leaf, _)| self.leaves[leaf].is_ready(now));
        let leaves = waiting.map(|(leaf, ready)| ready.max(self.leaves[leaf].busy_since));
        leaves.min().map_or(now, |leaves| leaves.max(earliest).min(now))
    }

    /// The counters and the backlog of a part.
    fn subqueue(&self, part: &Part) -> Subqueue {
        let leaves = match part {
            Part::Queue(leaf, queue) => return self.leaves[*leaf].qdisc.subqueues()[*queue],
            Part::Classes(leaves) => leaves,
        };
        leaves.iter().map(|&leaf| &self.leaves[leaf].qdisc).fold(Subqueue::default(), |sum, qdisc| Subqueue {
            counters: sum.counters.and(qdisc.counters()),
            drops_of_earlier: sum.drops_of_earlier + qdisc.drops_of_earlier(),
            packets: sum.packets + qdisc.packets(),
            bytes: sum.bytes + qdisc.bytes(),
            filters_acks: sum.filters_acks || qdisc.filters_acks(),
        })
    }

    /// The sample of a part.
    fn sample(&self, part: &Part) -> SubqueueSample {
        let leaves = match part {
            Part::Queue(leaf, queue) => return self.leaves[*leaf].qdisc.samples()[*queue],
            Part::Classes(leaves) => leaves,
        };
        let (packets, bytes) = held(leaves.iter().map(|&leaf| &self.leaves[leaf]));
        let one = if let [leaf] = leaves[..] { Some(&self.leaves[leaf].qdisc) } else { None };
        let oldest = one.and_then(|qdisc| qdisc.contents().oldest());
        SubqueueSample { packets, bytes, oldest, probability: one.and_then(Qdisc::probability) }
    }
}

/// A class that was chosen.
#[derive(Clone, Copy)]
enum Next {
    /// The class and the index of its rotation.
    InTurn((usize, usize)),
    ByRate(Chosen),
}

/// The backlog of leaves, in packets and bytes.
fn held<'a, P: Packet>(leaves: impl Iterator<Item = &'a Leaf<P>>) -> (u32, u64) {
    leaves.fold((0, 0), |(packets, bytes), leaf| (packets + leaf.qdisc.packets(), bytes + leaf.qdisc.bytes()))
}

impl<P: Packet> Discipline<P> for Classes<P> {
    fn enqueue(&mut self, state: &mut QueueState, arrival: Arrival<P>, lost: Loss<P>) {
        let Arrival { now, packet, link_is_idle, .. } = arrival;
        let size = packet.size();
        let at = self.group.leaf_of(packet.place(), packet.ecn());
        let class = &mut self.leaves[at];
        let departure = state.departure.take().filter(|_| at == self.last);
        let idle_since = class.idle_since(link_is_idle, size).filter(|_| departure.is_none());
        if class.qdisc.packets() == 0 {
            class.busy_since = now;
        }
        class.refused_at = None;
        let marked = class.qdisc.marked();
        class.qdisc.set_simultaneous_departure(departure);
        let counters = &mut self.counters;
        counters.count_arrival(size);
        class.qdisc.arrive(Arrival { now, packet, idle_since, link_is_idle }, &mut |packet, reason| {
            counters.count_drop(packet.size(), reason);
            lost(packet, reason);
        });
        counters.marked += class.qdisc.marked() - marked;
        (state.held, state.marked) = (self.held(), self.counters.marked);
    }

    fn dequeue(&mut self, state: &mut QueueState, now: Time, lost: Loss<P>) -> Option<(P, Duration)> {
        let marked = |leaves: &[Leaf<P>]| leaves.iter().map(|class| class.qdisc.marked()).sum::<u64>();
        let (before, mut counters) = (marked(&self.leaves), self.counters);
        let next = self.next(now, &mut |packet: P, reason| {
            counters.count_drop(packet.size(), reason);
            lost(packet, reason);
        });
        counters.marked += marked(&self.leaves) - before;
        self.counters = counters;
        (state.held, state.marked) = (self.held(), self.counters.marked);
        state.departed += u64::from(next.is_some());
        next
    }

    fn update(&mut self, state: &mut QueueState, now: Time, _idle_since: Option<Time>) {
        for class in &mut self.leaves {
            let idle_since = (class.qdisc.packets() == 0).then_some(class.empty_since);
            class.qdisc.update(now, idle_since);
        }
        state.next_update = self.next_update();
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
        self.parts.iter().map(|part| self.sample(part)).collect()
    }

    fn boxed_clone(&self) -> Box<dyn Discipline<P>> {
        Box::new(self.clone())
    }
}

impl<P: Packet> Parent<P> for Classes<P> {
    fn children(&self) -> Vec<&Qdisc<P>> {
        self.leaves.iter().map(|leaf| &leaf.qdisc).collect()
    }

    fn children_mut(&mut self) -> Vec<&mut Qdisc<P>> {
        self.leaves.iter_mut().map(|leaf| &mut leaf.qdisc).collect()
    }

    fn child_of(&mut self, ack: &ArrivingAck) -> &mut Qdisc<P> {
        &mut self.leaves[self.group.leaf_of(ack.place, ack.ecn)].qdisc
    }

    fn within(&self) -> Vec<Subqueue> {
        self.parts[self.outer..].iter().map(|part| self.subqueue(part)).collect()
    }

    fn last_path(&self) -> Vec<usize> {
        let inner = self.leaves[self.last].qdisc.last_path();
        let was_in = |part: &Part| match part {
            Part::Classes(leaves) => leaves.contains(&self.last),
            Part::Queue(leaf, queue) => *leaf == self.last && inner.contains(queue),
        };
        self.parts.iter().enumerate().filter(|(_, part)| was_in(part)).map(|(at, _)| at).collect()
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
        self.leaves.iter_mut().for_each(|leaf| leaf.qdisc.discipline.get_mut().contents_mut().drain(take));
    }

    fn ready(&self) -> Option<Time> {
        let waits = |leaf: &usize| self.leaves[*leaf].qdisc.packets() > 0;
        let by_queue = |leaf: usize| self.leaves[leaf].qdisc.ready();
        match &self.order {
            Order::Turns(_) => (0..self.leaves.len()).filter(waits).filter_map(by_queue).min(),
            Order::Rates(tree, _) => {
                let ready = tree.ready(Time::ZERO).filter(|(leaf, _)| waits(leaf));
                ready.map(|(leaf, by_rates)| by_queue(leaf).map_or(by_rates, |ready| ready.max(by_rates))).min()
            }
        }
    }

    fn shapes(&self) -> bool {
        matches!(self.order, Order::Rates(..)) || self.leaves.iter().any(|leaf| leaf.qdisc.shapes())
    }

    fn subqueues(&self) -> Vec<Subqueue> {
        self.parts[..self.outer].iter().map(|part| self.subqueue(part)).collect()
    }

    fn subqueue_backlog(&self, at: usize) -> (u32, u64) {
        match &self.parts[at] {
            Part::Classes(leaves) => held(leaves.iter().map(|&leaf| &self.leaves[leaf])),
            Part::Queue(leaf, queue) => self.leaves[*leaf].qdisc.subqueue_backlog(*queue),
        }
    }

    fn last_subqueue(&self) -> Option<usize> {
        self.parts[..self.outer].iter().position(|part| matches!(part, Part::Classes(leaves) if leaves.contains(&self.last)))
    }

    fn add_place(&mut self, place: u32, group: u32) {
        self.group.add_place(place, group);
        self.leaves.iter_mut().for_each(|leaf| leaf.qdisc.add_place(place, group));
    }
}

#[cfg(test)]
mod tests;
