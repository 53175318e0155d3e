//! The C interface between the kernel's driver (`hosts/linux/kernel`) and the network.
//! `sojourn.h` there declares the same functions.
//!
//! The driver promises for each call that every pointer is aligned and points to a value of its type, that nothing else writes there
//! meanwhile, and that a `MaybeUninit` may be written. Only an `Option` may be null. References to the network and to a discipline are
//! checked: see [`Exclusive`].
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
    /// Appends bytes to one of the files of a run.
    fn sojourn_store(file: u32, bytes: *const u8, length: usize);
}

/// Creates the guest of a plan. If the plan is invalid, returns null and writes to `error`.
///
/// # Safety
/// `plan` points to `length` bytes that nothing writes meanwhile, and `error` to `room` bytes that nothing else uses meanwhile. The bytes
/// of
/// `error` need not be initialized.
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
    // SAFETY: the network copies only packets that it has, and their handles come from C.
    let copied = |handle| unsafe { sojourn_copy(handle) };
    made.ok().map(|guest| Box::new(Exclusive::new(guest.with_copies(copied))))
}

/// The number of hosts.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_hosts(guest: &Exclusive<Guest>) -> u32 {
    guest.with(|guest| guest.hosts())
}

/// The number of flows.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_flows(guest: &Exclusive<Guest>) -> u32 {
    guest.with(|guest| guest.flows())
}

/// The end of the run in ns.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_duration(guest: &Exclusive<Guest>) -> u64 {
    guest.with(|guest| guest.duration()).as_nanos()
}

/// Writes a flow of the plan. Its number is below [`sojourn_flows`].
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_flow(guest: &Exclusive<Guest>, number: u32, flow: &mut MaybeUninit<GuestFlow>) {
    flow.write(guest.with(|guest| guest.flow(number)));
}

/// The time of the next action of a flow's application in ns; the maximum if none.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_application_due(guest: &Exclusive<Guest>, flow: u32) -> u64 {
    guest.with(|guest| guest.application_due(flow)).as_nanos()
}

/// Performs the action of a flow's application that is due.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_application_acts(guest: &Exclusive<Guest>, flow: u32, written: &mut MaybeUninit<Written>) {
    written.write(guest.with(|guest| guest.application_acts(flow)));
}

/// Handles the completion of a session's connection.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_session_completes(guest: &Exclusive<Guest>, now: u64, flow: u32) {
    guest.with(|guest| guest.session_completes(now, flow));
}

/// Sends a packet from a host.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_send(guest: &Exclusive<Guest>, now: u64, packet: &Packet) {
    guest.with(|guest| guest.send(now, *packet));
}

/// Executes events that are due by `now`.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_advance(guest: &Exclusive<Guest>, now: u64) {
    guest.with(|guest| guest.advance(now));
}

/// Wakes a link: its host-owned queue is ready to send.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_wake(guest: &Exclusive<Guest>, now: u64, link: u32) {
    guest.with(|guest| guest.wake(now, link));
}

/// The time at which the network must be advanced next, in ns; the maximum if never.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_next_event(guest: &Exclusive<Guest>) -> u64 {
    guest.with(|guest| guest.next_event())
}

/// Takes the next packet that has left the network.
/// Returns 0 for none, 1 if it reached its host, 2 if it was dropped. Nothing is written for 0.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_settled(guest: &Exclusive<Guest>, packet: &mut MaybeUninit<Packet>) -> u32 {
    let Some((settled, fate)) = guest.with(Guest::settled) else { return 0 };
    packet.write(settled);
    match fate {
        Fate::Delivered => 1,
        Fate::Dropped => 2,
    }
}

/// Logs bytes that the receiving application has read.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_read(guest: &Exclusive<Guest>, now: u64, flow: u32, bytes: u64) {
    guest.with(|guest| guest.on_read(now, flow, bytes));
}

/// Logs a round-trip sample of a sender, in us.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_rtt(guest: &Exclusive<Guest>, now: u64, flow: u32, rtt_us: u64) {
    guest.with(|guest| guest.on_rtt(now, flow, rtt_us));
}

/// Logs the windows of a sender, in segments.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_window(guest: &Exclusive<Guest>, now: u64, flow: u32, cwnd: u32, ssthresh: u32) {
    guest.with(|guest| guest.on_window(now, flow, cwnd, ssthresh));
}

/// Logs the start of a sender's loss recovery, by a timeout or by a fast retransmit.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_loss(guest: &Exclusive<Guest>, now: u64, flow: u32, timeout: bool) {
    guest.with(|guest| guest.on_loss(now, flow, timeout));
}

/// Logs the ACK of the last byte of a connection.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_completed(guest: &Exclusive<Guest>, now: u64, flow: u32, opened: u64, bytes: u64) {
    guest.with(|guest| guest.on_completed(now, flow, opened, bytes));
}

