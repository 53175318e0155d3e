//! A queue that holds its packets and serves them in the order of its discipline.

mod classes;

pub use classes::{ClassConfig, QdiscConfig, Shares};

use crate::disciplines::aqm::AqmDiscipline;
use crate::disciplines::discipline::{Arrival, ChangedSubqueue, Contents, Discipline, DropsOfEarlier, Loss, QueueSetup, QueueState};
use crate::disciplines::fifo::Fifo;
use crate::disciplines::flows::{FlowQueues, FlowQueuing};
use crate::disciplines::host::HostQueues;
use crate::{
    AckFilter, AckHeader, AnyAqm, Aqm, ArrivingAck, Counters, DropReason, HostDecision, Packet, QueueController, Subqueue, SubqueueSample,
};
use alloc::boxed::Box;
use alloc::vec::Vec;
use sojourn_units::{Duration, Probability, Time};

/// A queue that holds its packets.
/// The simulator uses it if a packet's departure is unknown when the packet arrives; a router would use it with real packets.
#[derive(Clone, Debug)]
pub struct Qdisc<P> {
    state: QueueState,
    discipline: AnyDiscipline<P>,
    /// Whether it finds queues by the hashes of flows, and needs their groups.
    hashes_flows: bool,
    knows_groups: bool,
}

impl<P: Packet> Qdisc<P> {
    /// An empty queue under `controller`, with the queues of its algorithm.
    pub fn new(mut controller: QueueController) -> Self {
        let state = QueueState::new(controller.aqm.first_update(), controller.ack_filter);
        let (layout, has_filters) = (controller.aqm.layout().unwrap_or_default(), !controller.filters.is_empty());
        let discipline = match (controller.host.take(), controller.own_queues()) {
            (Some(host), _) => AnyDiscipline::Host(Box::new(HostQueues::new(host))),
            (None, Some(own)) => AnyDiscipline::Own(own),
            (None, None) => AnyDiscipline::Fifo(AqmDiscipline::new(controller, Fifo::default())),
        };
        let knows_groups = layout.knows_groups || (layout.takes_filters && has_filters);
        Qdisc { state, discipline, hashes_flows: layout.hashes_flows, knows_groups }
    }

    /// A queue for each flow under the one algorithm of `controller`.
    /// The algorithm has a single queue elsewhere.
    pub fn with_flow_queues(mut controller: QueueController, queuing: FlowQueuing) -> Self {
        let state = QueueState::new(controller.aqm.first_update(), controller.ack_filter);
        let mut setup = QueueSetup::of(&mut controller);
        let queues = FlowQueues::new(queuing, &mut setup);
        controller.limit = setup.limit;
        let discipline = AnyDiscipline::Own(Box::new(AqmDiscipline::new(controller, queues)));
        Qdisc { state, discipline, hashes_flows: true, knows_groups: false }
    }

    /// Draws from now on as this queue does in another run, if it has not drawn yet.
    /// See [`sojourn_units::Stream::adopt`].
    #[must_use]
    pub fn adopt_stream(&mut self, start: &Self, other: &Self) -> bool {
        match (self.discipline.get_mut().stream_mut(), start.discipline.get().stream(), other.discipline.get().stream()) {
            (Some(here), Some(start), Some(other)) => here.adopt(start, other),
            // Each class draws for its own packets. A queue of the host has its own randomness, which cannot be replaced.
            _ => {
                let others = start.children().into_iter().zip(other.children());
                self.has_classes()
                    && self.children_mut().into_iter().zip(others).all(|(here, (start, other))| here.adopt_stream(start, other))
            }
        }
    }

    #[inline]
    fn contents(&self) -> &dyn Contents<P> {
        self.discipline.get().contents()
    }

    /// The queues of its classes, if it has classes.
    fn children(&self) -> Vec<&Qdisc<P>> {
        if let AnyDiscipline::Classes(classes) = &self.discipline { classes.children() } else { Vec::new() }
    }

    /// The queues of its classes, for changes.
    fn children_mut(&mut self) -> Vec<&mut Qdisc<P>> {
        if let AnyDiscipline::Classes(classes) = &mut self.discipline { classes.children_mut() } else { Vec::new() }
    }

