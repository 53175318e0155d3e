//! A medium shared by several links, of which one transmits at a time.
//! Examples are Wi-Fi and a half-duplex cable.
//!
//! A backlogged link waits for its turn (a transmit opportunity, ieee-802.11). Collisions are not modeled: their time and that of the
//! back-off are part of the overhead of a turn.

use alloc::string::String;
use sojourn_units::{Duration, ParamError, range};

/// A medium shared by all links with `medium = "<name>"`, in one direction or both.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Medium {
    /// The name of the medium.
    pub name: String,
    /// Selection of the next backlogged link; default "round-robin".
    #[cfg_attr(feature = "serde", serde(default))]
    pub turns: Turns,
    /// Overhead of each turn before its first packet; default "0 s".
    /// It covers contention, preambles and link-layer acknowledgments.
    #[cfg_attr(feature = "serde", serde(default))]
    pub overhead: Duration,
    /// Maximum packets per turn (an aggregate), 1 or more; default 1.
    /// Packets that arrive during the turn can join it.
    #[cfg_attr(feature = "serde", serde(default = "one"))]
    pub frames: u32,
    /// Limit of the transmit opportunity, above zero; default: none.
    /// No packet starts later than this time after the first packet of the turn.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub longest: Option<Duration>,
}

/// Selection of the next link.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Turns {
    /// The link that has waited longest for its turn.
    #[default]
    RoundRobin,
    /// Every backlogged link with the same probability, as Wi-Fi stations in the long run.
    Random,
}

#[cfg(feature = "serde")]
fn one() -> u32 {
    1
}

impl Medium {
    /// Checks the ranges of the parameters.
    ///
    /// # Errors
    /// The first parameter out of range.
    pub fn check(&self) -> Result<(), ParamError> {
        range::time("overhead", self.overhead)?;
        ParamError::unless(self.frames >= 1, "frames", &self.frames, "a number of packets, 1 or more")?;
        self.longest.map_or(Ok(()), |longest| range::positive_time("longest", longest))
    }
}
