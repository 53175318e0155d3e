//! A queue that holds its packets and serves them as its discipline decides.

use crate::disciplines::cake::CakeQueues;
use crate::disciplines::classes::Classes;
use crate::disciplines::discipline::{Arrival, Contents, Desk, DropsOfEarlier, Given, Loss};
use crate::disciplines::dual::DualQueues;
use crate::disciplines::fifo::Fifo;
use crate::disciplines::flows::FlowQueues;
use crate::disciplines::host::HostQueues;
use crate::{
    AckFilter, AckHeader, AnyAqm, Aqm, ArrivingAck, ClassConfig, Counters, DropReason, Fills, FlowQueuing, HostDecision, Packet,
    QueueController, Subqueue, SubqueueSample,
};
use alloc::boxed::Box;
use alloc::vec::Vec;
use sojourn_units::{Duration, Time};

/// A queue that holds its packets. The simulator uses it where a packet's departure is not known when the packet arrives; a
/// router would use it with real packets.
#[derive(Clone, Debug)]
pub struct Qdisc<P> {
    pub(crate) desk: Desk,
    pub(crate) discipline: AnyDiscipline<P>,
}

/// What a queue is made from.
#[derive(Clone, Debug)]
pub enum QdiscConfig {
    /// A discipline, with a queue for each flow under it where that is given, though it fills one.
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

    /// The same, to change them.
    pub fn controllers_mut(&mut self) -> Vec<&mut QueueController> {
        match self {
            QdiscConfig::One(controller, _) => Vec::from([&mut **controller]),
            QdiscConfig::Classes(classes) => classes.iter_mut().flat_map(|class| class.queue.controllers_mut()).collect(),
        }
    }
}

impl<P: Packet> Qdisc<P> {
    /// An empty queue under `controller`, in the queues that its algorithm fills.
    pub fn new(mut controller: QueueController) -> Self {
        if let Some(host) = controller.host.take() {
            return Qdisc { desk: Desk::new(controller), discipline: AnyDiscipline::Host(Box::new(HostQueues::new(host))) };
        }
        let mut given = Given::of(&mut controller);
        let discipline = AnyDiscipline::new(controller.aqm.fills(), &mut given);
        controller.limit = given.limit;
        Qdisc { desk: Desk::new(controller), discipline }
    }

    /// The same in the queues that another algorithm fills.
    pub fn in_queues_of(aqm: &AnyAqm, mut controller: QueueController) -> Self {
        let mut given = Given::of(&mut controller);
        let discipline = AnyDiscipline::new(aqm.fills(), &mut given);
        controller.limit = given.limit;
        Qdisc { desk: Desk::new(controller), discipline }
    }

    /// An empty queue, or empty classes.
    pub fn of(config: QdiscConfig) -> Self {
        match config {
            QdiscConfig::One(controller, None) => Qdisc::new(*controller),
            QdiscConfig::One(controller, Some(queuing)) => Qdisc::with_flow_queues(*controller, queuing),
            QdiscConfig::Classes(classes) => Qdisc::of_classes(classes),
        }
    }

    /// Empty classes, each with a queue.
    pub fn of_classes(classes: Vec<ClassConfig>) -> Self {
        let classes = Classes::new(classes);
        let mut desk = Desk::new(QueueController::passing());
        desk.next_update = classes.next_update();
        Qdisc { desk, discipline: AnyDiscipline::Classes(Box::new(classes)) }
    }

    /// A queue for each flow under the one algorithm of `controller`, which fills one queue elsewhere.
    pub fn with_flow_queues(mut controller: QueueController, queuing: FlowQueuing) -> Self {
        let mut given = Given::of(&mut controller);
        let queues = FlowQueues::new(queuing, &mut given);
        controller.limit = given.limit;
        Qdisc { desk: Desk::new(controller), discipline: AnyDiscipline::Flows(Box::new(queues)) }
    }

    /// Draws from now on as this queue does in another run, if it has not drawn yet: see [`sojourn_units::Stream::go_over`].
    #[must_use]
    pub fn go_over(&mut self, start: &Self, other: &Self) -> bool {
        if matches!(self.discipline, AnyDiscipline::Host(_)) {
            return false;
        }
        let others = start.discipline.children().zip(other.discipline.children());
        // The controller draws for all packets that are not of a class.
        self.discipline.children_mut().zip(others).all(|(here, (start, other))| here.go_over(start, other))
            && self.desk.controller.go_over(&start.desk.controller, &other.desk.controller)
    }

    /// The counters.
    pub fn counters(&self) -> &Counters {
        &self.desk.controller.counters
    }

