//! Links whose queues have classes, a queue for scalable senders, filter ACKs, or hold back what they have: what each class or queue measured.

use super::Link;
use super::buffered::Start;
use super::config::LinkStats;
use super::meter::{Service, difference};
use super::queue::Queue;
use crate::observer::LinkObserver;
use crate::packet::Packet;
use crate::stats::{Quantiles, QueueStats, Sums};
use crate::window::Window;
use alloc::vec::Vec;
use sojourn_aqm::{ArrivingAck, Counters, HostDecision, Qdisc, Subqueue};
use sojourn_units::Time;

/// What a class of a link, or one of the queues of a dual queue, measured within the window of statistics.
#[derive(Clone, Default, Debug)]
pub struct SubqueueStats {
    /// The counters of its queue within the window.
    pub counters: Counters,
    /// Packets that its queue dropped within the window and that had arrived before it.
    pub drops_of_earlier: u64,
    /// Its queue over time.
    pub queue: QueueStats,
    /// Waits of its packets that arrived and started to be sent in the window, in seconds.
    pub wait: Sums,
    /// Their distribution.
    pub waits: Quantiles,
    /// Packets whose transmission ended in the window, and their bytes.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Whether it has an ACK filter.
    pub filters_acks: bool,
    at_opening: Subqueue,
}

impl SubqueueStats {
    pub(super) fn new(queue: &Subqueue) -> Self {
        SubqueueStats { filters_acks: queue.filters_acks, ..SubqueueStats::default() }
    }

    /// Accounts for a packet that is sent; `all` says whether the distribution of waits is measured too.
    #[inline]
    pub(super) fn account(&mut self, service: &Service, window: Window, all: bool) {
        let &Service { arrived, start, end, size } = service;
        if arrived >= window.from && start < window.until {
            let wait = start.since(arrived);
            self.wait.add(wait.as_secs_f64());
            if all {
                self.waits.add(wait.as_nanos());
            }
        }
        if end >= window.from && end < window.until {
            self.sent += 1;
            self.sent_bytes += u64::from(size);
        }
    }
}

impl LinkStats {
    /// The window opens: subqueues forget what was before.
    pub(super) fn open_subqueues(&mut self, now: Time, done: &[Subqueue]) {
        for (stats, done) in self.subqueues.iter_mut().zip(done) {
            stats.queue.restart(now);
            stats.at_opening = *done;
        }
    }

    /// The end of the run.
    pub(super) fn finish_subqueues(&mut self, end: Time, done: &[Subqueue]) {
        for (stats, done) in self.subqueues.iter_mut().zip(done) {
            stats.queue.finish(end);
            stats.counters = difference(&done.counters, &stats.at_opening.counters);
            stats.drops_of_earlier = done.drops_of_earlier - stats.at_opening.drops_of_earlier;
        }
    }

    /// The subqueues may have changed at `now`.
    #[inline(never)]
    pub(super) fn set_subqueues<P: sojourn_aqm::Packet>(&mut self, now: Time, qdisc: &Qdisc<P>) {
        (0..self.subqueues.len()).for_each(|at| self.set_subqueue(at, now, qdisc));
    }

    /// This subqueue may have changed at `now`.
    #[inline(always)]
    pub(super) fn set_subqueue<P: sojourn_aqm::Packet>(&mut self, at: usize, now: Time, qdisc: &Qdisc<P>) {
        let (queue, (packets, bytes)) = (&mut self.subqueues[at].queue, qdisc.subqueue_backlog(at));
        if !queue.holds(packets.into(), bytes) {
            queue.set(now, packets.into(), bytes);
        }
    }
}

impl<P: Packet> Link<P> {
    /// Whether its queue goes by the groups of flows.
    pub(crate) fn knows_groups(&self) -> bool {
        matches!(&self.queue, Queue::Buffered(queue) if queue.qdisc.knows_groups())
    }

    /// Whether it has an ACK filter.
    #[inline]
    pub fn filters_acks(&self) -> bool {
        self.filters_acks
    }

    /// Looks for a waiting ACK that the packet which is offered next at this place of its route makes useless.
    #[cold]
    pub(crate) fn compare_acks(&mut self, place: u32, packet: &P, observer: &impl LinkObserver<P>) {
        if let (Queue::Buffered(queue), Some(header)) = (&mut self.queue, observer.ack_header(packet)) {
            let ack = ArrivingAck { flow: packet.flow(), place, ecn: packet.ecn(), header };
            queue.qdisc.compare_acks(&ack, &|waiting| observer.ack_header(&waiting.packet));
        }
    }

    /// Whether its queue or its router goes by the hashes of flows.
    pub(crate) fn hashes_flows(&self) -> bool {
        self.updates.router.is_some() || matches!(&self.queue, Queue::Buffered(queue) if queue.qdisc.hashes_flows())
    }

    /// Sets the hash of a flow.
    pub(crate) fn set_hash(&mut self, flow: u32, hash: u64) {
        if let Some(router) = &mut self.updates.router {
            router.set_hash(flow, hash);
        }
        if let Queue::Buffered(queue) = &mut self.queue {
            queue.qdisc.set_hash(flow, hash);
        }
    }

    /// Packets of flows of this group come to it at this place of their route.
    pub(crate) fn add_place(&mut self, place: u32, group: u32) {
        if let Queue::Buffered(queue) = &mut self.queue {
            queue.qdisc.add_place(place, group);
        }
    }

    /// The queue has something to send after it held it back: gives the end of the transmission if the link is idle.
    pub(crate) fn wake(&mut self, now: Time) -> Option<Time> {
        self.advance(now);
        let Queue::Buffered(queue) = &mut self.queue else { return None };
        queue.idle_since(&self.transmitter)?;
        queue.start_next(now, Start::Idle, &mut self.transmitter, &mut self.meter)
    }

    /// What the host decided about packets in its queue since this was asked last, in order.
    pub fn take_host_decisions(&mut self) -> Vec<HostDecision> {
        if let Queue::Buffered(queue) = &mut self.queue { queue.qdisc.take_host_decisions() } else { Vec::new() }
    }
}
