//! Random loss, independent for each packet.
//! Sources: ns-3's `RateErrorModel`; ns-2's `ErrorModel` with unit `pkt` and a uniform variable.

use crate::error_rate::{self, ErrorRate};
use crate::{Allowance, Effect, Impairment, ParamError, Per, Streams, Transit};

/// Parameters of random loss.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Loss"))]
pub struct Params {
    /// The probability of a loss; 0 to 1.
    pub probability: f64,
    /// The unit of the probability: per "packet" (default), "byte" or "bit" (the bit error rate).
    #[cfg_attr(feature = "serde", serde(default))]
    pub per: Per,
}

impl Params {
    /// Loss of packets with this probability, whatever their size.
    pub fn of(probability: f64) -> Self {
        Params { probability, per: Per::Packet }
    }
}

impl crate::Params for Params {
    type Impairment = Loss;
    const ONLY_DROPS: bool = true;

    fn example() -> Self {
        Params::of(0.01)
    }

    fn takes_time(&self) -> bool {
        error_rate::is_often(self.probability, self.per)
    }

    fn check(&self) -> Result<(), ParamError> {
        error_rate::check("probability", self.probability)
    }

    fn start(&self, streams: &Streams) -> Loss {
        Loss(ErrorRate::new(self.probability, self.per, streams.packets()))
    }
}

/// The state of random loss: the random stream.
#[derive(Clone, Debug)]
pub struct Loss(ErrorRate);

impl Impairment for Loss {
    fn give_allowance(&mut self) -> Allowance {
        self.0.give_allowance()
    }

    #[inline]
    fn on_packet(&mut self, packet: &Transit) -> Effect {
        if self.0.hits(packet.size) { Effect::Drop } else { Effect::Pass }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Params as _;

    #[test]
    fn a_probability_is_between_zero_and_one() {
        assert!([-0.1, 1.1, f64::NAN].iter().all(|&probability| Params::of(probability).check().is_err()));
    }
}
