//! A link as the network takes it: nothing left to look up.

use crate::medium::Medium;
use crate::queue::Queue;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use sojourn_link::{ImpairmentConfig, LinkTrace};
use sojourn_units::{Amount, Duration, Overhead, Rate, Time};

/// A directed link.
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Link {
    /// Its name in messages and records.
    pub name: String,
    /// The node where it starts.
    pub from: u32,
    /// The node where it ends.
    pub to: u32,
    /// Its transmission rate; `None`: packets take no time to send, and there is no queue.
    pub rate: Option<Rate>,
    /// Its propagation delay.
    pub delay: Duration,
    /// Its queue. There is one exactly if there is a rate.
    pub queue: Option<Arc<Queue>>,
    /// Later rates, in order of time. A packet is sent at the rate in force when its transmission starts.
    pub rate_changes: Vec<RateChange>,
    /// Later propagation delays, in order of time. A packet takes the delay in force when its transmission ends; if the
    /// delay has become shorter, the packet still follows the one ahead of it.
    pub delay_changes: Vec<DelayChange>,
    /// What it can carry at each time, if that comes from a file: `rate` is then the mean, and the delays and losses of the trace
    /// come on top of those of the link.
    #[cfg_attr(feature = "serde", serde(skip_deserializing, skip_serializing_if = "Option::is_none"))]
    pub trace: Option<Trace>,
    /// What the link layer adds to packets, if it adds something. There is a rate then.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub overhead: Option<Overhead>,
    /// What it does to packets besides queuing them, in order.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub impairments: Vec<ImpairmentConfig>,
    /// The medium that it shares with others, if it does. There is a rate then.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub medium: Option<Arc<Medium>>,
    /// The nearest link in the opposite direction. A router that reads headers (`Hints::Router`) sees its packets too.
    pub reverse: Option<u32>,
    /// What is measured on it.
    pub measure: Measure,
}

/// A link of a single flow: nothing is decided on it but whether a packet finds room, and nothing is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccessLink {
    /// The node where it starts.
    pub from: u32,
    /// The node where it ends.
    pub to: u32,
    /// Its transmission rate; `None`: packets take no time to send, and there is no queue.
    pub rate: Option<Rate>,
    /// Its propagation delay.
    pub delay: Duration,
    /// How much may wait.
    pub limit: Amount,
}

impl AccessLink {
    /// The same in the opposite direction.
    #[must_use]
    pub fn reverse(self) -> Self {
        AccessLink { from: self.to, to: self.from, ..self }
    }

    /// The same as a link of this name with a drop-tail queue.
    pub fn named(self, name: String) -> Link {
        let AccessLink { from, to, rate, delay, limit } = self;
        let queue = rate.map(|_| Arc::new(Queue::droptail(limit)));
        Link { name, from, to, rate, delay, queue, measure: Measure::Counts, ..Link::default() }
    }
}

/// The trace of a link, and the hash of its content.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Trace {
    /// SHA-256 of all rows, in hexadecimal: it stands for the rows where the link is written down.
    pub sha256: Arc<str>,
    /// What the link can carry.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub rows: Arc<LinkTrace>,
}

/// A new rate of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RateChange {
    /// From this time on.
    pub at: Time,
    /// The rate from then on.
    pub rate: Rate,
}

/// A new propagation delay of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DelayChange {
    /// From this time on.
    pub at: Time,
    /// The propagation delay from then on.
    pub delay: Duration,
}

/// How much is measured on a link.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Measure {
    /// Packets and drops only, as the audit needs them: for access links.
    Counts,
    /// Also the queue over time, waiting times and the time spent sending.
    Moments,
    /// Also the distribution of waiting times, and the discipline's probability.
    #[default]
    All,
}
