//! The controller of a queue: it asks the algorithm, applies the verdict and counts. It holds no packets.

use crate::algorithms::drop_tail::DropTail;
use crate::counters::Fate;
use crate::{
    AckFilter, Amount, AnyAqm, Aqm, ArrivalVerdict, Backlog, Counters, DepartureVerdict, DropReason, DualFilter, HostQueue, PacketView,
};
use alloc::boxed::Box;
use alloc::vec::Vec;
use sojourn_units::{Duration, Stream};

/// No limit.
pub(crate) const NO_LIMIT: Amount = Amount::Packets(u32::MAX);

/// What happens to an arriving packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArrivalDecision {
    /// It enters the queue as it is.
    Enqueue,
    /// It enters the queue with a congestion mark.
    EnqueueMarked,
    /// It is dropped.
    Drop(DropReason),
    /// It is dropped, and so is the packet that waits at this position (0 is the head).
    DropBoth(u32),
    /// The algorithm wants to see the packet that waits at this position first: call [`QueueController::inspect`].
    Inspect(u32),
}

impl ArrivalDecision {
    /// What becomes of the arriving packet.
    pub(crate) fn fate(self) -> Fate {
        match self {
            ArrivalDecision::Enqueue | ArrivalDecision::Inspect(_) => Fate::Passed,
            ArrivalDecision::EnqueueMarked => Fate::Marked,
            ArrivalDecision::Drop(reason) => Fate::Dropped(reason),
            ArrivalDecision::DropBoth(_) => Fate::Dropped(DropReason::Early),
        }
    }
}

/// What happens to a departing packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DepartureDecision {
    /// It is sent as it is.
    Send,
    /// It is sent with a congestion mark.
    SendMarked,
    /// It is dropped.
    Drop(DropReason),
}

impl DepartureDecision {
    /// What becomes of the packet.
    pub(crate) fn fate(self) -> Fate {
        match self {
            DepartureDecision::Send => Fate::Passed,
            DepartureDecision::SendMarked => Fate::Marked,
            DepartureDecision::Drop(reason) => Fate::Dropped(reason),
        }
    }
}

/// Decides about the packets of one queue: an algorithm with the queue's limit, its ECN switch and its counters. It holds
/// no packets.
#[derive(Clone, Debug)]
pub struct QueueController {
    /// The algorithm.
    pub aqm: AnyAqm,
    /// How much may wait.
    pub limit: Amount,
    /// Whether packets that can carry a mark are marked instead of dropped.
    pub ecn: bool,
    /// Which waiting ACKs it drops when a newer one arrives.
    pub ack_filter: AckFilter,
    /// The DSCP of each group of flows, for a discipline that goes by it.
    pub dscps: Vec<u8>,
    /// What packets a dual queue knows by other fields than ECN.
    pub filters: Vec<DualFilter>,
    /// What happened so far.
    pub counters: Counters,
    /// A queue of the host that takes the place of the algorithm and the limit.
    pub host: Option<Box<dyn HostQueue>>,
    random: Stream,
    sees_departures: bool,
    passes_arrivals: bool,
}

impl QueueController {
    /// A controller that has counted nothing yet; `random` is this queue's own stream.
    pub fn new(aqm: AnyAqm, limit: Amount, ecn: bool, random: Stream) -> Self {
        let needs = aqm.needs();
        QueueController {
            passes_arrivals: aqm.passes_arrivals(),
            aqm,
            limit,
            ecn,
            ack_filter: AckFilter::None,
            dscps: Vec::new(),
            filters: Vec::new(),
            counters: Counters::default(),
            host: None,
            random,
            sees_departures: needs.departures || needs.head_drop,
        }
    }

    /// A controller that passes everything and counts it.
    pub fn passing() -> Self {
        QueueController::new(AnyAqm::DropTail(DropTail), NO_LIMIT, false, Stream::named(0, ""))
    }

    /// Draws from now on as the controller of another run, if it has not drawn yet: see [`Stream::go_over`].
    #[must_use]
    pub fn go_over(&mut self, start: &Self, other: &Self) -> bool {
        self.random.go_over(&start.random, &other.random)
    }

    /// Decides about an arriving packet; `can_mark` says whether it can carry a congestion mark.
    ///
    /// A packet that finds the queue full is lost whatever the algorithm says, but the algorithm sees
    /// it first (as in ns-2's RED and Linux's `sch_red`).
    #[inline(always)]
    pub fn decide_arrival(&mut self, arrival: &PacketView, can_mark: bool, backlog: &Backlog) -> ArrivalDecision {
        self.counters.count_arrival(arrival.size);
        let verdict = self.aqm.on_enqueue(arrival, backlog, &mut self.random);
        self.apply_arrival(verdict, arrival, can_mark, backlog)
    }

    /// Admits an arriving packet of `size` bytes if the algorithm passes all and there is room. If it does not, nothing has happened, and
    /// [`QueueController::decide_arrival`] is to be called.
    #[inline]
    pub fn admits_unasked(&mut self, size: u32, backlog: &Backlog) -> bool {
        let admits = self.passes_arrivals && self.has_room(size, backlog);
        if admits {
            self.counters.count_arrival(size);
        }
        admits
    }

    /// Admits an arriving packet of `size` bytes if there is room, without asking the algorithm. For an algorithm that
    /// passes every packet. Returns whether the packet enters the queue.
    #[inline]
    pub fn admit_if_room(&mut self, size: u32, backlog: &Backlog) -> bool {
        self.counters.count_arrival(size);
        let full = self.is_full(size, backlog);
        if full {
            self.counters.count_drop(size, DropReason::Tail);
        }
        !full
    }

