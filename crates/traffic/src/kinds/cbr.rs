//! Packets at a constant rate with optional jitter (ns-2's `Application/Traffic/CBR`).

use crate::{FlowModel, ParamError, Write};
use alloc::boxed::Box;
use sojourn_units::{Bytes, Rate, Serializer, Stream};

/// Parameters of a constant rate.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Cbr"))]
pub struct Params {
    /// The rate on the wire.
    pub rate: Rate,
    /// Size of a packet on the wire, 1 B to 65535 B; default "1000 B".
    #[cfg_attr(feature = "serde", serde(default = "super::packet_size"))]
    pub size: Bytes,
    /// Relative variation of the gaps, 0 to 1, default 0.
    /// Gaps are uniform on gap * (1 - jitter/2 .. 1 + jitter/2).
    #[cfg_attr(feature = "serde", serde(default))]
    pub jitter: f64,
}

impl crate::Params for Params {
    type Model = Cbr;

    fn example() -> Self {
        Params { rate: super::example_rate(), size: super::packet_size(), jitter: 0.0 }
    }

    fn largest_packet(&self) -> Option<Bytes> {
        Some(self.size)
    }

    fn check(&self) -> Result<(), ParamError> {
        super::check_pace(self.rate, self.size)?;
        ParamError::unless((0.0..=1.0).contains(&self.jitter), "jitter", &self.jitter, "a number, 0 to 1")
    }

    fn model(&self) -> Cbr {
        Box::new(State { size: self.size.0, pace: Serializer::new(self.rate), jitter: self.jitter })
    }
}

/// Traffic at a constant rate. It is boxed so that flows with other traffic stay small.
pub type Cbr = Box<State>;

/// The state of a constant rate.
#[derive(Clone, Debug)]
pub struct State {
    size: u64,
    /// Computes the gaps: a gap is the transmission time of a packet.
    /// The mean is exact to the nanosecond in the long run.
    pace: Serializer,
    jitter: f64,
}

impl FlowModel for State {
    #[inline]
    fn write(&mut self, random: &mut Stream) -> Write {
        let gap = self.pace.send(self.size as u32).mul_f64(1.0 + self.jitter * (random.unit() - 0.5));
        Write { bytes: Some(self.size), last: false, next: Some(gap) }
    }
}
