//! A policer: packets without tokens in the bucket are lost.
//! Source: tc `police` with `conform-exceed drop`.

use crate::token_bucket::{self, TokenBucket};
use crate::{Effect, Impairment, ParamError, Streams, Transit};
use sojourn_units::{Bytes, Rate};

/// Parameters of a policer.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Policer"))]
pub struct Params {
    /// The rate at which the bucket fills.
    pub rate: Rate,
    /// The size of the bucket, 1 B or more. It is full at the start.
    /// A larger packet never passes.
    pub burst: Bytes,
}

impl crate::Params for Params {
    type Impairment = Policer;
    const ONLY_DROPS: bool = true;

    fn example() -> Self {
        Params { rate: crate::kinds::shaper::RATE, burst: Bytes(64_000) }
    }

    fn takes_time(&self) -> bool {
        self.burst <= crate::token_bucket::SOON_EMPTY
    }

    fn check(&self) -> Result<(), ParamError> {
        token_bucket::check(self.rate, self.burst)
    }

    fn start(&self, _streams: &Streams) -> Policer {
        Policer(TokenBucket::new(self.rate, self.burst))
    }
}

/// The state of a policer.
#[derive(Clone, Debug)]
pub struct Policer(TokenBucket);

impl Impairment for Policer {
    fn on_packet(&mut self, packet: &Transit) -> Effect {
        if self.0.ready(packet.now, packet.size) != Some(packet.now) {
            return Effect::Drop;
        }
        self.0.take(packet.now, packet.size);
        Effect::Pass
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Params as _;
    use alloc::string::ToString;
    use alloc::vec::Vec;
    use sojourn_units::{Duration, Time};

    /// The times in µs at which packets of 1000 B pass; one arrives every `gap` µs.
    fn passed(rate: u64, burst: u64, gap: u64, packets: u64) -> Vec<u64> {
        let params = Params { rate: Rate::from_bps(rate).unwrap(), burst: Bytes(burst) };
        let mut made = params.start(&Streams::new(1, "x".to_string()));
        let packet = |at| Transit { now: Time::ZERO + Duration::from_micros(at), size: 1000, has_data: true, has_option: false };
        (0..packets).map(|number| number * gap).filter(|&at| made.on_packet(&packet(at)) == Effect::Pass).collect()
    }

    #[test]
    fn a_burst_passes_and_then_the_rate() {
        // A packet needs 8 ms at 1 Mbit/s. Packets arrive each ms. The bucket of five packets is empty after the fifth, at 4 ms, but has
        // received half a packet meanwhile. So the next one passes 4 ms later, and then one every 8 ms.
        assert_eq!(passed(1_000_000, 5_000, 1_000, 30), [0, 1_000, 2_000, 3_000, 4_000, 8_000, 16_000, 24_000]);
        // Exactly the rate passes forever. A bucket smaller than a packet passes none.
        assert_eq!(passed(1_000_000, 1_000, 8_000, 1_000).len(), 1_000);
        assert!(passed(1_000_000, 999, 8_000, 1_000).is_empty());
    }

    /// Tests that a silence is worth at most the burst.
    /// RFC 2697: tokens for a full bucket are lost.
    #[test]
    fn a_bucket_holds_no_more_than_the_burst_after_a_silence() {
        let params = Params { rate: Rate::from_bps(1_000_000).unwrap(), burst: Bytes(5_000) };
        let mut made = params.start(&Streams::new(1, "x".to_string()));
        let late = Transit { now: Time::ZERO + Duration::from_secs(100), size: 1000, has_data: true, has_option: false };
        assert_eq!((0..20).filter(|_| made.on_packet(&late) == Effect::Pass).count(), 5);
    }

    #[test]
    fn no_window_has_more_than_the_burst_and_the_rate() {
        let passed = passed(3_000_000, 7_000, 137, 20_000);
        for (i, &from) in passed.iter().enumerate().step_by(50) {
            for (j, &to) in passed.iter().enumerate().skip(i) {
                let bits = (j - i + 1) as u64 * 8_000;
                assert!(bits <= 7_000 * 8 + 3 * (to - from), "{bits} from {from} to {to} us");
            }
        }
        // The policer wastes less than a packet of what it could pass.
        let most = (7_000 * 8 + 3 * passed.last().unwrap()) / 8_000;
        assert!((most - 1..=most).contains(&(passed.len() as u64)), "{} of {most}", passed.len());
    }
}
