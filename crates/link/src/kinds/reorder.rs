//! Reordering: some packets are delayed, so that later ones overtake them.
//! They are selected as in netem's `reorder`: each `gap`-th packet, with a probability. netem sends the selected packets immediately and
//! delays all others. Here the selected ones are delayed, so the path's delay is unchanged.

use crate::error_rate::{self, ErrorRate};
use crate::{Effect, Impairment, ParamError, Per, Streams, Transit};
use sojourn_units::{Duration, range};

/// Parameters of reordering.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Reorder"))]
pub struct Params {
    /// Extra delay of a selected packet, above zero.
    /// Packets that arrive within this time overtake it.
    pub by: Duration,
    /// The probability that a candidate is selected, 0 to 1; default 1.
    #[cfg_attr(feature = "serde", serde(default = "one"))]
    pub probability: f64,
    /// Every `gap`-th packet is a candidate, 1 or more; default 1: every packet.
    #[cfg_attr(feature = "serde", serde(default = "every"))]
    pub gap: u64,
}

#[cfg(feature = "serde")]
fn one() -> f64 {
    1.0
}

#[cfg(feature = "serde")]
fn every() -> u64 {
    1
}

impl crate::Params for Params {
    type Impairment = Reorder;
    const REORDERS: bool = true;

    fn example() -> Self {
        Params { by: Duration::from_millis(5), probability: 0.01, gap: 1 }
    }

    fn takes_time(&self) -> bool {
        self.probability >= 1.0 && self.gap == 1 // every packet is delayed
    }

    fn check(&self) -> Result<(), ParamError> {
        range::positive_time("by", self.by)?;
        error_rate::check("probability", self.probability)?;
        ParamError::unless(self.gap > 0, "gap", &self.gap, "a number of packets, 1 or more")
    }

    fn start(&self, streams: &Streams) -> Reorder {
        let chosen = ErrorRate::new(self.probability, Per::Packet, streams.packets());
        Reorder { by: self.by, gap: self.gap, seen: 0, chosen }
    }
}

/// The state of reordering.
#[derive(Clone, Debug)]
pub struct Reorder {
    by: Duration,
    gap: u64,
    /// Packets since the last candidate.
    seen: u64,
    chosen: ErrorRate,
}

impl Impairment for Reorder {
    fn on_packet(&mut self, packet: &Transit) -> Effect {
        self.seen += 1;
        if self.seen < self.gap {
            return Effect::Pass;
        }
        self.seen = 0;
        if self.chosen.hits(packet.size) { Effect::Delay(self.by) } else { Effect::Pass }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Params as _;
    use alloc::string::ToString;
    use alloc::vec::Vec;
    use sojourn_units::Time;

    #[test]
    fn each_packet_of_a_gap_is_delayed() {
        let by = Duration::from_millis(5);
        let mut made = Params { by, probability: 1.0, gap: 4 }.start(&Streams::new(1, "x".to_string()));
        let packet = Transit { now: Time::ZERO, size: 1000, has_data: true, has_option: false };
        let delayed: Vec<u64> = (1..=12).filter(|_| made.on_packet(&packet) == Effect::Delay(by)).collect();
        assert_eq!(delayed, [4, 8, 12]);
    }
}
