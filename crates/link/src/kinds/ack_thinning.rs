//! ACK thinning: one of several pure ACKs passes, or one per interval (rfc3449#5.2).
//!
//! ACKs with more information always pass: duplicates, SACK blocks, changed ECN echoes, and packets that open or close a connection. The
//! last ACK of a train may be dropped; the sender's timer then recovers. Unlike it, the ACK filter of a queue (`ack_filter`) sees the
//! queued ACKs and loses no information.

use crate::{Ack, Effect, Impairment, ParamError, Streams, Transit};
use alloc::vec::Vec;
use sojourn_units::{Duration, Time, comes_before, range};

/// Parameters of ACK thinning. Exactly one of the two is set.
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "AckThinning"))]
pub struct Params {
    /// Passes the last of every n ACKs of a connection, 1 to 1000.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub every: Option<u32>,
    /// Minimum time between two passed ACKs of a connection, above zero.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub interval: Option<Duration>,
}

impl crate::Params for Params {
    type Impairment = AckThinning;
    const ONLY_DROPS: bool = true;
    const READS_ACKS: bool = true;

    fn example() -> Self {
        Params { every: Some(4), interval: None }
    }

    fn check(&self) -> Result<(), ParamError> {
        match (self.every, self.interval) {
            (Some(every), None) => ParamError::unless((1..=1000).contains(&every), "every", &every, "1 to 1000 ACKs"),
            (None, Some(interval)) => range::positive_time("interval", interval),
            (None, None) => ParamError::unless(false, "every", &"none", "a number of ACKs, or an interval"),
            (Some(_), Some(_)) => ParamError::unless(false, "interval", &"both", "a number of ACKs or an interval"),
        }
    }

    fn start(&self, _streams: &Streams) -> AckThinning {
        AckThinning { params: self.clone(), flows: Vec::new() }
    }
}

/// The state of ACK thinning.
#[derive(Clone, Debug)]
pub struct AckThinning {
    params: Params,
    /// The last ACK of each flow.
    flows: Vec<Option<LastAck>>,
}

#[derive(Clone, Copy, Debug)]
struct LastAck {
    connection: u64,
    number: u32,
    echo: u16,
    /// The number of ACKs dropped since the last passed one, and the time of that one.
    lost: u32,
    passed: Time,
}

impl Impairment for AckThinning {
    fn on_packet(&mut self, _packet: &Transit) -> Effect {
        Effect::Pass
    }

    fn on_ack(&mut self, packet: &Transit, ack: &Ack) -> Effect {
        let at = ack.flow as usize;
        if at >= self.flows.len() {
            self.flows.resize(at + 1, None);
        }
        let now = packet.now;
        let last = self.flows[at].filter(|last| last.connection == ack.connection);
        let is_plain = |last: &LastAck| ack.is_plain && comes_before(last.number, ack.number) && last.echo == ack.echo;
        let lost = last.filter(is_plain).and_then(|last| {
            let in_count = self.params.every.is_some_and(|every| last.lost + 1 < every);
            let in_time = self.params.interval.is_some_and(|interval| now.since(last.passed) < interval);
            (in_count || in_time).then_some(last)
        });
        let (lost, passed) = lost.map_or((0, now), |last| (last.lost + 1, last.passed));
        let number = last.filter(|last| comes_before(ack.number, last.number)).map_or(ack.number, |last| last.number);
        self.flows[at] = Some(LastAck { connection: ack.connection, number, echo: ack.echo, lost, passed });
        if lost > 0 { Effect::Drop } else { Effect::Pass }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Params as _;
    use alloc::string::ToString;

    const ACK: Ack = Ack { flow: 3, connection: 3, number: 0, is_plain: true, echo: 0 };

    /// Whether each of these ACKs passes; one arrives per ms.
    fn passed(params: &Params, acks: &[Ack]) -> Vec<bool> {
        let mut made = params.start(&Streams::new(1, "x".to_string()));
        let transit = |ms| Transit { now: Time::ZERO + Duration::from_millis(ms), size: 40, has_data: false, has_option: false };
        acks.iter().zip(0..).map(|(ack, ms)| made.on_ack(&transit(ms), ack) == Effect::Pass).collect()
    }

    fn numbers(numbers: &[u32]) -> Vec<Ack> {
        numbers.iter().map(|&number| Ack { number, ..ACK }).collect()
    }

    #[test]
    fn one_of_so_many_passes_or_one_in_a_time() {
        let acks = numbers(&[1, 2, 3, 4, 5, 6, 7, 8, 9]);
        let (yes, no) = (true, false);
        assert_eq!(passed(&Params { every: Some(3), interval: None }, &acks), [yes, no, no, yes, no, no, yes, no, no]);
        assert_eq!(passed(&Params { every: Some(1), interval: None }, &acks), [yes; 9]);
        let interval = Some(Duration::from_millis(4));
        assert_eq!(passed(&Params { every: None, interval }, &acks), [yes, no, no, no, yes, no, no, no, yes]);
    }

    #[test]
    fn what_tells_more_than_a_new_number_passes() {
        let mut acks = numbers(&[1, 2, 2, 3, 4, 5, 6]);
        acks[3].is_plain = false;
        acks[5].echo = 1;
        acks[6].connection = 9;
        assert_eq!(passed(&Params { every: Some(100), interval: None }, &acks), [true, false, true, true, false, true, true]);
    }

    /// Tests that a reordered old ACK has no information.
    /// New ACKs are compared with the highest number.
    #[test]
    fn an_old_ack_passes_and_does_not_make_known_numbers_new() {
        let acks = numbers(&[5, 3, 4, 5, 6, 7]);
        assert_eq!(passed(&Params { every: Some(100), interval: None }, &acks), [true, true, true, true, false, false]);
    }

    #[test]
    fn one_of_the_two_must_be_given() {
        let interval = Some(Duration::from_millis(4));
        assert!(Params::default().check().is_err() && Params { every: Some(4), interval }.check().is_err());
        assert!(Params { every: Some(0), interval: None }.check().is_err() && Params { every: None, interval }.check().is_ok());
    }
}
