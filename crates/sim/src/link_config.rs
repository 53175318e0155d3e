//! What a link is made from, what it measures, and what it answers.

use crate::stats::{Quantiles, QueueStats, Sums};
use sojourn_aqm::{AnyAqm, Counters, QueueController};
use sojourn_units::{Duration, Rate, Time};

/// What a link is made from.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    /// Its name in messages and records.
    pub name: String,
    /// Its rate; `None` sends in no time and never queues.
    pub rate: Option<Rate>,
    /// Its propagation delay.
    pub delay: Duration,
    /// Its queue's controller.
    pub controller: QueueController,
    /// New rates from given times on, in order of time. A packet is sent at the rate in force when its sending starts.
    pub changes: Vec<(Time, Rate)>,
    /// New propagation delays from given times on, in order of time, of a link with a rate. A packet takes the delay in
    /// force when its sending ends; where that got shorter it still follows the packet ahead of it.
    pub delays: Vec<(Time, Duration)>,
    /// What to measure.
    pub measure: Measure,
    /// Who tells its queue of round-trip times and of the number of flows, where it asks.
    pub hints: Hints,
}

impl LinkConfig {
    /// Whether nothing is decided or measured on it.
    pub(crate) fn is_lane(&self) -> bool {
        let steady = self.changes.is_empty() && self.delays.is_empty();
        self.measure == Measure::Counts && steady && matches!(self.controller.aqm, AnyAqm::DropTail(_))
    }
}

/// Who tells a link's queue of round-trip times and of the number of flows.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Hints {
    /// The senders: each data packet carries its sender's smoothed RTT, and those that send are counted exactly.
    #[default]
    Senders,
    /// The router before the link, from the headers of what it sends over the link and of what comes back over another.
    Router {
        /// The link whose packets come back past the router, as a position in the configuration.
        back: Option<u32>,
    },
}

/// How much a link measures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Measure {
    /// Only packets and drops, as the audit needs: for access links.
    Counts,
    /// Also the queue over time, waits and the time spent sending.
    Moments,
    /// Also the distribution of waits and the discipline's probability.
    All,
}

/// What a link measured over the window of statistics.
#[derive(Clone, Debug, Default)]
pub struct LinkStats {
    /// Accounts of the queue's controller within the window.
    pub counters: Counters,
    /// The queue over time.
    pub queue: QueueStats,
    /// Waits of the packets that came and left for the link in the window, in seconds.
    pub wait: Sums,
    /// Their distribution.
    pub waits: Quantiles,
    /// Time spent sending.
    pub busy: Duration,
    /// Packets whose sending ended in the window.
    pub sent: u64,
    /// Bytes of those.
    pub sent_bytes: u64,
    /// The discipline's probability as arriving packets met it.
    pub probability: Sums,
}

/// What became of a packet offered to a link.
#[derive(Clone, Copy, Debug)]
pub enum Offer {
    /// It will arrive at the other end at this time.
    Arrives(Time),
    /// It was dropped.
    Dropped,
    /// Nothing yet: another packet left the queue at the same instant, and the link must be told how long this one was under way.
    Tied,
    /// It was taken to be kept (or dropped: see [`Link::next_lost`]); the link must be given a departure at this time if it says so.
    Kept(Option<Time>),
}

/// How far apart what happens at one instant may lie: times of sending are rounded to nanoseconds.
pub(crate) const INSTANT: Duration = Duration::from_nanos(1);

/// How packets cross a link that do not wait: its rate and its propagation delay, at first and from given times on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Crossing {
    /// The rate of sending; `None` sends in no time.
    pub rate: Option<Rate>,
    /// Later rates, in order of time.
    pub rates: Vec<(Time, Rate)>,
    /// The propagation delay.
    pub delay: Duration,
    /// Later delays, in order of time.
    pub delays: Vec<(Time, Duration)>,
}

impl Crossing {
    /// The time from when the sending of a packet of `size` bytes began to its arrival at `now`.
    pub fn of(&self, size: u32, now: Time) -> Duration {
        // In force are the delay when its sending ended and the rate when that began.
        let delay = self.delays.iter().rev().find(|&&(at, delay)| at + delay <= now).map_or(self.delay, |&(_, delay)| delay);
        let sending = |rate: Rate| rate.time_for(u64::from(size));
        let ended = Duration::from_nanos(now.as_nanos().saturating_sub(delay.as_nanos()));
        let later = self.rates.iter().rev().find(|&&(at, rate)| at + sending(rate) <= Time::ZERO + ended);
        delay + later.map(|&(_, rate)| rate).or(self.rate).map_or(Duration::ZERO, sending)
    }
}
