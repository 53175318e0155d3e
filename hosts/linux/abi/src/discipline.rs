//! Our queues as a queue discipline of the kernel (`hosts/linux/kernel/discipline.c`).

use crate::copy;
use alloc::boxed::Box;
use core::slice;
use sojourn_linux::{Discipline, DropReason, Packet, Time};

/// What a queue counted. C declares the same.
#[repr(C)]
pub struct Counted {
    arrived: u64,
    marked: u64,
    early: u64,
    forced: u64,
    tail: u64,
    ack_filter: u64,
}

/// The queue of a task, or null and what is wrong with the task in `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_discipline(task: *const u8, length: usize, error: *mut u8, room: usize) -> *mut Discipline {
    let (task, error) = unsafe { (slice::from_raw_parts(task, length), slice::from_raw_parts_mut(error, room)) };
    match Discipline::new(task) {
        Ok(discipline) => Box::into_raw(Box::new(discipline)),
        Err(text) => {
            copy(&text, error);
            core::ptr::null_mut()
        }
    }
}

/// Frees a queue. Its packets are with the kernel: reset it first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_discipline_free(discipline: *mut Discipline) {
    if !discipline.is_null() {
        drop(unsafe { Box::from_raw(discipline) });
    }
}

/// A packet arrives.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_discipline_enqueue(discipline: &mut Discipline, now: u64, packet: &Packet) {
    discipline.enqueue(Time::from_nanos(now), *packet);
}

/// The next packet to send; false if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_discipline_dequeue(discipline: &mut Discipline, now: u64, packet: &mut Packet) -> bool {
    discipline.dequeue(Time::from_nanos(now)).map(|next| *packet = next).is_some()
}

/// When it sends again what it holds back now, in ns; the largest number if it holds nothing back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_discipline_ready(discipline: &Discipline) -> u64 {
    discipline.ready().unwrap_or(Time::NEVER).as_nanos()
}

/// The next packet that was dropped, and whether that was for want of room; false if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_discipline_dropped(discipline: &mut Discipline, packet: &mut Packet, full: &mut u8) -> bool {
    let next = discipline.next_dropped();
    next.map(|(dropped, reason)| (*packet, *full) = (dropped, u8::from(reason == DropReason::Tail))).is_some()
}

/// So many flows are active.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_discipline_flows(discipline: &mut Discipline, now: u64, active: u32) {
    discipline.set_flows(Time::from_nanos(now), active);
}

/// Drops all that waits, and begins anew.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_discipline_reset(discipline: &mut Discipline, now: u64) {
    discipline.reset(Time::from_nanos(now));
}

/// What it counted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_discipline_counted(discipline: &Discipline, counted: &mut Counted) {
    let counters = discipline.counters();
    *counted = Counted {
        arrived: counters.arrived,
        marked: counters.marked,
        early: counters.dropped_early,
        forced: counters.dropped_forced,
        tail: counters.dropped_tail,
        ack_filter: counters.dropped_acks,
    };
}
