//! The interface of a discipline: queues, and the order in which their packets are sent.
//!
//! A discipline enqueues, dequeues and reports its [`Contents`]. If an [`Aqm`] decides about its packets one at a time, it consists of
//! [`Queues`], which say how packets join and leave them, and of the algorithm. [`Filled`](super::filled::Filled) does the rest for all of them: the decisions, the
//! limit, the ACK filter and the counters. What a queue has whatever its discipline is its [`Desk`].

use crate::controller::ControllerOf;
use crate::{
    AckFilter, Amount, Aqm, ArrivingAck, Backlog, Counters, DropReason, DualFilter, Fate, Packet, PacketView, Subqueue, SubqueueSample,
};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::fmt::Debug;
use sojourn_units::{Duration, Stream, Time};

/// No limit.
pub(crate) const NO_LIMIT: Amount = Amount::Packets(u32::MAX);

/// Packets that wait, each with the time of its arrival.
pub type Waiting<P> = VecDeque<(Time, P)>;

/// Takes packets that are lost, and why.
pub type Loss<'a, P> = &'a mut dyn FnMut(P, DropReason);

/// A packet that is offered.
#[derive(Debug)]
pub struct Arrival<P> {
    /// When.
    pub now: Time,
    /// The packet.
    pub packet: P,
    /// Since when the link, or the part of it that it finds here, has had nothing to send; `None` if it has.
    pub idle_since: Option<Time>,
    /// Whether the link itself sends nothing.
    pub link_is_idle: bool,
}

/// What the queues of an algorithm are made with.
#[derive(Clone, Debug)]
pub struct Given {
    /// The limit of its queue. A discipline that makes room itself takes it ([`Given::take_limit`]).
    pub limit: Amount,
    /// The DSCP of each group of flows.
    pub dscps: Vec<u8>,
    /// What packets a dual queue knows by other fields than ECN.
    pub filters: Vec<DualFilter>,
}

impl Given {
    pub(crate) fn of<A>(controller: &mut ControllerOf<A>) -> Self {
        let (dscps, filters) = (core::mem::take(&mut controller.dscps), core::mem::take(&mut controller.filters));
        Given { limit: controller.limit, dscps, filters }
    }

    /// The limit, which no arriving packet is then refused for.
    pub fn take_limit(&mut self) -> Amount {
        core::mem::replace(&mut self.limit, NO_LIMIT)
    }
}

/// What queues of an algorithm need from their host.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Layout {
    /// The hashes of flows, which find a queue ([`Contents::set_hash`]).
    pub hashes_flows: bool,
    /// The groups of flows ([`Contents::add_place`]). Filters need them too.
    pub knows_groups: bool,
    /// Filters, which choose among the queues ([`Given::filters`]).
    pub takes_filters: bool,
}

/// An algorithm that fills queues of its own, as its line in the registry says.
pub trait OwnQueues: Aqm + Clone + Debug + Send + Sync + 'static {
    /// What the queues need.
    const LAYOUT: Layout;
    /// The parameters of the algorithm.
    type Params;
    /// The queues.
    type Queues<P: Packet>: Queues<P, Self>;

    /// The queues, empty.
    fn queues<P: Packet>(&self, given: &mut Given) -> Self::Queues<P>;

    /// The names of the subqueues under these parameters, in the order of [`Contents::subqueues`].
    fn names(params: &Self::Params) -> Vec<&'static str> {
        let _ = params;
        Vec::new()
    }
}

/// What waits in the queues of a discipline, and what else a host asks besides its packets.
pub trait Contents<P>: Debug + Send + Sync {
    /// Packets waiting.
    fn packets(&self) -> u32;

    /// Takes out all packets, queue by queue, oldest first in each. They are not counted.
    fn drain(&mut self, take: &mut dyn FnMut(P));

    /// When something may be sent again that is held back now; `None` if nothing is.
    fn ready(&self) -> Option<Time> {
        None
    }

    /// Whether packets may be held back although nothing is being sent.
    fn may_hold_back(&self) -> bool {
        self.ready().is_some()
    }

    /// When the packet arrived that has waited longest, where that is known.
    fn oldest(&self) -> Option<Time> {
        None
    }

    /// The queues that it consists of, which have all of its packets together; nothing if it is one.
    fn subqueues(&self) -> Vec<Subqueue> {
        Vec::new()
    }

    /// The packets and bytes that wait in this one of them.
    fn subqueue_backlog(&self, at: usize) -> (u32, u64) {
        let _ = at;
        (0, 0)
    }

