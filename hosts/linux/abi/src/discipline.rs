//! Queues of the simulator as a qdisc of the kernel (`hosts/linux/kernel/discipline.c`).

use crate::exclusive::Exclusive;
use crate::memory::copy;
use alloc::boxed::Box;
use core::mem::MaybeUninit;
use core::slice;
use sojourn_linux::{Discipline, DropReason, Packet, Time};

/// The counters of a queue. C declares the same struct.
#[repr(C)]
pub struct Counted {
    pub arrived: u64,
    pub marked: u64,
    pub early: u64,
    pub forced: u64,
    pub tail: u64,
    pub ack_filter: u64,
}

/// Creates the queue of a task. If the task is invalid, returns null and writes to `error`.
///
/// # Safety
/// `task` points to `length` bytes that nothing writes meanwhile, and `error` to `room` bytes that nothing else uses meanwhile. The bytes
/// of
/// `error` need not be initialized.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_discipline(
    task: *const u8,
    length: usize,
    error: *mut MaybeUninit<u8>,
    room: usize,
) -> Option<Box<Exclusive<Discipline>>> {
    // SAFETY: the caller promises both.
    let (task, error) = unsafe { (slice::from_raw_parts(task, length), slice::from_raw_parts_mut(error, room)) };
    let made = Discipline::new(task).map_err(|text| copy(&text, error));
    made.ok().map(|discipline| Box::new(Exclusive::new(discipline)))
}

/// Frees a queue, if not null. Reset it first, because its packets are the kernel's.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_discipline_free(discipline: Option<Box<Exclusive<Discipline>>>) {
    // Stops the kernel if the queue is in use.
    discipline.iter().for_each(|discipline| discipline.with(|_| ()));
}

/// Enqueues a packet.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_discipline_enqueue(discipline: &Exclusive<Discipline>, now: u64, packet: &Packet) {
    discipline.with(|discipline| discipline.enqueue(Time::from_nanos(now), *packet));
}

/// Dequeues the next packet. If there is no packet, returns false and writes nothing.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_discipline_dequeue(discipline: &Exclusive<Discipline>, now: u64, packet: &mut MaybeUninit<Packet>) -> bool {
    let next = discipline.with(|discipline| discipline.dequeue(Time::from_nanos(now)));
    next.map(|next| packet.write(next)).is_some()
}

/// The time in ns at which it releases packets that it holds back.
/// The maximum if it holds none back.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_discipline_ready(discipline: &Exclusive<Discipline>) -> u64 {
    discipline.with(|discipline| discipline.ready()).unwrap_or(Time::NEVER).as_nanos()
}

/// The next dropped packet, and whether the queue was full.
/// If no packet is left, returns false and writes nothing.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_discipline_dropped(
    discipline: &Exclusive<Discipline>,
    packet: &mut MaybeUninit<Packet>,
    full: &mut MaybeUninit<u8>,
) -> bool {
    let next = discipline.with(Discipline::next_dropped);
    next.map(|(dropped, reason)| (packet.write(dropped), full.write(u8::from(reason == DropReason::Tail)))).is_some()
}

/// Sets the number of active flows from `now` on.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_discipline_flows(discipline: &Exclusive<Discipline>, now: u64, active: u32) {
    discipline.with(|discipline| discipline.set_flows(Time::from_nanos(now), active));
}

/// Drops all waiting packets and resets the queue to a new one.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_discipline_reset(discipline: &Exclusive<Discipline>, now: u64) {
    discipline.with(|discipline| discipline.reset(Time::from_nanos(now)));
}

/// Writes the counters of the queue.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_discipline_counted(discipline: &Exclusive<Discipline>, counted: &mut MaybeUninit<Counted>) {
    discipline.with(|discipline| {
        let counters = discipline.counters();
        counted.write(Counted {
            arrived: counters.arrived,
            marked: counters.marked,
            early: counters.dropped_early,
            forced: counters.dropped_forced,
            tail: counters.dropped_tail,
            ack_filter: counters.dropped_acks,
        });
    });
}
