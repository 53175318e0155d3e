//! The C interface between the kernel's driver (`hosts/linux/kernel`) and the network; `sojourn.h` there declares the same.
//!
//! The driver promises for each call that every pointer is aligned and points to what its type says, that nothing else writes there
//! meanwhile, and that a `MaybeUninit` may be written. Null is passed only for an `Option`. References to the network and to a discipline
//! are checked: see [`Exclusive`].
#![no_std]
#![deny(clippy::undocumented_unsafe_blocks, clippy::missing_safety_doc)]

extern crate alloc;

mod discipline;
mod exclusive;
mod layout;
mod memory;
mod queues;

use alloc::boxed::Box;
use core::mem::MaybeUninit;
use core::slice;
use exclusive::Exclusive;
use memory::copy;
use sojourn_linux::{Fate, Guest, GuestFlow, KernelAck, KernelController, KernelNeeds, Packet, Time, Windows, Written};

unsafe extern "C" {
    /// Copies the packet of this handle and returns the handle of the copy.
    fn sojourn_copy(handle: u64) -> u64;
    /// Adds bytes to one of the files of a run.
    fn sojourn_store(file: u32, bytes: *const u8, length: usize);
}

/// The guest of a plan, or null and what is wrong with the plan in `error`.
///
/// # Safety
/// `plan` points to `length` bytes that nothing writes meanwhile, and `error` to `room` bytes that nothing else uses meanwhile. The bytes of
/// `error` need no value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_guest(
    plan: *const u8,
    length: usize,
    error: *mut MaybeUninit<u8>,
    room: usize,
) -> Option<Box<Exclusive<Guest>>> {
    // SAFETY: the caller promises both.
    let (plan, error) = unsafe { (slice::from_raw_parts(plan, length), slice::from_raw_parts_mut(error, room)) };
    let made = Guest::new(plan, &mut queues::make).map_err(|text| copy(&text, error));
    // SAFETY: the network asks for copies only of packets that it has, and their handles come from C.
    let copied = |handle| unsafe { sojourn_copy(handle) };
    made.ok().map(|guest| Box::new(Exclusive::new(guest.with_copies(copied))))
}

/// Number of hosts.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_hosts(guest: &Exclusive<Guest>) -> u32 {
    guest.with(|guest| guest.hosts())
}

/// Number of flows.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_flows(guest: &Exclusive<Guest>) -> u32 {
    guest.with(|guest| guest.flows())
}

/// When the run ends, in ns.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_duration(guest: &Exclusive<Guest>) -> u64 {
    guest.with(|guest| guest.duration()).as_nanos()
}

/// A flow of the plan; its number is below [`sojourn_flows`].
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_flow(guest: &Exclusive<Guest>, number: u32, flow: &mut MaybeUninit<GuestFlow>) {
    flow.write(guest.with(|guest| guest.flow(number)));
}

/// When the application of a flow acts next, in ns; the largest number if never.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_application_due(guest: &Exclusive<Guest>, flow: u32) -> u64 {
    guest.with(|guest| guest.application_due(flow)).as_nanos()
}

/// The application of a flow acts.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_application_acts(guest: &Exclusive<Guest>, flow: u32, written: &mut MaybeUninit<Written>) {
    written.write(guest.with(|guest| guest.application_acts(flow)));
}

/// A connection of a session is complete.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_session_completes(guest: &Exclusive<Guest>, now: u64, flow: u32) {
    guest.with(|guest| guest.session_completes(now, flow));
}

/// A host sends a packet.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_send(guest: &Exclusive<Guest>, now: u64, packet: &Packet) {
    guest.with(|guest| guest.send(now, *packet));
}

/// Runs what is due by now.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_advance(guest: &Exclusive<Guest>, now: u64) {
    guest.with(|guest| guest.advance(now));
}

/// Wakes a link: its host-owned queue is ready to send.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_wake(guest: &Exclusive<Guest>, now: u64, link: u32) {
    guest.with(|guest| guest.wake(now, link));
}

/// When the network must be advanced next, in ns; the largest number if never.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_next_event(guest: &Exclusive<Guest>) -> u64 {
    guest.with(|guest| guest.next_event())
}

/// The next packet that has left the network: 0 for none, 1 if it reached its host, 2 if it was dropped. Nothing is written for 0.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_settled(guest: &Exclusive<Guest>, packet: &mut MaybeUninit<Packet>) -> u32 {
    let Some((settled, fate)) = guest.with(Guest::settled) else { return 0 };
    packet.write(settled);
    match fate {
        Fate::Delivered => 1,
        Fate::Dropped => 2,
    }
}

/// The application at the receiver has read.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_read(guest: &Exclusive<Guest>, now: u64, flow: u32, bytes: u64) {
    guest.with(|guest| guest.on_read(now, flow, bytes));
}

/// A sender has taken a round-trip sample, in us.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_rtt(guest: &Exclusive<Guest>, now: u64, flow: u32, rtt_us: u64) {
    guest.with(|guest| guest.on_rtt(now, flow, rtt_us));
}

/// A sender has these windows, in segments.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_window(guest: &Exclusive<Guest>, now: u64, flow: u32, cwnd: u32, ssthresh: u32) {
    guest.with(|guest| guest.on_window(now, flow, cwnd, ssthresh));
}

/// A sender's loss recovery begins: by a timeout, or by a fast retransmit.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_loss(guest: &Exclusive<Guest>, now: u64, flow: u32, timeout: bool) {
    guest.with(|guest| guest.on_loss(now, flow, timeout));
}

