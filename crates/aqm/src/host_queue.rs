//! A queue that the host keeps, such as a kernel's own queue discipline. [`Qdisc`](crate::Qdisc) gives it packets, asks for the next
//! one whenever the link is free, and counts for it.

use crate::{DropReason, HostPacket, Packet};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::fmt::Debug;
use sojourn_units::Time;

/// A queue of the host. It knows a packet by a number, which is that packet's until it leaves the queue.
pub trait HostQueue: Debug + Send + Sync {
    /// A packet arrives at `now`. `lost` gets each packet that the queue drops meanwhile, the arriving one or another.
    fn enqueue(&mut self, now: Time, number: u32, packet: HostPacket, lost: &mut Lost);

    /// The link is free: the packet to be sent next; `None` if the queue is empty or holds back what it has. `lost` gets each packet
    /// that it drops meanwhile.
    fn dequeue(&mut self, now: Time, lost: &mut Lost) -> Option<Dequeued>;

    /// From `now` on `active` flows are active. Comes where the placeholder of the queue needs that.
    fn set_flows(&mut self, _now: Time, _active: u32) {}

    /// A copy with all its state.
    fn boxed_clone(&self) -> Box<dyn HostQueue>;
}

impl Clone for Box<dyn HostQueue> {
    fn clone(&self) -> Self {
        self.boxed_clone()
    }
}

/// The numbers of packets that a queue of the host has dropped, and why.
pub type Lost = VecDeque<(u32, DropReason)>;

/// A packet that leaves a queue of the host to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dequeued {
    /// Its number.
    pub number: u32,
    /// What the host keeps it by.
    pub handle: u64,
    /// Whether it is marked.
    pub marked: bool,
}

/// What a queue of the host did, for one that is to do the same again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostDecision {
    /// Which call it was; arrivals and requests are counted together, from 0 on.
    pub call: u64,
    /// The packet.
    pub number: u32,
    /// What became of it.
    pub fate: HostFate,
}

/// What became of a packet in a queue of the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostFate {
    /// It was sent.
    Sent,
    /// It was marked and sent.
    SentMarked,
    /// It was dropped.
    Dropped(DropReason),
}

/// The packets that wait in a queue of the host.
#[derive(Clone, Debug)]
pub(crate) struct Held<P> {
    host: Box<dyn HostQueue>,
    /// By number.
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
    /// Whether an earlier queue has marked it.
    was_marked: bool,
}

/// A packet that leaves a queue of the host.
pub(crate) struct Left<P> {
    /// When it arrived.
    pub since: Time,
    pub packet: P,
    /// Whether this queue marked it.
    pub marked: bool,
}

impl<P: Packet> Held<P> {
    pub fn new(host: Box<dyn HostQueue>) -> Self {
        Held { host, packets: Vec::new(), free: Vec::new(), waiting: 0, calls: 0, lost: Lost::new(), decisions: Vec::new() }
    }

    /// Packets waiting.
    pub fn packets(&self) -> u32 {
        self.waiting
    }

    /// From `now` on `active` flows are active.
    pub fn set_flows(&mut self, now: Time, active: u32) {
        self.host.set_flows(now, active);
    }

    /// What the host decided since this was asked last.
    pub fn take_decisions(&mut self) -> Vec<HostDecision> {
        core::mem::take(&mut self.decisions)
    }

    /// A packet arrives.
    pub fn enqueue(&mut self, now: Time, mut packet: P) {
        let number = self.free.pop().unwrap_or(self.packets.len() as u32);
        let given = packet.give_to_host();
        if self.packets.len() == number as usize {
            self.packets.push(None);
        }
        self.packets[number as usize] = Some(Waiting { since: now, packet, was_marked: given.is_marked });
        self.waiting += 1;
        self.host.enqueue(now, number, given, &mut self.lost);
    }

    /// The link is free: the next packet to send, if there is one.
    pub fn dequeue(&mut self, now: Time) -> Option<Left<P>> {
        let next = self.host.dequeue(now, &mut self.lost)?;
        let Waiting { since, mut packet, was_marked } = self.take(next.number)?;
        let marked = next.marked && !was_marked;
        packet.take_from_host(next.handle);
        let fate = if marked { HostFate::SentMarked } else { HostFate::Sent };
        self.decisions.push(HostDecision { call: self.calls, number: next.number, fate });
        Some(Left { since, packet, marked })
    }

    /// The next packet that was dropped in the present call.
    pub fn next_lost(&mut self) -> Option<(Left<P>, DropReason)> {
        while let Some((number, reason)) = self.lost.pop_front() {
            if let Some(Waiting { since, packet, .. }) = self.take(number) {
                self.decisions.push(HostDecision { call: self.calls, number, fate: HostFate::Dropped(reason) });
                return Some((Left { since, packet, marked: false }, reason));
            }
        }
        None
    }

    /// The call has ended.
    pub fn end_call(&mut self) {
        self.calls += 1;
    }

    /// Takes a packet out; `None` if there is none of this number.
    fn take(&mut self, number: u32) -> Option<Waiting<P>> {
        let waiting = self.packets.get_mut(number as usize)?.take()?;
        self.free.push(number);
        self.waiting -= 1;
        Some(waiting)
    }
}
