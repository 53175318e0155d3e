//! A placeholder in scenarios for a queue discipline of a Linux kernel, said as `tc` says it. On a Linux host the kernel's own
//! discipline takes its place; the simulator has none. The placeholder itself passes every packet.
//!
//! `table` has the disciplines and the words of each, `read` turns the text into what the kernel is sent.

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
    /// The discipline and its parameters in the syntax of `tc`, such as `"pie target 15ms limit 1000"`, including its limit and ECN
    /// setting; required. `sojourn` selects a queue of the simulator, such as `"sojourn { aqm = 'pd', limit = '100 packets' }"`.
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
        self.qdisc().map(|_| Linux::default())
    }

    /// The discipline as the kernel takes it.
    ///
    /// # Errors
    /// What the text has that the discipline does not know.
    pub fn qdisc(&self) -> Result<Qdisc, ParamError> {
        Qdisc::read(&self.linux)
    }

    /// Where the kernel is to run a discipline of ours, the text of its queue: a table as in a scenario.
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
    /// The placeholder of a discipline of ours, which the network is to tell what it tells that one.
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
