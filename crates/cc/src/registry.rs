//! The macro that turns the list of controllers in `algorithms/mod.rs` into modules, types and a table.

use crate::CcConfig;

/// A registered controller, as `sojourn list cc` shows it.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name in scenario files.
    pub name: &'static str,
    /// One sentence that says what it is.
    pub summary: &'static str,
    /// Its parameters with their defaults.
    pub default: fn() -> CcConfig,
}

/// One line for each controller: `module "name" Variant(Controller): "summary"`. The file `module.rs` has `Params`, with
/// `Default` and `build(&self, Start) -> Result<impl Into<Controller>, ParamError>`.
macro_rules! registry {
    ($($module:ident $name:literal $variant:ident($controller:ty): $summary:literal,)*) => {
        $(pub mod $module;)*

        /// The parameters of any registered controller.
        #[derive(Clone, PartialEq, Debug)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize), serde(tag = "cc"))]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum CcConfig {
            $(#[doc = $summary] #[cfg_attr(feature = "serde", serde(rename = $name))] $variant($module::Params),)*
        }

        /// Any registered controller. Controllers with much state are boxed, so that flows with the others stay small.
        #[derive(Clone, Debug)]
        pub enum AnyController {
            $(#[doc = $summary] $variant($controller),)*
        }

        /// Every registered controller, in the order of the registry.
        pub const REGISTRY: &[Entry] = &[
            $(Entry { name: $name, summary: $summary, default: || CcConfig::$variant($module::Params::default()) },)*
        ];

        impl CcConfig {
            /// The name in scenario files.
            pub fn name(&self) -> &'static str {
                match self { $(CcConfig::$variant(_) => $name,)* }
            }

            /// Makes the controller of a new connection.
            ///
            /// # Errors
            /// A parameter is out of range.
            pub fn build(&self, start: Start) -> Result<AnyController, ParamError> {
                match self { $(CcConfig::$variant(params) => params.build(start).map(|controller| AnyController::$variant(controller.into())),)* }
            }

            /// Reads the parameters of the controller called `name`; `None` if there is none of that name.
            #[cfg(feature = "serde")]
            pub fn deserialize<'de, D: serde::Deserializer<'de>>(name: &str, input: D) -> Option<Result<Self, D::Error>> {
                match name {
                    $($name => Some(<$module::Params as serde::Deserialize>::deserialize(input).map(CcConfig::$variant)),)*
                    _ => None,
                }
            }
        }

        impl CongestionController for AnyController {
            #[inline]
            fn on_ack(&mut self, ack: &Ack) {
                match self { $(AnyController::$variant(controller) => controller.on_ack(ack),)* }
            }
            fn on_congestion(&mut self, event: &CongestionEvent) {
                match self { $(AnyController::$variant(controller) => controller.on_congestion(event),)* }
            }
            fn on_rto(&mut self, now: Time, window: f64) {
                match self { $(AnyController::$variant(controller) => controller.on_rto(now, window),)* }
            }
            #[inline]
            fn cwnd(&self) -> f64 {
                match self { $(AnyController::$variant(controller) => controller.cwnd(),)* }
            }
            fn set_cwnd(&mut self, cwnd: f64) {
                match self { $(AnyController::$variant(controller) => controller.set_cwnd(cwnd),)* }
            }
            fn ssthresh(&self) -> f64 {
                match self { $(AnyController::$variant(controller) => controller.ssthresh(),)* }
            }
            fn delay_source(&self) -> Option<Source> {
                match self { $(AnyController::$variant(controller) => controller.delay_source(),)* }
            }
            fn min_cwnd(&self) -> f64 {
                match self { $(AnyController::$variant(controller) => controller.min_cwnd(),)* }
            }
            fn memory(&self) -> usize {
                match self { $(AnyController::$variant(controller) => controller.memory(),)* }
            }
            fn use_whole_segments(&mut self) {
                match self { $(AnyController::$variant(controller) => controller.use_whole_segments(),)* }
            }
        }
    };
}

pub(crate) use registry;