    /// The counters.
    pub fn counters(&self) -> &Counters {
        self.discipline.get().counters()
    }

    /// Counts drops of waiting packets that had arrived before `from`.
    pub fn count_drops_of_earlier(&mut self, from: Time) {
        self.children_mut().into_iter().for_each(|child| child.count_drops_of_earlier(from));
        self.state.earlier = DropsOfEarlier { from, count: 0 };
    }

    /// The number of dropped waiting packets that had arrived before a set time.
    /// [`Qdisc::count_drops_of_earlier`] sets it.
    pub fn drops_of_earlier(&self) -> u64 {
        self.state.earlier.count + self.children().into_iter().map(Qdisc::drops_of_earlier).sum::<u64>()
    }

    /// The time at which a packet that is held back may be sent; `None` if none is held back.
    pub fn ready(&self) -> Option<Time> {
        self.contents().ready()
    }

    /// Whether packets may be held back although the link is idle.
    /// Classes, a shaper or the host may hold them back.
    pub fn may_hold_back(&self) -> bool {
        self.contents().may_hold_back()
    }

    /// Whether it can ever hold packets back although the link is idle.
    pub fn shapes(&self) -> bool {
        self.contents().shapes()
    }

    /// The present probability of a signal, if the algorithm has one.
    pub fn probability(&self) -> Option<Probability> {
        self.aqm()?.probability()
    }

    /// The algorithm, if a single one decides about all packets.
    pub fn aqm(&self) -> Option<&dyn Aqm> {
        self.discipline.get().aqm()
    }

    /// Reports to the algorithm that from `now` on `active` flows are active.
    pub fn set_flows(&mut self, now: Time, active: u32) {
        self.children_mut().into_iter().for_each(|child| child.set_flows(now, active));
        self.discipline.get_mut().set_flows(now, active);
    }

    /// Packets waiting.
    #[inline]
    pub fn packets(&self) -> u32 {
        self.state.held.packets
    }

