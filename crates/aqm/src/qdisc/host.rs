//! A queue that the host keeps.

use super::{Qdisc, Waiting};
use crate::host_queue::Left;
use crate::{DropReason, HostDecision, Packet};
use alloc::vec::Vec;
use sojourn_units::{Duration, Time};

impl<P: Packet> Qdisc<P> {
    /// What a queue of the host decided since this was asked last, in order.
    pub fn take_host_decisions(&mut self) -> Vec<HostDecision> {
        if let Waiting::Host(held) = &mut self.waiting { held.take_decisions() } else { Vec::new() }
    }

    /// The next packet to send of those that the host keeps.
    #[cold]
    pub(super) fn dequeue_from_host(&mut self, now: Time, dropped: &mut dyn FnMut(P, DropReason)) -> Option<(P, Duration)> {
        let Waiting::Host(held) = &mut self.waiting else { return None };
        let next = held.dequeue(now);
        self.end_host_call(dropped);
        let Left { since, mut packet, marked } = next?;
        self.held.take(packet.size());
        if marked {
            packet.mark();
            self.controller.counters.marked += 1;
        }
        self.departed += 1;
        Some((packet, now.since(since)))
    }

    /// Counts what the host has dropped in a call.
    #[cold]
    pub(super) fn end_host_call(&mut self, dropped: &mut dyn FnMut(P, DropReason)) {
        let Waiting::Host(held) = &mut self.waiting else { return };
        while let Some((Left { since, packet, .. }, reason)) = held.next_lost() {
            self.earlier.add(since);
            self.held.take(packet.size());
            self.controller.counters.count_drop(packet.size(), reason);
            dropped(packet, reason);
        }
        held.end_call();
    }
}
