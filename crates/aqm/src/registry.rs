//! The macro that declares the closed set of algorithms, used in `algorithms/mod.rs`.

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

/// Makes the modules, the enums `AqmConfig` and `AnyAqm`, and `REGISTRY` from lines.
///
/// ```text
/// "name" => module::Algorithm: "summary",
/// "name" => module::Algorithm with law: "summary",
/// "name" => module::Algorithm with queues: "summary",
/// "name" => module::Algorithm with host: "summary",
/// ```
///
/// The fluid model uses the law of an algorithm `with law`: its method `law` returns a copy, as that of [`Sampled`](crate::Sampled) does.
/// An algorithm `with queues` implements [`OwnQueues`](crate::OwnQueues). Others have one FIFO queue. One `with host` is only a placeholder
/// in scenarios for an algorithm that a host or a caller supplies.
///
/// `name` is the name in scenario files. `module` is a file of `algorithms/` with two items: the type `Algorithm` (which implements [`Aqm`]
/// and `Clone`) and `Params` (with `Default`, serde behind its feature, and `build(&self, &Link) -> Result<Algorithm, ParamError>`).
macro_rules! registry {
    (@layout $type:ty, queues) => { Some(<$type as OwnQueues>::LAYOUT) };
    (@layout $type:ty, $($other:ident)?) => { None };
    (@names $type:ty, $params:ident queues) => { <$type as OwnQueues>::names($params) };
    (@names $type:ty, $params:ident $($other:ident)?) => {{
        let _ = $params;
        Vec::new()
    }};
    (@fill $aqm:ident $controller:ident queues) => { Some(Box::new(AqmDiscipline::own($controller.with($aqm.clone())))) };
    (@fill $aqm:ident $controller:ident $($other:ident)?) => {{
        let _ = $aqm;
        None
    }};
    (@law $aqm:ident law) => { Some($aqm.law()) };
    (@law $aqm:ident $($other:ident)?) => {{
        let _ = $aqm;
        None
    }};
    (@host host) => { true };
    (@host $($other:ident)?) => { false };
    ($($name:literal => $module:ident::$algorithm:ident $(with $own:ident)?: $summary:literal,)*) => {
        $(pub mod $module;)*

        plain!([] $($name $module $algorithm $($own)?;)*);

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
            /// An algorithm from outside the registry.
            Custom(Box<dyn Plugin>),
        }

        /// An algorithm as `sojourn list` shows it.
        #[derive(Clone, Copy, Debug)]
        pub struct Entry {
            /// Its name in scenario files.
            pub name: &'static str,
            /// Its description in one sentence.
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

            /// The needs of its own queues; `None` if it has one FIFO queue.
            pub fn layout(&self) -> Option<Layout> {
                match self { $(AqmConfig::$algorithm(_) => registry!(@layout $module::$algorithm, $($own)?),)* }
            }

            /// Whether it is a placeholder for a law of the caller or a discipline of a Linux kernel.
            pub fn is_placeholder(&self) -> bool {
                match self { $(AqmConfig::$algorithm(_) => registry!(@host $($own)?),)* }
            }

            /// The names of its subqueues, in the order of [`Qdisc::subqueues`](crate::Qdisc::subqueues).
            pub fn subqueues(&self) -> Vec<&'static str> {
                match self { $(AqmConfig::$algorithm(params) => registry!(@names $module::$algorithm, params $($own)?),)* }
            }

            /// The algorithm with these parameters on this link.
            ///
            /// # Errors
            /// The first parameter that is out of range.
            pub fn build(&self, link: &Link) -> Result<AnyAqm, ParamError> {
                match self { $(AqmConfig::$algorithm(params) => params.build(link).map(AnyAqm::$algorithm),)* }
            }

            /// Reads the parameters of the algorithm called `name`.
            /// `None` if no algorithm has that name.
            #[cfg(feature = "serde")]
            pub fn deserialize<'de, D: serde::Deserializer<'de>>(name: &str, input: D) -> Option<Result<Self, D::Error>> {
                match name {
                    $($name => Some(<$module::Params as serde::Deserialize>::deserialize(input).map(AqmConfig::$algorithm)),)*
                    _ => None,
                }
            }
        }

        impl AnyAqm {
            /// The needs of its own queues; `None` if it has one FIFO queue.
            pub fn layout(&self) -> Option<Layout> {
                match self {
                    $(AnyAqm::$algorithm(_) => registry!(@layout $module::$algorithm, $($own)?),)*
                    AnyAqm::Custom(_) => None,
                }
            }

            /// A copy of its law, if it has one, for models that feed it with numbers.
            pub fn law(&self) -> Option<Box<dyn AnyLaw>> {
                match self { $(AnyAqm::$algorithm(aqm) => registry!(@law aqm $($own)?),)* AnyAqm::Custom(_) => None }
            }

            /// The time at which its timer first expires; never if it has none.
            pub fn first_update(&self) -> Time {
                let after_interval = || self.update_interval().map_or(Time::NEVER, |interval| Time::ZERO + interval);
                Aqm::needs(self).first_update.unwrap_or_else(after_interval)
            }
        }

        impl QueueController {
            /// The algorithm with its own queues; `None` if it has one FIFO queue.
            pub(crate) fn own_queues<P: Packet>(&self) -> Option<Box<dyn Discipline<P>>> {
                match &self.aqm {
                    $(AnyAqm::$algorithm(aqm) => registry!(@fill aqm self $($own)?),)*
                    AnyAqm::Custom(_) => None,
                }
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
        }
    };
}

/// Makes the enum `Plain` of the algorithms with one queue, without placeholders.
macro_rules! plain {
    ([$($done:tt)*] $name:literal $module:ident $algorithm:ident queues; $($rest:tt)*) => { plain!([$($done)*] $($rest)*); };
    ([$($done:tt)*] $name:literal $module:ident $algorithm:ident host; $($rest:tt)*) => { plain!([$($done)*] $($rest)*); };
    ([$($done:tt)*] $name:literal $module:ident $algorithm:ident $($law:ident)?; $($rest:tt)*) => {
        plain!([$($done)* ($name $module $algorithm)] $($rest)*);
    };
    ([$(($name:literal $module:ident $algorithm:ident))*]) => {
        /// An algorithm with one queue, with the parameters of the discipline of that name.
        #[allow(clippy::large_enum_variant, reason = "one for each queue, never in bulk")]
        #[derive(Clone, PartialEq, Debug)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum Plain {
            $(#[doc = concat!("`", $name, "` and its parameters.")] #[cfg_attr(feature = "serde", serde(rename = $name))] $algorithm($module::Params),)*
        }

        impl Plain {
            /// The algorithm on this link.
            ///
            /// # Errors
            /// The first parameter that is out of range, with the path of the algorithm.
            pub(crate) fn build(&self, link: &Link) -> Result<AnyAqm, ParamError> {
                match self {
                    $(Plain::$algorithm(params) => {
                        params.build(link).map(AnyAqm::$algorithm).map_err(|error| error.within(concat!("base.", $name)))
                    })*
                }
            }
        }
    };
}

pub(crate) use {plain, registry};