    /// Bytes waiting.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.state.held.bytes
    }

    /// The time of the algorithm's next update.
    pub fn next_update(&self) -> Time {
        self.state.next_update
    }

    /// Runs the algorithm's timer if it has expired.
    /// The host calls this at [`Qdisc::next_update`], before anything else that happens at that time: a timer that runs late sees the queue
    /// as it is now.
    pub fn update(&mut self, now: Time, idle_since: Option<Time>) {
        self.discipline.get_mut().update(&mut self.state, now, idle_since);
    }

    /// Adds a packet of this size to the backlog that the next arrival finds.
    /// The host calls it if that packet departed at the same instant as the arrival, and the arrival comes first.
    pub fn set_simultaneous_departure(&mut self, size: Option<u32>) {
        self.state.departure = size;
    }

    /// Offers a packet at `now`.
    /// `idle_since` is the time at which the link became idle, `None` if it is sending. `lost` receives every packet that is lost, and the
    /// reason.
    #[inline]
    pub fn enqueue(&mut self, now: Time, packet: P, idle_since: Option<Time>, mut lost: impl FnMut(P, DropReason)) {
        self.arrive(Arrival { now, packet, idle_since, link_is_idle: idle_since.is_some() }, &mut lost);
    }

    #[inline]
    pub(crate) fn arrive(&mut self, arrival: Arrival<P>, lost: Loss<P>) {
        match &mut self.discipline {
            AnyDiscipline::Fifo(fifo) => fifo.enqueue(&mut self.state, arrival, lost),
            other => other.get_mut().enqueue(&mut self.state, arrival, lost),
        }
        self.check_invariants();
    }

    /// The next packet to send at `now`, and its sojourn time.
    /// `lost` receives packets that the algorithm drops at the head.
    #[inline]
    pub fn dequeue(&mut self, now: Time, mut lost: impl FnMut(P, DropReason)) -> Option<(P, Duration)> {
        let next = match &mut self.discipline {
            AnyDiscipline::Fifo(fifo) => fifo.dequeue(&mut self.state, now, &mut lost),
            other => other.get_mut().dequeue(&mut self.state, now, &mut lost),
        };
        self.check_invariants();
        next
    }

    /// Checks in debug builds that no packet is unaccounted for.
    /// Its counts must equal those of the discipline, and an empty queue must have no bytes.
    #[inline]
    fn check_invariants(&self) {
        if cfg!(debug_assertions) {
            let (held, counters) = (self.state.held, self.counters());
            assert_eq!(held.packets, self.contents().packets(), "packets that wait");
            assert_eq!(counters.arrived, self.state.departed + counters.dropped() + u64::from(held.packets), "packets that arrived");
            assert_eq!(held.packets == 0, held.bytes == 0, "bytes that wait");
        }
    }

    /// Ends the queue and calls `take` with every waiting packet.
    /// They come queue by queue, oldest first in each, and are not counted. The discipline is not asked, so a shaper or a `ceil` holds
    /// nothing back. Packets in a queue of the host stay there: the host frees them.
    pub fn into_packets(mut self, take: &mut dyn FnMut(P)) {
        self.discipline.get_mut().contents_mut().drain(take);
    }

    /// Whether every packet that arrived has departed, was dropped or still waits.
    /// This includes each class.
    pub fn balances(&self) -> bool {
        let counters = self.counters();
        let parts: Vec<Subqueue> = self.contents().subqueues();
        let of_parts = parts.iter().fold(Counters::default(), |sum, part| sum.and(&part.counters));
        counters.arrived == self.state.departed + counters.dropped() + u64::from(self.contents().packets())
            && self.children().into_iter().all(Qdisc::balances)
            && (parts.is_empty() || of_parts == *counters)
    }

    /// The decisions of a queue of the host since the last call, in order.
    pub fn take_host_decisions(&mut self) -> Vec<HostDecision> {
        if let AnyDiscipline::Host(held) = &mut self.discipline { held.take_decisions() } else { Vec::new() }
    }

    /// Whether it, or one of its classes, has an ACK filter.
    pub fn filters_acks(&self) -> bool {
        self.has_filter() || self.children().into_iter().any(Qdisc::filters_acks)
    }

    /// Searches for a waiting ACK that the next arrival makes redundant.
    /// For a queue with an ACK filter. `header` reads the headers of packets.
    pub fn compare_acks(&mut self, ack: &ArrivingAck, header: &dyn Fn(&P) -> Option<AckHeader>) {
        if let AnyDiscipline::Classes(classes) = &mut self.discipline {
            return classes.child_of(ack).compare_acks(ack, header);
        }
        if self.state.filters_next_ack()
            && let Some(queue) = self.discipline.get().contents().queue_of(ack)
        {
            self.state.compare_acks(queue, ack, header);
        }
    }

    /// Whether it classifies by the groups of flows ([`Qdisc::add_place`]).
    pub fn knows_groups(&self) -> bool {
        self.knows_groups
    }

    /// Registers a position on a route at which packets of this group arrive, for classes.
    pub fn add_place(&mut self, place: u32, group: u32) {
        if self.knows_groups {
            self.discipline.get_mut().contents_mut().add_place(place, group);
        }
    }

    /// Whether it selects queues by the hashes of flows ([`Qdisc::set_hash`]).
    pub fn hashes_flows(&self) -> bool {
        self.hashes_flows || self.children().into_iter().any(Qdisc::hashes_flows)
    }

    /// Sets the hash of a flow, which selects its queue.
    /// It is the hash of the connection's addresses and ports. A flow without a hash is hashed by its number.
    pub fn set_hash(&mut self, flow: u32, hash: u64) {
        self.discipline.get_mut().contents_mut().set_hash(flow, hash);
        self.children_mut().into_iter().for_each(|child| child.set_hash(flow, hash));
    }

    /// The queues that make up this one; empty for a single queue.
    /// They are the queue of each class, or the low-latency and the classic queue of a dual queue, or the tins of CAKE. Behind the classes
    /// come the queues of each class in turn, over all levels.
    pub fn subqueues(&self) -> Vec<Subqueue> {
        let with_filter = |queue: Subqueue| Subqueue { filters_acks: queue.filters_acks || self.has_filter(), ..queue };
        let own = self.contents().subqueues().into_iter().map(with_filter);
        let within = if let AnyDiscipline::Classes(classes) = &self.discipline { classes.within() } else { Vec::new() };
        own.chain(within).collect()
    }

    fn has_filter(&self) -> bool {
        self.state.ack_filter != AckFilter::None
    }

    /// The backlog of each of [`Qdisc::subqueues`], in their order.
    pub fn samples(&self) -> Vec<SubqueueSample> {
        self.discipline.get().samples()
    }

    /// The packets and bytes that wait in one of [`Qdisc::subqueues`].
    #[inline(always)]
    pub fn subqueue_backlog(&self, at: usize) -> (u32, u64) {
        self.contents().subqueue_backlog(at)
    }

    /// The index in [`Qdisc::subqueues`] of the queue of the last packet that was sent.
    /// With classes it is the packet's class.
    #[inline(always)]
    pub fn last_subqueue(&self) -> Option<usize> {
        self.contents().last_subqueue()
    }

    /// The one of [`Qdisc::subqueues`] that the last packet joined or left, if it is known.
    #[inline]
    pub fn changed_subqueue(&self) -> Option<ChangedSubqueue> {
        self.state.changed
    }

    /// The number of packets that were marked.
    #[inline]
    pub fn marked(&self) -> u64 {
        self.state.marked
    }

    /// Whether it has classes.
    #[inline]
    pub fn has_classes(&self) -> bool {
        matches!(self.discipline, AnyDiscipline::Classes(_))
    }

    /// All indices in [`Qdisc::subqueues`] of the queues of the last packet that was sent.
    /// They are its class, its queue in that class, and so on.
    pub fn last_path(&self) -> Vec<usize> {
        match &self.discipline {
            AnyDiscipline::Classes(classes) => classes.last_path(),
            _ => Vec::from_iter(self.last_subqueue()),
        }
    }
}

