//! What a world is made from.

use crate::tcp::TcpOptions;
use sojourn_net::LinkConfig;
use sojourn_spec::flow::Flow;
use sojourn_spec::link::AccessLink;
use sojourn_units::Time;
use std::borrow::Cow;

/// A world: links, the traffic on them, and how long to run.
#[derive(Clone, Debug, Default)]
pub struct WorldConfig<'a> {
    /// The seed of every named stream.
    pub seed: u64,
    /// When the run ends.
    pub end: Time,
    /// When statistics begin.
    pub warmup: Time,
    /// The links.
    pub links: Vec<LinkConfig>,
    /// Links of single flows, whose numbers come after those.
    pub access_links: Cow<'a, [AccessLink]>,
    /// The parameters of TCP stacks; flows refer to them by position.
    pub stacks: Vec<TcpOptions>,
    /// The flows; some of them open connections as they go. One that would stop at the end or later does not stop.
    pub flows: Cow<'a, [Flow]>,
    /// Makes an event of every hop and predicts no header, so that tests can show that leaving events out and the short ways of
    /// endpoints change nothing.
    #[doc(hidden)]
    pub all_events: bool,
}

/// Why a world can't be made. Scenarios are checked earlier and with better messages; this is the last check.
#[derive(Clone, PartialEq, Debug)]
pub enum BuildError {
    /// A route names a link that does not exist.
    Route {
        /// The flow or session.
        name: String,
    },
    /// A flow or session names a stack that does not exist.
    Stack {
        /// The flow or session.
        name: String,
    },
    /// A controller's parameter is out of range.
    Control(sojourn_cc::ParamError),
    /// A queue discipline needs something that nothing in this world supplies.
    Needs {
        /// The link.
        link: String,
        /// What it expects.
        expected: &'static str,
        /// What there is.
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
