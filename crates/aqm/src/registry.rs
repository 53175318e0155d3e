//! The macro that makes the closed set of algorithms from one line each; the lines are in `algorithms/mod.rs`.

use crate::Aqm;
use alloc::boxed::Box;

/// An algorithm from outside the registry (a plug-in, or a law written in Python).
pub trait Plugin: Aqm + Send + Sync {
    /// A copy with all its state.
    fn boxed_clone(&self) -> Box<dyn Plugin>;
}

impl<T: Aqm + Clone + Send + Sync + 'static> Plugin for T {
    fn boxed_clone(&self) -> Box<dyn Plugin> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Plugin> {
    fn clone(&self) -> Self {
        self.boxed_clone()
    }
}

impl core::fmt::Debug for dyn Plugin {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Plugin")
    }
}

/// Makes the modules, the enums `AqmConfig` and `AnyAqm`, and `REGISTRY` from lines of the form
///
/// ```text
/// "name" => module::Algorithm: "summary",
/// "name" => module::Algorithm in FlowQueues: "summary",
/// ```
///
/// The second form says what the algorithm fills, a variant of [`Fills`](crate::Fills); the algorithm's method `queuing` says how. The first is one
/// queue.
///
/// `name` stands in scenario files, and `module` is a file of `algorithms/` with two items: the type `Algorithm`
/// (which implements [`Aqm`] and `Clone`) and `Params` (with `Default`, serde behind its feature, and
/// `build(&self, &Link) -> Result<Algorithm, ParamError>`).
macro_rules! registry {
    (@fills $aqm:ident) => {{
        let _ = $aqm;
        Fills::OneQueue
    }};
    (@fills $aqm:ident $container:ident) => { Fills::$container($aqm.queuing()) };
    (@dual $aqm:ident DualQueues) => { Some($aqm) };
    (@flows $aqm:ident FlowQueues) => { Some($aqm) };
    (@flows $aqm:ident CakeQueues) => { Some($aqm) };
    (@$own:ident $aqm:ident $($container:ident)?) => {{
        let _ = $aqm;
        None
    }};
    ($($name:literal => $module:ident::$algorithm:ident $(in $container:ident)?: $summary:literal,)*) => {
        $(pub mod $module;)*

        /// The parameters of any registered algorithm.
        #[allow(clippy::large_enum_variant, reason = "one for each queue, never in bulk")]
        #[derive(Clone, PartialEq, Debug)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize), serde(tag = "aqm"))]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum AqmConfig {
            $(#[doc = $summary] #[cfg_attr(feature = "serde", serde(rename = $name))] $algorithm($module::Params),)*
        }

        /// Any registered algorithm.
        #[allow(clippy::large_enum_variant, reason = "one for each queue; a box would cost every packet a jump in memory")]
        #[derive(Clone, Debug)]
        pub enum AnyAqm {
            $(#[doc = $summary] $algorithm($module::$algorithm),)*
            /// One from outside the registry.
            Custom(Box<dyn Plugin>),
        }

        /// An algorithm as `sojourn list` shows it.
        #[derive(Clone, Copy, Debug)]
        pub struct Entry {
            /// Its name in scenario files.
            pub name: &'static str,
            /// What it is, in one sentence.
            pub summary: &'static str,
            /// Its default parameters, for lists and for tests over the whole registry.
            pub default: fn() -> AqmConfig,
        }

        /// Every registered algorithm, in the order of the registry.
        pub const REGISTRY: &[Entry] = &[
            $(Entry { name: $name, summary: $summary, default: || AqmConfig::$algorithm(<$module::Params>::default()) },)*
        ];

        impl AqmConfig {
            /// The name in scenario files.
            pub fn name(&self) -> &'static str {
                match self { $(AqmConfig::$algorithm(_) => $name,)* }
            }

            /// The algorithm with these parameters on this link.
            ///
            /// # Errors
            /// The first parameter that is out of range.
            pub fn build(&self, link: &Link) -> Result<AnyAqm, ParamError> {
                match self { $(AqmConfig::$algorithm(params) => params.build(link).map(AnyAqm::$algorithm),)* }
            }

            /// Reads the parameters of the algorithm called `name`; `None` if there is no algorithm of that name.
            #[cfg(feature = "serde")]
            pub fn deserialize<'de, D: serde::Deserializer<'de>>(name: &str, input: D) -> Option<Result<Self, D::Error>> {
                match name {
                    $($name => Some(<$module::Params as serde::Deserialize>::deserialize(input).map(AqmConfig::$algorithm)),)*
                    _ => None,
                }
            }
        }

        impl AnyAqm {
            /// What it fills.
            pub fn fills(&self) -> Fills {
                match self {
                    $(AnyAqm::$algorithm(aqm) => registry!(@fills aqm $($container)?),)*
                    AnyAqm::Custom(_) => Fills::OneQueue,
                }
            }

            /// When its timer first expires; never if it has none.
            pub fn first_update(&self) -> Time {
                let after_interval = || self.update_interval().map_or(Time::NEVER, |interval| Time::ZERO + interval);
                Aqm::needs(self).first_update.unwrap_or_else(after_interval)
            }

            /// It, if it fills a dual queue.
            pub(crate) fn dual(&self) -> Option<&dyn DualAqm> {
                match self { $(AnyAqm::$algorithm(aqm) => registry!(@dual aqm $($container)?),)* AnyAqm::Custom(_) => None }
            }

            /// The same, to tell it something.
            pub(crate) fn dual_mut(&mut self) -> Option<&mut dyn DualAqm> {
                match self { $(AnyAqm::$algorithm(aqm) => registry!(@dual aqm $($container)?),)* AnyAqm::Custom(_) => None }
            }

            /// It, if it fills a queue for each flow.
            pub(crate) fn of_flows(&mut self) -> Option<&mut dyn FlowAqm> {
                match self { $(AnyAqm::$algorithm(aqm) => registry!(@flows aqm $($container)?),)* AnyAqm::Custom(_) => None }
            }
        }

        impl Aqm for AnyAqm {
            #[inline]
            fn on_enqueue(&mut self, arrival: &PacketView, backlog: &Backlog, random: &mut Stream) -> ArrivalVerdict {
                match self { $(AnyAqm::$algorithm(a) => a.on_enqueue(arrival, backlog, random),)* AnyAqm::Custom(a) => a.on_enqueue(arrival, backlog, random) }
            }
            #[inline]
            fn on_dequeue(&mut self, departure: &PacketView, sojourn: Duration, backlog: &Backlog, random: &mut Stream) -> DepartureVerdict {
                match self { $(AnyAqm::$algorithm(a) => a.on_dequeue(departure, sojourn, backlog, random),)* AnyAqm::Custom(a) => a.on_dequeue(departure, sojourn, backlog, random) }
            }
            fn on_inspect(&mut self, arrival: &PacketView, waiting: Option<&PacketView>, backlog: &Backlog, random: &mut Stream) -> ArrivalVerdict {
                match self { $(AnyAqm::$algorithm(a) => a.on_inspect(arrival, waiting, backlog, random),)* AnyAqm::Custom(a) => a.on_inspect(arrival, waiting, backlog, random) }
            }
            fn on_drop(&mut self, dropped: Dropped) {
                match self { $(AnyAqm::$algorithm(a) => a.on_drop(dropped),)* AnyAqm::Custom(a) => a.on_drop(dropped) }
            }
            fn on_flows(&mut self, now: Time, active: u32) {
                match self { $(AnyAqm::$algorithm(a) => a.on_flows(now, active),)* AnyAqm::Custom(a) => a.on_flows(now, active) }
            }
            fn update_interval(&self) -> Option<Duration> {
                match self { $(AnyAqm::$algorithm(a) => a.update_interval(),)* AnyAqm::Custom(a) => a.update_interval() }
            }
            fn on_update(&mut self, now: Time, backlog: &Backlog) {
                match self { $(AnyAqm::$algorithm(a) => a.on_update(now, backlog),)* AnyAqm::Custom(a) => a.on_update(now, backlog) }
            }
            fn needs(&self) -> Needs {
                match self { $(AnyAqm::$algorithm(a) => Aqm::needs(a),)* AnyAqm::Custom(a) => a.needs() }
            }
            fn probability(&self) -> Option<Probability> {
                match self { $(AnyAqm::$algorithm(a) => a.probability(),)* AnyAqm::Custom(a) => a.probability() }
            }
            fn law(&mut self) -> Option<&mut dyn Law> {
                match self { $(AnyAqm::$algorithm(a) => a.law(),)* AnyAqm::Custom(a) => a.law() }
            }
        }
    };
}

pub(crate) use registry;
