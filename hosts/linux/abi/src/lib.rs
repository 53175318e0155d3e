//! The C interface between the kernel's driver (`hosts/linux/kernel`) and the network; `sojourn.h` there declares the same.
//!
//! All pointers come from the driver, which calls from one CPU and never twice at once. Nothing here is clever: each function turns
//! pointers into references and calls [`sojourn_linux`].
#![no_std]

extern crate alloc;

mod discipline;
mod queues;

use alloc::boxed::Box;
use alloc::format;
use core::alloc::{GlobalAlloc, Layout};
use core::ffi::{c_char, c_void};
use core::panic::PanicInfo;
use core::slice;
use sojourn_linux::{Guest, GuestFlow, KernelAck, KernelController, KernelNeeds, Packet, Time, Windows, Written};

unsafe extern "C" {
    fn sojourn_alloc(size: usize) -> *mut c_void;
    fn sojourn_free(memory: *mut c_void);
    fn sojourn_panic(text: *const c_char, length: usize) -> !;
    fn sojourn_copy(handle: u64) -> u64;
}

/// The kernel's memory. It is aligned to 16 bytes, and where the size is a power of two to as much, up to a page.
struct KernelMemory;

const ALIGNED: usize = 16;
const PAGE: usize = 4096;

unsafe impl GlobalAlloc for KernelMemory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() > PAGE {
            return core::ptr::null_mut();
        }
        let size = if layout.align() > ALIGNED { layout.size().max(layout.align()).next_power_of_two() } else { layout.size() };
        unsafe { sojourn_alloc(size).cast() }
    }

    unsafe fn dealloc(&self, memory: *mut u8, _layout: Layout) {
        unsafe { sojourn_free(memory.cast()) }
    }
}

#[global_allocator]
static MEMORY: KernelMemory = KernelMemory;

fn give_up(text: &str) -> ! {
    unsafe { sojourn_panic(text.as_ptr().cast(), text.len()) }
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    give_up(&format!("{info}"))
}

/// Copies text into a buffer of C, with a zero at its end.
fn copy(text: &str, to: &mut [u8]) {
    let length = text.len().min(to.len().saturating_sub(1));
    to[..length].copy_from_slice(&text.as_bytes()[..length]);
    if let Some(end) = to.get_mut(length) {
        *end = 0;
    }
}

/// The guest of a plan, or null and what is wrong with the plan in `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_guest(plan: *const u8, length: usize, error: *mut u8, room: usize) -> *mut Guest {
    let (plan, error) = unsafe { (slice::from_raw_parts(plan, length), slice::from_raw_parts_mut(error, room)) };
    match Guest::new(plan, &mut queues::make) {
        Ok(guest) => Box::into_raw(Box::new(guest.with_copies(|handle| unsafe { sojourn_copy(handle) }))),
        Err(text) => {
            copy(&text, error);
            core::ptr::null_mut()
        }
    }
}

/// How many hosts there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_hosts(guest: &Guest) -> u32 {
    guest.hosts()
}

/// How many flows there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_flows(guest: &Guest) -> u32 {
    guest.flows()
}

/// When the run ends, in ns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_duration(guest: &Guest) -> u64 {
    guest.duration().as_nanos()
}

/// A flow of the plan; its number is below [`sojourn_flows`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_flow(guest: &Guest, number: u32, flow: &mut GuestFlow) {
    *flow = guest.flow(number);
}

/// When the application of a flow acts next, in ns; the largest number if never.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_application_due(guest: &Guest, flow: u32) -> u64 {
    guest.application_due(flow).as_nanos()
}

/// The application of a flow acts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_application_acts(guest: &mut Guest, flow: u32, written: &mut Written) {
    *written = guest.application_acts(flow);
}

/// A connection of a session is complete.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_session_completes(guest: &mut Guest, now: u64, flow: u32) {
    guest.session_completes(now, flow);
}

/// A host sends a packet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_send(guest: &mut Guest, now: u64, packet: &Packet) {
    guest.send(now, *packet);
}

/// Runs what is due by now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_advance(guest: &mut Guest, now: u64) {
    guest.advance(now);
}

/// A queue of the kernel has something to send after it held it back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_wake(guest: &mut Guest, now: u64, link: u32) {
    guest.wake(now, link);
}

/// When the network must be advanced next, in ns; the largest number if never.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_next_event(guest: &mut Guest) -> u64 {
    guest.next_event()
}

/// The next packet that has left the network: 0 if there is none, 1 if it reached its host, 2 if it was dropped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_settled(guest: &mut Guest, packet: &mut Packet) -> u32 {
    guest.settled(packet)
}

/// The application at the receiver has read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_read(guest: &mut Guest, now: u64, flow: u32, bytes: u64) {
    guest.on_read(now, flow, bytes);
}

/// A sender has taken a round-trip sample, in us.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_rtt(guest: &mut Guest, now: u64, flow: u32, rtt_us: u64) {
    guest.on_rtt(now, flow, rtt_us);
}

/// A sender has these windows, in segments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_window(guest: &mut Guest, now: u64, flow: u32, cwnd: u32, ssthresh: u32) {
    guest.on_window(now, flow, cwnd, ssthresh);
}

