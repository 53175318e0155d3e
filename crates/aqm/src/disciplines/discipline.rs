//! The interface of a discipline: queues, and the order in which their packets are sent.
//!
//! A discipline enqueues, dequeues and reports its [`Contents`]. If an [`Aqm`] decides about its packets one at a time, it consists of
//! [`Queues`], which define how packets join and leave them, and of the algorithm. [`AqmDiscipline`](super::aqm::AqmDiscipline) adds the rest for all
//! of them: the decisions, the limit, the ACK filter and the counters. [`QueueState`] is the state that every discipline shares.

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

/// Waiting packets, each with the time of its arrival.
pub type Waiting<P> = VecDeque<(Time, P)>;

/// Receives lost packets, each with the reason.
pub type Loss<'a, P> = &'a mut dyn FnMut(P, DropReason);

/// A packet that arrives at a queue.
#[derive(Debug)]
pub struct Arrival<P> {
    /// The time of the arrival.
    pub now: Time,
    /// The packet.
    pub packet: P,
    /// The time since which the packet's part of the link has been idle; `None` if it is busy.
    pub idle_since: Option<Time>,
    /// Whether the link itself is idle.
    pub link_is_idle: bool,
}

/// The configuration from which the queues of an algorithm are built.
#[derive(Clone, Debug)]
pub struct QueueSetup {
    /// The limit of its queue.
    /// A discipline that drops waiting packets for room takes it over ([`QueueSetup::take_limit`]).
    pub limit: Amount,
    /// The DSCP of each group of flows.
    pub dscps: Vec<u8>,
    /// The filters of a dual queue, which classify packets by other fields than ECN.
    pub filters: Vec<DualFilter>,
}

impl QueueSetup {
    pub(crate) fn of<A>(controller: &mut ControllerOf<A>) -> Self {
        let (dscps, filters) = (core::mem::take(&mut controller.dscps), core::mem::take(&mut controller.filters));
        QueueSetup { limit: controller.limit, dscps, filters }
    }

    /// Takes over the limit; arriving packets are then never refused for it.
    pub fn take_limit(&mut self) -> Amount {
        core::mem::replace(&mut self.limit, NO_LIMIT)
    }
}

/// What queues of an algorithm need from their host.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Layout {
    /// Hashes of flows, which select a queue ([`Contents::set_hash`]).
    pub hashes_flows: bool,
    /// The groups of flows ([`Contents::add_place`]). Filters need them too.
    pub knows_groups: bool,
    /// Filters, which choose among the queues ([`QueueSetup::filters`]).
    pub takes_filters: bool,
}

/// An algorithm with its own queues, as declared by its line in the registry.
pub trait OwnQueues: Aqm + Clone + Debug + Send + Sync + 'static {
    /// What the queues need.
    const LAYOUT: Layout;
    /// The parameters of the algorithm.
    type Params;
    /// The queues.
    type Queues<P: Packet>: Queues<P, Self>;

    /// Empty queues.
    fn queues<P: Packet>(&self, setup: &mut QueueSetup) -> Self::Queues<P>;

    /// The names of the subqueues, in the order of [`Contents::subqueues`].
    fn names(params: &Self::Params) -> Vec<&'static str> {
        let _ = params;
        Vec::new()
    }
}

/// The waiting packets of a discipline, and the other properties that a host reads.
pub trait Contents<P>: Debug + Send + Sync {
    /// Packets waiting.
    fn packets(&self) -> u32;

    /// Removes all packets, queue by queue, oldest first in each. They are not counted.
    fn drain(&mut self, take: &mut dyn FnMut(P));

    /// The time at which a packet that is held back may be sent; `None` if none is held back.
    fn ready(&self) -> Option<Time> {
        None
    }

    /// Whether packets may be held back although the link is idle.
    fn may_hold_back(&self) -> bool {
        self.ready().is_some()
    }

    /// Whether it can ever hold packets back although the link is idle.
    fn shapes(&self) -> bool {
        false
    }

    /// The arrival time of the packet that has waited longest, if it is known.
    fn oldest(&self) -> Option<Time> {
        None
    }

    /// The queues that make up this one and hold all of its packets; empty for a single queue.
    fn subqueues(&self) -> Vec<Subqueue> {
        Vec::new()
    }

    /// The packets and bytes that wait in one of the subqueues.
    fn subqueue_backlog(&self, at: usize) -> (u32, u64) {
        let _ = at;
        (0, 0)
    }