/// The last byte of a connection is acknowledged.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_completed(guest: &Exclusive<Guest>, now: u64, flow: u32, opened: u64, bytes: u64) {
    guest.with(|guest| guest.on_completed(now, flow, opened, bytes));
}

/// A connection with a controller of ours opens, with this window; gives the number of the controller.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_controller_starts(guest: &Exclusive<Guest>, flow: u32, window: u32) -> u32 {
    guest.with(|guest| guest.controller_starts(flow, window))
}

/// What a controller needs of the kernel; nothing without one.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_controller_needs(guest: &Exclusive<Guest>, controller: u32, needs: &mut MaybeUninit<KernelNeeds>) {
    needs.write(tell(guest, controller, |controller| controller.needs()).unwrap_or_default());
}

/// A segment that ends at this byte is about to leave.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_controller_sends(guest: &Exclusive<Guest>, now: u64, controller: u32, end: u32, ack: &KernelAck) {
    tell(guest, controller, |controller| controller.on_sent(Time::from_nanos(now), end, ack));
}

/// The segment that ends at this byte is lost.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_controller_loses(guest: &Exclusive<Guest>, now: u64, controller: u32, end: u32, ack: &KernelAck) {
    tell(guest, controller, |controller| controller.on_lost(Time::from_nanos(now), end, ack));
}

/// Closes the connection of a controller.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_controller_ends(guest: &Exclusive<Guest>, controller: u32) {
    guest.with(|guest| guest.controller_ends(controller));
}

/// Calls a controller, if there is one of this number.
fn tell<R>(guest: &Exclusive<Guest>, controller: u32, what: impl FnOnce(&mut KernelController) -> R) -> Option<R> {
    guest.with(|guest| guest.controller(controller).map(what))
}

/// Asks a controller; without one the windows stay.
fn ask(guest: &Exclusive<Guest>, controller: u32, windows: &mut Windows, what: impl FnOnce(&mut KernelController) -> Windows) {
    if let Some(asked) = tell(guest, controller, what) {
        *windows = asked;
    }
}

/// Data was acknowledged.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_controller_acks(guest: &Exclusive<Guest>, now: u64, controller: u32, ack: &KernelAck, windows: &mut Windows) {
    ask(guest, controller, windows, |controller| controller.on_ack(Time::from_nanos(now), ack));
}

/// The network signaled congestion, by a mark or by a loss, while this window was in use.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_controller_reduces(guest: &Exclusive<Guest>, now: u64, controller: u32, marked: bool, windows: &mut Windows) {
    let window = windows.cwnd;
    ask(guest, controller, windows, |controller| controller.on_congestion(Time::from_nanos(now), window, marked));
}

/// The reduction just requested was for a timeout.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_controller_times_out(guest: &Exclusive<Guest>, now: u64, controller: u32, windows: &mut Windows) {
    let window = windows.cwnd;
    ask(guest, controller, windows, |controller| controller.on_rto(Time::from_nanos(now), window));
}

/// The retransmission timer expired; this is the kernel's window after it.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_controller_restarts_after_timeout(guest: &Exclusive<Guest>, now: u64, controller: u32, windows: &mut Windows) {
    let window = windows.cwnd;
    ask(guest, controller, windows, |controller| controller.restart_after_timeout(Time::from_nanos(now), window));
}

/// The last reduction is taken back.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_controller_undoes(guest: &Exclusive<Guest>, controller: u32, windows: &mut Windows) {
    ask(guest, controller, windows, KernelController::undo);
}

/// A loss is found while this window is in use and is being reduced for marks. Gives the window that the reduction goes on to, or 0 if that
/// does not change it.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_controller_loses_in_reduction(guest: &Exclusive<Guest>, controller: u32, window: u32) -> u32 {
    tell(guest, controller, |controller| controller.lose_in_reduction(window)).flatten().unwrap_or(0)
}

/// A reduction for marks or a loss is over.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_controller_ends_reduction(guest: &Exclusive<Guest>, controller: u32) {
    tell(guest, controller, |controller| controller.end_reduction());
}

/// The kernel restarts after an idle time, with these windows.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_controller_restarts(guest: &Exclusive<Guest>, controller: u32, windows: &Windows) {
    tell(guest, controller, |controller| controller.restart(windows));
}

/// A segment is about to be sent after an idle time in milliseconds.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_controller_ends_idle(guest: &Exclusive<Guest>, now: u64, controller: u32, idle_ms: u32) {
    tell(guest, controller, |controller| controller.end_idle(Time::from_nanos(now), idle_ms));
}

/// The run ends.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_end(guest: &Exclusive<Guest>, now: u64) {
    guest.with(|guest| guest.on_end(now));
}

/// The files of a run, as C numbers them.
const LOG: u32 = 0;
const HEADERS: u32 = 1;

/// Writes the log and the headers to their files, each if it is longer than `least` bytes.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_store_logs(guest: &Exclusive<Guest>, least: usize) {
    guest.with(|guest| {
        if guest.log().len() > least {
            // SAFETY: C only reads the bytes. They stay where they are, since the guest is in use until the call returns.
            unsafe { sojourn_store(LOG, guest.log().as_ptr(), guest.log().len()) };
            guest.clear_log();
        }
        if guest.headers().len() > least {
            // SAFETY: as above.
            unsafe { sojourn_store(HEADERS, guest.headers().as_ptr(), guest.headers().len()) };
            guest.clear_headers();
        }
    });
}
