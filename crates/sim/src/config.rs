//! What a world is made from.

use crate::link_config::LinkConfig;
use crate::tcp::TcpParams;
use sojourn_traffic::Traffic;
use sojourn_units::Time;

/// A world: links, who uses them and how, and for how long.
#[derive(Clone, Debug, Default)]
pub struct WorldConfig {
    /// The seed of every named stream.
    pub seed: u64,
    /// When the run ends.
    pub end: Time,
    /// From when on statistics count.
    pub warmup: Time,
    /// The links.
    pub links: Vec<LinkConfig>,
    /// The habits of stacks; flows refer to them by position.
    pub stacks: Vec<TcpParams>,
    /// The flows; some of them open connections as they go.
    pub flows: Vec<FlowConfig>,
    /// Makes an event of every hop, so that tests can show that leaving events out changes nothing.
    #[doc(hidden)]
    pub all_events: bool,
}

/// Traffic between two hosts: one flow, or a session that opens connections.
#[derive(Clone, Debug)]
pub struct FlowConfig {
    /// Its name; its random streams are called `flow/<name>/...`, a session's is `session/<name>`.
    pub name: String,
    /// Its group, for statistics of the group.
    pub group: u32,
    /// Links of its data, in order.
    pub forward: Vec<u32>,
    /// Links of its acknowledgements, in order.
    pub back: Vec<u32>,
    /// The TCP stack of both hosts, a position in [`WorldConfig::stacks`]; `None`: datagrams. Sessions need one.
    pub stack: Option<u32>,
    /// What is sent.
    pub traffic: Traffic,
    /// When it starts.
    pub start: Time,
    /// When it stops.
    pub stop: Time,
}

/// Why a world can't be made. Scenarios are checked before, with better words; this is the last line.
#[derive(Clone, PartialEq, Debug)]
pub enum BuildError {
    /// A route names a link that is not there.
    Route {
        /// The flow or session.
        name: String,
    },
    /// A flow or session names a stack that is not there.
    Stack {
        /// The flow or session.
        name: String,
    },
    /// A controller's parameter is out of range.
    Control(sojourn_cc::ParamError),
    /// A queue discipline needs what this world can't supply.
    Needs {
        /// The link.
        link: String,
        /// What is missing.
        what: &'static str,
    },
}

impl std::fmt::Display for BuildError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BuildError::Route { name } => write!(f, "{name}: its route names links that are not there"),
            BuildError::Stack { name } => write!(f, "{name}: its stack is not there"),
            BuildError::Control(error) => write!(f, "{error}"),
            BuildError::Needs { link, what } => write!(f, "link {link}: its queue needs {what}"),
        }
    }
}

impl std::error::Error for BuildError {}
