//! The congestion controllers of the simulator, for a transport in C that reports packets.

use crate::text::{fail, or_fail, read};
use sojourn_cc::{Driver, RoundTrip, drivable};
use sojourn_units::{Duration, Stream, Time};
use std::ffi::c_char;

/// A congestion controller. Its times are the transport's, in nanoseconds, and never go back.
pub struct SojournController(Driver);

/// What the transport reports after the packets of an ACK.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct SojournAcks {
    /// The RTT of the newest acknowledged packet in nanoseconds; 0 without a sample.
    pub rtt_ns: u64,
    /// The smoothed RTT in nanoseconds; 0 before the first sample.
    pub srtt_ns: u64,
    /// The minimum RTT in nanoseconds; 0 before the first sample.
    pub rtt_min_ns: u64,
    /// Packets that are newly reported as marked, if the transport counts marks; else 0. A controller that does not count them takes
    /// them for one mark.
    pub marked: u64,
    /// Whether the application, and not the window, limited the sender.
    pub app_limited: bool,
}

fn time(ns: u64) -> Time {
    Time::ZERO + Duration::from_nanos(ns)
}

/// Creates a controller with its defaults, such as "cubic" or "bbr3"; NULL if there is none of this name.
/// `packet` is the size of a full packet and `window` the initial window, in bytes. `seed` is that of its random choices.
///
/// # Safety
/// `name` is NULL or ends with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_cc_new(name: *const c_char, packet: u64, window: u64, seed: u64) -> *mut SojournController {
    // SAFETY: the caller upholds it.
    let Some(name) = (unsafe { read(name, "name") }) else { return std::ptr::null_mut() };
    let Some(entry) = drivable().find(|entry| entry.name == name) else {
        let names: Vec<&str> = drivable().map(|entry| entry.name).collect();
        fail(&format!("name: expected a controller ({}), got \"{name}\"", names.join(", ")));
        return std::ptr::null_mut();
    };
    or_fail(Driver::new(&(entry.default)(), packet, window)).map_or(std::ptr::null_mut(), |mut driver| {
        driver.use_random(Stream::named(seed, "controller"));
        Box::into_raw(Box::new(SojournController(driver)))
    })
}

/// Reports a packet of `bytes` bytes that is sent at `now_ns`.
///
/// # Safety
/// `controller` is from [`sojourn_cc_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_cc_on_sent(controller: *mut SojournController, now_ns: u64, bytes: u64) {
    // SAFETY: the caller upholds it.
    unsafe { &mut *controller }.0.on_sent(time(now_ns), bytes);
}

/// Reports that the packet of `bytes` bytes that was sent at `sent_ns` is acknowledged.
/// [`sojourn_cc_on_acks_end`] follows the last packet of an ACK.
///
/// # Safety
/// `controller` is from [`sojourn_cc_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_cc_on_ack(controller: *mut SojournController, now_ns: u64, sent_ns: u64, bytes: u64) {
    // SAFETY: the caller upholds it.
    unsafe { &mut *controller }.0.on_ack(time(now_ns), time(sent_ns), bytes);
}

/// Reports that all packets that an ACK acknowledges were reported. The window changes here.
///
/// # Safety
/// `controller` is from [`sojourn_cc_new`], and `acks` can be read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_cc_on_acks_end(controller: *mut SojournController, now_ns: u64, acks: *const SojournAcks) {
    // SAFETY: the caller upholds it.
    let (controller, acks) = unsafe { (&mut *controller, *acks) };
    let latest = (acks.rtt_ns > 0).then(|| Duration::from_nanos(acks.rtt_ns));
    let rtt = RoundTrip { latest, smoothed: Duration::from_nanos(acks.srtt_ns), least: Duration::from_nanos(acks.rtt_min_ns) };
    controller.0.on_acks_end(time(now_ns), rtt, acks.marked, acks.app_limited);
}

/// Reports `bytes` lost bytes; the newest of their packets was sent at `sent_ns`, and older ones are lost first.
/// The window is reduced once for all losses of a round trip.
///
/// # Safety
/// `controller` is from [`sojourn_cc_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_cc_on_loss(controller: *mut SojournController, now_ns: u64, sent_ns: u64, bytes: u64) {
    // SAFETY: the caller upholds it.
    unsafe { &mut *controller }.0.on_lost(time(now_ns), time(sent_ns), bytes);
}

/// Reports a mark of a packet that was sent at `sent_ns`, if the transport does not count marks.
///
/// # Safety
/// `controller` is from [`sojourn_cc_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_cc_on_mark(controller: *mut SojournController, now_ns: u64, sent_ns: u64) {
    // SAFETY: the caller upholds it.
    unsafe { &mut *controller }.0.on_mark(time(now_ns), time(sent_ns));
}

