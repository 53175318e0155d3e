//! Bursts at a constant rate and silences, exponential or Pareto.
//! Source: ns-2's `Application/Traffic/Exponential` and `/Pareto`.

use crate::{FlowModel, ParamError, Transport, Write};
use alloc::boxed::Box;
use sojourn_units::{Bytes, Duration, Rate, Serializer, Stream, range};

/// Parameters of an on/off source.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "OnOff"))]
pub struct Params {
    /// The rate on the wire while on.
    pub rate: Rate,
    /// Size of a packet on the wire (with TCP: of one write), default "1000 B".
    /// Range: 1 B to 65535 B, with TCP to 1 GB.
    #[cfg_attr(feature = "serde", serde(default = "super::packet_size"))]
    pub size: Bytes,
    /// Mean time on, above zero.
    pub on: Duration,
    /// Mean time off.
    pub off: Duration,
    /// Shape of Pareto times, above 1, at most 1000; default: exponential times.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub shape: Option<f64>,
    /// UDP or TCP; default "udp".
    #[cfg_attr(feature = "serde", serde(default))]
    pub transport: Transport,
}

impl crate::Params for Params {
    type Model = OnOff;

    fn example() -> Self {
        let (on, off) = (Duration::from_millis(500), Duration::from_millis(500));
        Params { rate: super::example_rate(), size: super::packet_size(), on, off, shape: None, transport: Transport::Udp }
    }

    fn largest_packet(&self) -> Option<Bytes> {
        (self.transport() == Transport::Udp).then_some(self.size)
    }

    fn check(&self) -> Result<(), ParamError> {
        super::check_size(self.transport, self.size)?;
        range::rate("rate", self.rate)?;
        range::positive_time("on", self.on)?;
        range::time("off", self.off)?;
        self.shape.map_or(Ok(()), |shape| range::pareto_shape("shape", shape))
    }

    fn model(&self) -> OnOff {
        let burst = self.on.as_secs_f64() * self.rate.packets_per_sec(self.size.0 as f64);
        let (pace, silence) = (Serializer::new(self.rate), self.off.as_secs_f64());
        Box::new(State { size: self.size.0, pace, burst, silence, shape: self.shape, left_in_burst: 0 })
    }

    fn transport(&self) -> Transport {
        self.transport
    }
}

/// Traffic in bursts. It is boxed so that flows with other traffic stay small.
pub type OnOff = Box<State>;

/// The state of an on/off source.
#[derive(Clone, Debug)]
pub struct State {
    size: u64,
    /// Computes the gaps of a burst: a gap is the transmission time of a packet.
    /// The mean is exact to the nanosecond in the long run.
    pace: Serializer,
    /// Mean length of a burst in packets.
    burst: f64,
    /// Mean silence in seconds.
    silence: f64,
    shape: Option<f64>,
    left_in_burst: u64,
}

impl State {
    fn draw(&self, mean: f64, random: &mut Stream) -> f64 {
        match self.shape {
            None => random.exponential(mean),
            Some(shape) => random.pareto(mean, shape),
        }
    }
}

impl FlowModel for State {
    #[inline]
    fn write(&mut self, random: &mut Stream) -> Write {
        if self.left_in_burst == 0 {
            let packets = self.draw(self.burst, random);
            self.left_in_burst = ((packets + 0.5) as u64).max(1);
        }
        self.left_in_burst -= 1;
        let mut gap = self.pace.send(self.size as u32);
        if self.left_in_burst == 0 {
            gap = gap + Duration::from_secs_f64(self.draw(self.silence, random));
        }
        Write { bytes: Some(self.size), last: false, next: Some(gap) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Params as _;

    #[test]
    fn times_on_and_off_have_the_means_asked_for() {
        for shape in [None, Some(2.5)] {
            let (on, off) = (Duration::from_millis(500), Duration::from_millis(1500));
            let params = Params { rate: Rate::from_bps(800_000).unwrap(), on, off, shape, ..Params::example() };
            let (mut model, mut random) = (params.model(), Stream::named(1, "app"));
            let (mut bytes, mut seconds) = (0, 0.0);
            while seconds < 20_000.0 {
                let write = model.write(&mut random);
                (bytes, seconds) = (bytes + write.bytes.unwrap(), seconds + write.next.unwrap().as_secs_f64());
            }
            let mean = bytes as f64 * 8.0 / seconds;
            assert!((mean / 200_000.0 - 1.0).abs() < 0.05, "{mean} bit/s with shape {shape:?}");
        }
    }
}
