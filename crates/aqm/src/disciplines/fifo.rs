//! One queue, first in, first out.

use crate::disciplines::discipline::{Contents, QueueState, Queues, RemovedPacket, Waiting};
use crate::{ArrivingAck, Packet, PacketView};
use sojourn_units::Time;

/// One queue.
#[derive(Clone, Debug)]
pub struct Fifo<P>(Waiting<P>);

impl<P> Default for Fifo<P> {
    fn default() -> Self {
        Fifo(Waiting::new())
    }
}

impl<P: Packet> Contents<P> for Fifo<P> {
    fn packets(&self) -> u32 {
        self.0.len() as u32
    }

    fn drain(&mut self, take: &mut dyn FnMut(P)) {
        self.0.drain(..).for_each(|(_, packet)| take(packet));
    }

    fn oldest(&self) -> Option<Time> {
        self.0.front().map(|&(since, _)| since)
    }

    fn queue_of(&self, _ack: &ArrivingAck) -> Option<(u32, &Waiting<P>)> {
        Some((0, &self.0))
    }
}

impl<P: Packet, A> Queues<P, A> for Fifo<P> {
    fn push(&mut self, now: Time, packet: P) {
        self.0.push_back((now, packet));
    }

    fn pop(&mut self, now: Time, state: &mut QueueState, _aqm: &mut A) -> Option<RemovedPacket<P>> {
        let (since, packet) = self.0.pop_front()?;
        let view = PacketView::of(now, &packet);
        Some(RemovedPacket { since, packet, view, backlog: state.without(view.size), queue: 0 })
    }

    fn remove(&mut self, _queue: u32, at: usize) -> Option<(Time, P)> {
        self.0.remove(at)
    }

    fn looked_into(&self, _packet: &P) -> Option<(u32, &Waiting<P>)> {
        Some((0, &self.0))
    }
}