/// Reports persistent congestion (rfc9002#7.6), after its losses.
///
/// # Safety
/// `controller` is from [`sojourn_cc_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_cc_on_persistent_congestion(controller: *mut SojournController, now_ns: u64) {
    // SAFETY: the caller upholds it.
    unsafe { &mut *controller }.0.on_persistent_congestion(time(now_ns));
}

/// Reports that the losses of the last reduction were spurious: their packets arrived late. The reduction is undone.
///
/// # Safety
/// `controller` is from [`sojourn_cc_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_cc_on_spurious_loss(controller: *mut SojournController) {
    // SAFETY: the caller upholds it.
    unsafe { &mut *controller }.0.on_spurious_loss();
}

/// Reports that full packets have `packet` bytes from now on. The window in bytes stays.
///
/// # Safety
/// `controller` is from [`sojourn_cc_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_cc_on_packet_size(controller: *mut SojournController, packet: u64) {
    // SAFETY: the caller upholds it.
    unsafe { &mut *controller }.0.set_packet_size(packet);
}

/// Returns the congestion window in bytes.
///
/// # Safety
/// `controller` is from [`sojourn_cc_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_cc_window(controller: *const SojournController) -> u64 {
    // SAFETY: the caller upholds it.
    unsafe { &*controller }.0.window()
}

/// Returns the pacing rate in bytes per second; 0 if the controller leaves pacing to the transport.
///
/// # Safety
/// `controller` is from [`sojourn_cc_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_cc_pacing_rate(controller: *const SojournController) -> u64 {
    // SAFETY: the caller upholds it.
    unsafe { &*controller }.0.pace().map_or(0, |pace| pace.rate)
}

/// Returns the bytes that may be sent back to back at the pacing rate; 0 if the controller leaves pacing to the transport.
///
/// # Safety
/// `controller` is from [`sojourn_cc_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_cc_send_quantum(controller: *const SojournController) -> u64 {
    // SAFETY: the caller upholds it.
    unsafe { &*controller }.0.pace().map_or(0, |pace| pace.quantum)
}

/// Returns the slow start threshold in bytes; `UINT64_MAX` before the first reduction.
///
/// # Safety
/// `controller` is from [`sojourn_cc_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_cc_ssthresh(controller: *const SojournController) -> u64 {
    // SAFETY: the caller upholds it.
    unsafe { &*controller }.0.ssthresh().unwrap_or(u64::MAX)
}

/// Frees a controller. NULL is a no-op.
///
/// # Safety
/// `controller` is NULL or from [`sojourn_cc_new`], and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_cc_free(controller: *mut SojournController) {
    if !controller.is_null() {
        // SAFETY: the caller upholds it.
        drop(unsafe { Box::from_raw(controller) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sojourn_error;
    use std::ffi::CStr;

    #[test]
    fn cubic_doubles_its_window_in_slow_start_and_keeps_seven_tenths_after_a_loss() {
        let (ms, rtt_ns) = (1_000_000, 50_000_000);
        let acks = SojournAcks { rtt_ns, srtt_ns: rtt_ns, rtt_min_ns: rtt_ns, marked: 0, app_limited: false };
        unsafe {
            let cubic = sojourn_cc_new(c"cubic".as_ptr(), 1200, 12_000, 1);
            (0..10).for_each(|n| sojourn_cc_on_sent(cubic, n * ms, 1200));
            (0..10).for_each(|n| sojourn_cc_on_ack(cubic, 60 * ms, n * ms, 1200));
            sojourn_cc_on_acks_end(cubic, 60 * ms, &acks);
            assert_eq!(sojourn_cc_window(cubic), 24_000);
            sojourn_cc_on_sent(cubic, 61 * ms, 1200);
            sojourn_cc_on_loss(cubic, 130 * ms, 61 * ms, 1200);
            assert_eq!(sojourn_cc_window(cubic), 16_800);
            sojourn_cc_free(cubic);
        }
    }

    #[test]
    fn bbr_sets_a_pacing_rate_and_an_unknown_name_is_an_error() {
        unsafe {
            let bbr = sojourn_cc_new(c"bbr3".as_ptr(), 1200, 12_000, 1);
            assert!(sojourn_cc_pacing_rate(bbr) > 0);
            sojourn_cc_free(bbr);
            assert!(sojourn_cc_new(c"none".as_ptr(), 1200, 12_000, 1).is_null());
            assert!(CStr::from_ptr(sojourn_error()).to_str().unwrap().starts_with("name: expected a controller (reno, cubic, "));
        }
    }
}
