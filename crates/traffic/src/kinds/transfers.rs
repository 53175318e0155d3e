//! TCP transfers that arrive as a Poisson process.

use crate::pairs::{Pairs, ReadFile, SizeUpTo};
use crate::{Connection, Opening, ParamError, SessionModel, Size, Transport};
use alloc::sync::Arc;
use alloc::vec::Vec;
use sojourn_units::{Bytes, Duration, Stream, Time, range};

/// Parameters of Poisson arrivals of transfers.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Transfers"))]
pub struct Params {
    /// Mean time between arrivals, exponential, above zero.
    pub every: Duration,
    /// Mean size, 1 B to 1000000 GB; required without `sizes`.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub size_mean: Option<Bytes>,
    /// Shape of Pareto sizes (type II), above 1, at most 1000; default: exponential sizes.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub size_shape: Option<f64>,
    /// The distribution of sizes, instead of `size`.
    /// Points such as [["1 kB", 0.5], ["1 MB", 1]], or a file whose lines contain a size in bytes and a cumulative probability (up to 1 or
    /// 100).
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub sizes: Option<Pairs<SizeUpTo>>,
}

impl Params {
    /// The points of the distribution, which are valid.
    fn check_sizes(&self, sizes: &Pairs<SizeUpTo>) -> Result<(), ParamError> {
        let rows = sizes.rows();
        ParamError::unless(self.size_mean.is_none(), "size_mean", &"a mean", "no mean beside `sizes`")?;
        ParamError::unless(self.size_shape.is_none(), "size_shape", &"a shape", "no shape beside `sizes`")?;
        let last = rows.last().map_or(f64::NAN, |row| row.1);
        let complete = [1.0, 100.0].iter().any(|whole| (last - whole).abs() <= 1e-6 * whole);
        ParamError::unless(complete, "sizes", &last, "points whose last probability is 1, or 100 in percent")?;
        for pair in rows.windows(2) {
            let rises = pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1;
            ParamError::unless(rises, "sizes", &pair[1].0, "points with sizes and probabilities in order")?;
        }
        ParamError::unless(rows[0].1 >= 0.0, "sizes", &rows[0].1, "probabilities of 0 or more")?;
        range::transfer_size("sizes", rows[rows.len() - 1].0)
    }
}

impl crate::Params for Params {
    type Model = Transfers;

    fn example() -> Self {
        Params { every: Duration::from_millis(100), size_mean: Some(Bytes(10_000)), size_shape: None, sizes: None }
    }

    fn check(&self) -> Result<(), ParamError> {
        range::positive_time("every", self.every)?;
        if let Some(sizes) = &self.sizes {
            return self.check_sizes(sizes);
        }
        let Some(mean) = self.size_mean else {
            return Err(ParamError::new("size_mean", &"nothing", "a mean size, or a distribution `sizes`"));
        };
        range::transfer_size("size_mean", mean)?;
        self.size_shape.map_or(Ok(()), |shape| range::pareto_shape("size_shape", shape))
    }

    fn read_files<E>(&mut self, read: ReadFile<'_, E>) -> Result<(), (&'static str, E)> {
        self.sizes.as_mut().map_or(Ok(()), |sizes| sizes.read(read)).map_err(|error| ("sizes", error))
    }

    fn model(&self) -> Transfers {
        let mean = self.size_mean.map_or(0.0, |mean| mean.0 as f64);
        let sizes = match (&self.sizes, self.size_shape) {
            (Some(Pairs::Rows(points)), _) => Sizes::Points(Arc::clone(points)),
            (_, Some(shape)) => Sizes::Pareto { mean, shape },
            (_, None) => Sizes::Exponential { mean },
        };
        Transfers { every: self.every.as_secs_f64(), sizes }
    }