    /// Whether there is room for a packet of `size` bytes.
    #[inline]
    pub fn has_room(&self, size: u32, backlog: &Backlog) -> bool {
        !self.is_full(size, backlog)
    }

    /// Shows the algorithm the waiting packet that it asked for ([`ArrivalDecision::Inspect`]), and decides about the
    /// arriving one.
    pub fn inspect(&mut self, arrival: &PacketView, waiting: Option<&PacketView>, can_mark: bool, backlog: &Backlog) -> ArrivalDecision {
        let verdict = self.aqm.on_inspect(arrival, waiting, backlog, &mut self.random);
        self.apply_arrival(verdict, arrival, can_mark, backlog)
    }

    /// Decides about a packet that leaves the queue after a wait of `sojourn`; `backlog` is the queue without it.
    /// The algorithm is asked only if its [`Needs`](crate::Needs) include departures.
    #[inline]
    pub fn decide_departure(&mut self, departure: &PacketView, sojourn: Duration, can_mark: bool, backlog: &Backlog) -> DepartureDecision {
        if !self.sees_departures {
            return DepartureDecision::Send;
        }
        let verdict = self.aqm.on_dequeue(departure, sojourn, backlog, &mut self.random);
        self.apply_departure(verdict, departure.size, can_mark)
    }

    /// See [`Aqm::passes_ahead`].
    #[inline]
    pub fn passes_ahead(&mut self, departure: &PacketView, sojourn: Duration, behind: u64) -> bool {
        self.aqm.passes_ahead(departure, sojourn, behind)
    }

    /// Whether there is no room for a packet of `size` bytes. A packet that finds the link idle goes straight to it.
    #[inline]
    fn is_full(&self, size: u32, backlog: &Backlog) -> bool {
        backlog.idle_since.is_none()
            && match self.limit {
                Amount::Packets(limit) => backlog.packets >= limit,
                Amount::Bytes(limit) => backlog.bytes + u64::from(size) > limit,
            }
    }

    #[inline]
    fn apply_arrival(&mut self, verdict: ArrivalVerdict, arrival: &PacketView, can_mark: bool, backlog: &Backlog) -> ArrivalDecision {
        // As in Linux's sch_choke, a packet drawn from the queue is dropped even if the arriving one finds the queue full.
        if self.is_full(arrival.size, backlog) && !matches!(verdict, ArrivalVerdict::DropBoth(_) | ArrivalVerdict::Inspect(_)) {
            return self.drop_for_room(arrival.size);
        }
        self.apply_arrival_with_room(verdict, arrival.size, can_mark)
    }

    /// A packet of `size` bytes is lost because there is no room for it.
    fn drop_for_room(&mut self, size: u32) -> ArrivalDecision {
        self.aqm.on_overflow();
        self.counters.count_drop(size, DropReason::Tail);
        ArrivalDecision::Drop(DropReason::Tail)
    }

    /// Turns the verdict on a packet of `size` bytes into a decision and counts it.
    #[inline]
    fn apply_arrival_with_room(&mut self, verdict: ArrivalVerdict, size: u32, can_mark: bool) -> ArrivalDecision {
        match verdict {
            ArrivalVerdict::Signal if self.ecn && can_mark => {
                self.counters.marked += 1;
                ArrivalDecision::EnqueueMarked
            }
            ArrivalVerdict::DropUnlessMarkable if self.ecn && can_mark => ArrivalDecision::Enqueue,
            ArrivalVerdict::DropWithoutEcn if self.ecn => ArrivalDecision::Enqueue,
            ArrivalVerdict::Pass => ArrivalDecision::Enqueue,
            ArrivalVerdict::Signal | ArrivalVerdict::DropUnlessMarkable | ArrivalVerdict::DropWithoutEcn => {
                self.aqm.on_unmarkable();
                self.counters.count_drop(size, DropReason::Early);
                ArrivalDecision::Drop(DropReason::Early)
            }
            ArrivalVerdict::Drop => {
                self.counters.count_drop(size, DropReason::Forced);
                ArrivalDecision::Drop(DropReason::Forced)
            }
            ArrivalVerdict::DropForRoom => self.drop_for_room(size),
            ArrivalVerdict::Inspect(position) => ArrivalDecision::Inspect(position),
            ArrivalVerdict::DropBoth(position) => {
                self.counters.count_drop(size, DropReason::Early);
                ArrivalDecision::DropBoth(position)
            }
        }
    }

    /// Turns the verdict on a packet of `size` bytes into a decision and counts it.
    #[inline]
    fn apply_departure(&mut self, verdict: DepartureVerdict, size: u32, can_mark: bool) -> DepartureDecision {
        match verdict {
            DepartureVerdict::Signal | DepartureVerdict::MarkOrPass if self.ecn && can_mark => {
                self.counters.marked += 1;
                DepartureDecision::SendMarked
            }
            DepartureVerdict::Mark if can_mark => {
                self.counters.marked += 1;
                DepartureDecision::SendMarked
            }
            DepartureVerdict::Pass | DepartureVerdict::MarkOrPass | DepartureVerdict::Mark => DepartureDecision::Send,
            DepartureVerdict::Signal => {
                self.aqm.on_unmarkable();
                self.counters.count_drop(size, DropReason::Early);
                DepartureDecision::Drop(DropReason::Early)
            }
            DepartureVerdict::Drop => {
                self.counters.count_drop(size, DropReason::Forced);
                DepartureDecision::Drop(DropReason::Forced)
            }
        }
    }
}