    /// Counts the drops of packets that waited and had arrived before `from`.
    pub fn count_drops_of_earlier(&mut self, from: Time) {
        self.discipline.children_mut().for_each(|child| child.count_drops_of_earlier(from));
        self.desk.earlier = DropsOfEarlier { from, count: 0 };
    }

    /// How many packets that waited were dropped and had arrived before the time of [`Qdisc::count_drops_of_earlier`].
    pub fn drops_of_earlier(&self) -> u64 {
        self.desk.earlier.count + self.discipline.children().map(Qdisc::drops_of_earlier).sum::<u64>()
    }

    /// When something may be sent again that is held back now; `None` if nothing is.
    pub fn ready(&self) -> Option<Time> {
        self.discipline.get().ready()
    }

    /// Whether packets may be held back although nothing is being sent: by classes, a shaper or the host.
    pub fn may_hold_back(&self) -> bool {
        self.discipline.get().may_hold_back()
    }

    /// The algorithm.
    pub fn aqm(&self) -> &AnyAqm {
        &self.desk.controller.aqm
    }

    /// Tells the algorithm that from `now` on `active` flows are active.
    pub fn set_flows(&mut self, now: Time, active: u32) {
        self.discipline.children_mut().for_each(|child| child.set_flows(now, active));
        self.desk.controller.aqm.on_flows(now, active);
        self.discipline.get_mut().set_flows(now, active);
    }

    /// Packets waiting.
    #[inline]
    pub fn packets(&self) -> u32 {
        self.desk.held.packets
    }

