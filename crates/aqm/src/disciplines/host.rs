//! A queue of the host, such as a kernel's own queue discipline.
//! [`Qdisc`](crate::Qdisc) hands packets to it, requests the next one whenever the link is free, and counts them.

use super::discipline::{Arrival, Contents, Discipline, Loss, QueueState};
use crate::{Counters, DropReason, Fate, HostDecision, HostQueue, Lost, Packet};
use alloc::boxed::Box;
use alloc::vec::Vec;
use sojourn_units::{Duration, Time};

/// The packets that wait in a queue of the host.
#[derive(Clone, Debug)]
pub struct HostQueues<P> {
    host: Box<dyn HostQueue>,
    counters: Counters,
    /// Indexed by their number.
    packets: Vec<Option<Waiting<P>>>,
    free: Vec<u32>,
    waiting: u32,
    calls: u64,
    lost: Lost,
    decisions: Vec<HostDecision>,
}

/// A packet that waits in a queue of the host.
#[derive(Clone, Debug)]
struct Waiting<P> {
    since: Time,
    packet: P,
    /// Whether an earlier queue on the path marked it.
    was_marked: bool,
}

impl<P: Packet> HostQueues<P> {
    pub fn new(host: Box<dyn HostQueue>) -> Self {
        HostQueues {
            host,
            counters: Counters::default(),
            packets: Vec::new(),
            free: Vec::new(),
            waiting: 0,
            calls: 0,
            lost: Lost::new(),
            decisions: Vec::new(),
        }
    }

    /// The host's decisions since the last call.
    pub fn take_decisions(&mut self) -> Vec<HostDecision> {
        core::mem::take(&mut self.decisions)
    }

    /// The next packet that was dropped in the present call.
    fn next_lost(&mut self) -> Option<(Waiting<P>, DropReason)> {
        while let Some((number, reason)) = self.lost.pop_front() {
            if let Some(kept) = self.take(number) {
                self.decisions.push(HostDecision { call: self.calls, number, fate: Fate::Dropped(reason) });
                return Some((kept, reason));
            }
        }
        None
    }

    /// Counts the packets that the host dropped during a call, at its end.
    fn end_call(&mut self, state: &mut QueueState, lost: Loss<P>) {
        while let Some((Waiting { since, packet, .. }, reason)) = self.next_lost() {
            state.earlier.add(since);
            state.held.take(packet.size());
            self.counters.count_drop(packet.size(), reason);
            lost(packet, reason);
        }
        self.calls += 1;
    }

    /// Removes a packet; `None` for an unknown number.
    fn take(&mut self, number: u32) -> Option<Waiting<P>> {
        let kept = self.packets.get_mut(number as usize)?.take()?;
        self.free.push(number);
        self.waiting -= 1;
        Some(kept)
    }

    /// The packet that the host sends next, and whether the host marked it.
    fn next(&mut self, now: Time) -> Option<(Waiting<P>, bool)> {
        let next = self.host.dequeue(now, &mut self.lost)?;
        let mut kept = self.take(next.number)?;
        let marked = next.marked && !kept.was_marked;
        kept.packet.take_from_host(next.handle);
        let fate = if marked { Fate::Marked } else { Fate::Passed };
        self.decisions.push(HostDecision { call: self.calls, number: next.number, fate });
        Some((kept, marked))
    }
}

impl<P: Packet> Discipline<P> for HostQueues<P> {
    fn enqueue(&mut self, state: &mut QueueState, arrival: Arrival<P>, lost: Loss<P>) {
        let Arrival { now, mut packet, .. } = arrival;
        self.counters.count_arrival(packet.size());
        state.departure = None;
        state.held.add(packet.size());
        let number = self.free.pop().unwrap_or(self.packets.len() as u32);
        let setup = packet.give_to_host();
        if self.packets.len() == number as usize {
            self.packets.push(None);
        }
        self.packets[number as usize] = Some(Waiting { since: now, packet, was_marked: setup.is_marked });
        self.waiting += 1;
        self.host.enqueue(now, number, setup, &mut self.lost);
        self.end_call(state, lost);
    }

    fn dequeue(&mut self, state: &mut QueueState, now: Time, lost: Loss<P>) -> Option<(P, Duration)> {
        let next = self.next(now);
        self.end_call(state, lost);
        let (Waiting { since, mut packet, .. }, marked) = next?;
        state.held.take(packet.size());
        if marked {
            packet.mark();
            self.counters.marked += 1;
            state.marked += 1;
        }
        state.departed += 1;
        Some((packet, now.since(since)))
    }

    fn contents(&self) -> &dyn Contents<P> {
        self
    }

    fn contents_mut(&mut self) -> &mut dyn Contents<P> {
        self
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    #[cfg(test)]
    fn counters_mut(&mut self) -> &mut Counters {
        &mut self.counters
    }

    fn set_flows(&mut self, now: Time, active: u32) {
        self.host.set_flows(now, active);
    }

    fn boxed_clone(&self) -> Box<dyn Discipline<P>> {
        Box::new(self.clone())
    }
}

impl<P: Packet> Contents<P> for HostQueues<P> {
    fn packets(&self) -> u32 {
        self.waiting
    }

    /// The packets stay in the host, which frees them.
    fn drain(&mut self, _take: &mut dyn FnMut(P)) {}

    fn may_hold_back(&self) -> bool {
        true
    }

    fn shapes(&self) -> bool {
        true
    }
}
