//! Packets that wait apart: in a queue of the host, or in classes, which count for themselves.

use super::classes::{Arrival, Next};
use super::{Occupancy, Qdisc, Waiting};
use crate::{DropReason, Packet};
use sojourn_units::{Duration, Time};

impl<P: Packet> Qdisc<P> {
    /// Gives an arriving packet to the host or to its class.
    #[cold]
    pub(super) fn enqueue_apart(&mut self, now: Time, packet: P, is_idle: bool, dropped: &mut dyn FnMut(P, DropReason)) {
        self.controller.counters.count_arrival(packet.size());
        let departure = self.simultaneous_departure.take();
        match &mut self.waiting {
            Waiting::Host(held) => {
                self.held.add(packet.size());
                held.enqueue(now, packet);
                self.end_host_call(dropped);
            }
            Waiting::Classes(classes) => {
                let counters = &mut self.controller.counters;
                let mut count = |packet: P, reason| {
                    counters.count_drop(packet.size(), reason);
                    dropped(packet, reason);
                };
                let marked = classes.enqueue(now, packet, &Arrival { is_idle, departure }, &mut count);
                counters.marked += u64::from(marked);
                self.held = Occupancy { packets: classes.packets(), bytes: classes.bytes() };
            }
            Waiting::Fifo(_) | Waiting::Flows(..) | Waiting::Dual(_) | Waiting::Cake(..) => {
                unreachable!("the queue holds the packet itself")
            }
        }
    }

    /// The next packet to send of the host or of a class.
    #[cold]
    pub(super) fn dequeue_apart(&mut self, now: Time, dropped: &mut dyn FnMut(P, DropReason)) -> Option<(P, Duration)> {
        if matches!(self.waiting, Waiting::Host(_)) { self.dequeue_from_host(now, dropped) } else { self.dequeue_from_class(now, dropped) }
    }

    /// The next packet to send of those that wait in classes.
    fn dequeue_from_class(&mut self, now: Time, dropped: &mut dyn FnMut(P, DropReason)) -> Option<(P, Duration)> {
        let Waiting::Classes(classes) = &mut self.waiting else { return None };
        let counters = &mut self.controller.counters;
        let next = classes.dequeue(now, &mut |packet: P, reason| {
            counters.count_drop(packet.size(), reason);
            dropped(packet, reason);
        });
        self.held = Occupancy { packets: classes.packets(), bytes: classes.bytes() };
        let Next { packet, wait, marked } = next?;
        self.controller.counters.marked += u64::from(marked);
        self.departed += 1;
        Some((packet, wait))
    }
}