    fn segments_at_once(&self, mss: u32) -> f64 {
        let largest = self.sizes.iter().filter_map(|sizes| sizes.rows().last()).map(|row| row.0.0 as f64).next();
        largest.unwrap_or_else(|| super::MOST_OF_MEAN * self.size_mean.map_or(0.0, |mean| mean.0 as f64)) / f64::from(mss)
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
    sizes: Sizes,
}

/// The distribution of sizes in bytes.
#[derive(Clone, Debug)]
enum Sizes {
    Exponential {
        mean: f64,
    },
    Pareto {
        mean: f64,
        shape: f64,
    },
    /// Interpolates the size linearly between the points.
    Points(Arc<Vec<SizeUpTo>>),
}

impl Sizes {
    fn draw(&self, random: &mut Stream) -> f64 {
        match self {
            Sizes::Exponential { mean } => random.exponential(*mean),
            Sizes::Pareto { mean, shape } => random.pareto2(*mean, *shape),
            Sizes::Points(points) => {
                let probability = random.unit() * points[points.len() - 1].1;
                let above = points.partition_point(|point| point.1 <= probability).min(points.len() - 1);
                let SizeUpTo(size, up_to) = points[above];
                let SizeUpTo(least, from) = if above > 0 { points[above - 1] } else { SizeUpTo(size, 0.0) };
                least.0 as f64 + (size.0 - least.0) as f64 * (probability - from) / (up_to - from).max(f64::MIN_POSITIVE)
            }
        }
    }
}

impl SessionModel for Transfers {
    fn open(&mut self, now: Time, random: &mut Stream) -> Opening {
        let size = self.sizes.draw(random);
        let next = now + Duration::from_secs_f64(random.exponential(self.every));
        let size = Size::Bytes(libm::ceil(size).max(1.0) as u64);
        Opening { connection: Some(Connection { request: 0, size }), next: Some(next) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Params as _;
    use alloc::string::ToString;
    use alloc::vec;

    fn with(points: &[(u64, f64)]) -> Params {
        let points = points.iter().map(|&(size, probability)| SizeUpTo(Bytes(size), probability)).collect();
        Params { every: Duration::from_millis(1), size_mean: None, size_shape: None, sizes: Some(Pairs::Rows(Arc::new(points))) }
    }

    /// The share of 100,000 sizes in each of these ranges (above, up to).
    fn shares(params: &Params, ranges: &[(u64, u64)]) -> Vec<f64> {
        let (mut model, mut random) = (params.model(), Stream::named(1, "transfers"));
        let mut counts = vec![0u32; ranges.len()];
        for _ in 0..100_000 {
            let Some(Connection { size: Size::Bytes(size), .. }) = model.open(Time::ZERO, &mut random).connection else { unreachable!() };
            ranges.iter().zip(&mut counts).for_each(|(&(above, up_to), count)| *count += u32::from(above < size && size <= up_to));
        }
        counts.into_iter().map(|count| f64::from(count) / 100_000.0).collect()
    }

    /// The share of each segment is the difference of its probabilities.
    /// 0.006 is four standard deviations.
    #[test]
    fn sizes_follow_their_distribution_whether_it_ends_at_1_or_at_100() {
        let ranges = [(0, 999), (999, 1000), (1000, 6000), (6000, 11_000), (11_000, 99_999), (99_999, 100_000)];
        for whole in [1.0, 100.0] {
            let params =
                with(&[(1000, 0.2 * whole), (11_000, 0.6 * whole), (11_000, 0.7 * whole), (100_000, 0.7 * whole), (100_000, whole)]);
            assert_eq!(params.check(), Ok(()));
            let expected = [0.0, 0.2, 0.2, 0.2 + 0.1, 0.0, 0.3];
            for (found, expected) in shares(&params, &ranges).iter().zip(expected) {
                assert!((found - expected).abs() < 0.006, "{found} for {expected}");
            }
        }
    }

    #[test]
    fn points_that_are_no_distribution_are_refused() {
        for (points, field) in [
            (&[][..], "sizes"),
            (&[(1, 0.5)], "sizes"),
            (&[(1, 0.5), (2, 0.4), (3, 1.0)], "sizes"),
            (&[(2, 0.5), (1, 1.0)], "sizes"),
            (&[(1, -0.5), (2, 1.0)], "sizes"),
            (&[(0, 1.0)], "sizes"),
            (&[(1, f64::NAN)], "sizes"),
        ] {
            assert_eq!(with(points).check().unwrap_err().field, field, "{points:?}");
        }
        let beside = Params { size_mean: Some(Bytes(1)), ..with(&[(1, 1.0)]) };
        assert_eq!(beside.check().unwrap_err().field, "size_mean");
        let neither = Params { sizes: None, ..with(&[]) };
        assert!(neither.check().unwrap_err().to_string().contains("a mean size, or a distribution `sizes`"));
    }
}
