//! Loss of the packets with given numbers, for tests of loss recovery.
//! ns-3's `ReceiveListErrorModel` counts from 0, this from 1.

use crate::{Effect, Impairment, ParamError, Streams, Transit};
use alloc::vec::Vec;

/// Parameters of the loss of given packets.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "LossList"))]
pub struct Params {
    /// The numbers of the lost packets. The first packet that arrives here is number 1.
    pub packets: Vec<u64>,
    /// Whether only packets with payload are counted, and not pure ACKs; default false.
    #[cfg_attr(feature = "serde", serde(default))]
    pub data_only: bool,
}

impl crate::Params for Params {
    type Impairment = LossList;
    const ONLY_DROPS: bool = true;

    fn example() -> Self {
        Params { packets: [100, 101, 140].into(), data_only: true }
    }

    fn check(&self) -> Result<(), ParamError> {
        ParamError::unless(self.packets.iter().all(|&number| number > 0), "packets", &0, "numbers from 1 on")
    }

    fn start(&self, _streams: &Streams) -> LossList {
        let mut numbers = self.packets.clone();
        numbers.sort_unstable_by(|a, b| b.cmp(a));
        numbers.dedup();
        LossList { numbers, data_only: self.data_only, seen: 0 }
    }
}

/// The state of the loss of given packets.
#[derive(Clone, Debug)]
pub struct LossList {
    /// The remaining numbers, in reverse order.
    numbers: Vec<u64>,
    data_only: bool,
    seen: u64,
}

impl Impairment for LossList {
    fn on_packet(&mut self, packet: &Transit) -> Effect {
        if self.data_only && !packet.has_data {
            return Effect::Pass;
        }
        self.seen += 1;
        if self.numbers.last() != Some(&self.seen) {
            return Effect::Pass;
        }
        self.numbers.pop();
        Effect::Drop
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Params as _;
    use alloc::string::ToString;
    use sojourn_units::Time;

    #[test]
    fn the_packets_of_the_list_are_lost_and_no_others() {
        let lost = |data_only| -> Vec<u64> {
            let mut made = Params { packets: [7, 2, 3, 2].into(), data_only }.start(&Streams::new(1, "x".to_string()));
            let packet = |number| Transit { now: Time::ZERO, size: 40, has_data: number % 2 == 0, has_option: false };
            (1..20).filter(|&number| made.on_packet(&packet(number)) == Effect::Drop).collect()
        };
        assert_eq!((lost(false), lost(true)), ([2, 3, 7].into(), [4, 6, 14].into()));
        assert!(Params { packets: [0].into(), data_only: false }.check().is_err());
    }
}
