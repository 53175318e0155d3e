//! The queue of a link, of one of three kinds.
//! It knows every departure at arrival, or most of them, or it holds its packets.

use super::ahead::Ahead;
use super::buffered::Buffered;
use super::precomputed::Precomputed;
use super::transmitter::Transmitter;
use crate::packet::Packet;
use alloc::vec::Vec;
use sojourn_aqm::{Aqm, Backlog, Counters, Subqueue, SubqueueSample};
use sojourn_units::{Duration, Memory, Probability, Time};

/// The kind of queue.
/// It has a byte of its own, not a niche of a `VecDeque`, because it is read several times for each packet.
#[derive(Clone, Debug)]
#[repr(u8)]
pub(super) enum Queue<P> {
    Precomputed(Precomputed),
    Ahead(Ahead<P>),
    Buffered(Buffered<P>),
}

impl<P: Packet> Queue<P> {
    /// See [`sojourn_units::Stream::adopt`].
    pub fn adopt_stream(&mut self, start: &Self, other: &Self) -> bool {
        match (self, start, other) {
            (Queue::Precomputed(here), Queue::Precomputed(start), Queue::Precomputed(other)) => {
                here.controller.adopt_stream(&start.controller, &other.controller)
            }
            (Queue::Ahead(here), Queue::Ahead(start), Queue::Ahead(other)) => {
                here.queue.controller.adopt_stream(&start.queue.controller, &other.queue.controller)
            }
            (Queue::Buffered(here), Queue::Buffered(start), Queue::Buffered(other)) => here.qdisc.adopt_stream(&start.qdisc, &other.qdisc),
            _ => false,
        }
    }

    /// The present probability of a signal, if the algorithm has one.
    pub fn probability(&self) -> Option<Probability> {
        match self {
            Queue::Precomputed(queue) | Queue::Ahead(Ahead { queue, .. }) => queue.controller.aqm.probability(),
            Queue::Buffered(queue) => queue.qdisc.probability(),
        }
    }

    pub fn counters(&self) -> &Counters {
        match self {
            Queue::Precomputed(queue) | Queue::Ahead(Ahead { queue, .. }) => &queue.controller.counters,
            Queue::Buffered(queue) => queue.qdisc.counters(),
        }
    }

    /// The counters of each queue that makes up this one.
    /// See [`Qdisc::subqueues`](sojourn_aqm::Qdisc::subqueues).
    pub fn subqueues(&self) -> Vec<Subqueue> {
        if let Queue::Buffered(queue) = self { queue.qdisc.subqueues() } else { Vec::new() }
    }

    /// The backlog of each of them.
    pub fn samples(&self) -> Vec<SubqueueSample> {
        if let Queue::Buffered(queue) = self { queue.qdisc.samples() } else { Vec::new() }
    }

    /// Packets and bytes that wait.
    pub fn backlog(&self) -> Backlog {
        match self {
            Queue::Precomputed(queue) | Queue::Ahead(Ahead { queue, .. }) => queue.backlog(None, None),
            Queue::Buffered(queue) => Backlog { packets: queue.qdisc.packets(), bytes: queue.qdisc.bytes(), idle_since: None },
        }
    }

    /// The wait of a packet that arrives at `now`, if all waiting packets are sent before it.
    pub fn delay(&self, now: Time, transmitter: &Transmitter) -> Duration {
        let busy = transmitter.free_at.since(now);
        match self {
            Queue::Precomputed(_) => busy, // the transmitter is free when all that wait have been sent
            Queue::Ahead(Ahead { queue, .. }) => {
                let Backlog { packets, bytes, .. } = queue.backlog(None, None);
                transmitter.free_at.min(queue.next_start()).since(now) + transmitter.time_for_more(packets, bytes)
            }
            Queue::Buffered(queue) => busy + transmitter.time_for_more(queue.qdisc.packets(), queue.qdisc.bytes()),
        }
    }

    /// The number of held packets: they wait or are being sent, and have not gone on.
    pub fn held(&self) -> u64 {
        match self {
            Queue::Precomputed(_) => 0,
            Queue::Ahead(queue) => queue.undecided() as u64,
            Queue::Buffered(queue) => queue.packets(),
        }
    }

    /// Packets dropped since the start that had waited since before the window.
    pub fn drops_of_earlier(&self) -> u64 {
        match self {
            Queue::Precomputed(_) => 0,
            Queue::Ahead(queue) => queue.drops_of_earlier,
            Queue::Buffered(queue) => queue.qdisc.drops_of_earlier(),
        }
    }

    /// Whether packets that arrived have gone on, were dropped or are held.
    pub fn balances(&self) -> bool {
        match self {
            Queue::Precomputed(_) => true,
            Queue::Ahead(queue) => queue.balances(),
            Queue::Buffered(queue) => queue.qdisc.balances(),
        }
    }

    pub fn set_flows(&mut self, at: Time, active: u32) {
        match self {
            Queue::Precomputed(queue) | Queue::Ahead(Ahead { queue, .. }) => queue.controller.aqm.on_flows(at, active),
            Queue::Buffered(queue) => queue.qdisc.set_flows(at, active),
        }
    }

    /// Runs the discipline's timer at `due`; returns the time of the next one.
    pub fn run_timer(&mut self, due: Time, transmitter: &Transmitter) -> Time {
        match self {
            Queue::Precomputed(queue) | Queue::Ahead(Ahead { queue, .. }) => {
                let backlog = queue.backlog(None, transmitter.idle_since(due));
                let aqm = &mut queue.controller.aqm;
                aqm.on_update(due, &backlog);
                aqm.update_interval().map_or(Time::NEVER, |interval| due + interval)
            }
            Queue::Buffered(queue) => {
                let idle_since = queue.idle_since(transmitter);
                queue.qdisc.update(due, idle_since);
                queue.qdisc.next_update()
            }
        }
    }

    /// Checks the invariants after each packet, in debug builds.
    pub fn check_invariants(&self) {
        match self {
            Queue::Precomputed(queue) => queue.check_invariants(0),
            Queue::Ahead(queue) => queue.check_invariants(),
            Queue::Buffered(queue) => queue.check_invariants(),
        }
    }
}

impl<P: Packet> Memory for Queue<P> {
    fn memory(&self) -> usize {
        match self {
            Queue::Precomputed(queue) => queue.memory(),
            Queue::Ahead(queue) => queue.memory(),
            Queue::Buffered(queue) => queue.memory(),
        }
    }
}
