//! Duplicates: copies of random packets, directly after them (netem `duplicate`).

use crate::error_rate::{self, ErrorRate};
use crate::{Allowance, Effect, Impairment, ParamError, Per, Streams, Transit};

/// Parameters of duplication.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Duplication"))]
pub struct Params {
    /// The probability that a packet is followed by a copy; 0 to 1.
    pub probability: f64,
}

impl crate::Params for Params {
    type Impairment = Duplication;
    const REORDERS: bool = true;

    fn example() -> Self {
        Params { probability: 0.01 }
    }

    fn check(&self) -> Result<(), ParamError> {
        error_rate::check("probability", self.probability)
    }

    fn start(&self, streams: &Streams) -> Duplication {
        Duplication(ErrorRate::new(self.probability, Per::Packet, streams.packets()))
    }
}

/// The state of duplication: the random stream.
#[derive(Clone, Debug)]
pub struct Duplication(ErrorRate);

impl Impairment for Duplication {
    fn give_allowance(&mut self) -> Allowance {
        self.0.give_allowance()
    }

    fn on_packet(&mut self, packet: &Transit) -> Effect {
        if self.0.hits(packet.size) { Effect::Duplicate } else { Effect::Pass }
    }
}
