//! PI2: a proportional-integral controller of the queuing delay with a squared output.
//! It is the base law of rfc9332 (De Schepper et al. 2016).
//!
//! A Reno flow sends in proportion to 1/sqrt(p). Because the output is squared, the controller acts on a plant that is linear at any load,
//! and it needs no table of gains. Above `max_mark` packets are dropped instead of marked.

use crate::{Candidate, Gate, Law, Link, ParamError, Sample, Sampled};
use sojourn_units::{Duration, Probability, Stream, range};

/// The parameters of PI2.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// Target queuing delay, above 0, default 15 ms (rfc9332#A.1).
    pub target: Duration,
    /// Time between two updates, at least 1 us, default 15 ms (rfc9332#A.1).
    pub tupdate: Duration,
    /// Gain on the delay error in Hz.
    /// This is the increase of the probability before squaring, per update and second of error. Range: 0 or more; default 0.15
    /// (rfc9332#A.1: 0.1 `tupdate` / (100 ms)^2).
    pub alpha: f64,
    /// Gain on the delay's change in Hz, 0 or more, default 3 (rfc9332#A.1: 0.3 over 100 ms).
    pub beta: f64,
    /// Probability after squaring above which packets are dropped instead of marked.
    /// Range: 0 to 1; default 0.25 (rfc9332#A.2).
    pub max_mark: f64,
}

impl Default for Params {
    fn default() -> Self {
        let (target, tupdate) = (Duration::from_millis(15), Duration::from_millis(15));
        Params { target, tupdate, alpha: 0.15, beta: 3.0, max_mark: 0.25 }
    }
}

/// PI2 on one link.
pub type Pi2 = Sampled<Pi2Law, Pi2Gate>;

impl Params {
    /// PI2 with these parameters on this link.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn build(&self, link: &Link) -> Result<Pi2, ParamError> {
        range::target("target", self.target)?;
        range::interval("tupdate", self.tupdate)?;
        range::gain("alpha", self.alpha)?;
        range::gain("beta", self.beta)?;
        ParamError::unless((0.0..=1.0).contains(&self.max_mark), "max_mark", &self.max_mark, "a probability, 0 to 1")?;
        let law = Pi2Law { params: self.clone(), rate: link.rate.as_bps() as f64 / 8.0, delay: 0.0, root: 0.0 };
        Ok(Sampled::new(law, Pi2Gate { max_mark: self.max_mark }))
    }
}

/// The controller and its state.
#[derive(Clone, Debug)]
pub struct Pi2Law {
    params: Params,
    /// The link's rate in bytes a second.
    rate: f64,
    /// The delay at the last update in seconds.
    delay: f64,
    /// The probability before squaring.
    root: f64,
}

impl Law for Pi2Law {
    fn interval(&self) -> Duration {
        self.params.tupdate
    }

    /// rfc9332#A.1; the delay is the backlog in bytes over the link's rate.
    fn step(&mut self, sample: &Sample) -> Probability {
        let Params { target, alpha, beta, .. } = self.params;
        let delay = sample.backlog_bytes / self.rate;
        let change = alpha * (delay - target.as_secs_f64()) + beta * (delay - self.delay);
        self.root = (self.root + change).clamp(0.0, 1.0);
        self.delay = delay;
        Probability::clamped(self.root * self.root)
    }

    fn rest(&mut self, sample: &Sample, probability: f64) {
        (self.delay, self.root) = (sample.backlog_bytes / self.rate, libm::sqrt(probability));
    }
}

/// Independent draws; above `max_mark` a signal is a drop.
#[derive(Clone, Debug)]
pub struct Pi2Gate {
    max_mark: f64,
}

impl Gate for Pi2Gate {
    #[inline]
    fn signals(&mut self, candidate: &Candidate<'_>, random: &mut Stream) -> bool {
        random.unit() < candidate.probability.get()
    }

    #[inline]
    fn forces_drop(&self, probability: Probability) -> bool {
        probability.get() > self.max_mark
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::{test_link, test_packet};
    use crate::{Aqm, ArrivalVerdict, Backlog};
    use sojourn_units::Time;

    /// 10 Mbit/s: a millisecond is 1250 bytes.
    fn backlog(ms: u64) -> Backlog {
        Backlog { packets: 1, bytes: 1250 * ms, idle_since: None }
    }

    #[test]
    fn an_update_adds_error_and_change_times_their_gains_and_the_probability_is_the_square() {
        let mut pi2 = Params::default().build(&test_link()).unwrap();
        pi2.on_update(Time::ZERO, &backlog(25));
        // 0.15 * 10 ms + 3 * 25 ms.
        assert!((pi2.inner().root - 0.0765).abs() < 1e-12);
        pi2.on_update(Time::ZERO, &backlog(35));
        assert!((pi2.inner().root - (0.0765 + 0.003 + 0.03)).abs() < 1e-12);
        let root = pi2.inner().root;
        assert!((pi2.probability().unwrap().get() - root * root).abs() < 1e-15);
        (0..100).for_each(|_| pi2.on_update(Time::ZERO, &backlog(0)));
        assert_eq!(pi2.inner().root, 0.0);
    }

    #[test]
    fn signals_follow_the_probability_and_are_drops_in_overload() {
        let (mut pi2, mut random) = (Params::default().build(&test_link()).unwrap(), Stream::named(1, "x"));
        let arrival = test_packet();
        for (root, verdict) in [(0.3, ArrivalVerdict::Signal), (0.6, ArrivalVerdict::Drop)] {
            pi2.gate_at(root * root);
            let signals = (0..100_000).filter(|_| pi2.on_enqueue(&arrival, &backlog(9), &mut random) == verdict).count();
            assert!((signals as f64 / 1e5 - root * root).abs() < 0.005, "{signals}");
        }
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        let default = Params::default;
        for (params, field) in [
            (Params { target: Duration::ZERO, ..default() }, "target"),
            (Params { tupdate: Duration::ZERO, ..default() }, "tupdate"),
            (Params { alpha: -1.0, ..default() }, "alpha"),
            (Params { beta: f64::NAN, ..default() }, "beta"),
            (Params { max_mark: 2.0, ..default() }, "max_mark"),
        ] {
            assert_eq!(params.build(&test_link()).unwrap_err().field, field);
        }
    }
}
