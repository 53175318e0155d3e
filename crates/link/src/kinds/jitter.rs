//! Jitter: a random delay per packet without reordering.
//! A packet continues at least 1 ns after the previous one. (netem's `delay` with a distribution shuffles each train.)

use crate::{Effect, Impairment, ParamError, Streams, Transit};
use alloc::vec::Vec;
use sojourn_units::{Duration, Stream, Time, range};

/// Parameters of jitter.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Jitter"))]
pub struct Params {
    /// The distribution from which each packet's delay is drawn.
    pub delay: Distribution,
}

/// A distribution of delays. Draws are clipped to 0 to 1000000 s.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase", deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Distribution {
    /// Uniform between two delays: `{ uniform = ["0 ms", "10 ms"] }`.
    Uniform([Duration; 2]),
    /// `{ normal = { mean = "10 ms", sd = "2 ms" } }`.
    Normal(Normal),
    /// Pareto with the minimum mean (shape - 1)/shape.
    /// Example: `{ pareto = { mean = "5 ms", shape = 2.5 } }`.
    Pareto(Pareto),
    /// Measured quantiles at equal steps from minimum to maximum, linearly interpolated.
    /// Example: `{ empirical = ["1 ms", "2 ms", "9 ms"] }` has the median 2 ms.
    Empirical(Vec<Duration>),
}

/// A normal distribution.
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "NormalDelay"))]
pub struct Normal {
    /// Its mean.
    pub mean: Duration,
    /// Its standard deviation.
    pub sd: Duration,
}

/// A Pareto distribution.
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ParetoDelay"))]
pub struct Pareto {
    /// Its mean.
    pub mean: Duration,
    /// Its shape, above 1, at most 1000.
    pub shape: f64,
}

impl Distribution {
    /// A measure of the delay that is zero only if all delays are.
    fn largest(&self) -> Duration {
        match self {
            Distribution::Uniform([_, high]) => *high,
            Distribution::Normal(Normal { mean, sd }) => (*mean).max(*sd),
            Distribution::Pareto(Pareto { mean, .. }) => *mean,
            Distribution::Empirical(quantiles) => quantiles.last().copied().unwrap_or_default(),
        }
    }

    fn check(&self) -> Result<(), ParamError> {
        match self {
            Distribution::Uniform([low, high]) => {
                range::time("delay.uniform", *high)?;
                ParamError::unless(low <= high, "delay.uniform", low, "the lower value first")
            }
            Distribution::Normal(Normal { mean, sd }) => {
                range::time("delay.normal.mean", *mean)?;
                range::time("delay.normal.sd", *sd)
            }
            Distribution::Pareto(Pareto { mean, shape }) => {
                range::time("delay.pareto.mean", *mean)?;
                range::pareto_shape("delay.pareto.shape", *shape)
            }
            Distribution::Empirical(quantiles) => {
                ParamError::unless(!quantiles.is_empty(), "delay.empirical", &"none", "at least one value")?;
                ParamError::unless(quantiles.is_sorted(), "delay.empirical", &"others", "values in order, the least first")?;
                quantiles.last().map_or(Ok(()), |&largest| range::time("delay.empirical", largest))
            }
        }
    }

    /// Draws a delay.
    fn draw(&self, random: &mut Stream) -> Duration {
        let secs = match self {
            Distribution::Uniform([low, high]) => random.uniform(low.as_secs_f64(), high.as_secs_f64()),
            Distribution::Normal(Normal { mean, sd }) => random.normal(mean.as_secs_f64(), sd.as_secs_f64()),
            Distribution::Pareto(Pareto { mean, shape }) => random.pareto(mean.as_secs_f64(), *shape),
            Distribution::Empirical(quantiles) => {
                let place = random.unit() * (quantiles.len() - 1) as f64;
                let (at, part) = (place as usize, place - libm::floor(place));
                let [low, high] = [at, at + 1].map(|at| quantiles[at.min(quantiles.len() - 1)].as_secs_f64());
                low + (high - low) * part
            }
        };
        Duration::from_secs_f64(secs).min(range::LONGEST_TIME)
    }
}

