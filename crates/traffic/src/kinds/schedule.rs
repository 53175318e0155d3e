//! An application whose rate follows a schedule: unlimited, a rate, or silent.

use crate::{FlowModel, ParamError, Transport, Write};
use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use sojourn_units::{Bytes, Duration, Rate, Serializer, Stream, range};

/// Parameters of a schedule.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Schedule"))]
pub struct Params {
    /// The application's rates in chronological order; the first starts at "0 s".
    pub rates: Vec<Part>,
    /// Size of a packet on the wire (with TCP: of one write), default "1000 B".
    /// Range: 1 B to 65535 B, with TCP to 1 GB.
    #[cfg_attr(feature = "serde", serde(default = "super::packet_size"))]
    pub size: Bytes,
    /// UDP or TCP; default "tcp".
    #[cfg_attr(feature = "serde", serde(default = "tcp"))]
    pub transport: Transport,
}

/// A part of a schedule.
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Part {
    /// The start of the part, counted from the start of the flow.
    pub at: Duration,
    /// The rate of its writes (with UDP: of packets on the wire); default: unlimited.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub rate: Option<Rate>,
    /// Whether nothing is sent; default false.
    #[cfg_attr(feature = "serde", serde(default))]
    pub silent: bool,
}

#[cfg(feature = "serde")]
fn tcp() -> Transport {
    Transport::Tcp
}

impl Part {
    /// An unlimited part from the start.
    fn is_unlimited(&self) -> bool {
        self.rate.is_none() && !self.silent
    }
}

impl Params {
    /// Whether it has unlimited parts.
    pub fn has_unlimited_parts(&self) -> bool {
        self.rates.iter().any(Part::is_unlimited)
    }
}

impl crate::Params for Params {
    type Model = Schedule;

    fn example() -> Self {
        let part = |at, rate, silent| Part { at: Duration::from_secs(at), rate, silent };
        let rates = [part(0, None, false), part(2, Some(super::example_rate()), false), part(4, None, true)];
        Params { rates: rates.into(), size: super::packet_size(), transport: Transport::Tcp }
    }

    fn largest_packet(&self) -> Option<Bytes> {
        (self.transport == Transport::Udp).then_some(self.size)
    }

    fn check(&self) -> Result<(), ParamError> {
        super::check_size(self.transport, self.size)?;
        let wrong = match self.rates.first() {
            None => Some("no part".into()),
            Some(first) if first.at > Duration::ZERO => Some(format!("the first at {}", first.at)),
            Some(first) => first.silent.then(|| "a silent first".into()),
        };
        let expected = "parts of which the first is not silent and is at \"0 s\"";
        wrong.map_or(Ok(()), |got| Err(ParamError::new("rates", &got, expected)))?;
        for (part, i) in self.rates.iter().zip(0..) {
            let got = |what: &str| format!("{what} in rates[{i}]");
            range::time("rates", part.at)?;
            part.rate.map_or(Ok(()), |rate| range::rate("rates", rate))?;
            let one = part.rate.is_none() || !part.silent;
            ParamError::unless(one, "rates", &got("a rate and silent"), "one of them in a part")?;
            let carried = self.transport == Transport::Tcp || !part.is_unlimited();
            ParamError::unless(carried, "rates", &got("no rate"), "over UDP a rate or silent = true in each part")?;
        }
        let unsorted = self.rates.windows(2).find(|pair| pair[0].at >= pair[1].at);
        unsorted
            .map_or(Ok(()), |pair| Err(ParamError::new("rates", &format!("{} after {}", pair[1].at, pair[0].at), "times that increase")))
    }

    fn model(&self) -> Schedule {
        Box::new(State { parts: self.rates.clone(), size: self.size.0, part: 0, now: Duration::ZERO, pace: None })
    }

    fn transport(&self) -> Transport {
        self.transport
    }

    fn segments_at_once(&self, mss: u32) -> f64 {
        if self.has_unlimited_parts() { f64::INFINITY } else { self.size.0 as f64 / f64::from(mss) }
    }
}

/// Traffic by a schedule. It is boxed so that flows with other traffic stay small.
pub type Schedule = Box<State>;

/// The state of an application with a schedule.
#[derive(Clone, Debug)]
pub struct State {
    parts: Vec<Part>,
    size: u64,
    /// The part of the last write.
    part: usize,
    /// The time of the next write, relative to the first.
    now: Duration,
    /// Computes the gaps of a part with a rate: a gap is the transmission time of a packet.
    /// The mean is exact to the nanosecond in the long run.
    pace: Option<Serializer>,
}

