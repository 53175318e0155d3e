//! The queues that make up a queue: its classes, the two of a dual queue, or the tins of CAKE. What each of them did.

use super::{Qdisc, Waiting};
use crate::{Packet, Subqueue};

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
}

impl<P: Packet> Qdisc<P> {
    /// The queue of each class, or the low-latency and the classic queue of a dual queue, or the tins of CAKE; nothing if it has none of these.
    pub fn subqueues(&self) -> impl Iterator<Item = Subqueue> {
        let dual = if let Waiting::Dual(queues) = &self.waiting { Some(queues.subqueues()) } else { None };
        let tins = if let Waiting::Cake(queues, _) = &self.waiting { Some(queues.subqueues()) } else { None };
        let of_class = |class: &Qdisc<P>| Subqueue {
            counters: *class.counters(),
            drops_of_earlier: class.drops_of_earlier(),
            packets: class.packets(),
            bytes: class.bytes(),
            filters_acks: class.filters_acks(),
        };
        let of_part = |queue: Subqueue| Subqueue { filters_acks: self.filters_acks(), ..queue };
        let parts = dual.into_iter().flatten().chain(tins.into_iter().flatten());
        self.classes().map(of_class).chain(parts.map(of_part))
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

    /// Which of [`Qdisc::subqueues`] the last packet that was sent came from, if there are any.
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
}
