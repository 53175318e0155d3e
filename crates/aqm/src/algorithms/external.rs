//! A law that the caller supplies under a name. It stands in scenarios; whoever runs them puts the
//! law in its place (`sojourn-lab` does so for laws written in Python). By itself it lets everything through.

use crate::{Aqm, ArrivalVerdict, Backlog, Link, PacketView, ParamError};
use alloc::string::String;
use sojourn_units::{Duration, Stream};

/// Parameters of an external law.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// The name that the caller gives the law.
    pub law: String,
    /// The span between its steps; default 10 ms.
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

/// The placeholder: lets everything through.
#[derive(Clone, Debug)]
pub struct External;

impl Aqm for External {
    fn on_enqueue(&mut self, _arrival: &PacketView, _backlog: &Backlog, _random: &mut Stream) -> ArrivalVerdict {
        ArrivalVerdict::Pass
    }
}
