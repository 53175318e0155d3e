//! A shaper: packets wait for the tokens of a bucket, in a queue of its own with a limit.
//! Source: tc `tbf` with `rate`, `burst` and `latency`; its `limit` is rate · latency + burst.

use crate::token_bucket::{self, TokenBucket};
use crate::{Effect, Impairment, ParamError, Streams, Transit};
use sojourn_units::{Bytes, Duration, Rate, range};

/// Parameters of a shaper.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Shaper"))]
pub struct Params {
    /// The rate at which the bucket fills.
    pub rate: Rate,
    /// The size of the bucket, 1 B or more. It is full at the start.
    /// A larger packet is lost.
    pub burst: Bytes,
    /// Longest wait; default "50 ms". A packet that would wait longer is lost.
    #[cfg_attr(feature = "serde", serde(default = "latency"))]
    pub latency: Duration,
}

/// The rate of the examples.
pub(crate) const RATE: Rate = match Rate::from_bps(20_000_000) {
    Some(rate) => rate,
    None => unreachable!(),
};

fn latency() -> Duration {
    Duration::from_millis(50)
}

impl crate::Params for Params {
    type Impairment = Shaper;

    fn example() -> Self {
        Params { rate: RATE, burst: Bytes(15_000), latency: latency() }
    }

    fn takes_time(&self) -> bool {
        self.burst <= crate::token_bucket::SOON_EMPTY
    }

    fn check(&self) -> Result<(), ParamError> {
        token_bucket::check(self.rate, self.burst)?;
        range::time("latency", self.latency)
    }

    fn start(&self, _streams: &Streams) -> Shaper {
        Shaper { bucket: TokenBucket::new(self.rate, self.burst), latency: self.latency }
    }
}

/// The state of a shaper.
#[derive(Clone, Debug)]
pub struct Shaper {
    /// The bucket, with the tokens left after the last waiting packet.
    bucket: TokenBucket,
    latency: Duration,
}

impl Impairment for Shaper {
    fn on_packet(&mut self, packet: &Transit) -> Effect {
        let goes = self.bucket.ready(packet.now, packet.size);
        let Some(goes) = goes.filter(|goes| goes.since(packet.now) <= self.latency) else { return Effect::Drop };
        self.bucket.take(goes, packet.size);
        if goes > packet.now { Effect::Delay(goes.since(packet.now)) } else { Effect::Pass }
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
    fn a_packet_may_wait_for_the_whole_latency_and_no_longer() {
        let effect = |latency| {
            let params = Params { rate: Rate::from_bps(1_000_000).unwrap(), burst: Bytes(1_000), latency };
            let mut made = params.start(&Streams::new(1, "x".to_string()));
            let packet = Transit { now: Time::ZERO, size: 1000, has_data: true, has_option: false };
            assert_eq!(made.on_packet(&packet), Effect::Pass);
            made.on_packet(&packet)
        };
        // The second packet waits for 8000 bits at 1 Mbit/s.
        let wait = Duration::from_millis(8);
        assert_eq!((effect(wait), effect(wait.saturating_sub(Duration::from_nanos(1)))), (Effect::Delay(wait), Effect::Drop));
    }

    #[test]
    fn packets_leave_at_the_rate_after_a_burst_and_wait_no_longer_than_they_may() {
        let params = Params { rate: Rate::from_bps(1_000_000).unwrap(), burst: Bytes(3_000), latency: Duration::from_millis(20) };
        let mut made = params.start(&Streams::new(1, "x".to_string()));
        let train = Transit { now: Time::ZERO, size: 1000, has_data: true, has_option: false };
        let effects: Vec<Effect> = (0..7).map(|_| made.on_packet(&train)).collect();
        let [first, second] = [8, 16].map(|ms| Effect::Delay(Duration::from_millis(ms)));
        // The bucket holds three packets, then two wait 8 ms each. The third would wait 24 ms.
        assert_eq!(effects, [Effect::Pass, Effect::Pass, Effect::Pass, first, second, Effect::Drop, Effect::Drop]);
        // A lost packet uses no tokens: at 16 ms the bucket is empty, at 24 ms it has one packet.
        let next = Transit { now: Time::ZERO + Duration::from_millis(17), ..train };
        assert_eq!(made.on_packet(&next), Effect::Delay(Duration::from_millis(7)));
        assert_eq!(made.on_packet(&Transit { size: 3001, ..next }), Effect::Drop);
    }
}
