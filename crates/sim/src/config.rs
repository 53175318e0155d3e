//! The configuration of a world.

use crate::tcp::TcpOptions;
use sojourn_net::LinkConfig;
use sojourn_spec::flow::Flow;
use sojourn_spec::link::AccessLink;
use sojourn_units::Time;
use std::borrow::Cow;

/// The configuration of a world: links, the traffic on them, and the length of the run.
#[derive(Clone, Debug, Default)]
pub struct WorldConfig<'a> {
    /// The seed of every named random stream.
    pub seed: u64,
    /// When the run ends.
    pub end: Time,
    /// When the measurement window begins.
    pub warmup: Time,
    /// The links.
    pub links: Vec<LinkConfig>,
    /// Links of single flows; their numbers follow those of `links`.
    pub access_links: Cow<'a, [AccessLink]>,
    /// The parameters of TCP stacks; flows refer to them by position.
    pub stacks: Vec<TcpOptions>,
    /// The flows and sessions; sessions open connections as they run.
    /// A stop at the end of the run or later has no effect.
    pub flows: Cow<'a, [Flow]>,
    /// Makes an event of every hop and turns header prediction off.
    /// Tests use it to show that elided events and fast paths change nothing.
    #[doc(hidden)]
    pub all_events: bool,
}

/// The reason why a world cannot be made.
/// Scenarios are checked earlier and with better messages; this is the last check.
#[derive(Clone, PartialEq, Debug)]
pub enum BuildError {
    /// A route names a link that does not exist.
    Route {
        /// The name of the flow or session.
        name: String,
    },
    /// A flow or session names a stack that does not exist.
    Stack {
        /// The name of the flow or session.
        name: String,
    },
    /// A controller's parameter is out of range.
    Control(sojourn_cc::ParamError),
    /// A queue discipline needs information that nothing in this world supplies.
    Needs {
        /// The name of the link.
        link: String,
        /// The information that the discipline needs.
        expected: &'static str,
        /// The information that the traffic supplies.
        got: &'static str,
    },
}

impl std::fmt::Display for BuildError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BuildError::Route { name } => write!(f, "{name}: route: expected links of this world, got another"),
            BuildError::Stack { name } => write!(f, "{name}: stack: expected a stack of this world, got another or none"),
            BuildError::Control(error) => write!(f, "{error}"),
            BuildError::Needs { link, expected, got } => write!(f, "links.{link}.queue: expected {expected}, got {got}"),
        }
    }
}

impl std::error::Error for BuildError {}
