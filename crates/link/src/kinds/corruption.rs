//! Bit errors that checksums detect.
//! The packet continues on its path, uses buffers and transmission times, and its receiver discards it (netem `corrupt`, with all errors
//! detected).

use crate::error_rate::{self, ErrorRate};
use crate::{Allowance, Effect, Impairment, ParamError, Per, Streams, Transit};

/// Parameters of corruption.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Corruption"))]
pub struct Params {
    /// The probability of an error; 0 to 1.
    pub probability: f64,
    /// The unit of the probability: per "packet" (default), "byte" or "bit" (the bit error rate).
    #[cfg_attr(feature = "serde", serde(default))]
    pub per: Per,
}

impl crate::Params for Params {
    type Impairment = Corruption;
    const CORRUPTS: bool = true;

    fn example() -> Self {
        Params { probability: 1e-7, per: Per::Bit }
    }

    fn takes_time(&self) -> bool {
        error_rate::is_often(self.probability, self.per)
    }

    fn check(&self) -> Result<(), ParamError> {
        error_rate::check("probability", self.probability)
    }

    fn start(&self, streams: &Streams) -> Corruption {
        Corruption(ErrorRate::new(self.probability, self.per, streams.packets()))
    }
}

/// The state of corruption: the random stream.
#[derive(Clone, Debug)]
pub struct Corruption(ErrorRate);

impl Impairment for Corruption {
    fn give_allowance(&mut self) -> Allowance {
        self.0.give_allowance()
    }

    fn on_packet(&mut self, packet: &Transit) -> Effect {
        if self.0.hits(packet.size) { Effect::Corrupt } else { Effect::Pass }
    }
}
