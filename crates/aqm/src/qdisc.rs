//! The one owner of a queue: it asks the algorithm, applies the verdict and keeps the accounts.

use crate::scheduler::FlowQueues;
use crate::{AnyAqm, Aqm, Arrival, Backlog, Verdict};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use core::mem::replace;
use sojourn_units::{Duration, Stream, Time};

/// How much may wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// So many packets, not counting the one being sent.
    Packets(u32),
    /// So many bytes, not counting the packet being sent; a packet that would pass it is dropped.
    Bytes(u64),
}

/// Why a packet was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DropReason {
    /// The algorithm wanted to signal congestion and the queue or the packet does not do ECN.
    Early,
    /// The algorithm would have dropped it even if it could be marked.
    Forced,
    /// The queue was full.
    Tail,
}

/// What happened to packets at one queue since the start.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// Packets offered.
    pub arrived: u64,
    /// Bytes offered.
    pub arrived_bytes: u64,
    /// Packets marked with CE.
    pub marked: u64,
    /// Packets dropped to signal congestion.
    pub dropped_early: u64,
    /// Packets dropped by force of the algorithm.
    pub dropped_forced: u64,
    /// Packets dropped because the queue was full.
    pub dropped_tail: u64,
    /// Bytes dropped for any reason.
    pub dropped_bytes: u64,
}

impl Counters {
    /// Packets dropped for any reason.
    pub fn dropped(&self) -> u64 {
        self.dropped_early + self.dropped_forced + self.dropped_tail
    }

    fn drop(&mut self, size: u32, reason: DropReason) {
        self.dropped_bytes += u64::from(size);
        match reason {
            DropReason::Early => self.dropped_early += 1,
            DropReason::Forced => self.dropped_forced += 1,
            DropReason::Tail => self.dropped_tail += 1,
        }
    }
}

/// What becomes of a packet: on its way into a queue ([`Admission::admit`]) or out of it ([`Admission::release`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decision {
    /// It goes on as it is.
    Enqueue,
    /// It goes on with a congestion mark.
    EnqueueMarked,
    /// It is dropped.
    Drop(DropReason),
    /// It is dropped, and so is the packet waiting at this position.
    DropBoth(u32),
    /// The algorithm wants to see the packet waiting at this position before it decides ([`Admission::show`]).
    Look(u32),
}

/// The door of a queue: algorithm, limit, ECN and counters, without the packets.
#[derive(Clone, Debug)]
pub struct Admission {
    /// The algorithm.
    pub aqm: AnyAqm,
    /// What may wait.
    pub limit: Limit,
    /// Whether packets that can carry a mark are marked instead of dropped.
    pub ecn: bool,
    /// The accounts.
    pub counters: Counters,
    random: Stream,
    sees_departures: bool,
}

impl Admission {
    /// A door with its accounts at zero; `random` is this queue's own stream.
    pub fn new(aqm: AnyAqm, limit: Limit, ecn: bool, random: Stream) -> Self {
        let needs = aqm.needs();
        Admission { aqm, limit, ecn, counters: Counters::default(), random, sees_departures: needs.departures || needs.head_drop }
    }

    /// Decides about an arriving packet; `can_mark` says whether it can carry a congestion mark.
    ///
    /// A packet that finds the queue full is lost whatever the algorithm says, but the algorithm sees
    /// it first (as in ns-2's RED and Linux's sch_red).
    #[inline(always)]
    pub fn admit(&mut self, arrival: &Arrival, can_mark: bool, backlog: &Backlog) -> Decision {
        self.counters.arrived += 1;
        self.counters.arrived_bytes += u64::from(arrival.size);
        let verdict = self.aqm.on_enqueue(arrival, backlog, &mut self.random);
        self.settle(verdict, arrival, can_mark, backlog)
    }

