//! The transmitter of a link: how long a packet takes to be sent, and when it arrives at the other end.

use alloc::collections::VecDeque;
use sojourn_spec::link::{DelayChange, Link, RateChange};
use sojourn_units::{Duration, Rate, Serializer, Time};

/// Rate and propagation delay, which may change during the run.
#[derive(Clone, Debug)]
pub(super) struct Transmitter {
    pub delay: Duration,
    /// When the transmitter is free.
    pub free_at: Time,
    /// `None` sends in no time.
    pub serializer: Option<Serializer>,
    delay_varies: bool,
    first_rate: Option<Rate>,
    rate_changes: VecDeque<RateChange>,
    delay_changes: VecDeque<DelayChange>,
    /// When the last packet arrives at the other end, where the delay varies.
    last_arrival: Time,
}

impl Transmitter {
    pub fn new(link: &Link) -> Self {
        Transmitter {
            delay: link.delay,
            free_at: Time::ZERO,
            serializer: link.rate.map(Serializer::new),
            delay_varies: !link.delay_changes.is_empty(),
            first_rate: link.rate,
            rate_changes: link.rate_changes.iter().copied().collect(),
            delay_changes: link.delay_changes.iter().copied().collect(),
            last_arrival: Time::ZERO,
        }
    }

    /// The rate at the start; `None` sends in no time.
    pub fn first_rate(&self) -> Option<Rate> {
        self.first_rate
    }

    /// The rate now; `None` sends in no time.
    #[inline]
    pub fn rate(&self) -> Option<Rate> {
        self.serializer.as_ref().map(Serializer::rate)
    }

    /// Whether rate and delay stay what they are.
    pub fn is_steady(&self) -> bool {
        self.rate_changes.is_empty() && !self.delay_varies
    }

    /// Since when the transmitter has been idle at `now`; `None` while it is busy.
    #[inline]
    pub fn idle_since(&self, now: Time) -> Option<Time> {
        (self.free_at <= now).then_some(self.free_at)
    }

    /// The time that a packet of `size` bytes takes at the present rate.
    #[inline]
    pub fn time_for(&self, size: u32) -> Duration {
        self.rate().map_or(Duration::ZERO, |rate| rate.time_for(u64::from(size)))
    }

    /// Sends `size` bytes from `start` on, after a pause if `idle`; gives the end of the transmission.
    #[inline]
    pub fn send(&mut self, start: Time, idle: bool, size: u32) -> Time {
        if !self.rate_changes.is_empty() {
            self.change_rate(start);
        }
        self.send_at_rate(start, idle, size)
    }

    /// The same at the present rate.
    #[inline]
    pub fn send_at_rate(&mut self, start: Time, idle: bool, size: u32) -> Time {
        self.free_at = start
            + match &mut self.serializer {
                None => Duration::ZERO,
                Some(serializer) if idle => serializer.send_first(size),
                Some(serializer) => serializer.send(size),
            };
        self.free_at
    }

    fn change_rate(&mut self, start: Time) {
        while let Some(&RateChange { at, rate }) = self.rate_changes.front()
            && at <= start
        {
            self.rate_changes.pop_front();
            self.serializer = Some(Serializer::new(rate));
        }
    }

    /// When a packet whose transmission ends at `end` arrives at the other end.
    #[inline]
    pub fn arrival(&mut self, end: Time) -> Time {
        if self.delay_varies { self.arrival_in_order(end) } else { end + self.delay }
    }

    /// The same where the delay varies. The packet arrives after the packet ahead of it: the order stays and no two arrive together.
    fn arrival_in_order(&mut self, end: Time) -> Time {
        while let Some(&DelayChange { at, delay }) = self.delay_changes.front()
            && at <= end
        {
            self.delay_changes.pop_front();
            self.delay = delay;
        }
        self.last_arrival = (end + self.delay).max(self.last_arrival + Duration::from_nanos(1));
        self.last_arrival
    }
}