    /// Which of them the last packet that was sent came from.
    fn last_subqueue(&self) -> Option<usize> {
        None
    }

    /// Which of them the last packet joined, where that is known.
    fn last_joined(&self) -> Option<usize> {
        None
    }

    /// The queue that an ACK would wait in, and its number; `None` where there is none to be looked through.
    fn queue_of(&self, ack: &ArrivingAck) -> Option<(u32, &Waiting<P>)> {
        let _ = ack;
        None
    }

    /// Packets of flows of this group come to the link at this place of their route. Called only with [`Layout::knows_groups`] or filters.
    fn add_place(&mut self, place: u32, group: u32) {
        let _ = (place, group);
    }

    /// Sets the hash of a flow, by which it finds its queue. A flow without is found by its number. Called only with
    /// [`Layout::hashes_flows`].
    fn set_hash(&mut self, flow: u32, hash: u64) {
        let _ = (flow, hash);
    }
}

/// Queues about whose packets the algorithm `A` decides one at a time: how packets join and leave them.
pub trait Queues<P: Packet, A>: Contents<P> + Clone + 'static {
    /// Adds a packet that is admitted.
    fn push(&mut self, now: Time, packet: P);

    /// Takes out the next packet, about which the algorithm is then asked.
    fn pop(&mut self, now: Time, desk: &mut Desk, aqm: &mut A) -> Option<Taken<P>>;

    /// Changes what the algorithm sees of an arriving packet and of the backlog, which is that of all queues.
    fn show(&self, packet: &P, view: &mut PacketView, backlog: &mut Backlog) {
        let _ = (packet, view, backlog);
    }

    /// This becomes of an arriving packet. [`Queues::push`] follows if it is not dropped.
    fn arrives(&mut self, packet: &P, fate: Fate) {
        let _ = (packet, fate);
    }

    /// This becomes of a packet that was taken out.
    fn leaves(&mut self, packet: &Leaving, fate: Fate) {
        let _ = (packet, fate);
    }

    /// The packet to be dropped, where `packets` and `bytes` are too many: its queue, its arrival and itself.
    fn make_room(&mut self, packets: u32, bytes: u64) -> Option<(u32, Time, P)> {
        let _ = (packets, bytes);
        None
    }

    /// Takes a packet out of a queue at this position, 0 for the head.
    fn remove(&mut self, queue: u32, at: usize) -> Option<(Time, P)> {
        let _ = (queue, at);
        None
    }

    /// The queue of an arriving packet and its number, if the algorithm may look into it.
    fn looked_into(&self, packet: &P) -> Option<(u32, &Waiting<P>)> {
        let _ = packet;
        None
    }

    /// Tells the algorithm what it must know before its timer expires.
    fn before_update(&self, aqm: &mut A) {
        let _ = aqm;
    }

    /// What waits in each of [`Contents::subqueues`].
    fn samples(&self, aqm: &A) -> Vec<SubqueueSample> {
        let _ = aqm;
        Vec::new()
    }
}

/// A packet that was taken out of its queue.
#[derive(Debug)]
pub struct Taken<P> {
    /// When it arrived.
    pub since: Time,
    /// The packet.
    pub packet: P,
    /// How the algorithm sees it, and what is left behind it.
    pub view: PacketView,
    /// What is left behind it.
    pub backlog: Backlog,
    /// Its queue.
    pub queue: u32,
}

/// A packet that leaves its queue.
#[derive(Clone, Copy, Debug)]
pub struct Leaving {
    /// Its queue.
    pub queue: u32,
    /// Its size in bytes.
    pub size: u32,
    /// When its turn came; `None` if it did not and the packet is dropped for another one's sake.
    pub at: Option<Time>,
    /// Whether it had waited since before the time of [`Qdisc::count_drops_of_earlier`](crate::Qdisc::count_drops_of_earlier).
    pub is_earlier: bool,
}

/// A packet that waits, and that the next arrival makes useless.
#[derive(Clone, Copy, Debug)]
pub struct Useless {
    pub(super) queue: u32,
    pub(super) at: usize,
    pub(super) size: u32,
}

/// What a queue has whatever its discipline: how much waits and has left, the timer, and the ACK filter.
#[derive(Clone, Debug)]
pub struct Desk {
    pub(crate) held: Occupancy,
    pub(crate) departed: u64,
    pub(crate) next_update: Time,
    /// The size of a packet that departs at the instant of the next arrival and still counts for it.
    pub(crate) departure: Option<u32>,
    pub(crate) ack_filter: AckFilter,
    pub(super) useless: Option<Useless>,
    pub(crate) earlier: DropsOfEarlier,
}

