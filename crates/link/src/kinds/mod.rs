//! The impairments: one file and one line each.

use crate::{Effect, Impairment, ParamError, Params, Transit};
use sojourn_units::Stream;

/// What is listed of an impairment.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name in scenario files.
    pub name: &'static str,
    /// One sentence on what it is.
    pub summary: &'static str,
    /// An example of its parameters.
    pub example: fn() -> ImpairmentKind,
}

/// Reads `"name" module::Impairment: "summary"`: the file `module.rs` has the parameters as `Params` and the state machine
/// under the name given.
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

            /// Whether every parameter is in its range.
            ///
            /// # Errors
            /// The first parameter that is not.
            pub fn check(&self) -> Result<(), ParamError> {
                match self { $(ImpairmentKind::$Impairment(params) => params.check(),)* }
            }

            /// The state machine at its start. The parameters are in their ranges.
            pub fn start(&self) -> AnyImpairment {
                match self { $(ImpairmentKind::$Impairment(params) => AnyImpairment::$Impairment(params.start()),)* }
            }

            /// Reads the parameters of the impairment called `name`; `None` if there is none of that name.
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

        impl Impairment for AnyImpairment {
            #[inline]
            fn on_packet(&mut self, packet: &Transit, random: &mut Stream) -> Effect {
                match self { $(AnyImpairment::$Impairment(impairment) => impairment.on_packet(packet, random),)* }
            }
        }
    };
}

registry! {
    "loss" => loss::Loss: "random loss, each packet independently of the others",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_is_in_range_and_has_the_name_of_its_entry() {
        for entry in REGISTRY {
            let kind = (entry.example)();
            assert_eq!((kind.name(), kind.check()), (entry.name, Ok(())));
        }
    }
}
