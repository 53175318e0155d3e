//! The closed set of controllers: one line each.

extern crate alloc;
use crate::algorithms::*;
use crate::{Ack, Classic, CongestionController, CongestionEvent, DelayBased, ParamError, Source, Start};
use alloc::boxed::Box;
use sojourn_units::Time;

/// What `sojourn list` says of a controller.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name in scenario files.
    pub name: &'static str,
    /// One sentence on what it is.
    pub summary: &'static str,
    /// Its defaults.
    pub default: fn() -> CcConfig,
}

macro_rules! registry {
    ($($name:literal $variant:ident($params:ty => $cc:ty): $summary:literal,)*) => {
        /// The parameters of any registered controller.
        #[derive(Clone, PartialEq, Debug)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize), serde(tag = "cc"))]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum CcConfig {
            $(#[doc = $summary] #[cfg_attr(feature = "serde", serde(rename = $name))] $variant($params),)*
        }

        /// Any registered controller; those with much to remember in a box, so that flows of the others stay small.
        #[derive(Clone, Debug)]
        pub enum AnyController {
            $(#[doc = $summary] $variant($cc),)*
        }

        /// Every registered controller, in the order of the registry.
        pub const REGISTRY: &[Entry] = &[
            $(Entry { name: $name, summary: $summary, default: || CcConfig::$variant(<$params>::default()) },)*
        ];

        impl CcConfig {
            /// The name in scenario files.
            pub fn name(&self) -> &'static str {
                match self { $(CcConfig::$variant(_) => $name,)* }
            }

            /// The controller at the start of a connection, or which parameter is out of range.
            pub fn build(&self, start: Start) -> Result<AnyController, ParamError> {
                match self { $(CcConfig::$variant(params) => params.build(start).map(|made| AnyController::$variant(made.into())),)* }
            }

            /// What the receiver of `mss` bytes a segment runs, or which parameter is out of range; `None` if its window is
            /// that of its buffer alone.
            pub fn build_receiver(&self, start: Start, mss: u32) -> Result<Option<rledbat::Receiver>, ParamError> {
                match self {
                    CcConfig::RLedbat(params) => params.receiver(start, mss).map(Some),
                    _ => Ok(None),
                }
            }

            /// Reads the parameters of the controller called `name`; `None` if there is none of that name.
            #[cfg(feature = "serde")]
            pub fn deserialize<'de, D: serde::Deserializer<'de>>(name: &str, input: D) -> Option<Result<Self, D::Error>> {
                match name {
                    $($name => Some(<$params as serde::Deserialize>::deserialize(input).map(CcConfig::$variant)),)*
                    _ => None,
                }
            }
        }

        impl CongestionController for AnyController {
            #[inline]
            fn on_ack(&mut self, ack: &Ack) {
                match self { $(AnyController::$variant(c) => c.on_ack(ack),)* }
            }
            fn on_congestion(&mut self, event: &CongestionEvent) {
                match self { $(AnyController::$variant(c) => c.on_congestion(event),)* }
            }
            fn on_rto(&mut self, now: Time, window: f64) {
                match self { $(AnyController::$variant(c) => c.on_rto(now, window),)* }
            }
            #[inline]
            fn cwnd(&self) -> f64 {
                match self { $(AnyController::$variant(c) => c.cwnd(),)* }
            }
            fn set_cwnd(&mut self, cwnd: f64) {
                match self { $(AnyController::$variant(c) => c.set_cwnd(cwnd),)* }
            }
            fn ssthresh(&self) -> f64 {
                match self { $(AnyController::$variant(c) => c.ssthresh(),)* }
            }
            fn delay_source(&self) -> Option<Source> {
                match self { $(AnyController::$variant(c) => c.delay_source(),)* }
            }
            fn min_cwnd(&self) -> f64 {
                match self { $(AnyController::$variant(c) => c.min_cwnd(),)* }
            }
            fn memory(&self) -> usize {
                match self { $(AnyController::$variant(c) => c.memory(),)* }
            }
            fn use_whole_segments(&mut self) {
                match self { $(AnyController::$variant(c) => c.use_whole_segments(),)* }
            }
        }
    };
}

registry! {
    "reno" Reno(reno::Params => Classic<reno::Reno>): "additive increase, half after congestion (RFC 5681)",
    "cubic" Cubic(cubic::Params => Classic<cubic::Cubic>): "a cubic of the time since the last loss (RFC 9438, or v2.1 of Linux 2.6.22)",
    "ledbat" Ledbat(ledbat::Params => Box<DelayBased<ledbat::Ledbat>>): "yields by settling where packets wait for a target (RFC 6817, or the ns-2 module)",
    "ledbat++" LedbatPp(ledbatpp::Params => Box<DelayBased<ledbatpp::LedbatPp>>): "LEDBAT that shares with latecomers and steps back now and then (draft-irtf-iccrg-ledbat-plus-plus)",
    "rledbat" RLedbat(rledbat::Params => Classic<cubic::Cubic>): "LEDBAT++ at the receiver, which bounds a CUBIC sender by its window (RFC 9840)",
    "fledbat" Fledbat(fledbat::Params => Box<DelayBased<fledbat::Fledbat>>): "LEDBAT with a proportional decrease, fair to latecomers (Carofiglio et al. 2013)",
    "tcp-lp" TcpLp(tcp_lp::Params => Box<DelayBased<tcp_lp::TcpLp>>): "Reno that yields at the first delay (Kuzmanovic and Knightly 2006)",
    "flower" Flower(flower::Params => Box<DelayBased<flower::Flower>>): "LEDBAT's estimator under a fuzzy law that steps aside (Trang and Lochin 2016)",
    "flower+" FlowerPlus(flower::plus::Params => Box<DelayBased<flower::plus::FlowerPlus>>): "FLOWER with a lower target, cuts in proportion to the window, and slowdowns",
}
