//! A queue is emptied at once, whatever its discipline and its shaper say.

use super::{Qdisc, Waiting};
use crate::Packet;

impl<P: Packet> Qdisc<P> {
    /// Ends the queue and calls `take` with every packet that waits: queue by queue, oldest first in each. The packets are not counted. The
    /// discipline is not asked, so a shaper or a `ceil` holds nothing back. Packets in a queue of the host stay there: the host frees them.
    pub fn into_packets(self, take: &mut dyn FnMut(P)) {
        match self.waiting {
            Waiting::Fifo(queue) => queue.into_iter().for_each(|(_, packet)| take(packet)),
            Waiting::Flows(queues, _) => queues.into_packets().for_each(take),
            Waiting::Dual(queues) => queues.into_packets().for_each(take),
            Waiting::Cake(queues, _) => queues.into_packets().for_each(take),
            Waiting::Classes(classes) => classes.into_queues().for_each(|queue| queue.into_packets(&mut *take)),
            Waiting::Host(_) => {}
        }
    }
}