    /// Bytes waiting.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.desk.held.bytes
    }

    /// The time of the algorithm's next update.
    pub fn next_update(&self) -> Time {
        self.desk.next_update
    }

    /// Runs the algorithm's timer if it has expired. The host calls this at [`Qdisc::next_update`], before anything else
    /// that happens at that time: a timer that runs late sees the queue as it is now.
    pub fn update(&mut self, now: Time, idle_since: Option<Time>) {
        self.discipline.get_mut().update(&mut self.desk, now, idle_since);
    }

    /// Adds a packet of this size to the backlog that the next arrival finds. For a host that knows that the packet departed at
    /// the same instant, and that the arrival comes first.
    pub fn set_simultaneous_departure(&mut self, size: Option<u32>) {
        self.desk.departure = size;
    }

    /// Offers a packet at `now`; `idle_since` is the time at which the link became idle, `None` if it is sending. `lost`
    /// is called with every packet that is lost, and why.
    #[inline]
    pub fn enqueue(&mut self, now: Time, packet: P, idle_since: Option<Time>, mut lost: impl FnMut(P, DropReason)) {
        self.arrive(Arrival { now, packet, idle_since, link_is_idle: idle_since.is_some() }, &mut lost);
    }

    #[inline]
    pub(crate) fn arrive(&mut self, arrival: Arrival<P>, lost: Loss<P>) {
        self.discipline.enqueue(&mut self.desk, arrival, lost);
        self.check_invariants();
    }

    /// The next packet to send at `now` and how long it waited. `lost` is called with packets that the algorithm drops at
    /// the head.
    #[inline]
    pub fn dequeue(&mut self, now: Time, mut lost: impl FnMut(P, DropReason)) -> Option<(P, Duration)> {
        let next = self.discipline.dequeue(&mut self.desk, now, &mut lost);
        self.check_invariants();
        next
    }

    /// Checks in debug builds that its counts are those of the discipline, that every packet is accounted for, and that an empty queue has no bytes.
    #[inline]
    fn check_invariants(&self) {
        if cfg!(debug_assertions) {
            let (held, counters) = (self.desk.held, self.counters());
            assert_eq!(held.packets, self.discipline.get().packets(), "packets that wait");
            assert_eq!(counters.arrived, self.desk.departed + counters.dropped() + u64::from(held.packets), "packets that arrived");
            assert_eq!(held.packets == 0, held.bytes == 0, "bytes that wait");
        }
    }

    /// Ends the queue and calls `take` with every packet that waits: queue by queue, oldest first in each. The packets are not counted. The
    /// discipline is not asked, so a shaper or a `ceil` holds nothing back. Packets in a queue of the host stay there: the host frees them.
    pub fn into_packets(mut self, take: &mut dyn FnMut(P)) {
        self.discipline.get_mut().drain(take);
    }

    /// Whether every packet that arrived has departed, was dropped or still waits, in each class too.
    pub fn balances(&self) -> bool {
        let counters = self.counters();
        let discipline = self.discipline.get();
        let parts: Vec<Subqueue> = discipline.subqueues();
        let of_parts = parts.iter().fold(Counters::default(), |sum, part| sum.and(&part.counters));
        counters.arrived == self.desk.departed + counters.dropped() + u64::from(discipline.packets())
            && self.discipline.children().all(Qdisc::balances)
            && (parts.is_empty() || of_parts == *counters)
    }

    /// What a queue of the host decided since this was asked last, in order.
    pub fn take_host_decisions(&mut self) -> Vec<HostDecision> {
        if let AnyDiscipline::Host(held) = &mut self.discipline { held.take_decisions() } else { Vec::new() }
    }

    /// Whether it has an ACK filter, or a class of it has.
    pub fn filters_acks(&self) -> bool {
        self.desk.controller.ack_filter != AckFilter::None || self.discipline.children().any(Qdisc::filters_acks)
    }

    /// Looks for a waiting ACK that the one which is offered next makes useless, for a queue with an ACK filter. `header` reads the headers
    /// of packets.
    pub fn compare_acks(&mut self, ack: &ArrivingAck, header: &dyn Fn(&P) -> Option<AckHeader>) {
        if let AnyDiscipline::Classes(classes) = &mut self.discipline {
            return classes.child_of(ack).compare_acks(ack, header);
        }
        if self.desk.filters_next_ack()
            && let Some(queue) = self.discipline.get().queue_of(ack)
        {
            self.desk.compare_acks(queue, ack, header);
        }
    }

    /// Whether it goes by the groups of flows ([`Qdisc::add_place`]).
    pub fn knows_groups(&self) -> bool {
        self.discipline.get().knows_groups()
    }

    /// Packets of flows of this group come to the link at this place of their route: what classes go by.
    pub fn add_place(&mut self, place: u32, group: u32) {
        self.discipline.get_mut().add_place(place, group);
    }

    /// Whether it goes by the hashes of flows ([`Qdisc::set_hash`]).
    pub fn hashes_flows(&self) -> bool {
        self.discipline.get().hashes_flows() || self.discipline.children().any(Qdisc::hashes_flows)
    }

    /// Sets the hash of a flow, by which it finds its queue: that of its connection, as addresses and ports have one. A flow
    /// without is found by its number.
    pub fn set_hash(&mut self, flow: u32, hash: u64) {
        self.discipline.get_mut().set_hash(flow, hash);
        self.discipline.children_mut().for_each(|child| child.set_hash(flow, hash));
    }

    /// The queue of each class, or the low-latency and the classic queue of a dual queue, or the tins of CAKE; nothing if it has none of these.
    /// Behind the classes come the queues of each class in turn, as many levels as there are.
    pub fn subqueues(&self) -> Vec<Subqueue> {
        let discipline = self.discipline.get();
        let own =
            discipline.subqueues().into_iter().map(|queue| Subqueue { filters_acks: queue.filters_acks || self.has_filter(), ..queue });
        own.chain(self.discipline.children().flat_map(Qdisc::subqueues)).collect()
    }

    fn has_filter(&self) -> bool {
        self.desk.controller.ack_filter != AckFilter::None
    }

    /// What waits in each of [`Qdisc::subqueues`], in their order.
    pub fn samples(&self) -> Vec<SubqueueSample> {
        let discipline = self.discipline.get();
        let own = discipline.samples(&self.desk).into_iter();
        own.chain(self.discipline.children().flat_map(Qdisc::samples)).collect()
    }

    /// The packets and bytes that wait in this one of [`Qdisc::subqueues`].
    #[inline(always)]
    pub fn subqueue_backlog(&self, at: usize) -> (u32, u64) {
        self.discipline.get().subqueue_backlog(at)
    }

    /// Which of [`Qdisc::subqueues`] the last packet that was sent came from, if there are any: where there are classes, its class.
    #[inline(always)]
    pub fn last_subqueue(&self) -> Option<usize> {
        self.discipline.get().last_subqueue()
    }

    /// Which of [`Qdisc::subqueues`] the last packet went to that joined the queue, where that is known.
    #[inline]
    pub fn last_joined(&self) -> Option<usize> {
        self.discipline.get().last_joined()
    }

    /// Whether it has classes.
    #[inline]
    pub fn has_classes(&self) -> bool {
        matches!(self.discipline, AnyDiscipline::Classes(_))
    }

    /// All of [`Qdisc::subqueues`] that the last packet was in that was sent: its class, its queue in that, and so on.
    pub fn last_path(&self) -> Vec<usize> {
        let mut path = Vec::from_iter(self.last_subqueue());
        if let AnyDiscipline::Classes(classes) = &self.discipline {
            path.extend(classes.last_within());
        }
        path
    }
}

