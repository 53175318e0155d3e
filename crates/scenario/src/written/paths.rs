//! Which paths flows take where there are several.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_units::Duration;

/// Which of several equally short paths the packets of a group take.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PathChoice {
    /// The first in the file.
    #[default]
    First,
    /// Each flow one, drawn: equal-cost multipath routing.
    Flow,
    /// Each packet the next: they may overtake each other.
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
    /// The time of the change, since the start of the run: packets that are sent from then on take the new path.
    pub at: Duration,
    /// The nodes of the new forward path, from `from` to `to`.
    pub via: Vec<String>,
    /// The nodes of the new reverse path; default: `via` in reverse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via_back: Option<Vec<String>>,
}
