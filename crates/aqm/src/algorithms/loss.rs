//! Random loss: a link that loses packets for reasons of its own, as a radio does. A first in, first out queue besides.

use crate::{Aqm, ArrivalVerdict, Backlog, Link, PacketView, ParamError};
use sojourn_units::{Probability, Stream};

/// Parameters of random loss.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// The probability that an arriving packet is lost, each by itself; 0 to 1, default 0.01.
    pub p: f64,
}

impl Default for Params {
    fn default() -> Self {
        Params { p: 0.01 }
    }
}

impl Params {
    /// Random loss with these parameters.
    ///
    /// # Errors
    /// A probability out of range.
    pub fn build(&self, _link: &Link) -> Result<Loss, ParamError> {
        ParamError::unless((0.0..=1.0).contains(&self.p), "p", &self.p, "a probability, 0 to 1")?;
        Ok(Loss { p: Probability::clamped(self.p) })
    }
}

/// The link's loss.
#[derive(Clone, Debug)]
pub struct Loss {
    p: Probability,
}

impl Aqm for Loss {
    /// A loss, not a signal: no packet is marked instead.
    #[inline]
    fn on_enqueue(&mut self, _arrival: &PacketView, _backlog: &Backlog, random: &mut Stream) -> ArrivalVerdict {
        if random.unit() < self.p.get() { ArrivalVerdict::Drop } else { ArrivalVerdict::Pass }
    }

    fn probability(&self) -> Probability {
        self.p
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::test_link;
    use sojourn_units::Time;

    #[test]
    fn packets_are_lost_at_the_rate_asked_for() {
        let mut loss = Params { p: 0.03 }.build(&test_link()).unwrap();
        let mut random = Stream::named(1, "loss");
        let arrival = PacketView { now: Time::ZERO, size: 1000, flow: 0, rtt_hint_ms: 0, has_data: true };
        let backlog = Backlog { packets: 0, bytes: 0, idle_since: None };
        let lost = (0..100_000).filter(|_| loss.on_enqueue(&arrival, &backlog, &mut random) == ArrivalVerdict::Drop).count();
        assert!((2_800..3_200).contains(&lost), "{lost}");
        assert!(Params { p: 1.5 }.build(&test_link()).is_err());
    }
}