    /// Decides about a packet of `size` bytes without asking the algorithm: for one that passes everything. Whether the
    /// packet goes on.
    #[inline]
    pub fn admit_unseen(&mut self, size: u32, backlog: &Backlog) -> bool {
        self.counters.arrived += 1;
        self.counters.arrived_bytes += u64::from(size);
        let full = self.is_full(size, backlog);
        if full {
            self.counters.drop(size, DropReason::Tail);
        }
        !full
    }

    /// Whether there is no room for a packet of `size` bytes. One that finds the link idle goes straight to it.
    #[inline]
    fn is_full(&self, size: u32, backlog: &Backlog) -> bool {
        backlog.idle_since.is_none()
            && match self.limit {
                Limit::Packets(limit) => backlog.packets >= limit,
                Limit::Bytes(limit) => backlog.bytes + u64::from(size) > limit,
            }
    }

    /// Shows the algorithm a waiting packet that it asked for, and decides about the arriving one.
    pub fn show(&mut self, arrival: &Arrival, shown: Option<&Arrival>, can_mark: bool, backlog: &Backlog) -> Decision {
        let verdict = self.aqm.on_look(arrival, shown, backlog, &mut self.random);
        self.settle(verdict, arrival, can_mark, backlog)
    }

    #[inline]
    fn settle(&mut self, verdict: Verdict, arrival: &Arrival, can_mark: bool, backlog: &Backlog) -> Decision {
        // As in Linux's sch_choke, a packet drawn from the queue goes even when the arriving one finds it full.
        if self.is_full(arrival.size, backlog) && !matches!(verdict, Verdict::DropBoth(_) | Verdict::Look(_)) {
            self.aqm.on_overflow();
            return self.dropped(arrival.size, DropReason::Tail);
        }
        self.apply(verdict, arrival.size, can_mark)
    }

    /// Decides about a packet that leaves the queue after waiting `sojourn`; `backlog` is what stays behind.
    /// An algorithm whose [`Needs`](crate::Needs) don't ask for departures is not asked.
    #[inline]
    pub fn release(&mut self, departure: &Arrival, sojourn: Duration, can_mark: bool, backlog: &Backlog) -> Decision {
        if !self.sees_departures {
            return Decision::Enqueue;
        }
        let verdict = self.aqm.on_dequeue(departure, sojourn, backlog, &mut self.random);
        self.apply(verdict, departure.size, can_mark)
    }

    /// The algorithm's verdict on a packet of `size` bytes, with ECN or without, entered in the accounts.
    fn apply(&mut self, verdict: Verdict, size: u32, can_mark: bool) -> Decision {
        match verdict {
            Verdict::Mark | Verdict::MarkOrPass if self.ecn && can_mark => {
                self.counters.marked += 1;
                Decision::EnqueueMarked
            }
            Verdict::PassOrDrop if self.ecn && can_mark => Decision::Enqueue,
            Verdict::Pass | Verdict::MarkOrPass => Decision::Enqueue,
            Verdict::Mark | Verdict::PassOrDrop => {
                self.aqm.on_unmarkable();
                self.dropped(size, DropReason::Early)
            }
            Verdict::Drop => self.dropped(size, DropReason::Forced),
            Verdict::Look(position) => Decision::Look(position),
            Verdict::DropBoth(position) => {
                self.counters.drop(size, DropReason::Early);
                Decision::DropBoth(position)
            }
        }
    }

    fn dropped(&mut self, size: u32, reason: DropReason) -> Decision {
        self.counters.drop(size, reason);
        Decision::Drop(reason)
    }
}

/// A packet as a queue must know it.
pub trait Packet {
    /// Size on the wire in bytes.
    fn size(&self) -> u32;
    /// The flow it belongs to.
    fn flow(&self) -> u32;
    /// Whether it can carry a congestion mark (ECT).
    fn can_mark(&self) -> bool;
    /// Sets the congestion mark (CE).
    fn mark(&mut self);
    /// The sender's smoothed RTT in milliseconds, 0 if it says nothing.
    fn rtt_hint_ms(&self) -> u16 {
        0
    }
    /// Whether it carries payload.
    fn has_data(&self) -> bool {
        true
    }
}

