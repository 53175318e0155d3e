//! The controller of a queue: applies the algorithm's verdicts and counts the results.
//! It holds no packets.

use crate::{
    AckFilter, Amount, Aqm, ArrivalVerdict, Backlog, Counters, DepartureVerdict, Drawn, DropReason, Dropped, DualFilter, Fate, HostQueue,
    PacketView,
};
use alloc::boxed::Box;
use alloc::vec::Vec;
use sojourn_units::{Duration, Stream};

/// Decides about the packets of one queue; it holds no packets.
/// It consists of an algorithm, the queue's limit, its ECN switch and its counters.
#[derive(Clone, Debug)]
pub struct ControllerOf<A> {
    /// The algorithm.
    pub aqm: A,
    /// The limit of its queue.
    pub limit: Amount,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// Which waiting ACKs it drops when a newer one arrives.
    pub ack_filter: AckFilter,
    /// The DSCP of each group of flows, for a discipline that classifies by DSCP.
    pub dscps: Vec<u8>,
    /// The filters of a dual queue, which classify packets by other fields than ECN.
    pub filters: Vec<DualFilter>,
    /// The counters since the start.
    pub counters: Counters,
    /// A queue of the host that replaces the algorithm and the limit.
    pub host: Option<Box<dyn HostQueue>>,
    random: Stream,
    sees_departures: bool,
    no_arrivals: bool,
    /// The waiting packet that is dropped with the one that was dropped last.
    drawn: Option<u32>,
}

impl<A: Aqm> ControllerOf<A> {
    /// A controller with zero counters; `random` is this queue's own stream.
    pub fn new(aqm: A, limit: Amount, ecn: bool, random: Stream) -> Self {
        let needs = aqm.needs();
        ControllerOf {
            aqm,
            limit,
            ecn,
            ack_filter: AckFilter::None,
            dscps: Vec::new(),
            filters: Vec::new(),
            counters: Counters::default(),
            host: None,
            random,
            no_arrivals: needs.no_arrivals,
            sees_departures: needs.departures || needs.head_drop,
            drawn: None,
        }
    }

    /// A controller of the same queue under `aqm`, before anything has happened.
    pub fn with<B: Aqm>(&self, aqm: B) -> ControllerOf<B> {
        let (dscps, filters) = (self.dscps.clone(), self.filters.clone());
        ControllerOf { ack_filter: self.ack_filter, dscps, filters, ..ControllerOf::new(aqm, self.limit, self.ecn, self.random.clone()) }
    }

    /// The stream that the algorithm draws from.
    pub(crate) fn stream(&self) -> &Stream {
        &self.random
    }

    /// The stream that the algorithm draws from, to replace it by another run's.
    pub(crate) fn stream_mut(&mut self) -> &mut Stream {
        &mut self.random
    }

    /// Draws from now on as the controller of another run, if it has not drawn yet.
    /// See [`Stream::adopt`].
    #[must_use]
    pub fn adopt_stream(&mut self, start: &Self, other: &Self) -> bool {
        self.random.adopt(&start.random, &other.random)
    }

    /// Decides about an arriving packet; `can_mark` is whether it can carry a congestion mark.
    /// The limit applies to the first of the two backlogs; the algorithm sees the second. `look` returns the flow of the packet that waits
    /// at a position (0 is the head), if one waits there.
    ///
    /// A packet that finds the queue full is lost whatever the algorithm says, but the algorithm sees it first (as in ns-2's RED and
    /// Linux's `sch_red`).
    #[inline(always)]
    pub fn decide_arrival(
        &mut self,
        arrival: &PacketView,
        can_mark: bool,
        [all, seen]: [&Backlog; 2],
        look: impl Fn(u32) -> Option<u32>,
    ) -> Fate {
        self.counters.count_arrival(arrival.size);
        let mut verdict = self.aqm.on_enqueue(arrival, seen, &mut self.random);
        while let ArrivalVerdict::Inspect(position) = verdict {
            let drawn = Some(Drawn { position, flow: look(position) });
            verdict = self.aqm.on_enqueue(&PacketView { drawn, ..*arrival }, seen, &mut self.random);
        }
        // As in Linux's sch_choke, a packet drawn from the queue is dropped even if the arriving one finds the queue full.
        if self.is_full(arrival.size, all) && !matches!(verdict, ArrivalVerdict::DropBoth(_)) {
            return self.drop_for_room(arrival.size);
        }
        self.apply_arrival(verdict, arrival.size, can_mark)
    }

    /// The position of the waiting packet to drop together with the one dropped last.
    #[inline]
    pub fn take_drawn(&mut self) -> Option<u32> {
        self.drawn.take()
    }

