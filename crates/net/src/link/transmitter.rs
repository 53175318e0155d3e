//! The transmitter of a link: transmission times, and arrivals at the other end.

use super::traced::Traced;
use crate::sent::{Carried, Sent};
use crate::window::Window;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use sojourn_spec::link::{DelayChange, Link, RateChange};
use sojourn_units::{Duration, NANOBITS_PER_BYTE, Overhead, Rate, Serializer, Time};

/// Whether every packet, of `least` bytes or more, takes a nanosecond or more at this rate.
/// No two then arrive at the same time.
pub(super) fn sends_apart(rate: Rate, least: u32) -> bool {
    rate.as_bps() <= NANOBITS_PER_BYTE.saturating_mul(u64::from(least))
}

/// Rate and propagation delay, which may change during the run.
#[derive(Clone, Debug)]
pub(super) struct Transmitter {
    pub delay: Duration,
    /// The time at which the transmitter is free.
    pub free_at: Time,
    /// `None` if transmissions take no time.
    pub serializer: Option<Serializer>,
    /// Whether transmission times depend on more than the size and a constant rate.
    /// The rate may change or come from a trace, or the link layer adds overhead.
    pub adjusts: bool,
    overhead: Option<Overhead>,
    delay_varies: bool,
    first_rate: Option<Rate>,
    rate_changes: VecDeque<RateChange>,
    delay_changes: VecDeque<DelayChange>,
    /// The arrival of the last packet at the other end, if the delay varies.
    last_arrival: Time,
    /// Bytes whose transmission has been planned at the present rate, for the audit.
    /// `since` is the time from which the rate is in force.
    sent_bytes: u64,
    rate_since: Time,
    /// The highest rate so far.
    highest_rate: Option<Rate>,
    /// Whether more was sent at an earlier rate than it allows.
    exceeded: bool,
    /// The capacity, if it comes from a trace.
    traced: Option<Box<Traced>>,
}

impl Transmitter {
    pub fn new(link: &Link) -> Self {
        Transmitter {
            delay: link.delay,
            free_at: Time::ZERO,
            serializer: link.rate.map(Serializer::new),
            adjusts: !link.rate_changes.is_empty() || link.trace.is_some() || link.overhead.is_some(),
            overhead: link.overhead,
            delay_varies: !link.delay_changes.is_empty() || link.trace.as_ref().is_some_and(|trace| trace.rows.has_delay()),
            first_rate: link.rate,
            rate_changes: link.rate_changes.iter().copied().collect(),
            delay_changes: link.delay_changes.iter().copied().collect(),
            last_arrival: Time::ZERO,
            sent_bytes: 0,
            rate_since: Time::ZERO,
            highest_rate: link.rate,
            exceeded: false,
            traced: link.trace.as_ref().map(|trace| Box::new(Traced::new(trace.rows.clone()))),
        }
    }

    /// The rate at the start, the mean rate of a trace; `None` if transmissions take no time.
    pub fn first_rate(&self) -> Option<Rate> {
        self.first_rate
    }

    /// The rate now, the mean rate of a trace; `None` if transmissions take no time.
    #[inline]
    pub fn rate(&self) -> Option<Rate> {
        self.serializer.as_ref().map(Serializer::rate)
    }

    /// Whether rate and delay are constant, and there is no overhead.
    pub fn is_steady(&self) -> bool {
        !self.adjusts && !self.delay_varies
    }

    /// Whether each packet of `least` bytes or more takes at least a nanosecond to the other end.
    /// This holds after all changes.
    pub fn takes_time(&self, least: u32) -> bool {
        let sends_apart = |rate| sends_apart(rate, least);
        (!self.delay_varies && self.delay > Duration::ZERO) || (self.is_steady() && self.first_rate.is_some_and(sends_apart))
    }

    /// The time since which the transmitter has been idle at `now`; `None` while it is busy.
    #[inline]
    pub fn idle_since(&self, now: Time) -> Option<Time> {
        (self.free_at <= now).then_some(self.free_at)
    }

    /// The transmission time of a packet of `size` bytes at the present rate.
    /// With a trace it is infinite, so that a departure always comes before a simultaneous arrival.
    #[inline]
    pub fn time_for(&self, size: u32) -> Duration {
        if self.traced.is_some() {
            return Duration::MAX;
        }
        self.rate().map_or(Duration::ZERO, |rate| rate.time_for(u64::from(self.on_link(size))))
    }

    /// The bytes on the link of a packet of `size` bytes.
    #[inline]
    pub fn on_link(&self, size: u32) -> u32 {
        self.overhead.map_or(size, |overhead| overhead.on_link(size))
    }

    /// The time for `packets` more with `bytes` together, behind all that is planned.
    /// The overhead is computed as if they were equally large.
    pub fn time_for_more(&self, packets: u32, bytes: u64) -> Duration {
        let bytes = match (self.overhead, u64::from(packets)) {
            (None, _) | (_, 0) => bytes,
            (Some(overhead), packets) => packets * u64::from(overhead.on_link((bytes / packets) as u32)),
        };
        match &self.traced {
            Some(traced) => traced.time_for_more(self.free_at, bytes),
            None => self.rate().map_or(Duration::ZERO, |rate| rate.time_for(bytes)),
        }
    }

    /// Sends `size` bytes from `start` on, when the transmitter is free; returns the end.
    /// `idle` is whether it was free before.
    #[inline]
    pub fn send(&mut self, start: Time, size: u32, idle: bool) -> Time {
        if self.adjusts { self.adjust_and_send(start, size, idle) } else { self.send_at_rate(start, size) }
    }

