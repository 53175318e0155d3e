//! The interface to a queue of the host, such as a kernel's own queue discipline.

use crate::{DropReason, Fate, HostPacket};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use core::fmt::Debug;
use sojourn_units::Time;

/// A queue of the host.
/// It identifies a packet by a number, which is reserved until the packet leaves the queue.
pub trait HostQueue: Debug + Send + Sync {
    /// A packet arrives at `now`.
    /// `lost` receives each packet that the queue drops during the call, the arriving one or another.
    fn enqueue(&mut self, now: Time, number: u32, packet: HostPacket, lost: &mut Lost);

    /// The link is free: returns the packet to send next.
    /// `None` if the queue is empty or holds its packets back. `lost` receives each packet that it drops during the call.
    fn dequeue(&mut self, now: Time, lost: &mut Lost) -> Option<Dequeued>;

    /// From `now` on `active` flows are active.
    /// Called if the placeholder of the queue needs it.
    fn set_flows(&mut self, _now: Time, _active: u32) {}

    /// A copy with all its state.
    fn boxed_clone(&self) -> Box<dyn HostQueue>;
}

impl Clone for Box<dyn HostQueue> {
    fn clone(&self) -> Self {
        self.boxed_clone()
    }
}

/// The numbers of the packets that a queue of the host dropped, each with the reason.
pub type Lost = VecDeque<(u32, DropReason)>;

/// A packet that leaves a queue of the host to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dequeued {
    /// Its number.
    pub number: u32,
    /// The host's handle of it.
    pub handle: u64,
    /// Whether it is marked.
    pub marked: bool,
}

/// A decision of a queue of the host, for a queue that repeats it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostDecision {
    /// The number of the call, from 0; arrivals and requests are counted together.
    pub call: u64,
    /// The packet.
    pub number: u32,
    /// Its fate.
    pub fate: Fate,
}