impl crate::Params for Params {
    type Impairment = Jitter;

    fn example() -> Self {
        Params { delay: Distribution::Pareto(Pareto { mean: Duration::from_millis(5), shape: 2.5 }) }
    }

    fn takes_time(&self) -> bool {
        self.delay.largest() > Duration::ZERO
    }

    fn check(&self) -> Result<(), ParamError> {
        self.delay.check()
    }

    fn start(&self, streams: &Streams) -> Jitter {
        Jitter { delay: self.delay.clone(), last: Time::ZERO, random: streams.packets() }
    }
}

/// The state of jitter.
#[derive(Clone, Debug)]
pub struct Jitter {
    delay: Distribution,
    /// The time at which the last packet continues.
    last: Time,
    random: Stream,
}

impl Impairment for Jitter {
    fn on_packet(&mut self, packet: &Transit) -> Effect {
        let wanted = packet.now + self.delay.draw(&mut self.random);
        self.last = wanted.max(self.last + Duration::from_nanos(1));
        Effect::Delay(self.last.since(packet.now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Params as _;
    use alloc::string::ToString;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    /// Delays in ms, in order, of packets so far apart that none waits for another.
    fn delays(delay: Distribution) -> Vec<f64> {
        let params = Params { delay };
        params.check().unwrap();
        let mut made = params.start(&Streams::new(1, "jitter".to_string()));
        let packet = |n: u64| Transit { now: Time::ZERO + Duration::from_secs(10_000) * n, size: 1000, has_data: true, has_option: false };
        let ms = |effect| if let Effect::Delay(delay) = effect { delay.as_secs_f64() * 1e3 } else { f64::NAN };
        let mut all: Vec<f64> = (0..100_000).map(|n| ms(made.on_packet(&packet(n)))).collect();
        all.sort_by(f64::total_cmp);
        all
    }

    #[test]
    fn delays_have_the_distribution_asked_for() {
        let near = |found: f64, exact: f64| assert!((found - exact).abs() <= 0.02 * exact, "{found}, expected {exact}");
        let at = |all: &[f64], q: f64| all[(q * all.len() as f64) as usize];
        let uniform = delays(Distribution::Uniform([MS(2), MS(10)]));
        [0.1, 0.5, 0.9].iter().for_each(|&q| near(at(&uniform, q), 2.0 + 8.0 * q));
        // The normal quantile of 0.9 is 1.2816 deviations.
        let normal = delays(Distribution::Normal(Normal { mean: MS(20), sd: MS(4) }));
        near(at(&normal, 0.5), 20.0);
        near(at(&normal, 0.9), 20.0 + 1.2816 * 4.0);
        // The quantile is scale (1 - q)^(-1/shape), with the scale 10 (2.5 - 1)/2.5.
        let pareto = delays(Distribution::Pareto(Pareto { mean: MS(10), shape: 2.5 }));
        [0.1, 0.5, 0.9].iter().for_each(|&q| near(at(&pareto, q), 6.0 * (1.0 - q).powf(-0.4)));
        let empirical = delays(Distribution::Empirical([MS(1), MS(2), MS(10)].into()));
        [(0.25, 1.5), (0.5, 2.0), (0.75, 6.0)].iter().for_each(|&(q, exact)| near(at(&empirical, q), exact));
        assert!(delays(Distribution::Empirical([MS(3)].into())).iter().all(|&ms| ms == 3.0));
    }

    #[test]
    fn values_out_of_order_are_refused() {
        let field = |delay| Params { delay }.check().unwrap_err().field;
        assert_eq!(field(Distribution::Uniform([MS(2), MS(1)])), "delay.uniform");
        assert_eq!(field(Distribution::Empirical([MS(2), MS(1)].into())), "delay.empirical");
        assert_eq!(field(Distribution::Empirical(Vec::new())), "delay.empirical");
    }
}
