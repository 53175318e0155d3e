//! The closed set of algorithms: one line each.

use crate::algorithms::*;
use crate::{Aqm, ArrivalVerdict, Backlog, DepartureVerdict, Law, Link, Needs, PacketView, ParamError};
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
            fn on_enqueue(&mut self, arrival: &PacketView, backlog: &Backlog, random: &mut Stream) -> ArrivalVerdict {
                match self { $(AnyAqm::$variant(a) => a.on_enqueue(arrival, backlog, random),)* AnyAqm::Custom(a) => a.on_enqueue(arrival, backlog, random) }
            }
            #[inline]
            fn on_dequeue(&mut self, departure: &PacketView, sojourn: Duration, backlog: &Backlog, random: &mut Stream) -> DepartureVerdict {
                match self { $(AnyAqm::$variant(a) => a.on_dequeue(departure, sojourn, backlog, random),)* AnyAqm::Custom(a) => a.on_dequeue(departure, sojourn, backlog, random) }
            }
            fn on_inspect(&mut self, arrival: &PacketView, waiting: Option<&PacketView>, backlog: &Backlog, random: &mut Stream) -> ArrivalVerdict {
                match self { $(AnyAqm::$variant(a) => a.on_inspect(arrival, waiting, backlog, random),)* AnyAqm::Custom(a) => a.on_inspect(arrival, waiting, backlog, random) }
            }
            fn on_overflow(&mut self) {
                match self { $(AnyAqm::$variant(a) => a.on_overflow(),)* AnyAqm::Custom(a) => a.on_overflow() }
            }
            fn on_unmarkable(&mut self) {
                match self { $(AnyAqm::$variant(a) => a.on_unmarkable(),)* AnyAqm::Custom(a) => a.on_unmarkable() }
            }
            fn on_flows(&mut self, now: Time, active: u32) {
                match self { $(AnyAqm::$variant(a) => a.on_flows(now, active),)* AnyAqm::Custom(a) => a.on_flows(now, active) }
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
                match self { $(AnyAqm::$variant(a) => Aqm::needs(a),)* AnyAqm::Custom(a) => a.needs() }
            }
            fn probability(&self) -> Probability {
                match self { $(AnyAqm::$variant(a) => a.probability(),)* AnyAqm::Custom(a) => a.probability() }
            }
            fn law(&mut self) -> Option<&mut dyn Law> {
                match self { $(AnyAqm::$variant(a) => a.law(),)* AnyAqm::Custom(a) => a.law() }
            }
        }
    };
}

registry! {
    "droptail" DropTail(drop_tail::Params => drop_tail::DropTail): "FIFO that drops what finds it full",
    "red" Red(red::Params => red::Red): "random early detection: gentle, adaptive, in packets or bytes",
    "pi" Pi(pi::Params => crate::Sampled<pi::PiLaw, crate::Scaled>): "proportional-integral control of the queue, Hollot et al. 2001",
    "rem" Rem(rem::Params => crate::Sampled<rem::RemLaw, crate::Scaled>): "random exponential marking by a price, Athuraliya et al. 2001",
    "led" Led(led::Params => led::Led): "load early detection: a moving average of the load, Durresi et al. 2006",
    "avq" Avq(avq::Params => avq::Avq): "adaptive virtual queue, Kunniyur and Srikant 2001",
    "blue" Blue(blue::Params => blue::Blue): "one probability moved by losses and idleness, Feng et al. 1999",
    "pd" Pd(pd::Params => crate::Sampled<pd::PdLaw, crate::Bernoulli>): "linear proportional-derivative control of the queue, Lehto et al. 2005",
    "cpc" Cpc(cpc::Params => crate::Sampled<cpc::CpcLaw, crate::Bernoulli>): "cascade of a window loop and a queue loop, To, Thi and Hwang 2015",
    "loss" Loss(loss::Params => loss::Loss): "random loss, each packet by itself, as a radio link has it",
    "external" External(external::Params => external::External): "a law that the caller supplies, such as one written in Python",
    "fuzzy-red" FuzzyRed(fuzzy_red::Params => crate::Sampled<fuzzy_red::FuzzyLaw, crate::Bernoulli>): "seven fuzzy rules over the queue and its change, Lehto et al. 2005",
    "codel" Codel(codel::Params => codel::Codel): "controlled delay: drops by how long packets waited, RFC 8289",
    "fq-codel" FqCodel(fq_codel::Params => fq_codel::FqCodel): "a queue for each flow, each under CoDel, RFC 8290",
    "fuzzy-rtt" FuzzyRtt(fuzzy_rtt::Params => fuzzy_rtt::FuzzyRtt): "a fuzzy law for each class of round-trip times, Boudi and Loudini 2024",
    "flc" Flc(flc::Params => crate::Sampled<flc::FlcLaw, crate::Bernoulli>): "a fuzzy controller of the queue and its change, after Ren et al. 2002",
    "pid" Pid(pid::Params => crate::Sampled<pid::PidLaw, crate::Bernoulli>): "PID control of the queue designed for stability margins, after Fan et al. 2003",
    "pi-rtt" PiRtt(pi_rtt::Params => pi_rtt::PiRtt): "PID whose probability falls with the square of a packet's round-trip time",
    "pi2" Pi2(pi2::Params => pi2::Pi2): "PI control of the delay with a squared output, the base law of RFC 9332",
    "choke" Choke(choke::Params => choke::Choke): "RED that drops an arriving packet and a drawn one of the same flow, Pan et al. 2000",
    "choker" Choker(choker::Params => choker::Choker): "CHOKe with draws that follow the load, after Lu et al. 2014",
    "pie" Pie(pie::Params => pie::Pie): "a probability that follows the delay, Pan et al. 2013, RFC 8033",
}
