//! Linear PD: a probability from the queue's error and its change over an interval.
//! Source: lehto-2005#eq10 (Lehto, Koivisto, Ekola and Laurikkala, IFAC).
//!
//! Once per interval p = k1 e + k2 de + k3 percent, limited to 0..=1. e is the distance of the instantaneous queue from the target and de
//! its change since the last interval. Every arrival is dropped or marked with probability p, independently of the others. There is no
//! integral, so the queue does not settle at the target: it is shorter under light load and longer under heavy load.

use crate::law::Meter;
use crate::{Bernoulli, Law, Link, ParamError, Sample, Sampled};
use sojourn_units::{Duration, Probability, Time, range};

/// The parameters of the linear PD.
/// The defaults are those of the paper: the linearization of its fuzzy RED at a constant queue of 30 packets, without the constant term of
/// the linearization.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// Gain on the error in percent of probability per packet.
    /// Range: 0 or more; default 1 (lehto-2005#eq10).
    pub k1: f64,
    /// Gain on the change of the error over one interval in percent of probability per packet.
    /// Range: 0 or more; default 1 (lehto-2005#eq10).
    pub k2: f64,
    /// Probability at the target in percent, -100 to 100, default 0 (lehto-2005#eq10).
    pub k3: f64,
    /// Target queue in packets.
    /// Range: 0 or more; default 30; the paper also tries 60 (lehto-2005#3, lehto-2005#5).
    pub target: f64,
    /// Time between two updates, at least 1 us, default 10 ms (lehto-2005#3).
    pub interval: Duration,
    /// Whether the queue is measured in bytes over the link's mean packet.
    /// Default false (lehto-2005#4: scenario 7 has packets of five sizes).
    pub queue_in_bytes: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params { k1: 1.0, k2: 1.0, k3: 0.0, target: 30.0, interval: Duration::from_millis(10), queue_in_bytes: false }
    }
}

/// The linear PD on one link.
pub type Pd = Sampled<PdLaw, Bernoulli>;

impl Params {
    /// The PD with these parameters on this link.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn build(&self, link: &Link) -> Result<Pd, ParamError> {
        let gain = |k: f64| (0.0..=1e4).contains(&k);
        ParamError::unless(gain(self.k1), "k1", &self.k1, "0 to 10000 percent per packet")?;
        ParamError::unless(gain(self.k2), "k2", &self.k2, "0 to 10000 percent per packet")?;
        ParamError::unless((-100.0..=100.0).contains(&self.k3), "k3", &self.k3, "-100 to 100 percent")?;
        ParamError::unless((0.0..1e9).contains(&self.target), "target", &self.target, "a number of packets, 0 or more")?;
        range::interval("interval", self.interval)?;
        let law = PdLaw { params: self.clone(), meter: Meter::new(self.queue_in_bytes.then_some(link.mean_packet)), previous: 0.0 };
        Ok(Sampled::new(law, Bernoulli))
    }
}

/// The controller and its state.
#[derive(Clone, Debug)]
pub struct PdLaw {
    params: Params,
    meter: Meter,
    /// The queue at the previous step in packets, 0 before the first.
    previous: f64,
}

impl Law for PdLaw {
    fn interval(&self) -> Duration {
        self.params.interval
    }

    /// The law steps at time 0, when the queue is empty.
    fn first_step(&self) -> Time {
        Time::ZERO
    }

    /// lehto-2005#eq10.
    fn step(&mut self, sample: &Sample) -> Probability {
        let queue = self.meter.backlog(sample);
        let Params { k1, k2, k3, target, .. } = self.params;
        let percent = k1 * (queue - target) + k2 * (queue - self.previous) + k3;
        self.previous = queue;
        Probability::clamped(percent / 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::test_link;
    use crate::{Aqm, Backlog};
    use alloc::vec::Vec;
    use proptest::prelude::*;

    /// The probability after each of these queues, in packets of the link's mean size.
    fn probabilities(params: &Params, queues: &[u32]) -> Vec<f64> {
        let mut pd = params.build(&test_link()).unwrap();
        let tick = |&packets: &u32| {
            pd.on_update(Time::ZERO, &Backlog { packets, bytes: 1000 * u64::from(packets), idle_since: None });
            pd.probability().unwrap().get()
        };
        queues.iter().map(tick).collect()
    }

    #[test]
    fn the_probability_is_the_papers_at_every_tick() {
        for queue_in_bytes in [false, true] {
            let params = Params { queue_in_bytes, ..Params::default() };
            let seen = probabilities(&params, &[10, 25, 35, 33, 33, 60]);
            for (p, expected) in seen.iter().zip([0.0, 0.10, 0.15, 0.01, 0.03, 0.57]) {
                assert!((p - expected).abs() < 1e-12, "{seen:?}");
            }
        }
    }

    #[test]
    fn the_probability_is_zero_at_an_empty_queue_and_one_at_a_very_long_one() {
        assert_eq!(probabilities(&Params::default(), &[0, 1000, 1000, 0]), [0.0, 1.0, 1.0, 0.0]);
    }

    #[test]
    fn the_first_update_is_at_the_start_and_the_next_ten_milliseconds_later() {
        let pd = Params::default().build(&test_link()).unwrap();
        assert_eq!((pd.needs().first_update, pd.update_interval()), (Some(Time::ZERO), Some(Duration::from_millis(10))));
    }

    #[test]
    fn bytes_count_as_packets_of_mean_size() {
        let link = Link { mean_packet: 522, ..test_link() };
        let mut pd = Params { queue_in_bytes: true, ..Params::default() }.build(&link).unwrap();
        pd.on_update(Time::ZERO, &Backlog { packets: 3, bytes: 522 * 20, idle_since: None });
        assert!((pd.probability().unwrap().get() - 0.1).abs() < 1e-12, "20 - 30 of error and 20 of change make 10 percent");
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        let default = Params::default;
        for (params, field) in [
            (Params { k1: f64::NAN, ..default() }, "k1"),
            (Params { k2: -1.0, ..default() }, "k2"),
            (Params { k3: 101.0, ..default() }, "k3"),
            (Params { target: f64::INFINITY, ..default() }, "target"),
            (Params { interval: Duration::ZERO, ..default() }, "interval"),
        ] {
            assert_eq!(params.build(&test_link()).unwrap_err().field, field);
        }
    }

    proptest! {
        #[test]
        fn the_probability_is_above_zero_if_queue_and_change_together_exceed_the_target(before in 0u32..100, now in 0u32..100) {
            let p = probabilities(&Params::default(), &[before, now])[1];
            let percent = 2 * i64::from(now) - i64::from(before) - 30;
            prop_assert_eq!(p > 0.0, percent > 0);
            prop_assert!((p - (percent.clamp(0, 100) as f64 / 100.0)).abs() < 1e-12);
        }
    }
}
