//! The kinds of impairments: one file each, and one line each in the registry.

use crate::trace::TraceLoss;
use crate::{Ack, Allowance, Effect, Impairment, ParamError, Params, Streams, TcpOption, Transit};

/// An entry of the list of impairments.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name in scenario files.
    pub name: &'static str,
    /// One sentence that describes it.
    pub summary: &'static str,
    /// An example of its parameters.
    pub example: fn() -> ImpairmentKind,
}

/// Declares the registry from `"name" module::Impairment: "summary"`.
/// The file `module.rs` defines the parameters `Params` and the state machine `Impairment`.
macro_rules! registry {
    ($($name:literal => $file:ident :: $Impairment:ident : $summary:literal,)*) => {
        $(pub mod $file;)*

        /// The parameters of any impairment.
        #[derive(Clone, PartialEq, Debug)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(tag = "kind"))]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum ImpairmentKind {
            $(#[doc = $summary] #[cfg_attr(feature = "serde", serde(rename = $name))] $Impairment($file::Params),)*
        }

        /// The state machine of any impairment.
        #[derive(Clone, Debug)]
        pub enum AnyImpairment {
            $(#[doc = $summary] $Impairment($file::$Impairment),)*
            /// The loss of the link's trace.
            Trace(TraceLoss),
        }

        /// Every impairment, in the order of the registry.
        pub const REGISTRY: &[Entry] = &[
            $(Entry { name: $name, summary: $summary, example: || ImpairmentKind::$Impairment($file::Params::example()) },)*
        ];

        impl ImpairmentKind {
            /// Its name in scenario files.
            pub fn name(&self) -> &'static str {
                match self { $(ImpairmentKind::$Impairment(_) => $name,)* }
            }

            /// Whether it reads headers of packets ([`Params::READS_ACKS`], [`Params::READS_OPTIONS`]).
            pub fn reads_headers(&self) -> bool {
                match self { $(ImpairmentKind::$Impairment(_) => $file::Params::READS_ACKS || $file::Params::READS_OPTIONS,)* }
            }

            /// Checks that every parameter is in its range.
            ///
            /// # Errors
            /// The first parameter out of range.
            pub fn check(&self) -> Result<(), ParamError> {
                match self { $(ImpairmentKind::$Impairment(params) => params.check(),)* }
            }

            /// See [`Params::changes_headers`].
            pub fn changes_headers(&self) -> bool {
                match self { $(ImpairmentKind::$Impairment(params) => params.changes_headers(),)* }
            }

            /// See [`Params::takes_time`].
            pub fn takes_time(&self) -> bool {
                match self { $(ImpairmentKind::$Impairment(params) => params.takes_time(),)* }
            }

            /// The state machine at its start. The parameters are in their ranges.
            pub fn start(&self, streams: &Streams) -> AnyImpairment {
                match self { $(ImpairmentKind::$Impairment(params) => AnyImpairment::$Impairment(params.start(streams)),)* }
            }

            /// Reads the parameters of the impairment called `name`; `None` for an unknown name.
            #[cfg(feature = "serde")]
            pub fn deserialize<'de, D: serde::Deserializer<'de>>(name: &str, input: D) -> Option<Result<Self, D::Error>> {
                match name {
                    $($name => Some(<$file::Params as serde::Deserialize>::deserialize(input).map(ImpairmentKind::$Impairment)),)*
                    _ => None,
                }
            }
        }

        $(impl From<$file::Params> for ImpairmentKind {
            fn from(params: $file::Params) -> Self {
                ImpairmentKind::$Impairment(params)
            }
        })*

        impl AnyImpairment {
            /// Its name in scenario files.
            pub fn name(&self) -> &'static str {
                match self { $(AnyImpairment::$Impairment(_) => $name,)* AnyImpairment::Trace(_) => "trace" }
            }

            /// See [`Params::REORDERS`].
            pub fn reorders(&self) -> bool {
                match self { $(AnyImpairment::$Impairment(_) => $file::Params::REORDERS,)* AnyImpairment::Trace(_) => false }
            }

            /// See [`Params::ONLY_DROPS`].
            pub fn only_drops(&self) -> bool {
                match self { $(AnyImpairment::$Impairment(_) => $file::Params::ONLY_DROPS,)* AnyImpairment::Trace(_) => true }
            }

            /// See [`Params::READS_ACKS`].
            pub fn reads_acks(&self) -> bool {
                match self { $(AnyImpairment::$Impairment(_) => $file::Params::READS_ACKS,)* AnyImpairment::Trace(_) => false }
            }

            /// See [`Params::CORRUPTS`].
            pub fn corrupts(&self) -> bool {
                match self { $(AnyImpairment::$Impairment(_) => $file::Params::CORRUPTS,)* AnyImpairment::Trace(_) => false }
            }
        }

        impl Impairment for AnyImpairment {
            fn give_allowance(&mut self) -> Allowance {
                match self { $(AnyImpairment::$Impairment(impairment) => impairment.give_allowance(),)* AnyImpairment::Trace(loss) => loss.give_allowance() }
            }

            fn option(&self) -> Option<TcpOption> {
                match self { $(AnyImpairment::$Impairment(impairment) => impairment.option(),)* AnyImpairment::Trace(_) => None }
            }

            #[inline]
            fn on_packet(&mut self, packet: &Transit) -> Effect {
                match self { $(AnyImpairment::$Impairment(impairment) => impairment.on_packet(packet),)* AnyImpairment::Trace(loss) => loss.on_packet(packet) }
            }

            fn on_ack(&mut self, packet: &Transit, ack: &Ack) -> Effect {
                match self { $(AnyImpairment::$Impairment(impairment) => impairment.on_ack(packet, ack),)* AnyImpairment::Trace(loss) => loss.on_ack(packet, ack) }
            }
        }
    };
}

