//! The expiry of timers: exact, or as in Linux's timer wheel.
//! The wheel counts whole ticks and is coarser for long times.

use sojourn_spec::tcp::TcpOptions;
use sojourn_units::{Duration, Time};
use std::hint::black_box;

/// The bits by which each level of the wheel is coarser than the one before.
/// Source: Linux `LVL_CLK_SHIFT`.
const LEVEL_SHIFT: u32 = 3;
/// The number of ticks on the finest level (Linux `LVL_SIZE` less one).
const FINEST: u64 = 63;
/// The coarsest level (Linux `LVL_DEPTH` less one).
const COARSEST: u32 = 8;

/// The number of whole ticks in this many nanoseconds.
/// Nearly all clocks count milliseconds, and a division by a constant becomes a multiplication.
#[inline]
pub fn whole(nanos: u64, tick: u64) -> u64 {
    const MILLISECOND: u64 = 1_000_000;
    // Without the black box the compiler merges both branches into one division by a variable.
    if tick == MILLISECOND { nanos / MILLISECOND } else { black_box(nanos / tick) }
}

/// A time rounded down to whole ticks; unchanged where the clock is exact.
pub fn floor(time: Duration, tick: Duration) -> Duration {
    if tick == Duration::ZERO { time } else { tick * whole(time.as_nanos(), tick.as_nanos()) }
}

/// The expiry time of a timer that is set at `now` for `after` this time.
#[inline]
pub fn due(now: Time, after: Duration, params: &TcpOptions) -> Time {
    let tick = params.tick.as_nanos();
    if !params.timer_wheel || tick == 0 {
        return now + after;
    }
    let ticks = whole(after.as_nanos().saturating_add(tick - 1), tick);
    let level = (0..COARSEST).find(|level| ticks < FINEST << (LEVEL_SHIFT * level)).unwrap_or(COARSEST);
    let shift = LEVEL_SHIFT * level;
    // Rounded down plus one, so that no timer expires early (Linux `calc_index`).
    let expires = (((whole(now.as_nanos(), tick) + ticks) >> shift) + 1) << shift;
    Time::from_nanos(expires * tick)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_tick_is_none() {
        let [tick, time] = [Duration::from_millis(1), Duration::from_micros(3_999)];
        assert_eq!([floor(time, tick), floor(time, Duration::ZERO)], [Duration::from_millis(3), time]);
    }

    #[test]
    fn a_timer_is_late_by_a_tick_at_most_or_by_an_eighth_of_its_time_if_it_is_long() {
        let params = TcpOptions::linux();
        let at = |micros: u64, ms| due(Time::ZERO + Duration::from_micros(micros), Duration::from_millis(ms), &params).as_nanos() / 1_000;
        assert_eq!([at(0, 40), at(900, 40), at(1_000, 62)], [41_000, 41_000, 64_000]);
        assert_eq!([at(0, 63), at(7_000, 200)], [64_000, 208_000]);
        assert_eq!(at(1_000, 504), 512_000);
        let exact = TcpOptions { timer_wheel: false, ..TcpOptions::linux() };
        assert_eq!(due(Time::ZERO, Duration::from_micros(1_500), &exact), Time::ZERO + Duration::from_micros(1_500));
    }
}