/// A queue that keeps its packets: the simulator's where departures can't be foretold, a router's with real bytes.
#[derive(Clone, Debug)]
pub struct Qdisc<P> {
    door: Admission,
    waiting: Waiting<P>,
    bytes: u64,
    departed: u64,
    next_update: Time,
    /// The size of a packet that counts for the next one offered.
    beside: Option<u32>,
}

/// The packets that wait, in the order of their service.
#[derive(Clone, Debug)]
enum Waiting<P> {
    /// First in, first out.
    One(VecDeque<(Time, P)>),
    /// A queue for each flow, and what may wait in all of them together.
    Flows(Box<FlowQueues<P>>, Limit),
}

/// The shortest interval of a timer, so that even a plug-in that asks for none gets on.
const TICK: Duration = Duration::from_nanos(1);

impl<P: Packet> Qdisc<P> {
    /// An empty queue behind `door`.
    pub fn new(mut door: Admission) -> Self {
        let next_update = door.aqm.first_update();
        let waiting = match door.aqm.needs().flow_queues {
            None => Waiting::One(VecDeque::new()),
            // The arriving packet is never the one to go: room is made at the longest queue.
            Some(queuing) => Waiting::Flows(Box::new(FlowQueues::new(queuing)), replace(&mut door.limit, Limit::Packets(u32::MAX))),
        };
        Qdisc { door, waiting, bytes: 0, departed: 0, next_update, beside: None }
    }

    /// The accounts.
    pub fn counters(&self) -> &Counters {
        &self.door.counters
    }

    /// The algorithm.
    pub fn aqm(&self) -> &AnyAqm {
        &self.door.aqm
    }

    /// Tells the algorithm that from `now` on so many flows are active.
    pub fn set_flows(&mut self, now: Time, active: u32) {
        self.door.aqm.on_flows(now, active);
    }

    /// Packets waiting.
    pub fn packets(&self) -> u32 {
        match &self.waiting {
            Waiting::One(queue) => queue.len() as u32,
            Waiting::Flows(queues, _) => queues.packets(),
        }
    }

    /// Bytes waiting.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// When the algorithm's timer is due next.
    pub fn next_update(&self) -> Time {
        self.next_update
    }

    fn backlog(&self, idle_since: Option<Time>) -> Backlog {
        Backlog { packets: self.packets(), bytes: self.bytes, idle_since }
    }

    /// Runs the algorithm's timer if it is due. A host calls this at [`Qdisc::next_update`], before anything else
    /// that happens at that time: a timer that is run late sees the queue as it is now.
    pub fn update(&mut self, now: Time, idle_since: Option<Time>) {
        while self.next_update <= now {
            let (due, backlog) = (self.next_update, self.backlog(idle_since));
            self.door.aqm.on_update(due, &backlog);
            self.next_update = self.door.aqm.update_interval().map_or(Time::NEVER, |interval| due + interval.max(TICK));
        }
    }

    /// Lets the next packet offered find one of this size more, which leaves the queue at that same instant: for a host that
    /// knows which of the two came first.
    pub fn count_in(&mut self, beside: Option<u32>) {
        self.beside = beside;
    }

