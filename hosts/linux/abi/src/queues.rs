//! The kernel's own queue disciplines as queues of links (`hosts/linux/kernel/queues.c`).

use crate::memory::give_up;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use core::ffi::{c_char, c_int};
use core::sync::atomic::AtomicPtr;
use sojourn_linux::{Dequeued, DropReason, HostPacket, HostQueue, Lost, QueueOrder, Time};

/// A queue in C.
#[repr(C)]
struct Queue {
    unused: [u8; 0],
}

/// A request to C to create a queue.
#[repr(C)]
pub struct Order {
    pub kind: *const c_char,
    pub options: *const u8,
    pub length: usize,
    pub link: u32,
    pub mtu: u32,
}

/// A packet for C to enqueue.
#[repr(C)]
pub struct Offered {
    pub handle: u64,
    pub number: u32,
    pub rtt_ms: u16,
    pub marked: u8,
}

unsafe extern "C" {
    fn sojourn_queue_make(order: &Order, error: &mut c_int) -> *mut Queue;
    fn sojourn_queue_enqueue(queue: *mut Queue, given: &Offered);
    fn sojourn_queue_flows(queue: *mut Queue, now: u64, active: u32);
    fn sojourn_queue_dequeue(queue: *mut Queue, handle: &mut u64, number: &mut u32, marked: &mut u8) -> bool;
    fn sojourn_queue_dropped(queue: *mut Queue, number: &mut u32, full: &mut u8) -> bool;
}

/// A queue of the kernel.
#[derive(Debug)]
struct KernelQueue {
    /// The queue from `sojourn_queue_make`. C keeps it until the kernel ends.
    /// Only an exclusive owner of the queue reads this pointer, by `get_mut`.
    queue: AtomicPtr<Queue>,
    /// Whether the kernel gives no reason for drops: only CHOKe, which is seldom full.
    gives_no_reason: bool,
}

impl KernelQueue {
    /// Adds the packets dropped since the last call.
    fn add_dropped(&mut self, lost: &mut Lost) {
        let (mut number, mut full) = (0, 0);
        // SAFETY: C made the queue, and nothing else uses it meanwhile, because `self` is borrowed mutably.
        while unsafe { sojourn_queue_dropped(*self.queue.get_mut(), &mut number, &mut full) } {
            let early = full == 0 || self.gives_no_reason;
            lost.push_back((number, if early { DropReason::Early } else { DropReason::Tail }));
        }
    }
}

impl HostQueue for KernelQueue {
    fn enqueue(&mut self, _now: Time, number: u32, packet: HostPacket, lost: &mut Lost) {
        let HostPacket { handle, is_marked, rtt_hint_ms, .. } = packet;
        let given = Offered { handle, number, rtt_ms: rtt_hint_ms, marked: u8::from(is_marked) };
        // SAFETY: as in `add_dropped`. The network passes the packet of this handle to the queue and no longer uses it.
        unsafe { sojourn_queue_enqueue(*self.queue.get_mut(), &given) };
        self.add_dropped(lost);
    }

    fn dequeue(&mut self, _now: Time, lost: &mut Lost) -> Option<Dequeued> {
        let (mut handle, mut number, mut marked) = (0, 0, 0);
        // SAFETY: as in `add_dropped`.
        let sent = unsafe { sojourn_queue_dequeue(*self.queue.get_mut(), &mut handle, &mut number, &mut marked) };
        self.add_dropped(lost);
        sent.then_some(Dequeued { number, handle, marked: marked != 0 })
    }

    fn set_flows(&mut self, now: Time, active: u32) {
        // SAFETY: as in `add_dropped`.
        unsafe { sojourn_queue_flows(*self.queue.get_mut(), now.as_nanos(), active) };
    }

    /// The kernel has one network, which is never copied.
    fn boxed_clone(&self) -> Box<dyn HostQueue> {
        give_up("a queue of the kernel cannot be copied")
    }
}

/// Creates the queue of a link.
pub fn make(order: &QueueOrder) -> Result<Box<dyn HostQueue>, String> {
    let QueueOrder { link, packet, qdisc } = order;
    let (kind, mut error) = (format!("{}\0", qdisc.kind), 0);
    let options = &qdisc.options;
    let order = Order { kind: kind.as_ptr().cast(), options: options.as_ptr(), length: options.len(), link: *link, mtu: *packet };
    // SAFETY: the pointers of the order are those of `kind`, which ends in a zero, and of `options`. C copies what it keeps.
    let made = unsafe { sojourn_queue_make(&order, &mut error) };
    if made.is_null() {
        return Err(format!("expected parameters that the kernel takes, got its error {error} for {}", qdisc.kind));
    }
    Ok(Box::new(KernelQueue { queue: AtomicPtr::new(made), gives_no_reason: qdisc.kind == "choke" }))
}
