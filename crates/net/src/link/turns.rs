//! A link that sends only in its turns on a medium that it shares.

use super::Link;
use super::buffered::Start;
use super::meter::Meter;
use super::queue::Queue;
use crate::medium::Turn;
use crate::packet::Packet;
use sojourn_units::{Duration, Time};

impl<P: Packet> Link<P> {
    /// Whether it sends only in its turns.
    #[inline]
    pub(crate) fn takes_turns(&self) -> bool {
        self.takes_turns
    }

    /// Whether packets wait.
    pub(crate) fn has_waiting(&self) -> bool {
        matches!(&self.queue, Queue::Buffered(queue) if queue.qdisc.packets() > 0)
    }

    /// Whether something else than its turn may hold them back.
    pub(crate) fn may_hold_back(&self) -> bool {
        matches!(&self.queue, Queue::Buffered(queue) if queue.qdisc.may_hold_back())
    }

    /// Its turn begins at `now`: starts to send a packet after the overhead; gives the end of the transmission, `None` if the queue gives no packet.
    pub(crate) fn start_turn(&mut self, now: Time, overhead: Duration) -> Option<Time> {
        self.catch_up_before(now);
        self.start(now, Start::Turn(overhead))
    }

    /// Its turn goes on at `now`: the same right behind the packet before.
    pub(crate) fn continue_turn(&mut self, now: Time) -> Option<Time> {
        self.start(now, Start::Behind)
    }

    /// Whether a packet is being sent.
    pub(crate) fn is_sending(&self) -> bool {
        matches!(&self.queue, Queue::Buffered(queue) if queue.is_sending())
    }

    /// Its turn ends at `until`.
    pub(crate) fn end_turn(&mut self, turn: Turn, until: Time) {
        let Meter { stats, window, .. } = &mut self.meter;
        stats.turns.get_or_insert_default().add(turn, until, *window);
    }

    fn start(&mut self, now: Time, start: Start) -> Option<Time> {
        let Queue::Buffered(queue) = &mut self.queue else { unreachable!("a link that takes turns holds its packets") };
        queue.start_next(now, start, &mut self.transmitter, &mut self.meter)
    }

    /// A packet that found the link idle waits for its turn.
    pub(crate) fn waits_for_turn(&mut self, now: Time) {
        if let Queue::Buffered(queue) = &mut self.queue {
            queue.queue_changes(now, false, &mut self.meter);
        }
    }
}
