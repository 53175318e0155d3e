//! The macro that generates the closed set of controllers, from one line per controller.
//! The lines are in `algorithms/mod.rs`.

/// Generates the modules, the enums `CcConfig` and `AnyController`, and `REGISTRY`.
/// The lines have the form
///
/// ```text
/// "name" => module::Controller: "summary",
/// ```
///
/// `name` is the name in scenario files, and `module` is a file of `algorithms/` with three items: the type `Controller`
/// (which implements [`CongestionController`](crate::CongestionController) and `Clone`, boxed if it has much state),
/// `Params` (with `Default`, serde behind its feature, and `build(&self, Start) -> Result<impl Into<Controller>, ParamError>`)
/// and `VARIABLES`, a slice of the traceable [`Variable`](crate::Variable)s, which may be empty.
macro_rules! registry {
    ($($name:literal => $module:ident::$controller:ident: $summary:literal,)*) => {
        $(pub mod $module;)*

        /// The parameters of any registered controller.
        #[derive(Clone, PartialEq, Debug)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize), serde(tag = "cc"))]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum CcConfig {
            $(#[doc = $summary] #[cfg_attr(feature = "serde", serde(rename = $name))] $controller($module::Params),)*
        }

        /// Any registered controller.
        /// Controllers with much state are boxed, so that flows with others stay small.
        #[derive(Clone, Debug)]
        pub enum AnyController {
            $(#[doc = $summary] $controller($module::$controller),)*
        }

        /// Every registered controller, in the order of the registry.
        pub const REGISTRY: &[Entry] = &[
            $(Entry {
                name: $name,
                summary: $summary,
                default: || CcConfig::$controller($module::Params::default()),
                variables: || $module::VARIABLES.iter().map(|variable| variable.about).collect(),
            },)*
        ];

        impl CcConfig {
            /// The name in scenario files.
            pub fn name(&self) -> &'static str {
                match self { $(CcConfig::$controller(_) => $name,)* }
            }

            /// Creates the controller of a new connection.
            ///
            /// # Errors
            /// A parameter is out of range.
            pub fn build(&self, start: Start) -> Result<AnyController, ParamError> {
                match self { $(CcConfig::$controller(params) => params.build(start).map(|made| AnyController::$controller(made.into())),)* }
            }

            /// Reads the parameters of the controller called `name`; `None` for an unknown name.
            #[cfg(feature = "serde")]
            pub fn deserialize<'de, D: serde::Deserializer<'de>>(name: &str, input: D) -> Option<Result<Self, D::Error>> {
                match name {
                    $($name => Some(<$module::Params as serde::Deserialize>::deserialize(input).map(CcConfig::$controller)),)*
                    _ => None,
                }
            }
        }

        impl AnyController {
            /// The current values of its variables, in the order of its [`Entry::variables`].
            pub fn values(&self) -> Vec<f64> {
                match self { $(AnyController::$controller(c) => $module::VARIABLES.iter().map(|variable| (variable.value)(c)).collect(),)* }
            }
        }

        impl CongestionController for AnyController {
            #[inline]
            fn on_ack(&mut self, ack: &Ack) {
                match self { $(AnyController::$controller(c) => c.on_ack(ack),)* }
            }
            fn on_congestion(&mut self, event: &CongestionEvent) {
                match self { $(AnyController::$controller(c) => c.on_congestion(event),)* }
            }
            fn on_rto(&mut self, now: Time, window: f64) {
                match self { $(AnyController::$controller(c) => c.on_rto(now, window),)* }
            }
            fn on_event(&mut self, event: &Event) {
                match self { $(AnyController::$controller(c) => c.on_event(event),)* }
            }
            #[inline]
            fn window(&self) -> Window {
                match self { $(AnyController::$controller(c) => c.window(),)* }
            }
            fn set_cwnd(&mut self, cwnd: f64) {
                match self { $(AnyController::$controller(c) => c.set_cwnd(cwnd),)* }
            }
            fn limit_of_flight(&self, flight: f64, now: Time) -> f64 {
                match self { $(AnyController::$controller(c) => c.limit_of_flight(flight, now),)* }
            }
            fn memory(&self) -> usize {
                match self { $(AnyController::$controller(c) => c.memory(),)* }
            }
            fn needs(&self) -> Needs {
                match self { $(AnyController::$controller(c) => c.needs(),)* }
            }
            fn on_sample(&mut self, sample: &RateSample) {
                match self { $(AnyController::$controller(c) => c.on_sample(sample),)* }
            }
            fn on_lost(&mut self, lost: &LostSegment) {
                match self { $(AnyController::$controller(c) => c.on_lost(lost),)* }
            }
            fn pacing(&self) -> Option<Pacing> {
                match self { $(AnyController::$controller(c) => c.pacing(),)* }
            }
            fn start_up_pacing(&self) -> Option<Pacing> {
                match self { $(AnyController::$controller(c) => c.start_up_pacing(),)* }
            }
        }
    };
}

pub(crate) use registry;