    /// Sends a packet whose transmission time depends on more than size and rate.
    #[inline(never)]
    fn adjust_and_send(&mut self, start: Time, size: u32, idle: bool) -> Time {
        let size = self.on_link(size);
        if let Some(traced) = &mut self.traced {
            self.free_at = traced.send(start, size, idle);
            return self.free_at;
        }
        self.change_rate(start);
        self.send_at_rate(start, size)
    }

    /// Sends a packet at the present rate, without overhead.
    #[inline]
    pub fn send_at_rate(&mut self, start: Time, size: u32) -> Time {
        debug_assert!(start >= self.free_at, "a transmission starts at {start:?}, the one before ends at {:?}", self.free_at);
        self.free_at = start
            + match &mut self.serializer {
                None => Duration::ZERO,
                // In the nanosecond in which the transmitter becomes free, a part of it is still used.
                Some(serializer) if start == self.free_at => serializer.send(size),
                Some(serializer) => serializer.send_first(size),
            };
        self.sent_bytes += u64::from(size);
        self.free_at
    }

    /// The last planned transmission, of a packet of `size` bytes; `None` if it takes no time.
    pub fn last_transmission(&self, size: u32) -> Option<Sent> {
        let on_link = self.on_link(size);
        let carried = match (&self.traced, &self.serializer) {
            (Some(traced), _) => Carried::ByTrace(traced.last(on_link, self.free_at)),
            (None, Some(serializer)) => Carried::AtRate(serializer.last_transmission(on_link, self.free_at)),
            (None, None) => return None,
        };
        Some(Sent { carried, size })
    }

    /// The capacity in bits of its trace in a window; `None` without a trace.
    pub fn traced_capacity(&self, window: Window) -> Option<f64> {
        self.traced.as_ref().map(|traced| traced.capacity_within(window) as f64 / 1e9)
    }

    /// For the audit: whether it never sent more than its rate allows.
    /// This is checked between changes of the rate, and for the number of billionths of a bit within `window`.
    pub fn allows(&self, nanobits: u128, window: Window) -> bool {
        if let Some(traced) = &self.traced {
            return nanobits <= traced.capacity_within(window);
        }
        let span = window.span();
        let Some(highest) = self.highest_rate else { return true };
        let most = u128::from(span.as_nanos()) * u128::from(highest.as_bps());
        nanobits <= most && !self.exceeded && self.kept_rate()
    }

    /// Whether the transmissions since the last change of the rate are within it.
    fn kept_rate(&self) -> bool {
        let spent = if self.free_at == Time::NEVER { Duration::MAX } else { self.free_at.since(self.rate_since) };
        self.serializer.as_ref().is_none_or(|serializer| serializer.allows(self.sent_bytes, spent))
    }

    fn change_rate(&mut self, start: Time) {
        while let Some(&RateChange { at, rate }) = self.rate_changes.front()
            && at <= start
        {
            self.rate_changes.pop_front();
            self.exceeded |= !self.kept_rate();
            (self.sent_bytes, self.rate_since) = (0, start);
            self.highest_rate = self.highest_rate.max(Some(rate));
            // A link without a rate never gets here: nothing is sent on it.
            self.serializer.iter_mut().for_each(|serializer| serializer.change_rate(rate));
        }
    }

    /// The arrival at the other end of a packet whose transmission ends at `end`.
    #[inline]
    pub fn arrival(&mut self, end: Time) -> Time {
        if self.delay_varies { self.arrival_in_order(end) } else { end + self.delay }
    }

    /// The arrival if the delay varies.
    /// The packet arrives after the packet ahead of it: the order stays and no two arrive together.
    fn arrival_in_order(&mut self, end: Time) -> Time {
        let of_trace = self.traced.as_mut().map_or(Duration::ZERO, |traced| traced.delay_at(end));
        while let Some(&DelayChange { at, delay }) = self.delay_changes.front()
            && at <= end
        {
            self.delay_changes.pop_front();
            self.delay = delay;
        }
        self.last_arrival = (end + self.delay + of_trace).max(self.last_arrival + Duration::from_nanos(1));
        self.last_arrival
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(bps: Option<u64>, delay: u64) -> Link {
        Link { rate: bps.and_then(Rate::from_bps), delay: Duration::from_nanos(delay), ..Link::default() }
    }

    /// 40 bytes take 32 ns at 10 Gbit/s and 0.8 ns at 400 Gbit/s.
    #[test]
    fn a_link_takes_time_if_it_delays_or_a_packet_takes_a_nanosecond() {
        let takes_time = |bps, delay| Transmitter::new(&link(bps, delay)).takes_time(40);
        assert!(takes_time(None, 1) && takes_time(Some(10_000_000_000), 0) && takes_time(Some(400_000_000_000), 1));
        assert!(!takes_time(None, 0) && !takes_time(Some(400_000_000_000), 0));
    }

    /// 8 Mbit/s are 8,000,000 bits in a second.
    /// They are also no more than the busy time allows.
    #[test]
    fn the_audit_allows_what_the_rate_can_carry_and_no_more() {
        let window = Window { from: Time::ZERO, until: Time::from_nanos(1_000_000_000) };
        let mut transmitter = Transmitter::new(&link(Some(8_000_000), 0));
        transmitter.send(Time::ZERO, 1000, true);
        let most = 8_000_000 * 1_000_000_000;
        assert!(transmitter.allows(most, window) && !transmitter.allows(most + 1, window));
        transmitter.sent_bytes += 1;
        assert!(!transmitter.allows(0, window), "1001 bytes were sent in a millisecond");
    }
}
