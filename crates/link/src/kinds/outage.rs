//! Outages: intervals in which packets are lost, or held until the end.
//! A satellite handover has this effect.

use crate::{Effect, Impairment, ParamError, Streams, Transit};
use sojourn_units::{Duration, Time, range};

/// Parameters of outages.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Outage"))]
pub struct Params {
    /// Start of the first outage, since the start of the run.
    pub at: Duration,
    /// Length of each outage, above zero.
    pub length: Duration,
    /// Time between the starts of two outages, above `length`; default: a single outage.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub every: Option<Duration>,
    /// Whether packets are held until the end of the outage; default false.
    /// They are then released one by one, 1 ns apart. Otherwise they are lost.
    #[cfg_attr(feature = "serde", serde(default))]
    pub hold: bool,
}

impl crate::Params for Params {
    type Impairment = Outage;

    fn example() -> Self {
        let (length, every) = (Duration::from_millis(100), Some(Duration::from_secs(15)));
        Params { at: Duration::from_secs(12), length, every, hold: true }
    }

    fn check(&self) -> Result<(), ParamError> {
        range::time("at", self.at)?;
        range::positive_time("length", self.length)?;
        let Some(every) = self.every else { return Ok(()) };
        range::time("every", every)?;
        ParamError::unless(every > self.length, "every", &every, "a time above `length`")
    }

    fn start(&self, _streams: &Streams) -> Outage {
        Outage { params: self.clone(), last: None }
    }
}

/// The state of outages.
#[derive(Clone, Debug)]
pub struct Outage {
    params: Params,
    /// The time at which the last held packet continues.
    last: Option<Time>,
}

impl Impairment for Outage {
    fn on_packet(&mut self, packet: &Transit) -> Effect {
        let Params { at, length, every, hold } = self.params;
        let now = packet.now;
        let first = Time::ZERO + at;
        let into = match every {
            Some(every) => Duration::from_nanos(now.since(first).as_nanos() % every.as_nanos()),
            None => now.since(first),
        };
        let out = now >= first && into < length;
        if out && !hold {
            return Effect::Drop;
        }
        let free = if out { now + length.saturating_sub(into) } else { now };
        let next = self.last.map_or(free, |last| free.max(last + Duration::from_nanos(1)));
        if next == now {
            return Effect::Pass;
        }
        self.last = Some(next);
        Effect::Delay(next.since(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Params as _;
    use alloc::string::ToString;
    use alloc::vec::Vec;

    /// The effect on a packet each ms, from 0 on.
    fn each_ms(params: &Params) -> Vec<Effect> {
        params.check().unwrap();
        let mut made = params.start(&Streams::new(1, "x".to_string()));
        let packet = |ms| Transit { now: Time::ZERO + Duration::from_millis(ms), size: 1000, has_data: true, has_option: false };
        (0..20).map(|ms| made.on_packet(&packet(ms))).collect()
    }

    #[test]
    fn packets_are_lost_or_held_in_each_outage_and_in_no_other_time() {
        let ms = Duration::from_millis;
        let mut params = Params { at: ms(3), length: ms(2), every: Some(ms(10)), hold: false };
        let lost: Vec<usize> = (0..20).filter(|&at| each_ms(&params)[at] == Effect::Drop).collect();
        assert_eq!(lost, [3, 4, 13, 14]);
        params.hold = true;
        let held = each_ms(&params);
        // The second packet continues 1 ns after the first, and so does the one that arrives at the end.
        let [first, second, third] = [ms(2), ms(1) + Duration::from_nanos(1), Duration::from_nanos(2)].map(Effect::Delay);
        assert_eq!(held[2..7], [Effect::Pass, first, second, third, Effect::Pass]);
        params.every = None;
        assert!(each_ms(&params)[6..].iter().all(|&effect| effect == Effect::Pass));
    }
}
