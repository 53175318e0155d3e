//! A placeholder in scenarios for a queue discipline of a Linux kernel, said as `tc` says it. On a Linux host the kernel's own
//! discipline takes its place; the simulator has none. The placeholder itself passes every packet.
//!
//! `table` has the disciplines and the words of each, `read` turns the text into what the kernel is sent.

mod read;
mod red;
mod table;

pub use read::{Qdisc, names};

use crate::{Aqm, ArrivalVerdict, Backlog, Link, PacketView, ParamError};
use alloc::string::String;
use sojourn_units::Stream;

/// Parameters of a queue discipline of the kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// The discipline and its parameters as `tc` takes them, such as `"pie target 15ms limit 1000"`; no default. Its own limit and
    /// its own word for ECN are among them.
    pub linux: String,
}

impl Default for Params {
    fn default() -> Self {
        Params { linux: String::from("pfifo limit 1000") }
    }
}

impl Params {
    /// The placeholder.
    ///
    /// # Errors
    /// What the text has that the discipline does not know.
    pub fn build(&self, _link: &Link) -> Result<Linux, ParamError> {
        self.qdisc().map(|_| Linux)
    }

    /// The discipline as the kernel takes it.
    ///
    /// # Errors
    /// What the text has that the discipline does not know.
    pub fn qdisc(&self) -> Result<Qdisc, ParamError> {
        Qdisc::read(&self.linux)
    }
}

/// The placeholder: passes every packet.
#[derive(Clone, Debug)]
pub struct Linux;

impl Aqm for Linux {
    fn on_enqueue(&mut self, _arrival: &PacketView, _backlog: &Backlog, _random: &mut Stream) -> ArrivalVerdict {
        ArrivalVerdict::Pass
    }
}
