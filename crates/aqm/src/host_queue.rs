//! What a queue of the host is asked, such as a kernel's own queue discipline.

use crate::{DropReason, Fate, HostPacket};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
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
    pub fate: Fate,
}
