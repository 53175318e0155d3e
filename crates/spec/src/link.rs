//! A link as the network uses it, with all references resolved.

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
    /// The name in messages and records.
    pub name: String,
    /// The node at its start.
    pub from: u32,
    /// The node at its end.
    pub to: u32,
    /// The transmission rate; `None`: a pure delay without a queue.
    pub rate: Option<Rate>,
    /// The propagation delay.
    pub delay: Duration,
    /// The queue, present if and only if there is a rate.
    pub queue: Option<Arc<Queue>>,
    /// Rate changes in chronological order.
    /// A packet is sent at the rate at the start of its transmission.
    pub rate_changes: Vec<RateChange>,
    /// Delay changes in chronological order.
    /// A packet has the delay at the end of its transmission, but never overtakes the previous packet.
    pub delay_changes: Vec<DelayChange>,
    /// The trace, if any.
    /// `rate` is then the mean, and the trace's delays and losses are added to the link's.
    #[cfg_attr(feature = "serde", serde(skip_deserializing, skip_serializing_if = "Option::is_none"))]
    pub trace: Option<Trace>,
    /// Link-layer overhead, if any; requires a rate.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub overhead: Option<Overhead>,
    /// The impairments in order.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub impairments: Vec<ImpairmentConfig>,
    /// The medium that it shares with others, if any; requires a rate.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub medium: Option<Arc<Medium>>,
    /// The nearest link in the opposite direction.
    /// A router that reads headers (`Hints::Router`) sees its packets too.
    pub reverse: Option<u32>,
    /// The level of measurements.
    pub measure: Measure,
}

/// A link of a single flow with a drop-tail queue and without measurements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccessLink {
    /// The node at its start.
    pub from: u32,
    /// The node at its end.
    pub to: u32,
    /// The transmission rate; `None`: a pure delay without a queue.
    pub rate: Option<Rate>,
    /// The propagation delay.
    pub delay: Duration,
    /// The limit of the queue.
    pub limit: Amount,
}

impl AccessLink {
    /// The link in the opposite direction.
    #[must_use]
    pub fn reverse(self) -> Self {
        AccessLink { from: self.to, to: self.from, ..self }
    }

    /// Converts it to a link of this name with a drop-tail queue.
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
    /// SHA-256 of all rows in hexadecimal, which replaces the rows in the serialized link.
    pub sha256: Arc<str>,
    /// The capacity over time.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub rows: Arc<LinkTrace>,
}

/// A new rate of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RateChange {
    /// The time of the change.
    pub at: Time,
    /// The rate from then on.
    pub rate: Rate,
}

/// A new propagation delay of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DelayChange {
    /// The time of the change.
    pub at: Time,
    /// The propagation delay from then on.
    pub delay: Duration,
}

/// The level of measurements on a link.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Measure {
    /// Packets and drops only, as the audit requires: for access links.
    Counts,
    /// Also the queue over time, waits and transmission time.
    Moments,
    /// Also the distribution of waits, and the discipline's probability.
    #[default]
    All,
}