    /// Offers a packet at `now`; `idle_since` says whether the link is idle. `dropped` is given every
    /// packet lost by this and why.
    pub fn enqueue(&mut self, now: Time, mut packet: P, idle_since: Option<Time>, mut dropped: impl FnMut(P, DropReason)) {
        let arrival = view(now, &packet);
        let beside = self.beside.take();
        let backlog = beside.map_or(self.backlog(idle_since), |size| self.backlog(idle_since).and(size));
        let mut decision = self.door.admit(&arrival, packet.can_mark(), &backlog);
        while let Decision::Look(position) = decision {
            let shown = match &self.waiting {
                Waiting::One(queue) => queue.get(position as usize).map(|(since, other)| view(*since, other)),
                Waiting::Flows(..) => None,
            };
            decision = self.door.show(&arrival, shown.as_ref(), packet.can_mark(), &backlog);
        }
        match decision {
            Decision::Drop(reason) => return dropped(packet, reason),
            Decision::DropBoth(position) => {
                self.drop_waiting(position, &mut dropped);
                return dropped(packet, DropReason::Early);
            }
            Decision::EnqueueMarked => packet.mark(),
            Decision::Enqueue | Decision::Look(_) => {}
        }
        self.bytes += u64::from(arrival.size);
        match &mut self.waiting {
            Waiting::One(queue) => queue.push_back((now, packet)),
            Waiting::Flows(queues, _) => queues.push(now, packet),
        }
        // A packet that finds the link idle goes straight to it.
        if idle_since.is_none() {
            self.make_room(beside, &mut dropped);
        }
    }

    /// Drops from the head of the longest queue as long as all of them together hold too much (rfc8290#4.1.3).
    /// `beside` is one that leaves at this instant and still counts.
    fn make_room(&mut self, beside: Option<u32>, dropped: &mut impl FnMut(P, DropReason)) {
        let Waiting::Flows(queues, limit) = &mut self.waiting else { return };
        let (one, more) = (u32::from(beside.is_some()), u64::from(beside.unwrap_or(0)));
        let over = |packets: u32, bytes: u64| match *limit {
            Limit::Packets(limit) => packets > limit,
            Limit::Bytes(limit) => bytes > limit,
        };
        while over(queues.packets() + one, self.bytes + more) {
            let Some(packet) = queues.drop_longest() else { return };
            self.bytes -= u64::from(packet.size());
            self.door.counters.drop(packet.size(), DropReason::Tail);
            self.door.aqm.on_overflow();
            dropped(packet, DropReason::Tail);
        }
    }

    /// The next packet to send at `now` and how long it waited; packets that the algorithm drops at
    /// the head are given to `dropped`.
    pub fn dequeue(&mut self, now: Time, mut dropped: impl FnMut(P, DropReason)) -> Option<(P, Duration)> {
        loop {
            let (since, mut packet, backlog, queue) = match &mut self.waiting {
                Waiting::One(queue) => {
                    let (since, packet) = queue.pop_front()?;
                    self.bytes -= u64::from(packet.size());
                    (since, packet, Backlog { packets: queue.len() as u32, bytes: self.bytes, idle_since: None }, 0)
                }
                Waiting::Flows(queues, _) => {
                    let (queue, since, packet) = queues.pop()?;
                    self.bytes -= u64::from(packet.size());
                    let (packets, bytes) = queues.backlog(queue);
                    (since, packet, Backlog { packets, bytes, idle_since: None }, queue)
                }
            };
            let (departure, sojourn) = (view(now, &packet), now.since(since));
            match self.door.release(&departure, sojourn, packet.can_mark(), &backlog) {
                Decision::Enqueue | Decision::Look(_) => {}
                Decision::EnqueueMarked => packet.mark(),
                Decision::Drop(reason) => {
                    dropped(packet, reason);
                    continue;
                }
                Decision::DropBoth(position) => {
                    dropped(packet, DropReason::Early);
                    self.drop_waiting(position, &mut dropped);
                    continue;
                }
            }
            if let Waiting::Flows(queues, _) = &mut self.waiting {
                queues.charge(queue, departure.size);
            }
            self.departed += 1;
            return Some((packet, sojourn));
        }
    }

    /// Drops the packet that waits at `position`, if there is one.
    fn drop_waiting(&mut self, position: u32, dropped: &mut impl FnMut(P, DropReason)) {
        let Waiting::One(queue) = &mut self.waiting else { return };
        if let Some((_, other)) = queue.remove(position as usize) {
            self.bytes -= u64::from(other.size());
            self.door.counters.drop(other.size(), DropReason::Early);
            dropped(other, DropReason::Early);
        }
    }