    /// The subqueue of the last packet that was sent.
    fn last_subqueue(&self) -> Option<usize> {
        None
    }

    /// The subqueue that the last packet joined, if it is known.
    fn last_joined(&self) -> Option<usize> {
        None
    }

    /// The queue that an ACK would join, and its number.
    /// `None` if it cannot be searched for ACKs.
    fn queue_of(&self, ack: &ArrivingAck) -> Option<(u32, &Waiting<P>)> {
        let _ = ack;
        None
    }

    /// Registers a position on a route at which packets of this group arrive at the link.
    /// Called only with [`Layout::knows_groups`] or filters.
    fn add_place(&mut self, place: u32, group: u32) {
        let _ = (place, group);
    }

    /// Sets the hash of a flow, which selects its queue.
    /// A flow without a hash is hashed by its number. Called only with [`Layout::hashes_flows`].
    fn set_hash(&mut self, flow: u32, hash: u64) {
        let _ = (flow, hash);
    }
}

/// How packets join and leave the queues under the algorithm `A`.
/// The algorithm decides about one packet at a time.
pub trait Queues<P: Packet, A>: Contents<P> + Clone + 'static {
    /// Enqueues an admitted packet.
    fn push(&mut self, now: Time, packet: P);

    /// Removes the next packet, about which the algorithm then decides.
    fn pop(&mut self, now: Time, state: &mut QueueState, aqm: &mut A) -> Option<RemovedPacket<P>>;

    /// Adapts the algorithm's view of an arriving packet and of the backlog.
    /// The backlog is at first that of all queues.
    fn show(&self, packet: &P, view: &mut PacketView, backlog: &mut Backlog) {
        let _ = (packet, view, backlog);
    }

    /// Reports the fate of an arriving packet. [`Queues::push`] follows if it is not dropped.
    fn arrives(&mut self, packet: &P, fate: Fate) {
        let _ = (packet, fate);
    }

    /// Reports the fate of a packet that was removed.
    fn leaves(&mut self, packet: &Departure, fate: Fate) {
        let _ = (packet, fate);
    }

    /// The packet to drop if `packets` and `bytes` exceed the limit.
    /// Returns its queue, its arrival time and the packet.
    fn make_room(&mut self, packets: u32, bytes: u64) -> Option<(u32, Time, P)> {
        let _ = (packets, bytes);
        None
    }

    /// Removes the packet at this position of a queue, 0 for the head.
    fn remove(&mut self, queue: u32, at: usize) -> Option<(Time, P)> {
        let _ = (queue, at);
        None
    }

    /// The queue of an arriving packet and its number, if the algorithm may inspect it.
    fn looked_into(&self, packet: &P) -> Option<(u32, &Waiting<P>)> {
        let _ = packet;
        None
    }

    /// Reports the backlogs to the algorithm before its timer expires.
    fn before_update(&self, aqm: &mut A) {
        let _ = aqm;
    }

    /// The backlog of each of [`Contents::subqueues`].
    fn samples(&self, aqm: &A) -> Vec<SubqueueSample> {
        let _ = aqm;
        Vec::new()
    }
}

/// A packet that was removed from its queue.
#[derive(Debug)]
pub struct RemovedPacket<P> {
    /// The time of its arrival.
    pub since: Time,
    /// The packet.
    pub packet: P,
    /// The algorithm's view of it.
    pub view: PacketView,
    /// The backlog behind it.
    pub backlog: Backlog,
    /// Its queue.
    pub queue: u32,
}

/// A packet that leaves its queue.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// Its queue.
    pub queue: u32,
    /// Its size in bytes.
    pub size: u32,
    /// The time of its turn; `None` if it is dropped before its turn, for room or as an ACK.
    pub at: Option<Time>,
    /// Whether it had waited since before a set time.
    /// [`Qdisc::count_drops_of_earlier`](crate::Qdisc::count_drops_of_earlier) sets it.
    pub is_earlier: bool,
}

/// The place of a waiting packet that is dropped before its turn.
#[derive(Clone, Copy, Debug)]
pub struct WaitingPacket {
    pub(super) queue: u32,
    pub(super) at: usize,
    pub(super) size: u32,
}