/// A sender's loss recovery begins: by a timeout, or by a fast retransmit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_loss(guest: &mut Guest, now: u64, flow: u32, timeout: bool) {
    guest.on_loss(now, flow, timeout);
}

/// The last byte of a connection is acknowledged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_completed(guest: &mut Guest, now: u64, flow: u32, opened: u64, bytes: u64) {
    guest.on_completed(now, flow, opened, bytes);
}

/// A connection with a controller of ours opens, with this window; gives the number of the controller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_controller_starts(guest: &mut Guest, flow: u32, window: u32) -> u32 {
    guest.controller_starts(flow, window)
}

/// What a controller needs of the kernel; nothing without one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_controller_needs(guest: &mut Guest, controller: u32, needs: &mut KernelNeeds) {
    *needs = guest.controller(controller).map(|controller| controller.needs()).unwrap_or_default();
}

/// A segment that ends at this byte is about to leave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_controller_sends(guest: &mut Guest, now: u64, controller: u32, end: u32, ack: &KernelAck) {
    if let Some(controller) = guest.controller(controller) {
        controller.on_sent(Time::from_nanos(now), end, ack);
    }
}

/// The segment that ends at this byte is lost.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_controller_loses(guest: &mut Guest, now: u64, controller: u32, end: u32, ack: &KernelAck) {
    if let Some(controller) = guest.controller(controller) {
        controller.on_lost(Time::from_nanos(now), end, ack);
    }
}

/// The connection of a controller is over.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_controller_ends(guest: &mut Guest, controller: u32) {
    guest.controller_ends(controller);
}

/// Asks a controller; without one the windows stay.
fn ask(guest: &mut Guest, controller: u32, windows: &mut Windows, what: impl FnOnce(&mut KernelController) -> Windows) {
    if let Some(controller) = guest.controller(controller) {
        *windows = what(controller);
    }
}

/// Data was acknowledged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_controller_acks(guest: &mut Guest, now: u64, controller: u32, ack: &KernelAck, windows: &mut Windows) {
    ask(guest, controller, windows, |controller| controller.on_ack(Time::from_nanos(now), ack));
}

/// The network signaled congestion, by a mark or by a loss, while this window was in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_controller_reduces(guest: &mut Guest, now: u64, controller: u32, marked: bool, windows: &mut Windows) {
    let window = windows.cwnd;
    ask(guest, controller, windows, |controller| controller.on_congestion(Time::from_nanos(now), window, marked));
}

/// The reduction just asked for was for a timeout.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_controller_times_out(guest: &mut Guest, now: u64, controller: u32, windows: &mut Windows) {
    let window = windows.cwnd;
    ask(guest, controller, windows, |controller| controller.on_rto(Time::from_nanos(now), window));
}

/// The retransmission timer expired; this is the kernel's window after it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_controller_restarts_after_timeout(guest: &mut Guest, now: u64, controller: u32, windows: &mut Windows) {
    let window = windows.cwnd;
    ask(guest, controller, windows, |controller| controller.restart_after_timeout(Time::from_nanos(now), window));
}

/// The last reduction is taken back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_controller_undoes(guest: &mut Guest, controller: u32, windows: &mut Windows) {
    ask(guest, controller, windows, KernelController::undo);
}

/// A loss is found while this window is in use and is being reduced for marks. Gives the window that the reduction goes on to, or 0 if that
/// does not change it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_controller_loses_in_reduction(guest: &mut Guest, controller: u32, window: u32) -> u32 {
    guest.controller(controller).and_then(|controller| controller.lose_in_reduction(window)).unwrap_or(0)
}

/// A reduction for marks or a loss is over.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_controller_ends_reduction(guest: &mut Guest, controller: u32) {
    if let Some(controller) = guest.controller(controller) {
        controller.end_reduction();
    }
}

/// The kernel restarts after an idle time, with these windows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_controller_restarts(guest: &mut Guest, controller: u32, windows: &Windows) {
    if let Some(controller) = guest.controller(controller) {
        controller.restart(windows);
    }
}

/// A segment is about to be sent while nothing is in flight, so many milliseconds after the last one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_controller_ends_idle(guest: &mut Guest, now: u64, controller: u32, idle_ms: u32) {
    if let Some(controller) = guest.controller(controller) {
        controller.end_idle(Time::from_nanos(now), idle_ms);
    }
}

/// The run ends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_end(guest: &mut Guest, now: u64) {
    guest.on_end(now);
}

/// What has been logged since the last [`sojourn_log_clear`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_log(guest: &Guest, length: &mut usize) -> *const u8 {
    *length = guest.log().len();
    guest.log().as_ptr()
}

/// The headers of the packets sent since the last [`sojourn_headers_clear`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_headers(guest: &Guest, length: &mut usize) -> *const u8 {
    *length = guest.headers().len();
    guest.headers().as_ptr()
}

/// Forgets these headers: they are in the file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_headers_clear(guest: &mut Guest) {
    guest.clear_headers();
}

/// Forgets what has been logged: it is in the file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_log_clear(guest: &mut Guest) {
    guest.clear_log();
}
