//! How flows choose among several paths.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_units::Duration;

/// The choice among equally short paths of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PathChoice {
    /// The first in the file.
    #[default]
    First,
    /// Drawn per flow: equal-cost multipath routing.
    Flow,
    /// Round-robin per packet, which can reorder them.
    Packet,
}

impl PathChoice {
    /// Whether it is the default.
    pub fn is_default(&self) -> bool {
        *self == PathChoice::First
    }
}

/// A change of the route of a group.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reroute {
    /// The time of the change, since the start of the run.
    /// Packets that are sent from then on use the new path.
    pub at: Duration,
    /// The nodes of the new forward path, from `from` to `to`.
    pub via: Vec<String>,
    /// The nodes of the new reverse path; default: `via` in reverse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via_back: Option<Vec<String>>,
}