/// The state of a queue under any discipline: backlog, departures, timer and ACK filter.
#[derive(Clone, Debug)]
pub struct QueueState {
    pub(crate) held: Occupancy,
    pub(crate) departed: u64,
    pub(crate) next_update: Time,
    /// The size of a packet that departs at the instant of the next arrival.
    /// The arrival still finds it in the queue.
    pub(crate) departure: Option<u32>,
    pub(crate) ack_filter: AckFilter,
    pub(super) redundant_ack: Option<WaitingPacket>,
    pub(crate) earlier: DropsOfEarlier,
    /// Packets that were marked.
    pub(crate) marked: u64,
    /// The subqueue that the last packet joined or left, if it is known.
    pub(crate) changed: Option<ChangedSubqueue>,
}

/// A subqueue after a packet joined or left it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChangedSubqueue {
    /// Its index in [`Qdisc::subqueues`](crate::Qdisc::subqueues).
    pub at: usize,
    /// The packets that wait in it.
    pub packets: u32,
    /// Their bytes.
    pub bytes: u64,
}

impl QueueState {
    pub(crate) fn new(next_update: Time, ack_filter: AckFilter) -> Self {
        let earlier = DropsOfEarlier { from: Time::NEVER, count: 0 };
        QueueState {
            held: Occupancy::default(),
            departed: 0,
            next_update,
            departure: None,
            ack_filter,
            redundant_ack: None,
            earlier,
            marked: 0,
            changed: None,
        }
    }

    pub(crate) fn backlog(&self, idle_since: Option<Time>) -> Backlog {
        Backlog { packets: self.held.packets, bytes: self.held.bytes, idle_since }
    }

    /// Removes a packet of this size from the backlog, and returns the backlog of all queues.
    #[inline]
    pub fn without(&mut self, size: u32) -> Backlog {
        self.held.take(size);
        self.backlog(None)
    }

    /// Searches this queue for a waiting ACK that the next arrival makes redundant.
    pub(crate) fn compare_acks<P: Packet>(
        &mut self,
        (number, queue): (u32, &Waiting<P>),
        ack: &ArrivingAck,
        header: &dyn Fn(&P) -> Option<crate::AckHeader>,
    ) {
        let own = queue.iter().enumerate().filter(|(_, (_, other))| other.flow() == ack.flow);
        let found = self.ack_filter.redundant(own.map(|(at, (_, other))| (at, header(other))), &ack.header);
        self.redundant_ack = found.map(|at| WaitingPacket { queue: number, at, size: queue[at].1.size() });
    }

    /// Whether it has an ACK filter. Discards the result of the last search.
    pub(crate) fn filters_next_ack(&mut self) -> bool {
        self.redundant_ack = None;
        self.ack_filter != AckFilter::None
    }
}

/// A discipline as [`Qdisc`](crate::Qdisc) uses it.
/// The queue's [`QueueState`] is an argument.
pub(crate) trait Discipline<P>: Debug + Send + Sync {
    /// Offers a packet. `lost` receives every packet that is lost by this call.
    fn enqueue(&mut self, state: &mut QueueState, arrival: Arrival<P>, lost: Loss<P>);

    /// The next packet to send at `now`, and its sojourn time.
    /// `None` if no packet waits or none may be sent yet.
    fn dequeue(&mut self, state: &mut QueueState, now: Time, lost: Loss<P>) -> Option<(P, Duration)>;

    /// Runs the timers that have expired by `now`.
    fn update(&mut self, state: &mut QueueState, now: Time, idle_since: Option<Time>) {
        let _ = (state, now, idle_since);
    }

    /// The waiting packets.
    fn contents(&self) -> &dyn Contents<P>;

    /// The waiting packets, for changes.
    fn contents_mut(&mut self) -> &mut dyn Contents<P>;

    /// The counters.
    fn counters(&self) -> &Counters;

    /// The counters, for tests that make them wrong.
    #[cfg(test)]
    fn counters_mut(&mut self) -> &mut Counters;

    /// The algorithm, if a single one decides about all packets.
    fn aqm(&self) -> Option<&dyn Aqm> {
        None
    }

    /// The backlog of each of [`Contents::subqueues`].
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

    /// The stream that its algorithm draws from, to replace it by another run's.
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

/// The backlog of all queues together.
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
    /// Counts the drop of a packet that has waited since `since`, if that is before the set time.
    /// Returns whether it is.
    pub fn add(&mut self, since: Time) -> bool {
        let is_earlier = since < self.from;
        self.count += u64::from(is_earlier);
        is_earlier
    }
}
