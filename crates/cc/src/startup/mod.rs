//! Start-ups: the ways to find the window of a new connection.
//! They are exchangeable in every controller that has classic slow start.
//! Each start-up is one file, and one line in the registry below.

use crate::{Ack, CongestionEvent, Pacing, Window};
pub(crate) use hystart::Detector;
use sojourn_units::{Duration, ParamError};

/// The state of a start-up after an ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// The window may grow in slow start.
    SlowStart,
    /// The window must not grow on this ACK.
    Hold,
    /// The start-up is over. The controller continues with the windows that it left.
    Over,
}

/// A start-up: a state machine without clock, I/O or random numbers of its own.
/// It runs from the start of a connection until it is over. A timeout always ends it.
pub trait StartUp {
    /// Handles an ACK before the window grows.
    /// It may set the windows, for example ssthresh to end slow start.
    fn on_ack(&mut self, ack: &Ack, window: &mut Window) -> Phase;

    /// The growth of the window in segments for an ACK in slow start.
    /// `classic` is that of classic slow start.
    fn growth(&self, _ack: &Ack, classic: f64) -> f64 {
        classic
    }

    /// Handles congestion.
    /// `reduced` is the controller's reduction, which the start-up may replace. Returns whether the start-up continues.
    fn on_congestion(&mut self, _event: &CongestionEvent, _reduced: &mut Window) -> bool {
        false
    }

    /// Handles lost segments, if it [needs](StartUp::needs) them.
    fn on_lost(&mut self, _segments: f64) {}

    /// Handles a segment that is about to be sent while nothing is in flight.
    /// The smoothed RTT is zero before the first sample.
    fn on_flight_start(&mut self, _window: Window, _srtt: Duration) {}

    /// The pacing of its segments; `None` leaves it to the endpoint.
    fn pacing(&self) -> Option<Pacing> {
        None
    }

    /// Its requirements on the endpoint.
    fn needs(&self) -> StartUpNeeds {
        StartUpNeeds::default()
    }
}

/// The requirements of a start-up on its endpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StartUpNeeds {
    /// It sets a pacing rate at times.
    pub pacing: bool,
    /// It requires reports of lost segments.
    pub losses: bool,
}

/// A start-up, as an entry of lists.
#[derive(Clone, Copy, Debug)]
pub struct StartUpEntry {
    /// The name in scenario files.
    pub name: &'static str,
    /// One sentence that describes it.
    pub summary: &'static str,
    /// The default parameters.
    pub default: fn() -> StartUpConfig,
}

/// Generates the enums `StartUpConfig` and `AnyStartUp`, and `START_UPS`.
/// A start-up has a line of the form `"name" => module::State: "summary",`. `module` is a file of this folder with the type `State`, which implements
/// [`StartUp`], and `Params` with `Default`, `check(&self) -> Result<(), ParamError>` and `start(&self, paced: bool) -> State`.
macro_rules! start_ups {
    ($($name:literal => $module:ident::$state:ident: $summary:literal,)*) => {
        $(pub mod $module;)*

        /// The parameters of any start-up.
        #[derive(Clone, Copy, PartialEq, Debug)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize), serde(tag = "name"))]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum StartUpConfig {
            $(#[doc = $summary] #[cfg_attr(feature = "serde", serde(rename = $name))] $state($module::Params),)*
        }

        /// Any start-up.
        #[derive(Clone, Debug)]
        pub(crate) enum AnyStartUp {
            $($state($module::$state),)*
        }

        /// Every start-up, in the order of the registry.
        pub const START_UPS: &[StartUpEntry] = &[
            $(StartUpEntry { name: $name, summary: $summary, default: || StartUpConfig::$state($module::Params::default()) },)*
        ];

        impl StartUpConfig {
            /// The name in scenario files.
            pub fn name(&self) -> &'static str {
                match self { $(StartUpConfig::$state(_) => $name,)* }
            }

            /// Checks that every parameter is in its range.
            ///
            /// # Errors
            /// The first parameter out of range.
            pub fn check(&self) -> Result<(), ParamError> {
                match self { $(StartUpConfig::$state(params) => params.check(),)* }
            }

            /// The state at the start of a connection. `paced` is whether the endpoint paces segments.
            pub(crate) fn start(&self, paced: bool) -> AnyStartUp {
                match self { $(StartUpConfig::$state(params) => AnyStartUp::$state(params.start(paced)),)* }
            }

            /// Reads the parameters of the start-up called `name`; `None` for an unknown name.
            #[cfg(feature = "serde")]
            pub fn deserialize<'de, D: serde::Deserializer<'de>>(name: &str, input: D) -> Option<Result<Self, D::Error>> {
                match name {
                    $($name => Some(<$module::Params as serde::Deserialize>::deserialize(input).map(StartUpConfig::$state)),)*
                    _ => None,
                }
            }
        }

        impl StartUp for AnyStartUp {
            fn on_ack(&mut self, ack: &Ack, window: &mut Window) -> Phase {
                match self { $(AnyStartUp::$state(state) => state.on_ack(ack, window),)* }
            }
            fn growth(&self, ack: &Ack, classic: f64) -> f64 {
                match self { $(AnyStartUp::$state(state) => state.growth(ack, classic),)* }
            }
            fn on_congestion(&mut self, event: &CongestionEvent, reduced: &mut Window) -> bool {
                match self { $(AnyStartUp::$state(state) => state.on_congestion(event, reduced),)* }
            }
            fn on_lost(&mut self, segments: f64) {
                match self { $(AnyStartUp::$state(state) => state.on_lost(segments),)* }
            }
            fn on_flight_start(&mut self, window: Window, srtt: Duration) {
                match self { $(AnyStartUp::$state(state) => state.on_flight_start(window, srtt),)* }
            }
            fn pacing(&self) -> Option<Pacing> {
                match self { $(AnyStartUp::$state(state) => state.pacing(),)* }
            }
            fn needs(&self) -> StartUpNeeds {
                match self { $(AnyStartUp::$state(state) => state.needs(),)* }
            }
        }
    };
}

start_ups! {
    "classic" => classic::Classic: "slow start until the first loss, mark or timeout (RFC 5681)",
    "hystart" => hystart::HyStart: "slow start ends at an ACK train or when the RTT grows (HyStart, as in Linux)",
    "hystart++" => hystart_plus_plus::HyStartPlusPlus: "slow start slows down when the RTT grows, and ends five rounds later (RFC 9406)",
    "search" => search::Search: "slow start ends when less is delivered than was sent a round trip before (SEARCH, draft-chung-ccwg-search)",
    "rapid-start" => rapid_start::RapidStart: "the window triples per round trip while there is no queue (draft-kazuho-ccwg-rapid-start)",
    "careful-resume" => careful_resume::CarefulResume: "jumps to half of an earlier connection's window and validates it (RFC 9959)",
}
