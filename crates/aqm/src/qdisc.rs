//! The one owner of a queue: it asks the algorithm, applies the verdict and keeps the accounts.

use crate::{AnyAqm, Aqm, Arrival, Backlog, Verdict};
use alloc::collections::VecDeque;
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
    /// The algorithm wanted to signal congestion and the packet could not be marked.
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

/// What becomes of a packet at the door of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decision {
    /// It joins the queue as it is.
    Enqueue,
    /// It joins the queue with a congestion mark.
    EnqueueMarked,
    /// It is dropped.
    Drop(DropReason),
    /// It is dropped, and so is the packet waiting at this position.
    DropBoth(u32),
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
}

impl Admission {
    /// A door with its accounts at zero; `random` is this queue's own stream.
    pub fn new(aqm: AnyAqm, limit: Limit, ecn: bool, random: Stream) -> Self {
        Admission { aqm, limit, ecn, counters: Counters::default(), random }
    }

    /// Decides about an arriving packet; `can_mark` says whether it can carry a congestion mark.
    ///
    /// A packet that finds the queue full is lost whatever the algorithm says, but the algorithm sees
    /// it first (as in ns-2's RED and Linux's sch_red).
    #[inline]
    pub fn admit(&mut self, arrival: &Arrival, can_mark: bool, backlog: &Backlog) -> Decision {
        self.counters.arrived += 1;
        self.counters.arrived_bytes += u64::from(arrival.size);
        let verdict = self.aqm.on_enqueue(arrival, backlog, &mut self.random);
        let full = match self.limit {
            // A packet that finds the link idle goes straight to it.
            _ if backlog.idle_since.is_some() => false,
            Limit::Packets(limit) => backlog.packets >= limit,
            Limit::Bytes(limit) => backlog.bytes + u64::from(arrival.size) > limit,
        };
        if full {
            self.aqm.on_overflow();
            return self.dropped(arrival.size, DropReason::Tail);
        }
        match verdict {
            Verdict::Pass => Decision::Enqueue,
            Verdict::Mark if self.ecn && can_mark => {
                self.counters.marked += 1;
                Decision::EnqueueMarked
            }
            Verdict::Mark => self.dropped(arrival.size, DropReason::Early),
            Verdict::Drop => self.dropped(arrival.size, DropReason::Forced),
            Verdict::DropBoth(position) => {
                self.counters.drop(arrival.size, DropReason::Early);
                Decision::DropBoth(position)
            }
        }
    }

    fn dropped(&mut self, size: u32, reason: DropReason) -> Decision {
        self.counters.drop(size, reason);
        Decision::Drop(reason)
    }

    /// Tells the algorithm of a departure and decides about it: pass (`None`), or drop it for this reason.
    /// `can_mark` says whether it can carry a mark; the flag returned says whether to set it.
    #[inline]
    pub fn release(&mut self, departure: &Arrival, sojourn: Duration, can_mark: bool, backlog: &Backlog) -> Decision {
        match self.aqm.on_dequeue(departure, sojourn, backlog) {
            Verdict::Pass => Decision::Enqueue,
            Verdict::Mark if self.ecn && can_mark => {
                self.counters.marked += 1;
                Decision::EnqueueMarked
            }
            Verdict::Mark => self.dropped(departure.size, DropReason::Early),
            Verdict::Drop | Verdict::DropBoth(_) => self.dropped(departure.size, DropReason::Forced),
        }
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
    waiting: VecDeque<(Time, P)>,
    bytes: u64,
    departed: u64,
    next_update: Time,
}

impl<P: Packet> Qdisc<P> {
    /// An empty queue behind `door`.
    pub fn new(door: Admission) -> Self {
        let next_update = door.aqm.first_update();
        Qdisc { door, waiting: VecDeque::new(), bytes: 0, departed: 0, next_update }
    }

    /// The accounts.
    pub fn counters(&self) -> &Counters {
        &self.door.counters
    }

    /// The algorithm.
    pub fn aqm(&self) -> &AnyAqm {
        &self.door.aqm
    }

    /// Packets waiting.
    pub fn packets(&self) -> u32 {
        self.waiting.len() as u32
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
        Backlog { packets: self.waiting.len() as u32, bytes: self.bytes, idle_since }
    }

    /// Runs the algorithm's timer if it is due.
    pub fn update(&mut self, now: Time, idle_since: Option<Time>) {
        while self.next_update <= now {
            let (due, backlog) = (self.next_update, self.backlog(idle_since));
            self.door.aqm.on_update(due, &backlog);
            self.next_update = self.door.aqm.update_interval().map_or(Time::NEVER, |interval| due + interval);
        }
    }

    /// Offers a packet at `now`; `idle_since` says whether the link is idle. `dropped` is given every
    /// packet lost by this and why.
    pub fn enqueue(&mut self, now: Time, mut packet: P, idle_since: Option<Time>, mut dropped: impl FnMut(P, DropReason)) {
        let arrival = view(now, &packet);
        let backlog = self.backlog(idle_since);
        match self.door.admit(&arrival, packet.can_mark(), &backlog) {
            Decision::Drop(reason) => return dropped(packet, reason),
            Decision::DropBoth(position) => {
                if let Some((_, other)) = self.waiting.remove(position as usize) {
                    self.bytes -= u64::from(other.size());
                    self.door.counters.drop(other.size(), DropReason::Early);
                    dropped(other, DropReason::Early);
                }
                return dropped(packet, DropReason::Early);
            }
            Decision::EnqueueMarked => packet.mark(),
            Decision::Enqueue => {}
        }
        self.bytes += u64::from(arrival.size);
        self.waiting.push_back((now, packet));
    }

    /// The next packet to send at `now` and how long it waited; packets that the algorithm drops at
    /// the head are given to `dropped`.
    pub fn dequeue(&mut self, now: Time, mut dropped: impl FnMut(P, DropReason)) -> Option<(P, Duration)> {
        while let Some((since, mut packet)) = self.waiting.pop_front() {
            self.bytes -= u64::from(packet.size());
            let (departure, sojourn) = (view(now, &packet), now.since(since));
            let backlog = self.backlog(None);
            match self.door.release(&departure, sojourn, packet.can_mark(), &backlog) {
                Decision::Enqueue => {}
                Decision::EnqueueMarked => packet.mark(),
                Decision::Drop(reason) => {
                    dropped(packet, reason);
                    continue;
                }
                Decision::DropBoth(_) => continue,
            }
            self.departed += 1;
            return Some((packet, sojourn));
        }
        None
    }

    /// Whether every packet that arrived has departed, was dropped or still waits.
    pub fn balances(&self) -> bool {
        self.door.counters.arrived == self.departed + self.door.counters.dropped() + self.waiting.len() as u64
    }
}

fn view(now: Time, packet: &impl Packet) -> Arrival {
    Arrival {
        now,
        size: packet.size(),
        flow: packet.flow(),
        rtt_hint_ms: packet.rtt_hint_ms(),
        has_data: packet.has_data(),
    }
}