/// A discipline whose packets wait in classes.
trait Parent<P>: Discipline<P> {
    /// The queues of its classes.
    fn children(&self) -> Vec<&Qdisc<P>>;

    /// The queues of its classes, for changes.
    fn children_mut(&mut self) -> Vec<&mut Qdisc<P>>;

    /// The queue of the class to which an ACK belongs.
    fn child_of(&mut self, ack: &ArrivingAck) -> &mut Qdisc<P>;

    /// The subqueues within its classes, as many levels as there are.
    fn within(&self) -> Vec<Subqueue>;

    /// All of [`Qdisc::subqueues`] that the last packet was in that was sent.
    fn last_path(&self) -> Vec<usize>;

    /// A copy with all its state.
    fn cloned(&self) -> Box<dyn Parent<P>>;
}

impl<P> Clone for Box<dyn Parent<P>> {
    fn clone(&self) -> Self {
        self.cloned()
    }
}

/// Any discipline.
#[allow(clippy::large_enum_variant, reason = "one for each queue; a box would cost every packet of a FIFO a jump in memory")]
#[derive(Clone, Debug)]
enum AnyDiscipline<P> {
    /// First in, first out.
    Fifo(AqmDiscipline<AnyAqm, Fifo<P>>),
    /// An algorithm with its own queues.
    Own(Box<dyn Discipline<P>>),
    /// A queue of the host.
    Host(Box<HostQueues<P>>),
    /// Classes.
    Classes(Box<dyn Parent<P>>),
}

impl<P: Packet> AnyDiscipline<P> {
    #[inline]
    fn get(&self) -> &dyn Discipline<P> {
        match self {
            AnyDiscipline::Fifo(discipline) => discipline,
            AnyDiscipline::Own(discipline) => &**discipline,
            AnyDiscipline::Host(discipline) => &**discipline,
            AnyDiscipline::Classes(discipline) => &**discipline,
        }
    }

    /// The discipline, for changes.
    #[inline]
    fn get_mut(&mut self) -> &mut dyn Discipline<P> {
        match self {
            AnyDiscipline::Fifo(discipline) => discipline,
            AnyDiscipline::Own(discipline) => &mut **discipline,
            AnyDiscipline::Host(discipline) => &mut **discipline,
            AnyDiscipline::Classes(discipline) => &mut **discipline,
        }
    }
}

#[cfg(test)]
mod tests;