    /// Whether every packet that arrived has departed, was dropped or still waits.
    pub fn balances(&self) -> bool {
        self.door.counters.arrived == self.departed + self.door.counters.dropped() + u64::from(self.packets())
    }
}

fn view(now: Time, packet: &impl Packet) -> Arrival {
    Arrival { now, size: packet.size(), flow: packet.flow(), rtt_hint_ms: packet.rtt_hint_ms(), has_data: packet.has_data() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Needs;
    use std::vec::Vec;

    /// Answers from a script: one verdict for each arrival, one for each departure.
    #[derive(Clone)]
    struct Scripted {
        arrivals: Vec<Verdict>,
        departures: Vec<Verdict>,
        needs: Needs,
    }

    impl Aqm for Scripted {
        fn on_enqueue(&mut self, _: &Arrival, _: &Backlog, _: &mut Stream) -> Verdict {
            if self.arrivals.is_empty() { Verdict::Pass } else { self.arrivals.remove(0) }
        }
        fn on_dequeue(&mut self, _: &Arrival, _: Duration, _: &Backlog, _: &mut Stream) -> Verdict {
            if self.departures.is_empty() { Verdict::Pass } else { self.departures.remove(0) }
        }
        fn update_interval(&self) -> Option<Duration> {
            Some(Duration::ZERO)
        }
        fn needs(&self) -> Needs {
            self.needs
        }
    }

    #[derive(Clone, PartialEq, Debug)]
    struct Parcel {
        id: u32,
        ect: bool,
        ce: bool,
    }

    impl Packet for Parcel {
        fn size(&self) -> u32 {
            100 + self.id
        }
        fn flow(&self) -> u32 {
            0
        }
        fn can_mark(&self) -> bool {
            self.ect
        }
        fn mark(&mut self) {
            self.ce = true;
        }
    }

    const HEAD_DROP: Needs =
        Needs { departures: true, head_drop: true, waiting_packets: false, rtt_hints: false, flow_count: false, flow_queues: None };

    fn queue(arrivals: &[Verdict], departures: &[Verdict], needs: Needs, limit: Limit, ecn: bool) -> Qdisc<Parcel> {
        let scripted = Scripted { arrivals: arrivals.to_vec(), departures: departures.to_vec(), needs };
        Qdisc::new(Admission::new(AnyAqm::Custom(Box::new(scripted)), limit, ecn, Stream::named(1, "qdisc")))
    }

    /// Offers packets 0..n to a busy link and returns what was lost.
    fn offer(queue: &mut Qdisc<Parcel>, n: u32, ect: bool) -> Vec<(u32, DropReason)> {
        let mut lost = Vec::new();
        for id in 0..n {
            queue.enqueue(Time::ZERO, Parcel { id, ect, ce: false }, None, |p, reason| lost.push((p.id, reason)));
        }
        lost
    }

    #[test]
    fn a_mark_becomes_an_early_drop_where_ecn_is_off_or_the_packet_cannot_carry_it() {
        for (ecn, ect) in [(false, true), (true, false), (false, false)] {
            let mut q = queue(&[Verdict::Mark], &[], Needs::default(), Limit::Packets(9), ecn);
            assert_eq!(offer(&mut q, 2, ect), [(0, DropReason::Early)]);
            assert_eq!((q.counters().marked, q.packets(), q.bytes()), (0, 1, 101));
        }
        let mut q = queue(&[Verdict::Mark], &[], Needs::default(), Limit::Packets(9), true);
        assert_eq!(offer(&mut q, 2, true), []);
        assert_eq!(q.counters().marked, 1);
        assert!(q.dequeue(Time::ZERO, |_, _| ()).unwrap().0.ce);
    }

    #[test]
    fn what_is_left_to_its_departure_is_marked_there_or_dropped_on_arrival() {
        for (ecn, ect, lost, marked) in [(true, true, 0, 1), (true, false, 1, 0), (false, true, 1, 0)] {
            let verdicts = ([Verdict::PassOrDrop, Verdict::Pass], [Verdict::MarkOrPass]);
            let mut q = queue(&verdicts.0, &verdicts.1, HEAD_DROP, Limit::Packets(9), ecn);
            assert_eq!(offer(&mut q, 2, ect).len(), lost);
            q.dequeue(Time::ZERO, |_, _| panic!("dropped at the head")).unwrap();
            assert_eq!(q.counters().marked, marked);
            assert!(q.balances());
        }
    }

    #[test]
    fn a_full_queue_drops_at_the_tail_whatever_the_verdict_but_keeps_a_draw_from_the_queue() {
        let verdicts = [Verdict::Pass, Verdict::Pass, Verdict::Mark, Verdict::Pass, Verdict::DropBoth(0)];
        let mut q = queue(&verdicts, &[], Needs::default(), Limit::Packets(2), true);
        let lost = offer(&mut q, 5, true);
        assert_eq!(lost, [(2, DropReason::Tail), (3, DropReason::Tail), (0, DropReason::Early), (4, DropReason::Early)]);
        assert_eq!(q.counters().marked, 0);
        assert!(q.balances());
    }

    #[test]
    fn a_limit_in_bytes_refuses_the_packet_that_would_pass_it() {
        let mut q = queue(&[], &[], Needs::default(), Limit::Bytes(303), false);
        assert_eq!(offer(&mut q, 5, false), [(3, DropReason::Tail), (4, DropReason::Tail)]);
        assert_eq!(q.bytes(), 303);
        assert_eq!(q.counters().dropped_bytes, 103 + 104);
    }

    #[test]
    fn a_packet_that_finds_the_link_idle_is_taken_whatever_the_limit() {
        let mut q = queue(&[], &[], Needs::default(), Limit::Bytes(0), false);
        q.enqueue(Time::ZERO, Parcel { id: 0, ect: false, ce: false }, Some(Time::ZERO), |_, _| panic!("dropped"));
        assert!(q.dequeue(Time::ZERO, |_, _| ()).is_some());
    }

    #[test]
    fn verdicts_at_the_head_mark_drop_and_drop_another() {
        let verdicts = [Verdict::Drop, Verdict::DropBoth(1), Verdict::Mark];
        let mut q = queue(&[], &verdicts, HEAD_DROP, Limit::Packets(9), true);
        offer(&mut q, 6, true);
        let mut lost = Vec::new();
        let (packet, _) = q.dequeue(Time::ZERO, |p, reason| lost.push((p.id, reason))).unwrap();
        assert_eq!(lost, [(0, DropReason::Forced), (1, DropReason::Early), (3, DropReason::Early)]);
        assert_eq!(packet, Parcel { id: 2, ect: true, ce: true });
        assert_eq!((q.packets(), q.bytes()), (2, 104 + 105));
        assert!(q.balances());
    }

    #[test]
    fn a_position_that_nobody_has_harms_nobody() {
        let mut q = queue(&[Verdict::DropBoth(7)], &[Verdict::DropBoth(u32::MAX)], HEAD_DROP, Limit::Packets(9), true);
        assert_eq!(offer(&mut q, 2, true), [(0, DropReason::Early)]);
        assert!(q.dequeue(Time::ZERO, |_, _| ()).is_none());
        assert_eq!(q.counters().dropped_early, 2);
        assert!(q.balances());
    }

    #[test]
    fn an_algorithm_that_does_not_ask_for_departures_is_not_asked_about_them() {
        let mut q = queue(&[], &[Verdict::Drop], Needs::default(), Limit::Packets(9), true);
        offer(&mut q, 1, true);
        assert!(q.dequeue(Time::ZERO, |_, _| panic!("dropped")).is_some());
    }

    #[test]
    fn a_timer_without_an_interval_still_gets_on() {
        let mut q = queue(&[], &[], Needs::default(), Limit::Packets(9), true);
        q.update(Time::from_nanos(3), None);
        assert_eq!(q.next_update(), Time::from_nanos(4));
    }
}
