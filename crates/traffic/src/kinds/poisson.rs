//! A Poisson process of packets: gaps are exponential.
//! A link with this traffic is M/D/1, or M/M/1 if sizes are exponential.

use crate::{FlowModel, ParamError, Write};
use sojourn_units::{Bytes, Duration, Rate, Stream, range};

/// The distribution of packet sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Sizes {
    /// All packets have the mean size.
    #[default]
    Constant,
    /// Exponential, in whole bytes from 1 to 65535.
    Exponential,
}

/// Parameters of a Poisson process.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Poisson"))]
pub struct Params {
    /// The mean rate on the wire.
    pub rate: Rate,
    /// Mean size of a packet on the wire, 1 B to 65535 B; default "1000 B".
    #[cfg_attr(feature = "serde", serde(default = "super::packet_size"))]
    pub size: Bytes,
    /// Distribution of packet sizes: constant or exponential, in whole bytes; default "constant".
    #[cfg_attr(feature = "serde", serde(default))]
    pub sizes: Sizes,
}

impl crate::Params for Params {
    type Model = Poisson;

    fn example() -> Self {
        Params { rate: super::example_rate(), size: super::packet_size(), sizes: Sizes::Constant }
    }

    fn largest_packet(&self) -> Option<Bytes> {
        Some(match self.sizes {
            Sizes::Constant => self.size,
            Sizes::Exponential => Bytes(range::LARGEST_PACKET),
        })
    }

    fn check(&self) -> Result<(), ParamError> {
        super::check_pace(self.rate, self.size)
    }

    fn model(&self) -> Poisson {
        let size = self.size.0 as f64;
        Poisson { size, sizes: self.sizes, gap_ns: size * 8e9 / self.rate.as_bps() as f64, rest_ns: 0.0 }
    }
}

/// The state of a Poisson process.
#[derive(Clone, Debug)]
pub struct Poisson {
    /// Mean size in bytes.
    size: f64,
    sizes: Sizes,
    /// Mean gap in ns.
    gap_ns: f64,
    /// The rounding error of the last gap in ns, which is added to the next gap.
    /// Thus even gaps of a few ns have the right mean.
    rest_ns: f64,
}

impl FlowModel for Poisson {
    #[inline]
    fn write(&mut self, random: &mut Stream) -> Write {
        let exact = random.exponential(self.gap_ns) + self.rest_ns;
        let gap = libm::round(exact).max(0.0);
        self.rest_ns = exact - gap;
        let bytes = match self.sizes {
            Sizes::Constant => self.size,
            Sizes::Exponential => random.exponential(self.size),
        };
        let bytes = (bytes + 0.5).clamp(1.0, range::LARGEST_PACKET as f64) as u64;
        Write { bytes: Some(bytes), last: false, next: Some(Duration::from_nanos(gap as u64)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Params as _;

    #[test]
    fn it_has_the_rate_asked_for_and_gaps_whose_deviation_is_their_mean() {
        for sizes in [Sizes::Constant, Sizes::Exponential] {
            let rate = Rate::from_bps(800_000).unwrap();
            let (mut model, mut random) = (Params { rate, size: Bytes(1000), sizes }.model(), Stream::named(1, "app"));
            let (mut bytes, mut sum, mut squares) = (0, 0.0, 0.0);
            let writes = 100_000;
            for _ in 0..writes {
                let write = model.write(&mut random);
                let gap = write.next.unwrap().as_secs_f64();
                (bytes, sum, squares) = (bytes + write.bytes.unwrap(), sum + gap, squares + gap * gap);
            }
            let (mean, square) = (sum / f64::from(writes), squares / f64::from(writes));
            assert!((bytes as f64 * 8.0 / sum / 800_000.0 - 1.0).abs() < 0.02);
            assert!((libm::sqrt(square - mean * mean) / mean - 1.0).abs() < 0.02);
        }
    }
}
