//! Our queues as a queue discipline of the kernel (`hosts/linux/kernel/discipline.c`).

use crate::exclusive::Exclusive;
use crate::memory::copy;
use alloc::boxed::Box;
use core::mem::MaybeUninit;
use core::slice;
use sojourn_linux::{Discipline, DropReason, Packet, Time};

/// What a queue counted. C declares the same.
#[repr(C)]
pub struct Counted {
    pub arrived: u64,
    pub marked: u64,
    pub early: u64,
    pub forced: u64,
    pub tail: u64,
    pub ack_filter: u64,
}

/// The queue of a task, or null and what is wrong with the task in `error`.
///
/// # Safety
/// `task` points to `length` bytes that nothing writes meanwhile, and `error` to `room` bytes that nothing else uses meanwhile. The bytes of
/// `error` need no value.
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

/// Frees a queue, if there is one. Its packets are the kernel's: reset it first.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_discipline_free(discipline: Option<Box<Exclusive<Discipline>>>) {
    // Stops the kernel if the queue is in use.
    discipline.iter().for_each(|discipline| discipline.with(|_| ()));
}

/// A packet arrives.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_discipline_enqueue(discipline: &Exclusive<Discipline>, now: u64, packet: &Packet) {
    discipline.with(|discipline| discipline.enqueue(Time::from_nanos(now), *packet));
}

/// The next packet to send; false without writing anything if none is left.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_discipline_dequeue(discipline: &Exclusive<Discipline>, now: u64, packet: &mut MaybeUninit<Packet>) -> bool {
    let next = discipline.with(|discipline| discipline.dequeue(Time::from_nanos(now)));
    next.map(|next| packet.write(next)).is_some()
}

/// When it sends again what it holds back now, in ns; the largest number if it holds nothing back.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_discipline_ready(discipline: &Exclusive<Discipline>) -> u64 {
    discipline.with(|discipline| discipline.ready()).unwrap_or(Time::NEVER).as_nanos()
}

/// The next packet that was dropped, and whether the queue was full; false without writing anything if none is left.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_discipline_dropped(
    discipline: &Exclusive<Discipline>,
    packet: &mut MaybeUninit<Packet>,
    full: &mut MaybeUninit<u8>,
) -> bool {
    let next = discipline.with(Discipline::next_dropped);
    next.map(|(dropped, reason)| (packet.write(dropped), full.write(u8::from(reason == DropReason::Tail)))).is_some()
}

/// From `now` on `active` flows are active.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_discipline_flows(discipline: &Exclusive<Discipline>, now: u64, active: u32) {
    discipline.with(|discipline| discipline.set_flows(Time::from_nanos(now), active));
}

/// Drops everything that waits; the queue starts again as a new one.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_discipline_reset(discipline: &Exclusive<Discipline>, now: u64) {
    discipline.with(|discipline| discipline.reset(Time::from_nanos(now)));
}

/// Its counters.
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
