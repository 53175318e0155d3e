//! A placeholder in scenarios for a law that the caller supplies under a name.
//! The program that runs the scenario replaces it by the law (`sojourn-lab` does so for laws written in Python). The placeholder itself
//! passes every packet.

use crate::{Aqm, ArrivalVerdict, Backlog, Link, PacketView, ParamError};
use alloc::string::String;
use sojourn_units::{Duration, Stream};

/// Parameters of an external law.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// The name of the law, as the caller supplies it; default: empty.
    pub law: String,
    /// Time between two steps of the law, above 0, default 10 ms.
    pub interval: Duration,
}

impl Default for Params {
    fn default() -> Self {
        Params { law: String::new(), interval: Duration::from_millis(10) }
    }
}

impl Params {
    /// The placeholder.
    ///
    /// # Errors
    /// An interval of zero.
    pub fn build(&self, _link: &Link) -> Result<External, ParamError> {
        ParamError::unless(self.interval > Duration::ZERO, "interval", &self.interval, "a time above zero")?;
        Ok(External)
    }
}

/// A placeholder for the external law. It passes every packet.
#[derive(Clone, Debug)]
pub struct External;

impl Aqm for External {
    fn on_enqueue(&mut self, _arrival: &PacketView, _backlog: &Backlog, _random: &mut Stream) -> ArrivalVerdict {
        ArrivalVerdict::Pass
    }
}
