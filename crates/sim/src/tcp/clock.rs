//! Timestamps, and the clock of a receiver, which may be ahead of its sender's and run faster.

use sojourn_spec::tcp::TcpOptions;
use sojourn_units::Time;

/// What a timestamp shows: milliseconds (rfc7323#5.4).
#[inline]
pub fn millis(time: Time) -> u64 {
    time.as_millis()
}

/// Whether the receiver's clock shows the time of the run.
#[inline]
pub fn is_exact_clock(params: &TcpOptions) -> bool {
    params.clock_offset == 0 && params.clock_skew_ppm == 0.0
}

/// What the receiver's clock shows at `now`: with an offset and a drift, but never before 0.
#[inline]
pub fn clock(now: Time, params: &TcpOptions) -> Time {
    if is_exact_clock(params) { now } else { inexact_clock(now, params) }
}

#[cold]
fn inexact_clock(now: Time, params: &TcpOptions) -> Time {
    let skew = now.as_nanos() as f64 * params.clock_skew_ppm * 1e-6;
    Time::from_nanos(now.as_nanos().saturating_add_signed(params.clock_offset + skew as i64))
}
