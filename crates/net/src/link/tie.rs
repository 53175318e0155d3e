//! Simultaneous events at a queue: a packet arrives exactly when another one leaves.
//!
//! Why it matters: ties are frequent. ACKs come back as far apart as data packets were sent, so every train of packets that meets a link of
//! its own rate has arrivals on departures. In a small buffer the order of the two decides which packet is lost.
//!
//! The rule: **the event that started earlier happens first.** A departure starts with the transmission that must end before it. An arrival
//! starts with the packet's transmission on the link before. If the arrival comes first, the leaving packet still counts as waiting.
//!
//! The source: ns-2 and ns-3 run simultaneous events in the order in which they were scheduled. ns-2 schedules the end of a transmission
//! and the arrival at the next node when the transmission starts (ns-2 delay.cc `LinkDelay::recv`). With this rule, flows that share a
//! buffer lose in ns-2 and here the same packets in the same order (`crates/sim/tests/timelines.rs`).
//!
//! The cost: the time since the start is needed only for a tie, so no packet carries it. The network offers a packet with a function that
//! computes its transit time over the link before ([`TransitTimes`]); only a link that finds a tie calls it. The ending transmission is
//! assumed to be of a packet as large as the arriving one.
//!
//! On a link with a trace the departure is always first: a packet that arrives at the time of an opportunity misses it, as in Mahimahi.

use alloc::sync::Arc;
use alloc::vec::Vec;
use sojourn_link::LinkTrace;
use sojourn_spec::link::{DelayChange, RateChange};
use sojourn_units::{Duration, Overhead, Rate, Time};

/// The largest distance of simultaneous events, due to rounding to nanoseconds.
/// ns-2 adds floating-point numbers and sometimes decides the other way.
pub(crate) const TIE_TOLERANCE: Duration = Duration::from_nanos(1);

/// Whether an arrival comes before a simultaneous departure.
/// The arrival's transmission on the link before started `transit_time` ago; the transmission whose end releases the departing packet
/// started `transmission_time` ago.
#[inline]
pub(super) fn arrival_is_first(transit_time: Duration, transmission_time: Duration) -> bool {
    transit_time > transmission_time
}

/// The last packet that left a queue after waiting in it.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct LastDeparture {
    pub at: Time,
    /// Its size in bytes; 0 before the first one, and for a packet that did not wait.
    pub size: u32,
}

impl LastDeparture {
    /// Whether it is simultaneous with an arrival at `now`.
    #[inline]
    pub fn ties_with(&self, now: Time) -> bool {
        self.at + TIE_TOLERANCE >= now
    }

    /// Its size, if it still counts as waiting for an arrival at `now`.
    /// `transit_time` is that of the arriving packet over the link before, `transmission_time` that of an equally large packet on this
    /// link. Both are called only for a tie.
    #[inline]
    pub fn still_counted(
        &self,
        now: Time,
        transit_time: impl FnOnce() -> Duration,
        transmission_time: impl FnOnce() -> Duration,
    ) -> Option<u32> {
        let is_tie = self.size > 0 && self.ties_with(now);
        (is_tie && arrival_is_first(transit_time(), transmission_time())).then_some(self.size)
    }
}

/// The transit times of a link.
/// A transit is from the start of a packet's transmission to its arrival at the other end.
#[derive(Clone, Debug, Default)]
pub(crate) struct TransitTimes {
    /// The rate at first; `None` if transmissions take no time.
    pub rate: Option<Rate>,
    /// Later rates, in order of time.
    pub rate_changes: Vec<RateChange>,
    /// The propagation delay at first.
    pub delay: Duration,
    /// Later delays, in order of time.
    pub delay_changes: Vec<DelayChange>,
    /// The smallest propagation delay, now and later.
    pub least_delay: Duration,
    /// The capacity, if it comes from a trace.
    pub trace: Option<Arc<LinkTrace>>,
    /// The overhead of the link layer.
    pub overhead: Option<Overhead>,
}

impl TransitTimes {
    /// The transit time of a packet of `size` bytes that arrives at `now`.
    pub fn of(&self, size: u32, now: Time) -> Duration {
        let size = self.overhead.map_or(size, |overhead| overhead.on_link(size));
        // The delay is the one in force when the transmission ended, the rate the one in force when it started.
        let later = self.delay_changes.iter().rev().find(|change| change.at + change.delay <= now);
        let delay = later.map_or(self.delay, |change| change.delay);
        let transmission = |rate: Rate| rate.time_for(u64::from(size));
        let ended = Time::ZERO + Duration::from_nanos(now.as_nanos().saturating_sub(delay.as_nanos()));
        if let Some(trace) = &self.trace {
            return now.since(trace.start_of(size, ended));
        }
        let later = self.rate_changes.iter().rev().find(|change| change.at + transmission(change.rate) <= ended);
        delay + later.map(|change| change.rate).or(self.rate).map_or(Duration::ZERO, transmission)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_transit_time_takes_the_rate_and_the_delay_in_force() {
        let rate = |bps| Rate::from_bps(bps).unwrap();
        let times = TransitTimes {
            rate: Some(rate(1_000_000)),
            rate_changes: [RateChange { at: Time::ZERO + ms(100), rate: rate(2_000_000) }].into(),
            delay: ms(10),
            delay_changes: [DelayChange { at: Time::ZERO + ms(200), delay: ms(30) }].into(),
            least_delay: ms(10),
            trace: None,
            overhead: None,
        };
        // 1000 bytes take 8 ms at first, then 4 ms.
        assert_eq!(times.of(1000, Time::ZERO + ms(50)), ms(18));
        assert_eq!(times.of(1000, Time::ZERO + ms(114)), ms(14));
        assert_eq!(times.of(1000, Time::ZERO + ms(113)), ms(18));
        assert_eq!(times.of(1000, Time::ZERO + ms(229)), ms(14));
        assert_eq!(times.of(1000, Time::ZERO + ms(230)), ms(34));
    }

    #[test]
    fn a_departure_still_counts_for_an_arrival_that_started_earlier() {
        let last = LastDeparture { at: Time::ZERO + ms(8), size: 1500 };
        assert!(last.ties_with(Time::ZERO + ms(8)) && !last.ties_with(Time::ZERO + ms(9)));
        let still_counted = |last: LastDeparture, at, transit| last.still_counted(Time::ZERO + ms(at), || ms(transit), || ms(1));
        assert_eq!([1, 2].map(|transit| still_counted(last, 8, transit)), [None, Some(1500)]);
        assert_eq!(still_counted(last, 9, 2), None, "the packet left before");
        assert_eq!(still_counted(LastDeparture::default(), 0, 2), None, "none has left");
    }
}
