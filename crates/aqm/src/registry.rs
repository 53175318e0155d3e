//! The closed set of algorithms: one line each.

use crate::algorithms::*;
use crate::{Aqm, Arrival, Backlog, Link, Needs, ParamError, Verdict};
use alloc::boxed::Box;
use sojourn_units::{Duration, Probability, Stream, Time};

/// What `sojourn list` says of an algorithm.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name in scenario files.
    pub name: &'static str,
    /// One sentence on what it is.
    pub summary: &'static str,
    /// Its defaults, for listing and for tests over the whole registry.
    pub default: fn() -> AqmConfig,
}

/// An algorithm from outside the registry (a plug-in, or a law written in Python).
pub trait Plugin: Aqm + Send + Sync {
    /// A copy with all its state.
    fn boxed_clone(&self) -> Box<dyn Plugin>;
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

macro_rules! registry {
    ($($name:literal $variant:ident($params:ty => $aqm:ty): $summary:literal,)*) => {
        /// The parameters of any registered algorithm.
        #[allow(clippy::large_enum_variant, reason = "one for each queue, never in bulk")]
        #[derive(Clone, PartialEq, Debug)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize), serde(tag = "aqm"))]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum AqmConfig {
            $(#[doc = $summary] #[cfg_attr(feature = "serde", serde(rename = $name))] $variant($params),)*
        }

        /// Any registered algorithm.
        #[allow(clippy::large_enum_variant, reason = "one for each queue; a box would cost every packet a jump in memory")]
        #[derive(Clone, Debug)]
        pub enum AnyAqm {
            $(#[doc = $summary] $variant($aqm),)*
            /// One from outside the registry.
            Custom(Box<dyn Plugin>),
        }

        /// Every registered algorithm, in the order of the registry.
        pub const REGISTRY: &[Entry] = &[
            $(Entry { name: $name, summary: $summary, default: || AqmConfig::$variant(<$params>::default()) },)*
        ];

        impl AqmConfig {
            /// The name in scenario files.
            pub fn name(&self) -> &'static str {
                match self { $(AqmConfig::$variant(_) => $name,)* }
            }

            /// The algorithm with these parameters on this link, or which parameter is out of range.
            pub fn build(&self, link: &Link) -> Result<AnyAqm, ParamError> {
                match self { $(AqmConfig::$variant(params) => params.build(link).map(AnyAqm::$variant),)* }
            }

            /// Reads the parameters of the algorithm called `name`; `None` if there is none of that name.
            #[cfg(feature = "serde")]
            pub fn deserialize<'de, D: serde::Deserializer<'de>>(name: &str, input: D) -> Option<Result<Self, D::Error>> {
                match name {
                    $($name => Some(<$params as serde::Deserialize>::deserialize(input).map(AqmConfig::$variant)),)*
                    _ => None,
                }
            }
        }

        impl Aqm for AnyAqm {
            #[inline]
            fn on_enqueue(&mut self, arrival: &Arrival, backlog: &Backlog, random: &mut Stream) -> Verdict {
                match self { $(AnyAqm::$variant(a) => a.on_enqueue(arrival, backlog, random),)* AnyAqm::Custom(a) => a.on_enqueue(arrival, backlog, random) }
            }
            #[inline]
            fn on_dequeue(&mut self, departure: &Arrival, sojourn: Duration, backlog: &Backlog) -> Verdict {
                match self { $(AnyAqm::$variant(a) => a.on_dequeue(departure, sojourn, backlog),)* AnyAqm::Custom(a) => a.on_dequeue(departure, sojourn, backlog) }
            }
            fn on_overflow(&mut self) {
                match self { $(AnyAqm::$variant(a) => a.on_overflow(),)* AnyAqm::Custom(a) => a.on_overflow() }
            }
            fn update_interval(&self) -> Option<Duration> {
                match self { $(AnyAqm::$variant(a) => a.update_interval(),)* AnyAqm::Custom(a) => a.update_interval() }
            }
            fn first_update(&self) -> Time {
                match self { $(AnyAqm::$variant(a) => a.first_update(),)* AnyAqm::Custom(a) => a.first_update() }
            }
            fn on_update(&mut self, now: Time, backlog: &Backlog) {
                match self { $(AnyAqm::$variant(a) => a.on_update(now, backlog),)* AnyAqm::Custom(a) => a.on_update(now, backlog) }
            }
            fn needs(&self) -> Needs {
                match self { $(AnyAqm::$variant(a) => a.needs(),)* AnyAqm::Custom(a) => a.needs() }
            }
            fn probability(&self) -> Probability {
                match self { $(AnyAqm::$variant(a) => a.probability(),)* AnyAqm::Custom(a) => a.probability() }
            }
        }
    };
}

registry! {
    "droptail" DropTail(drop_tail::Params => drop_tail::DropTail): "FIFO that drops what finds it full",
    "red" Red(red::Params => red::Red): "random early detection: gentle, adaptive, in packets or bytes",
    "pi" Pi(pi::Params => crate::Sampled<pi::PiLaw, crate::Scaled>): "proportional-integral control of the queue, Hollot et al. 2001",
    "rem" Rem(rem::Params => crate::Sampled<rem::RemLaw, crate::Scaled>): "random exponential marking by a price, Athuraliya et al. 2001",
    "pd" Pd(pd::Params => crate::Sampled<pd::PdLaw, crate::Bernoulli>): "linear proportional-derivative control of the queue, Lehto et al. 2005",
    "loss" Loss(loss::Params => loss::Loss): "random loss, each packet by itself, as a radio link has it",
    "external" External(external::Params => external::External): "a law that the caller supplies, such as one written in Python",
    "fuzzy-red" FuzzyRed(fuzzy_red::Params => crate::Sampled<fuzzy_red::FuzzyLaw, crate::Bernoulli>): "seven fuzzy rules over the queue and its change, Lehto et al. 2005",
}
