//! A medium that several links share, of which one sends at a time: the air of Wi-Fi, a half-duplex cable.
//!
//! A link that has something to send waits for its turn (a transmit opportunity, ieee-802.11). Collisions are not modeled: the time
//! that they and the back-off take is part of the overhead of a turn.

use alloc::string::String;
use sojourn_units::{Duration, ParamError, range};

/// A medium that links share: those that have `medium = "<name>"`, in one direction or both.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Medium {
    /// Its name.
    pub name: String,
    /// Who has the next turn of those that have something to send; default "round-robin".
    #[cfg_attr(feature = "serde", serde(default))]
    pub turns: Turns,
    /// The time that each turn takes before its first packet, for contention, preambles and acknowledgments of the link layer; default
    /// "0 s".
    #[cfg_attr(feature = "serde", serde(default))]
    pub overhead: Duration,
    /// The most packets in one turn (an aggregate), 1 or more; default 1. Those that arrive during the turn may join it.
    #[cfg_attr(feature = "serde", serde(default = "one"))]
    pub frames: u32,
    /// The time after which no packet of a turn begins, counted from its first one, above zero (a limit of the transmit opportunity);
    /// default: none.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub longest: Option<Duration>,
}

/// Who has the next turn.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Turns {
    /// The link that has waited longest for its turn.
    #[default]
    RoundRobin,
    /// Each with the same chance, also the one that has just had a turn, as stations of Wi-Fi in the long run.
    Random,
}

#[cfg(feature = "serde")]
fn one() -> u32 {
    1
}

impl Medium {
    /// Checks the parameters.
    ///
    /// # Errors
    /// A parameter that is out of range.
    pub fn check(&self) -> Result<(), ParamError> {
        range::time("overhead", self.overhead)?;
        ParamError::unless(self.frames >= 1, "frames", &self.frames, "a number of packets, 1 or more")?;
        self.longest.map_or(Ok(()), |longest| range::positive_time("longest", longest))
    }
}
