//! The kernel's own queue disciplines as queues of links (`hosts/linux/kernel/queues.c`).

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use core::ffi::{c_char, c_int};
use sojourn_linux::{Dequeued, DropReason, HostPacket, HostQueue, Lost, QueueOrder, Time};

/// A queue of C.
#[repr(C)]
struct Queue {
    unused: [u8; 0],
}

/// A queue that C is to make.
#[repr(C)]
struct Order {
    kind: *const c_char,
    options: *const u8,
    length: usize,
    link: u32,
    mtu: u32,
}

/// A packet that C is to put into a queue.
#[repr(C)]
struct Given {
    handle: u64,
    number: u32,
    rtt_ms: u16,
    marked: u8,
}

unsafe extern "C" {
    fn sojourn_queue_make(order: &Order, error: &mut c_int) -> *mut Queue;
    fn sojourn_queue_enqueue(queue: *mut Queue, given: &Given);
    fn sojourn_queue_flows(queue: *mut Queue, now: u64, active: u32);
    fn sojourn_queue_dequeue(queue: *mut Queue, handle: *mut u64, number: *mut u32, marked: *mut u8) -> bool;
    fn sojourn_queue_dropped(number: *mut u32, full: *mut u8) -> bool;
}

/// A queue of the kernel. There is one CPU, so nothing else uses it meanwhile.
#[derive(Debug)]
struct KernelQueue {
    queue: *mut Queue,
    /// Whether the kernel does not say why it drops: only CHOKe, which seldom is full.
    gives_no_reason: bool,
}

unsafe impl Send for KernelQueue {}
unsafe impl Sync for KernelQueue {}

impl KernelQueue {
    /// Adds what has been dropped since this was asked last.
    fn add_dropped(&self, lost: &mut Lost) {
        let (mut number, mut full) = (0, 0);
        while unsafe { sojourn_queue_dropped(&mut number, &mut full) } {
            let early = full == 0 || self.gives_no_reason;
            lost.push_back((number, if early { DropReason::Early } else { DropReason::Tail }));
        }
    }
}

impl HostQueue for KernelQueue {
    fn enqueue(&mut self, _now: Time, number: u32, packet: HostPacket, lost: &mut Lost) {
        let HostPacket { handle, is_marked, rtt_hint_ms, .. } = packet;
        let given = Given { handle, number, rtt_ms: rtt_hint_ms, marked: u8::from(is_marked) };
        unsafe { sojourn_queue_enqueue(self.queue, &given) };
        self.add_dropped(lost);
    }

    fn dequeue(&mut self, _now: Time, lost: &mut Lost) -> Option<Dequeued> {
        let (mut handle, mut number, mut marked) = (0, 0, 0);
        let sent = unsafe { sojourn_queue_dequeue(self.queue, &mut handle, &mut number, &mut marked) };
        self.add_dropped(lost);
        sent.then_some(Dequeued { number, handle, marked: marked != 0 })
    }

    fn set_flows(&mut self, now: Time, active: u32) {
        unsafe { sojourn_queue_flows(self.queue, now.as_nanos(), active) };
    }

    /// The kernel has one network, which is never copied.
    fn boxed_clone(&self) -> Box<dyn HostQueue> {
        crate::give_up("a queue of the kernel cannot be copied")
    }
}

/// Makes the queue of a link.
pub fn make(order: &QueueOrder) -> Result<Box<dyn HostQueue>, String> {
    let QueueOrder { link, packet, qdisc } = order;
    let (kind, mut error) = (format!("{}\0", qdisc.kind), 0);
    let options = &qdisc.options;
    let order = Order { kind: kind.as_ptr().cast(), options: options.as_ptr(), length: options.len(), link: *link, mtu: *packet };
    let made = unsafe { sojourn_queue_make(&order, &mut error) };
    if made.is_null() {
        return Err(format!("expected parameters that the kernel takes, got its error {error} for {}", qdisc.kind));
    }
    Ok(Box::new(KernelQueue { queue: made, gives_no_reason: qdisc.kind == "choke" }))
}
