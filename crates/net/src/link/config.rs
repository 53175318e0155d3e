//! What a link is made from, what it measures, and what it answers.

use super::tie_break::TransitTimes;
use crate::stats::{Quantiles, QueueStats, Sums};
use alloc::string::String;
use alloc::vec::Vec;
use sojourn_aqm::{AnyAqm, Counters, QueueController};
use sojourn_link::Impairments;
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
    /// Its queue: the discipline, its limit, its ECN switch and its random stream.
    pub controller: QueueController,
    /// New rates from given times on, in order of time. A packet is sent at the rate in force when its transmission starts.
    pub changes: Vec<(Time, Rate)>,
    /// New propagation delays from given times on, in order of time, of a link with a rate. A packet takes the delay in
    /// force when its transmission ends. Where the delay got shorter, it still follows the packet ahead of it.
    pub delays: Vec<(Time, Duration)>,
    /// What to measure.
    pub measure: Measure,
    /// Where its queue gets round-trip times and the number of flows from, if it asks for them.
    pub hints: Hints,
    /// What happens to packets before and after its queue, such as random loss.
    pub impairments: Impairments,
}

impl LinkConfig {
    /// Whether nothing is decided or measured on it but whether a packet finds room: then it is an access link.
    pub(crate) fn is_access_link(&self) -> bool {
        let steady = self.changes.is_empty() && self.delays.is_empty();
        self.measure == Measure::Counts && steady && self.impairments.is_empty() && matches!(self.controller.aqm, AnyAqm::DropTail(_))
    }

    /// The least of its propagation delay at first and later.
    pub fn least_delay(&self) -> Duration {
        self.delays.iter().map(|&(_, delay)| delay).fold(self.delay, Duration::min)
    }

    pub(crate) fn transit_times(&self) -> TransitTimes {
        TransitTimes { rate: self.rate, rate_changes: self.changes.clone(), delay: self.delay, delay_changes: self.delays.clone() }
    }
}

/// Where a link's queue gets round-trip times and the number of flows from.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Hints {
    /// From the senders: each data packet carries its sender's smoothed RTT, and active flows are counted exactly.
    #[default]
    Senders,
    /// From the router before the link, which reads the headers of what it sends over the link and of what comes back over another.
    Router {
        /// The link whose packets come back past the router, as a position among the links in the order in which they were added.
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

/// What a link measured within the window of statistics.
#[derive(Clone, Debug, Default)]
pub struct LinkStats {
    /// The queue's counters within the window.
    pub counters: Counters,
    /// Packets that impairments dropped within the window; the queue's counters don't count them.
    pub impaired: u64,
    /// Those of them that impairments dropped before the queue.
    pub impaired_before_queue: u64,
    /// The queue over time.
    pub queue: QueueStats,
    /// Waits (sojourn times) of the packets that arrived and started to be sent in the window, in seconds.
    pub wait: Sums,
    /// Their distribution.
    pub waits: Quantiles,
    /// Time spent sending.
    pub busy: Duration,
    /// Packets whose transmission ended in the window.
    pub sent: u64,
    /// Bytes of those.
    pub sent_bytes: u64,
    /// The discipline's probability as arriving packets met it.
    pub probability: Sums,
}

/// A number of packets and their bytes.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Volume {
    pub packets: u64,
    pub bytes: u64,
}

impl Volume {
    #[inline]
    pub fn add(&mut self, size: u32) {
        self.packets += 1;
        self.bytes += u64::from(size);
    }
}