registry! {
    "loss" => loss::Loss: "random loss, independent for each packet",
    "gilbert-elliott" => gilbert_elliott::GilbertElliott: "bursty loss: a good and a bad state with different loss probabilities",
    "loss-list" => loss_list::LossList: "the loss of packets given by their numbers",
    "corruption" => corruption::Corruption: "bit errors detected by the receiver: the packet uses the whole path and is discarded at its end",
    "duplication" => duplication::Duplication: "copies of random packets, directly behind them",
    "reorder" => reorder::Reorder: "extra delay of random packets, so that later ones overtake them",
    "jitter" => jitter::Jitter: "a random delay of each packet, without reordering",
    "outage" => outage::Outage: "intervals during which the link drops or holds packets",
    "policer" => policer::Policer: "a token bucket that drops packets without tokens",
    "shaper" => shaper::Shaper: "a token bucket that delays packets until it has tokens, as tc tbf",
    "ack-thinning" => ack_thinning::AckThinning: "thinning of pure ACKs: passes one out of several, or one per interval",
    "tcp-option" => tcp_option::Filter: "a middlebox that strips a TCP option, or drops the packets that carry it",
    "bursts" => bursts::Bursts: "aggregation: packets that arrive within an interval leave together at its end",
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use sojourn_units::{Duration, Time};

    #[test]
    fn every_example_is_in_range_and_has_the_name_of_its_entry() {
        for entry in REGISTRY {
            let kind = (entry.example)();
            assert_eq!((kind.name(), kind.check()), (entry.name, Ok(())));
            assert_eq!(kind.start(&Streams::new(1, entry.name.to_string())).name(), entry.name);
        }
    }

    /// The model test of every impairment.
    /// Its effects match what its parameters declare.
    #[test]
    fn an_impairment_keeps_the_order_and_corrupts_nothing_unless_it_says_so() {
        for entry in REGISTRY {
            let mut made = (entry.example)().start(&Streams::new(7, entry.name.to_string()));
            let (mut now, mut last, mut overtakes, mut corrupts, mut only_drops) = (Time::ZERO, None, false, false, true);
            for number in 0..100_000u64 {
                // Trains of packets at the same time, and gaps of all lengths.
                now += Duration::from_nanos(if number % 3 == 0 { 0 } else { number * number % 9_000_001 });
                let packet = Transit { now, size: 1 + (number * 37 % 1500) as u32, has_data: number % 4 > 0, has_option: number % 5 == 0 };
                let effect = made.on_packet(&packet);
                only_drops &= matches!(effect, Effect::Pass | Effect::Drop);
                let leaves = match effect {
                    Effect::Drop => continue,
                    Effect::Delay(delay) => now + delay,
                    effect => {
                        corrupts |= effect == Effect::Corrupt;
                        overtakes |= effect == Effect::Duplicate;
                        now
                    }
                };
                overtakes |= last.is_some_and(|last| leaves < last);
                last = Some(leaves);
            }
            let promised = (made.reorders(), made.corrupts(), made.only_drops());
            assert_eq!((overtakes, corrupts, only_drops), promised, "{}", entry.name);
        }
    }
}
