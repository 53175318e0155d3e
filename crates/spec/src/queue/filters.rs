//! Filters of a dual queue: packets that it knows by other fields than ECN.

use super::classes::Match;
use sojourn_aqm::DualClass;

/// A filter: what it takes, and what for.
#[derive(Clone, PartialEq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Filter {
    /// The packets that it takes, as those of a class.
    #[cfg_attr(feature = "serde", serde(rename = "match"))]
    pub matches: Match,
    /// "classic": they wait in the classic queue. "l4s": in the low-latency queue, whose signals they get; what can't be marked is dropped.
    /// "low-latency": there, without signals (class 0, 1 or 2 of a `tc filter` on Linux).
    pub class: DualClass,
}

impl Filter {
    /// The most filters of a queue.
    pub const MOST: usize = 64;
}
