//! Random loss, each packet independently of the others (ns-2's `ErrorModel` with unit `pkt` and a uniform variable).

use crate::{Effect, Impairment, ParamError, Transit};
use sojourn_units::Stream;

/// Parameters of random loss.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Loss"))]
pub struct Params {
    /// The probability that a packet is lost, whatever its size; 0 to 1.
    pub probability: f64,
}

impl crate::Params for Params {
    type Impairment = Loss;

    fn example() -> Self {
        Params { probability: 0.01 }
    }

    fn check(&self) -> Result<(), ParamError> {
        ParamError::unless((0.0..=1.0).contains(&self.probability), "probability", &self.probability, "a number, 0 to 1")
    }

    fn start(&self) -> Loss {
        Loss { probability: self.probability }
    }
}

/// The state of random loss: there is none but the stream.
#[derive(Clone, Debug)]
pub struct Loss {
    probability: f64,
}

impl Impairment for Loss {
    #[inline]
    fn on_packet(&mut self, _packet: &Transit, random: &mut Stream) -> Effect {
        // It draws whatever the probability, so that another probability meets the same numbers.
        if random.unit() < self.probability { Effect::Drop } else { Effect::Pass }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Params as _;
    use sojourn_units::Time;

    #[test]
    fn it_drops_the_part_asked_for() {
        let (mut loss, mut random) = (Params { probability: 0.02 }.start(), Stream::named(1, "loss"));
        let packet = Transit { now: Time::ZERO, size: 1000 };
        let dropped = (0..100_000).filter(|_| loss.on_packet(&packet, &mut random) == Effect::Drop).count();
        assert!((1_800..=2_200).contains(&dropped), "{dropped}");
        assert!((0..1000).all(|_| Params { probability: 0.0 }.start().on_packet(&packet, &mut random) == Effect::Pass));
    }

    #[test]
    fn a_probability_is_between_zero_and_one() {
        assert!([-0.1, 1.1, f64::NAN].iter().all(|&probability| Params { probability }.check().is_err()));
    }
}