impl Desk {
    pub(crate) fn new(next_update: Time, ack_filter: AckFilter) -> Self {
        let earlier = DropsOfEarlier { from: Time::NEVER, count: 0 };
        Desk { held: Occupancy::default(), departed: 0, next_update, departure: None, ack_filter, useless: None, earlier }
    }

    pub(crate) fn backlog(&self, idle_since: Option<Time>) -> Backlog {
        Backlog { packets: self.held.packets, bytes: self.held.bytes, idle_since }
    }

    /// A packet of this size leaves its queue: what is left in all queues.
    #[inline]
    pub fn without(&mut self, size: u32) -> Backlog {
        self.held.take(size);
        self.backlog(None)
    }

    /// Looks for a waiting ACK of this queue that the one which arrives next makes useless.
    pub(crate) fn compare_acks<P: Packet>(
        &mut self,
        (number, queue): (u32, &Waiting<P>),
        ack: &ArrivingAck,
        header: &dyn Fn(&P) -> Option<crate::AckHeader>,
    ) {
        let own = queue.iter().enumerate().filter(|(_, (_, other))| other.flow() == ack.flow);
        let found = self.ack_filter.useless(own.map(|(at, (_, other))| (at, header(other))), &ack.header);
        self.useless = found.map(|at| Useless { queue: number, at, size: queue[at].1.size() });
    }

    /// Whether it has an ACK filter; forgets what that has found.
    pub(crate) fn filters_next_ack(&mut self) -> bool {
        self.useless = None;
        self.ack_filter != AckFilter::None
    }
}

/// A discipline: what a [`Qdisc`](crate::Qdisc) asks. The queue's [`Desk`] is an argument.
pub(crate) trait Discipline<P>: Debug + Send + Sync {
    /// Offers a packet. `lost` gets every packet that is lost meanwhile.
    fn enqueue(&mut self, desk: &mut Desk, arrival: Arrival<P>, lost: Loss<P>);

    /// The next packet to send at `now`, and how long it waited; `None` if none waits or none may be sent yet.
    fn dequeue(&mut self, desk: &mut Desk, now: Time, lost: Loss<P>) -> Option<(P, Duration)>;

    /// Runs the timers that have expired by `now`.
    fn update(&mut self, desk: &mut Desk, now: Time, idle_since: Option<Time>) {
        let _ = (desk, now, idle_since);
    }

    /// What waits.
    fn contents(&self) -> &dyn Contents<P>;

    /// The same, to change it.
    fn contents_mut(&mut self) -> &mut dyn Contents<P>;

    /// The counters.
    fn counters(&self) -> &Counters;

    /// The same, to count wrong.
    #[cfg(test)]
    fn counters_mut(&mut self) -> &mut Counters;

    /// The algorithm, if one decides about all packets.
    fn aqm(&self) -> Option<&dyn Aqm> {
        None
    }

    /// What waits in each of [`Contents::subqueues`].
    fn samples(&self) -> Vec<SubqueueSample> {
        Vec::new()
    }

    /// From `now` on `active` flows are active.
    fn set_flows(&mut self, now: Time, active: u32) {
        let _ = (now, active);
    }

    /// The stream that its algorithm draws from.
    fn stream(&self) -> Option<&Stream> {
        None
    }

    /// The same, to go over to another run's.
    fn stream_mut(&mut self) -> Option<&mut Stream> {
        None
    }

    /// A copy with all its state.
    fn boxed_clone(&self) -> Box<dyn Discipline<P>>;
}

impl<P> Clone for Box<dyn Discipline<P>> {
    fn clone(&self) -> Self {
        self.boxed_clone()
    }
}

/// How much waits, in all queues together.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Occupancy {
    pub packets: u32,
    pub bytes: u64,
}

impl Occupancy {
    #[inline]
    pub fn add(&mut self, size: u32) {
        self.packets += 1;
        self.bytes += u64::from(size);
    }

    #[inline]
    pub fn take(&mut self, size: u32) {
        self.packets -= 1;
        self.bytes -= u64::from(size);
    }
}

/// Drops of packets that arrived before a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DropsOfEarlier {
    pub from: Time,
    pub count: u64,
}

impl DropsOfEarlier {
    /// A packet that has waited since `since` is dropped; gives whether it counts.
    pub fn add(&mut self, since: Time) -> bool {
        let is_earlier = since < self.from;
        self.count += u64::from(is_earlier);
        is_earlier
    }
}
