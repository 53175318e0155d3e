//! TCP transfers that arrive as a Poisson process.

use crate::{Connection, Opening, ParamError, SessionModel, Size, Transport};
use sojourn_units::{Bytes, Duration, Stream, Time, range};

/// Parameters of Poisson arrivals of transfers.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Transfers"))]
pub struct Params {
    /// Mean time between arrivals, exponential, above zero.
    pub every: Duration,
    /// Mean size, 1 B to 1000000 GB.
    pub size_mean: Bytes,
    /// Absent: sizes are exponential; present: Pareto (type II) with this shape, above 1, at most 1000.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub size_shape: Option<f64>,
}

impl crate::Params for Params {
    type Model = Transfers;

    fn example() -> Self {
        Params { every: Duration::from_millis(100), size_mean: Bytes(10_000), size_shape: None }
    }

    fn check(&self) -> Result<(), ParamError> {
        range::positive_time("every", self.every)?;
        range::transfer_size("size_mean", self.size_mean)?;
        self.size_shape.map_or(Ok(()), |shape| range::pareto_shape("size_shape", shape))
    }

    fn model(&self) -> Transfers {
        Transfers { every: self.every.as_secs_f64(), size_mean: self.size_mean.0 as f64, size_shape: self.size_shape }
    }

    fn segments_at_once(&self, mss: u32) -> f64 {
        super::MOST_OF_MEAN * self.size_mean.0 as f64 / f64::from(mss)
    }

    fn transport(&self) -> Transport {
        Transport::Tcp
    }
}

/// The state of Poisson arrivals of transfers.
#[derive(Clone, Debug)]
pub struct Transfers {
    /// Mean time between arrivals in seconds.
    every: f64,
    /// Mean size in bytes.
    size_mean: f64,
    size_shape: Option<f64>,
}

impl SessionModel for Transfers {
    fn open(&mut self, now: Time, random: &mut Stream) -> Opening {
        let size = match self.size_shape {
            None => random.exponential(self.size_mean),
            Some(shape) => random.pareto2(self.size_mean, shape),
        };
        let next = now + Duration::from_secs_f64(random.exponential(self.every));
        let size = Size::Bytes(libm::ceil(size).max(1.0) as u64);
        Opening { connection: Some(Connection { request: 0, size }), next: Some(next) }
    }
}
