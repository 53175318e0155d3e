//! Filters of a dual queue, which classify packets by other fields than ECN.

use super::classes::Match;
use sojourn_aqm::DualClass;

/// A filter: its match and its class.
#[derive(Clone, PartialEq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Filter {
    /// The packets that it matches, as in a class.
    #[cfg_attr(feature = "serde", serde(rename = "match"))]
    pub matches: Match,
    /// The queue of matching packets (class 0, 1 or 2 of a `tc filter` on Linux).
    /// "classic": the classic queue. "l4s": the low-latency queue with its signals; packets that are not ECN-capable are dropped instead of
    /// marked. "low-latency": the low-latency queue without signals.
    pub class: DualClass,
}

impl Filter {
    /// The maximum number of filters of a queue.
    pub const MOST: usize = 64;
}
