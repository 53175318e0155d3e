//! Bursts: packets that arrive within an interval leave together at its end.
//! Frame aggregation (Wi-Fi) and scheduled grants (DOCSIS) have this effect.

use crate::{Effect, Impairment, ParamError, Streams, Transit};
use sojourn_units::{Duration, range};

/// Parameters of bursts.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Bursts"))]
pub struct Params {
    /// The interval, above zero. Bursts leave at its multiples since the start of the run.
    pub every: Duration,
}

impl crate::Params for Params {
    type Impairment = Bursts;

    fn example() -> Self {
        Params { every: Duration::from_millis(4) }
    }

    fn check(&self) -> Result<(), ParamError> {
        range::positive_time("every", self.every)
    }

    fn start(&self, _streams: &Streams) -> Bursts {
        Bursts { every: self.every }
    }
}

/// The (empty) state of bursts.
#[derive(Clone, Debug)]
pub struct Bursts {
    every: Duration,
}

impl Impairment for Bursts {
    fn on_packet(&mut self, packet: &Transit) -> Effect {
        match packet.now.as_nanos() % self.every.as_nanos() {
            0 => Effect::Pass,
            into => Effect::Delay(Duration::from_nanos(self.every.as_nanos() - into)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Params as _;
    use alloc::string::ToString;
    use sojourn_units::Time;

    #[test]
    fn packets_leave_at_the_next_multiple_of_the_interval() {
        let mut made = Params { every: Duration::from_millis(4) }.start(&Streams::new(1, "x".to_string()));
        let mut at =
            |ms| made.on_packet(&Transit { now: Time::ZERO + Duration::from_millis(ms), size: 1000, has_data: true, has_option: false });
        assert_eq!([at(0), at(4), at(8)], [Effect::Pass; 3]);
        assert_eq!([at(9), at(11)], [3, 1].map(|ms| Effect::Delay(Duration::from_millis(ms))));
    }
}