    /// Admits an arriving packet if the algorithm passes all packets and there is room.
    /// Otherwise nothing has changed, and [`ControllerOf::decide_arrival`] must be called.
    #[inline]
    pub fn admits_unasked(&mut self, size: u32, backlog: &Backlog) -> bool {
        let admits = self.no_arrivals && self.has_room(size, backlog);
        if admits {
            self.counters.count_arrival(size);
        }
        admits
    }

    /// Counts an arriving packet of `size` bytes as a tail drop, and returns this reason.
    pub fn refuse(&mut self, size: u32) -> DropReason {
        self.counters.count_arrival(size);
        self.counters.count_drop(size, DropReason::Tail);
        DropReason::Tail
    }

    /// Whether there is room for a packet of `size` bytes.
    #[inline]
    pub fn has_room(&self, size: u32, backlog: &Backlog) -> bool {
        !self.is_full(size, backlog)
    }

    /// Decides about a packet that leaves the queue after a wait of `sojourn`.
    /// `backlog` is the queue without it. The algorithm is called only if its [`Needs`](crate::Needs) include departures.
    #[inline]
    pub fn decide_departure(&mut self, departure: &PacketView, sojourn: Duration, can_mark: bool, backlog: &Backlog) -> Fate {
        if !self.sees_departures {
            return Fate::Passed;
        }
        let verdict = self.aqm.on_dequeue(departure, sojourn, backlog, &mut self.random);
        self.apply_departure(verdict, departure.size, can_mark)
    }

    /// Whether there is no room for a packet of `size` bytes.
    /// A packet that finds the link idle is sent immediately and needs no room.
    #[inline]
    fn is_full(&self, size: u32, backlog: &Backlog) -> bool {
        backlog.idle_since.is_none()
            && match self.limit {
                Amount::Packets(limit) => backlog.packets >= limit,
                Amount::Bytes(limit) => backlog.bytes + u64::from(size) > limit,
            }
    }

    /// A packet of `size` bytes is lost because there is no room for it.
    fn drop_for_room(&mut self, size: u32) -> Fate {
        self.aqm.on_drop(Dropped::NoRoom);
        self.lose(size, DropReason::Tail)
    }

    fn lose(&mut self, size: u32, reason: DropReason) -> Fate {
        self.counters.count_drop(size, reason);
        Fate::Dropped(reason)
    }

    fn mark(&mut self) -> Fate {
        self.counters.marked += 1;
        Fate::Marked
    }

    /// Drops a packet of `size` bytes that was signaled but can't be marked.
    fn lose_unmarkable(&mut self, size: u32) -> Fate {
        self.aqm.on_drop(Dropped::Unmarkable);
        self.lose(size, DropReason::Early)
    }

    /// Applies the verdict on an arriving packet of `size` bytes, and counts its fate.
    /// The queue has room for the packet.
    #[inline]
    fn apply_arrival(&mut self, verdict: ArrivalVerdict, size: u32, can_mark: bool) -> Fate {
        match verdict {
            ArrivalVerdict::Signal if self.ecn && can_mark => self.mark(),
            ArrivalVerdict::DropUnlessMarkable if self.ecn && can_mark => Fate::Passed,
            ArrivalVerdict::DropWithoutEcn if self.ecn => Fate::Passed,
            ArrivalVerdict::Pass | ArrivalVerdict::Inspect(_) => Fate::Passed,
            ArrivalVerdict::Signal | ArrivalVerdict::DropUnlessMarkable | ArrivalVerdict::DropWithoutEcn => self.lose_unmarkable(size),
            ArrivalVerdict::Drop => self.lose(size, DropReason::Forced),
            ArrivalVerdict::DropForRoom => self.drop_for_room(size),
            ArrivalVerdict::DropBoth(position) => {
                self.drawn = Some(position);
                self.lose(size, DropReason::Early)
            }
        }
    }

    /// Applies the verdict on a departing packet of `size` bytes, and counts its fate.
    #[inline]
    fn apply_departure(&mut self, verdict: DepartureVerdict, size: u32, can_mark: bool) -> Fate {
        match verdict {
            DepartureVerdict::Signal | DepartureVerdict::MarkOrPass if self.ecn && can_mark => self.mark(),
            DepartureVerdict::Mark if can_mark => self.mark(),
            DepartureVerdict::Pass | DepartureVerdict::MarkOrPass | DepartureVerdict::Mark => Fate::Passed,
            DepartureVerdict::Signal => self.lose_unmarkable(size),
            DepartureVerdict::Drop => self.lose(size, DropReason::Forced),
        }
    }
}
