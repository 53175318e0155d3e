//! Timestamps and the clock of the receiver.
//! That clock may be ahead of the sender's, and may run faster.

use sojourn_spec::tcp::TcpOptions;
use sojourn_units::{Duration, Time};

/// The value of a timestamp: whole milliseconds (rfc7323#5.4).
#[inline]
pub fn millis(time: Time) -> u64 {
    time.as_millis()
}

/// The time between two times by a clock of whole microseconds, at least 1 µs.
/// Linux has such a clock (`tcp_stamp_us_delta`).
#[inline]
pub fn micros_between(from: Time, to: Time) -> Duration {
    Duration::from_micros((to.as_micros() - from.as_micros()).max(1))
}

/// Whether the receiver's clock is exact: no offset, no drift.
#[inline]
pub fn is_exact_clock(params: &TcpOptions) -> bool {
    params.clock_offset == 0 && params.clock_skew_ppm == 0.0
}

/// The receiver's clock at `now`, with its offset and drift; never below 0.
#[inline]
pub fn clock(now: Time, params: &TcpOptions) -> Time {
    if is_exact_clock(params) { now } else { inexact_clock(now, params) }
}

#[cold]
fn inexact_clock(now: Time, params: &TcpOptions) -> Time {
    let skew = now.as_nanos() as f64 * params.clock_skew_ppm * 1e-6;
    Time::from_nanos(now.as_nanos().saturating_add_signed(params.clock_offset + skew as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trip_time_in_microseconds_depends_on_when_it_began() {
        let between = |from, to| micros_between(Time::from_nanos(from), Time::from_nanos(to)).as_nanos();
        assert_eq!([between(0, 2_999), between(900, 3_899), between(1_100, 4_099), between(0, 10)], [2_000, 3_000, 3_000, 1_000]);
    }
}
