//! The queues that make up a queue: its classes, the two of a dual queue, or the tins of CAKE. What each of them did.

use super::{Qdisc, Waiting};
use crate::dual_queue::DualQueues;
use crate::{Aqm, Packet, Subqueue, SubqueueSample};
use sojourn_units::Time;

impl<P: Packet> Waiting<P> {
    /// Packets waiting.
    pub(super) fn packets(&self) -> u32 {
        match self {
            Waiting::Fifo(queue) => queue.len() as u32,
            Waiting::Flows(queues, _) => queues.packets(),
            Waiting::Dual(queues) => queues.packets(),
            Waiting::Cake(queues, _) => queues.packets(),
            Waiting::Host(held) => held.packets(),
            Waiting::Classes(classes) => classes.packets(),
        }
    }

    /// When the packet arrived that has waited longest, in what may be the queue of a class.
    fn oldest(&self) -> Option<Time> {
        match self {
            Waiting::Fifo(queue) => queue.front().map(|&(since, _)| since),
            Waiting::Flows(queues, _) => queues.oldest(),
            Waiting::Dual(queues) => queues.oldest(),
            Waiting::Cake(..) | Waiting::Host(_) | Waiting::Classes(_) => None,
        }
    }
}

impl<P: Packet> Qdisc<P> {
    /// The queue of each class, or the low-latency and the classic queue of a dual queue, or the tins of CAKE; nothing if it has none of these.
    /// Behind the classes come the queues of those that are dual.
    pub fn subqueues(&self) -> impl Iterator<Item = Subqueue> {
        self.first_subqueues().chain(self.classes().flat_map(Qdisc::of_discipline))
    }

    /// Those of them that have all packets of the queue together.
    pub(super) fn first_subqueues(&self) -> impl Iterator<Item = Subqueue> {
        let of_class = |class: &Qdisc<P>| Subqueue {
            counters: *class.counters(),
            drops_of_earlier: class.drops_of_earlier(),
            packets: class.packets(),
            bytes: class.bytes(),
            filters_acks: class.filters_acks(),
        };
        self.classes().map(of_class).chain(self.of_discipline())
    }

    /// The queues that its discipline has: two of a dual queue, or tins.
    fn of_discipline(&self) -> impl Iterator<Item = Subqueue> {
        let dual = if let Waiting::Dual(queues) = &self.waiting { Some(queues.subqueues()) } else { None };
        let tins = if let Waiting::Cake(queues, _) = &self.waiting { Some(queues.subqueues()) } else { None };
        let parts = dual.into_iter().flatten().chain(tins.into_iter().flatten());
        parts.map(|queue| Subqueue { filters_acks: self.filters_acks(), ..queue })
    }

    /// What waits in each of [`Qdisc::subqueues`], in their order.
    pub fn samples(&self) -> impl Iterator<Item = SubqueueSample> {
        let of_class = |class: &Qdisc<P>| SubqueueSample {
            packets: class.packets(),
            bytes: class.bytes(),
            oldest: class.waiting.oldest(),
            probability: class.aqm().probability(),
        };
        self.classes().map(of_class).chain(self.samples_of_discipline()).chain(self.classes().flat_map(Qdisc::samples_of_discipline))
    }

    fn samples_of_discipline(&self) -> impl Iterator<Item = SubqueueSample> {
        let of_dual = |queues: &DualQueues<P>| {
            let probabilities = [self.aqm().low_latency_probability(), self.aqm().probability()];
            let sample = |at: usize| {
                let (packets, bytes) = queues.backlog(at);
                SubqueueSample { packets, bytes, oldest: queues.heads()[at], probability: probabilities[at] }
            };
            [0, 1].map(sample)
        };
        let dual = if let Waiting::Dual(queues) = &self.waiting { Some(of_dual(queues)) } else { None };
        let tins = if let Waiting::Cake(queues, _) = &self.waiting { Some(queues.samples()) } else { None };
        dual.into_iter().flatten().chain(tins.into_iter().flatten())
    }

    /// The packets and bytes that wait in this one of [`Qdisc::subqueues`].
    #[inline(always)]
    pub fn subqueue_backlog(&self, at: usize) -> (u32, u64) {
        if let Waiting::Dual(queues) = &self.waiting { queues.backlog(at) } else { self.class_backlog(at) }
    }

    /// The same of a class or a tin.
    #[inline(never)]
    fn class_backlog(&self, at: usize) -> (u32, u64) {
        match &self.waiting {
            Waiting::Classes(classes) => classes.backlog(at),
            Waiting::Cake(queues, _) => queues.tin_backlog(at),
            Waiting::Fifo(_) | Waiting::Flows(..) | Waiting::Dual(_) | Waiting::Host(_) => (self.packets(), self.bytes()),
        }
    }

    /// Which of [`Qdisc::subqueues`] the last packet that was sent came from, if there are any: where there are classes, its class.
    #[inline(always)]
    pub fn last_subqueue(&self) -> Option<usize> {
        if let Waiting::Dual(queues) = &self.waiting { Some(queues.last()) } else { self.last_class() }
    }

    /// The same of a class or a tin.
    #[inline(never)]
    fn last_class(&self) -> Option<usize> {
        match &self.waiting {
            Waiting::Classes(classes) => Some(classes.last()),
            Waiting::Cake(queues, _) => queues.last(),
            Waiting::Fifo(_) | Waiting::Flows(..) | Waiting::Dual(_) | Waiting::Host(_) => None,
        }
    }

    /// Which of [`Qdisc::subqueues`] the last packet went to that joined the queue, where that is known.
    #[inline]
    pub fn last_joined(&self) -> Option<usize> {
        if let Waiting::Dual(queues) = &self.waiting { Some(queues.last_joined()) } else { None }
    }

    /// Whether it has classes.
    #[inline]
    pub fn has_classes(&self) -> bool {
        matches!(self.waiting, Waiting::Classes(_))
    }

    /// Which of them the last packet that was sent came from within its class, if that has a dual queue.
    pub fn last_within_class(&self) -> Option<usize> {
        if let Waiting::Classes(classes) = &self.waiting { classes.last_within() } else { None }
    }
}
