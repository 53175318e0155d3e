//! The queues that make up a queue: its classes, or the two of a dual queue. What each of them did.

use super::{Qdisc, Waiting};
use crate::{Packet, Subqueue};

impl<P: Packet> Qdisc<P> {
    /// The queue of each class, or the low-latency and the classic queue of a dual queue; nothing if it has neither.
    pub fn subqueues(&self) -> impl Iterator<Item = Subqueue> {
        let dual = if let Waiting::Dual(queues) = &self.waiting { Some(queues.subqueues()) } else { None };
        let of_class = |class: &Qdisc<P>| Subqueue {
            counters: *class.counters(),
            drops_of_earlier: class.drops_of_earlier(),
            packets: class.packets(),
            bytes: class.bytes(),
            filters_acks: class.filters_acks(),
        };
        let of_dual = |queue: Subqueue| Subqueue { filters_acks: self.filters_acks(), ..queue };
        self.classes().map(of_class).chain(dual.into_iter().flatten().map(of_dual))
    }

    /// Which of [`Qdisc::subqueues`] the last packet that was sent came from, if there are any.
    pub fn last_subqueue(&self) -> Option<usize> {
        match &self.waiting {
            Waiting::Classes(classes) => Some(classes.last()),
            Waiting::Dual(queues) => Some(queues.last()),
            Waiting::Fifo(_) | Waiting::Flows(..) | Waiting::Cake(..) | Waiting::Host(_) => None,
        }
    }
}