/// Opens a connection with a controller of the simulator and this window.
/// Returns the number of the controller.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_controller_starts(guest: &Exclusive<Guest>, flow: u32, window: u32) -> u32 {
    guest.with(|guest| guest.controller_starts(flow, window))
}

/// Writes a controller's requirements on the kernel; writes nothing without a controller.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_controller_needs(guest: &Exclusive<Guest>, controller: u32, needs: &mut MaybeUninit<KernelNeeds>) {
    needs.write(tell(guest, controller, |controller| controller.needs()).unwrap_or_default());
}

/// Reports a segment that is about to be sent and ends at byte `end`.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_controller_sends(guest: &Exclusive<Guest>, now: u64, controller: u32, end: u32, ack: &KernelAck) {
    tell(guest, controller, |controller| controller.on_sent(Time::from_nanos(now), end, ack));
}

/// Reports the loss of the segment that ends at byte `end`.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_controller_loses(guest: &Exclusive<Guest>, now: u64, controller: u32, end: u32, ack: &KernelAck) {
    tell(guest, controller, |controller| controller.on_lost(Time::from_nanos(now), end, ack));
}

/// Closes the connection of a controller.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_controller_ends(guest: &Exclusive<Guest>, controller: u32) {
    guest.with(|guest| guest.controller_ends(controller));
}

/// Calls a controller, if it exists.
fn tell<R>(guest: &Exclusive<Guest>, controller: u32, what: impl FnOnce(&mut KernelController) -> R) -> Option<R> {
    guest.with(|guest| guest.controller(controller).map(what))
}

/// Calls a controller for new windows. Without a controller, the windows are unchanged.
fn ask(guest: &Exclusive<Guest>, controller: u32, windows: &mut Windows, what: impl FnOnce(&mut KernelController) -> Windows) {
    if let Some(asked) = tell(guest, controller, what) {
        *windows = asked;
    }
}

/// Reports an ACK.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_controller_acks(guest: &Exclusive<Guest>, now: u64, controller: u32, ack: &KernelAck, windows: &mut Windows) {
    ask(guest, controller, windows, |controller| controller.on_ack(Time::from_nanos(now), ack));
}

/// Reports a congestion signal, a mark or a loss, while this window was in use.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_controller_reduces(guest: &Exclusive<Guest>, now: u64, controller: u32, marked: bool, windows: &mut Windows) {
    let window = windows.cwnd;
    ask(guest, controller, windows, |controller| controller.on_congestion(Time::from_nanos(now), window, marked));
}

/// Reports that the reduction just requested was for a timeout.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_controller_times_out(guest: &Exclusive<Guest>, now: u64, controller: u32, windows: &mut Windows) {
    let window = windows.cwnd;
    ask(guest, controller, windows, |controller| controller.on_rto(Time::from_nanos(now), window));
}

/// Reports a retransmission timeout, with the kernel's window after it.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_controller_restarts_after_timeout(guest: &Exclusive<Guest>, now: u64, controller: u32, windows: &mut Windows) {
    let window = windows.cwnd;
    ask(guest, controller, windows, |controller| controller.restart_after_timeout(Time::from_nanos(now), window));
}

/// Undoes the last reduction.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_controller_undoes(guest: &Exclusive<Guest>, controller: u32, windows: &mut Windows) {
    ask(guest, controller, windows, KernelController::undo);
}

/// Reports a loss while this window is in use and is being reduced for marks.
/// Returns the new target window of the reduction, or 0 if it does not change.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_controller_loses_in_reduction(guest: &Exclusive<Guest>, controller: u32, window: u32) -> u32 {
    tell(guest, controller, |controller| controller.lose_in_reduction(window)).flatten().unwrap_or(0)
}

/// Reports the end of a reduction for marks or a loss.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_controller_ends_reduction(guest: &Exclusive<Guest>, controller: u32) {
    tell(guest, controller, |controller| controller.end_reduction());
}

/// Reports the kernel's restart after an idle time, with these windows.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_controller_restarts(guest: &Exclusive<Guest>, controller: u32, windows: &Windows) {
    tell(guest, controller, |controller| controller.restart(windows));
}

/// Reports the end of an idle time in milliseconds: a segment is about to be sent.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_controller_ends_idle(guest: &Exclusive<Guest>, now: u64, controller: u32, idle_ms: u32) {
    tell(guest, controller, |controller| controller.end_idle(Time::from_nanos(now), idle_ms));
}

/// Ends the run.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_end(guest: &Exclusive<Guest>, now: u64) {
    guest.with(|guest| guest.on_end(now));
}

/// The files of a run, as numbered in C.
const LOG: u32 = 0;
const HEADERS: u32 = 1;

/// Writes the log and the headers to their files, each if it is longer than `least` bytes.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_store_logs(guest: &Exclusive<Guest>, least: usize) {
    guest.with(|guest| {
        if guest.log().len() > least {
            // SAFETY: C only reads the bytes. They are not moved, because the guest is in use until the call returns.
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
