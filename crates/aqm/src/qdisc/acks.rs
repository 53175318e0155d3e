//! A queue with an ACK filter.

use super::{Qdisc, Waiting};
use crate::counters::Fate;
use crate::{AckFilter, AckHeader, ArrivingAck, DropReason, DualClass, Packet};
use alloc::collections::VecDeque;
use sojourn_units::Time;

/// A waiting ACK that the next arrival makes useless.
#[derive(Clone, Copy, Debug)]
pub(super) struct Useless {
    /// Its queue, as [`Waiting::queue_of`] numbers them.
    queue: u32,
    /// Its place there.
    at: usize,
    /// Its size in bytes.
    pub size: u32,
}

impl<P: Packet> Waiting<P> {
    /// The queue that an ACK would wait in, and its number; `None` where it is not held here.
    fn queue_of(&self, ack: &ArrivingAck) -> Option<(u32, &VecDeque<(Time, P)>)> {
        match self {
            Waiting::Fifo(queue) => Some((0, queue)),
            Waiting::Flows(queues, _) => Some(queues.queue_of(ack.flow)),
            Waiting::Dual(queues) => {
                let is_l4s = queues.class_of(ack.place, ack.ecn) != DualClass::Classic;
                Some((u32::from(is_l4s), queues.waiting(is_l4s)))
            }
            Waiting::Cake(queues, _) => queues.queue_of(ack.flow, ack.place),
            Waiting::Host(_) | Waiting::Classes(_) => None,
        }
    }

    /// Takes a packet out of a queue.
    fn remove(&mut self, queue: u32, at: usize) -> Option<(Time, P)> {
        match self {
            Waiting::Fifo(queue) => queue.remove(at),
            Waiting::Flows(queues, _) => queues.remove(queue, at),
            Waiting::Dual(queues) => queues.remove(queue == 1, at),
            Waiting::Cake(queues, _) => queues.remove(queue, at),
            Waiting::Host(_) | Waiting::Classes(_) => None,
        }
    }
}

impl<P: Packet> Qdisc<P> {
    /// Whether it has an ACK filter, or a class of it has.
    pub fn filters_acks(&self) -> bool {
        self.controller.ack_filter != AckFilter::None || self.classes().any(Qdisc::filters_acks)
    }

    /// Looks for a waiting ACK that the one which is offered next makes useless, for a queue with an ACK filter. `header` reads the headers
    /// of packets.
    pub fn compare_acks(&mut self, ack: &ArrivingAck, header: &dyn Fn(&P) -> Option<AckHeader>) {
        if let Waiting::Classes(classes) = &mut self.waiting {
            return classes.queue_of(ack).compare_acks(ack, header);
        }
        self.useless = None;
        let filter = self.controller.ack_filter;
        let Some((number, queue)) = self.waiting.queue_of(ack).filter(|_| filter != AckFilter::None) else { return };
        let own = queue.iter().enumerate().filter(|(_, (_, other))| other.flow() == ack.flow);
        let found = filter.useless(own.map(|(at, (_, other))| (at, header(other))), &ack.header);
        self.useless = found.map(|at| Useless { queue: number, at, size: queue[at].1.size() });
    }

    /// Drops a waiting ACK that is useless.
    #[cold]
    pub(super) fn drop_useless(&mut self, useless: Useless, dropped: &mut impl FnMut(P, DropReason)) {
        if let Some((since, ack)) = self.waiting.remove(useless.queue, useless.at) {
            self.earlier.add(since);
            self.held.take(ack.size());
            let is_earlier = since < self.earlier.from;
            match &mut self.waiting {
                Waiting::Dual(queues) => queues.count_drop(useless.queue == 1, ack.size(), DropReason::AckFilter, is_earlier),
                Waiting::Cake(queues, _) => queues.count(useless.queue, ack.size(), Fate::Dropped(DropReason::AckFilter), is_earlier),
                Waiting::Fifo(_) | Waiting::Flows(..) | Waiting::Host(_) | Waiting::Classes(_) => {}
            }
            self.controller.counters.count_drop(ack.size(), DropReason::AckFilter);
            dropped(ack, DropReason::AckFilter);
        }
    }
}