/// Any discipline. Which it is stands in a byte of its own, and not among what a `VecDeque` can't be: it is asked several times for each
/// packet.
#[derive(Clone, Debug)]
#[repr(u8)]
#[allow(private_interfaces, reason = "a packet's way goes through these without a jump")]
pub enum AnyDiscipline<P> {
    /// First in, first out.
    Fifo(Fifo<P>),
    /// A queue for each flow.
    Flows(Box<FlowQueues<P>>),
    /// Two queues, one of them for scalable senders.
    Dual(Box<DualQueues<P>>),
    /// The queues of CAKE.
    Cake(Box<CakeQueues<P>>),
    /// A queue of the host.
    Host(Box<HostQueues<P>>),
    /// Classes.
    Classes(Box<Classes<P>>),
}

impl<P: Packet> AnyDiscipline<P> {
    /// Empty queues of this kind.
    fn new(fills: Fills, given: &mut Given) -> Self {
        match fills {
            Fills::OneQueue => AnyDiscipline::Fifo(Fifo::default()),
            Fills::FlowQueues(queuing) => AnyDiscipline::Flows(Box::new(FlowQueues::new(queuing, given))),
            Fills::DualQueues(queuing) => AnyDiscipline::Dual(Box::new(DualQueues::new(queuing, given))),
            Fills::CakeQueues(queuing) => AnyDiscipline::Cake(Box::new(CakeQueues::new(queuing, given))),
        }
    }

    /// It, for what is not asked for each packet.
    pub(crate) fn get(&self) -> &dyn Contents<P> {
        match self {
            AnyDiscipline::Fifo(discipline) => discipline,
            AnyDiscipline::Flows(discipline) => &**discipline,
            AnyDiscipline::Dual(discipline) => &**discipline,
            AnyDiscipline::Cake(discipline) => &**discipline,
            AnyDiscipline::Host(discipline) => &**discipline,
            AnyDiscipline::Classes(discipline) => &**discipline,
        }
    }

    /// The same, to change it.
    pub(crate) fn get_mut(&mut self) -> &mut dyn Contents<P> {
        match self {
            AnyDiscipline::Fifo(discipline) => discipline,
            AnyDiscipline::Flows(discipline) => &mut **discipline,
            AnyDiscipline::Dual(discipline) => &mut **discipline,
            AnyDiscipline::Cake(discipline) => &mut **discipline,
            AnyDiscipline::Host(discipline) => &mut **discipline,
            AnyDiscipline::Classes(discipline) => &mut **discipline,
        }
    }

    #[inline]
    fn enqueue(&mut self, desk: &mut Desk, arrival: Arrival<P>, lost: Loss<P>) {
        match self {
            AnyDiscipline::Fifo(queues) => desk.enqueue(queues, arrival, lost),
            AnyDiscipline::Flows(queues) => desk.enqueue(&mut **queues, arrival, lost),
            AnyDiscipline::Dual(queues) => desk.enqueue(&mut **queues, arrival, lost),
            AnyDiscipline::Cake(queues) => desk.enqueue(&mut **queues, arrival, lost),
            AnyDiscipline::Host(queues) => queues.enqueue(desk, arrival, lost),
            AnyDiscipline::Classes(classes) => classes.enqueue(desk, arrival, lost),
        }
    }

    #[inline]
    fn dequeue(&mut self, desk: &mut Desk, now: Time, lost: Loss<P>) -> Option<(P, Duration)> {
        match self {
            AnyDiscipline::Fifo(queues) => desk.dequeue(queues, now, lost),
            AnyDiscipline::Flows(queues) => desk.dequeue(&mut **queues, now, lost),
            AnyDiscipline::Dual(queues) => desk.dequeue(&mut **queues, now, lost),
            AnyDiscipline::Cake(queues) => desk.dequeue(&mut **queues, now, lost),
            AnyDiscipline::Host(queues) => queues.dequeue(desk, now, lost),
            AnyDiscipline::Classes(classes) => classes.dequeue(desk, now, lost),
        }
    }

    /// The queues of its classes, if it has classes.
    fn children(&self) -> impl Iterator<Item = &Qdisc<P>> {
        let classes = if let AnyDiscipline::Classes(classes) = self { Some(classes) } else { None };
        classes.into_iter().flat_map(|classes| classes.children())
    }

    /// The same, to tell their disciplines something.
    fn children_mut(&mut self) -> impl Iterator<Item = &mut Qdisc<P>> {
        let classes = if let AnyDiscipline::Classes(classes) = self { Some(classes) } else { None };
        classes.into_iter().flat_map(|classes| classes.children_mut())
    }
}

#[cfg(test)]
mod tests;
