//! The queue of a link: one that knows every departure at arrival, or one that holds its packets.

use super::Link;
use super::buffered::Buffered;
use super::precomputed::Precomputed;
use super::tie_break::LastDeparture;
use super::transmitter::Transmitter;
use crate::packet::Packet;
use sojourn_aqm::{AnyAqm, Aqm, Backlog, Counters, Subqueue};
use sojourn_units::{Duration, Time};

#[derive(Clone, Debug)]
pub(super) enum Queue<P> {
    Precomputed(Precomputed),
    Buffered(Buffered<P>),
}

impl<P: Packet> Queue<P> {
    #[inline]
    pub fn last_departure(&self) -> LastDeparture {
        match self {
            Queue::Precomputed(queue) => queue.last_departure,
            Queue::Buffered(queue) => queue.last_departure,
        }
    }

    /// See [`sojourn_units::Stream::go_over`].
    pub fn go_over(&mut self, start: &Self, other: &Self) -> bool {
        match (self, start, other) {
            (Queue::Precomputed(here), Queue::Precomputed(start), Queue::Precomputed(other)) => {
                here.controller.go_over(&start.controller, &other.controller)
            }
            (Queue::Buffered(here), Queue::Buffered(start), Queue::Buffered(other)) => here.qdisc.go_over(&start.qdisc, &other.qdisc),
            _ => false,
        }
    }

    pub fn aqm(&self) -> &AnyAqm {
        match self {
            Queue::Precomputed(queue) => &queue.controller.aqm,
            Queue::Buffered(queue) => queue.qdisc.aqm(),
        }
    }

    pub fn counters(&self) -> &Counters {
        match self {
            Queue::Precomputed(queue) => &queue.controller.counters,
            Queue::Buffered(queue) => queue.qdisc.counters(),
        }
    }

    /// What each class did, or each of the two queues of a dual queue; nothing if there are neither.
    pub fn subqueues(&self) -> impl Iterator<Item = Subqueue> {
        let qdisc = if let Queue::Buffered(queue) = self { Some(&queue.qdisc) } else { None };
        qdisc.into_iter().flat_map(|qdisc| qdisc.subqueues())
    }

    /// Packets and bytes that wait.
    pub fn backlog(&self) -> Backlog {
        match self {
            Queue::Precomputed(queue) => queue.backlog(None, None),
            Queue::Buffered(queue) => Backlog { packets: queue.qdisc.packets(), bytes: queue.qdisc.bytes(), idle_since: None },
        }
    }

    /// How long a packet that arrives at `now` would wait, if all that wait are sent before it.
    pub fn delay(&self, now: Time, transmitter: &Transmitter) -> Duration {
        let busy = transmitter.free_at.since(now);
        match self {
            Queue::Precomputed(_) => busy, // the transmitter is free when all that wait have been sent
            Queue::Buffered(queue) => busy + transmitter.time_for_more(queue.qdisc.packets(), queue.qdisc.bytes()),
        }
    }

    pub fn set_flows(&mut self, at: Time, active: u32) {
        match self {
            Queue::Precomputed(queue) => queue.controller.aqm.on_flows(at, active),
            Queue::Buffered(queue) => queue.qdisc.set_flows(at, active),
        }
    }

    /// Runs the discipline's timer at `due`; gives when it is due next.
    pub fn run_timer(&mut self, due: Time, transmitter: &Transmitter) -> Time {
        match self {
            Queue::Precomputed(queue) => {
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
}

impl<P: Packet> Link<P> {
    /// Draws from now on as this link does in another run, if it has not drawn yet: see [`sojourn_units::Stream::go_over`].
    pub(crate) fn go_over(&mut self, start: &Self, other: &Self) -> bool {
        self.queue.go_over(&start.queue, &other.queue)
    }
}