impl State {
    /// The start of the next part that writes.
    /// A silent part writes only to end unlimited data.
    fn next_part(&self) -> Option<Duration> {
        let needs_write = |part: &&Part| !part.silent || self.parts[self.part].is_unlimited();
        self.parts[self.part + 1..].iter().find(needs_write).map(|part| part.at)
    }
}

impl FlowModel for State {
    fn write(&mut self, _random: &mut Stream) -> Write {
        let now = self.now;
        let begun = self.parts.iter().rposition(|part| part.at <= now).unwrap_or(0);
        if begun != self.part || self.pace.is_none() {
            self.pace = self.parts[begun].rate.map(Serializer::new);
            self.part = begun;
        }
        let (end, next_part) = (self.parts.get(begun + 1).map(|part| part.at), self.next_part());
        let next = self.pace.as_mut().map(|pace| now + pace.send(self.size as u32)).filter(|&next| end.is_none_or(|end| next < end));
        let next = next.or(next_part);
        self.now = next.unwrap_or(now);
        let bytes = match &self.parts[begun] {
            part if part.silent => Some(0),
            part => part.rate.map(|_| self.size),
        };
        Write { bytes, last: false, next: next.map(|next| next - now) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Params as _;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// Bytes written in each second; `None` if data is unlimited.
    fn written(params: &Params, length: usize) -> Vec<Option<u64>> {
        let (mut model, mut random) = (params.model(), Stream::named(1, "app"));
        let (mut now, mut found) = (Duration::ZERO, alloc::vec![Some(0); length]);
        loop {
            let write = model.write(&mut random);
            let second = &mut found[(now.as_nanos() / 1_000_000_000) as usize];
            *second = write.bytes.and_then(|bytes| second.map(|sum| sum + bytes));
            match write.next {
                Some(gap) if now + gap < seconds(length as u64) => now = now + gap,
                _ => return found,
            }
        }
    }

    #[test]
    fn each_part_has_its_rate() {
        let rate = |bps| Rate::from_bps(bps);
        let part = |at, rate, silent| Part { at: seconds(at), rate, silent };
        let rates =
            [part(0, rate(80_000), false), part(2, None, true), part(4, None, false), part(5, None, true), part(6, rate(160_000), false)];
        let params = Params { rates: rates.into(), ..Params::example() };
        assert_eq!(params.check(), Ok(()));
        assert_eq!(written(&params, 8), [Some(10_000), Some(10_000), Some(0), Some(0), None, Some(0), Some(20_000), Some(20_000)]);
    }

    #[test]
    fn a_write_can_be_larger_than_a_packet() {
        let sized = |bytes, transport| {
            let rates = [Part { at: Duration::ZERO, rate: Some(super::super::example_rate()), silent: false }];
            Params { rates: rates.into(), size: Bytes(bytes), transport }
        };
        let params = sized(1_000_000, Transport::Tcp);
        assert_eq!(params.check(), Ok(()));
        assert_eq!(
            written(&params, 17),
            [[Some(1_000_000)].as_slice(), &[Some(0); 7], &[Some(1_000_000)], &[Some(0); 7], &[Some(1_000_000)]].concat()
        );
        assert!(sized(1_000_000_001, Transport::Tcp).check().is_err());
        assert!(sized(65_536, Transport::Udp).check().is_err());
    }

    #[test]
    fn a_schedule_that_says_two_things_is_refused() {
        let part = |at, rate, silent| Part { at: seconds(at), rate, silent };
        let rate = Some(super::super::example_rate());
        let said = |rates: &[Part], transport| Params { rates: rates.into(), transport, ..Params::example() }.check().err();
        let refused = |rates: &[Part], transport| said(rates, transport).is_some();
        let got = |rates: &[Part]| said(rates, Transport::Tcp).map(|error| error.got).unwrap_or_default();
        assert_eq!(got(&[]), "no part");
        assert_eq!(got(&[part(5, rate, false), part(0, rate, false)]), "the first at 5 s");
        assert_eq!(got(&[part(0, None, true)]), "a silent first");
        assert!(refused(&[part(0, rate, true)], Transport::Tcp));
        assert!(refused(&[part(0, rate, false), part(0, rate, false)], Transport::Tcp));
        assert!(refused(&[part(0, rate, false), part(1, None, false)], Transport::Udp));
        assert!(!refused(&[part(0, rate, false), part(1, None, true)], Transport::Udp));
    }
}
