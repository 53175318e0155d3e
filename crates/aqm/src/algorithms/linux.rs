//! A placeholder in scenarios for a Linux kernel's queue discipline, in `tc`'s syntax.
//! On a Linux host the kernel's own discipline takes its place; the simulator has none. The placeholder itself passes every packet.
//!
//! `table` lists the disciplines and their parameters; `read` converts the text to the netlink attributes that the kernel receives.

mod read;
mod red;
mod table;

pub use read::{Qdisc, names};

use crate::{Aqm, ArrivalVerdict, Backlog, Link, Needs, PacketView, ParamError};
use alloc::string::String;
use sojourn_units::Stream;

/// Parameters of a queue discipline of the kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// The discipline and its parameters in the syntax of `tc`; required.
    /// Example: `"pie target 15ms limit 1000"`, which includes its limit and ECN setting. `sojourn` selects a queue of the simulator, such
    /// as `"sojourn { aqm = 'pd', limit = '100 packets' }"`.
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
    /// A word of the text that the discipline does not have.
    pub fn build(&self, _link: &Link) -> Result<Linux, ParamError> {
        self.qdisc().map(|_| Linux::default())
    }

    /// The discipline as the kernel receives it.
    ///
    /// # Errors
    /// A word of the text that the discipline does not have.
    pub fn qdisc(&self) -> Result<Qdisc, ParamError> {
        Qdisc::read(&self.linux)
    }

    /// The text of its queue, a table as in a scenario, if the kernel runs our discipline.
    pub fn own_queue(&self) -> Option<&str> {
        read::own_queue(&self.linux)
    }
}

/// The placeholder: passes every packet.
#[derive(Clone, Default, Debug)]
pub struct Linux {
    needs: Needs,
}

impl Linux {
    /// The placeholder of one of our disciplines in the kernel.
    /// The network must report to it the events that this discipline needs.
    pub fn of_ours(needs: &Needs) -> Linux {
        Linux { needs: Needs { rtt_hints: needs.rtt_hints, flow_count: needs.flow_count, ..Needs::default() } }
    }
}

impl Aqm for Linux {
    fn needs(&self) -> Needs {
        self.needs
    }

    fn on_enqueue(&mut self, _arrival: &PacketView, _backlog: &Backlog, _random: &mut Stream) -> ArrivalVerdict {
        ArrivalVerdict::Pass
    }
}
