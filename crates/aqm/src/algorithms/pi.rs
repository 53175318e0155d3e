//! PI: a proportional-integral controller of the queue (Hollot, Misra, Towsley and Gong, INFOCOM 2001), as ns-2.35
//! does it.
//!
//! Once per interval p += a (q - target) - b (q_old - target), kept in 0..=1; every arrival is struck with
//! probability p, independently of the others. Differs from ns-2 only in that a packet that finds the queue full
//! makes its random draw too.

use crate::{Law, Link, ParamError, Sample, Sampled, Scaled};
use sojourn_units::{Bytes, Duration, Probability, Time};

/// The parameters of PI. The defaults are those of ns-2.35: the design of the paper for 15 Mbit/s, 60 flows and a
/// round-trip time of 246 ms, with a target of 50 packets.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// Gain on the present error in probability a packet, at least `b`, default 1.822e-5 (hollot-2001#4, ns-2 `a_`).
    #[cfg_attr(feature = "serde", serde(alias = "a_"))]
    pub a: f64,
    /// Gain on the previous error in probability a packet, 0 or more, default 1.816e-5 (hollot-2001#4, ns-2 `b_`).
    #[cfg_attr(feature = "serde", serde(alias = "b_"))]
    pub b: f64,
    /// Queue to be held, in packets, 0 or more, default 50 (ns-2 `qref_`).
    #[cfg_attr(feature = "serde", serde(alias = "qref_", alias = "qref"))]
    pub target: f64,
    /// Time between two updates, at least 1 us, default 1/170 s (ns-2 1/`w_`).
    pub interval: Duration,
    /// Whether the probability follows the packet's size over `mean_packet`; default false (ns-2 `bytes_`).
    #[cfg_attr(feature = "serde", serde(alias = "bytes_"))]
    pub bytes: bool,
    /// Whether the queue is measured in bytes over `mean_packet`; default false (ns-2 `queue_in_bytes_`).
    #[cfg_attr(feature = "serde", serde(alias = "queue_in_bytes_"))]
    pub queue_in_bytes: bool,
    /// Mean packet size; `"0 B"` (the default) is the link's (ns-2 `mean_pktsize_`, there 500).
    #[cfg_attr(feature = "serde", serde(alias = "mean_pktsize_", alias = "mean_pktsize"))]
    pub mean_packet: Bytes,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            a: 1.822e-5,
            b: 1.816e-5,
            target: 50.0,
            interval: Duration::from_nanos(1_000_000_000 / 170),
            bytes: false,
            queue_in_bytes: false,
            mean_packet: Bytes(0),
        }
    }
}

impl Params {
    /// PI with these parameters on this link.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn build(&self, link: &Link) -> Result<Sampled<PiLaw, Scaled>, ParamError> {
        let gain = |v: f64| (0.0..1e3).contains(&v);
        ParamError::unless(gain(self.a), "a", &self.a, "0 to 1000")?;
        ParamError::unless(gain(self.b), "b", &self.b, "0 to 1000")?;
        ParamError::unless(self.a >= self.b, "a", &self.a, "no less than b, or the controller runs away from its target")?;
        ParamError::unless((0.0..1e9).contains(&self.target), "target", &self.target, "a number of packets, 0 or more")?;
        ParamError::unless(self.interval >= Duration::from_micros(1), "interval", &self.interval, "1 us or more")?;
        let mean_packet = link.mean_packet_or("mean_packet", self.mean_packet)?;
        let law = PiLaw { params: self.clone(), mean_packet: f64::from(mean_packet), probability: 0.0, previous: 0.0 };
        Ok(Sampled::new(law, Scaled::new(self.bytes.then_some(mean_packet))))
    }
}

/// The controller and its state.
#[derive(Clone, Debug)]
pub struct PiLaw {
    params: Params,
    mean_packet: f64,
    probability: f64,
    /// The queue at the previous step in packets.
    previous: f64,
}

impl Law for PiLaw {
    fn interval(&self) -> Duration {
        self.params.interval
    }

    fn first_step(&self) -> Time {
        Time::ZERO
    }

    /// hollot-2001#eq9.
    fn step(&mut self, sample: &Sample) -> Probability {
        let queue = if self.params.queue_in_bytes { sample.backlog_bytes / self.mean_packet } else { sample.backlog_packets };
        let Params { a, b, target, .. } = self.params;
        let moved = a * (queue - target) - b * (self.previous - target);
        self.probability = (self.probability + moved).clamp(0.0, 1.0);
        self.previous = queue;
        Probability::clamped(self.probability)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Aqm, Backlog, algorithms::test_link};

    #[test]
    fn the_probability_is_that_of_the_led_card() {
        // led-2009 card 1.4: the defaults with a target of 200.
        for queue_in_bytes in [false, true] {
            let mut pi = Params { target: 200.0, queue_in_bytes, ..Params::default() }.build(&test_link()).unwrap();
            let expected = [0.0, 0.005454, 0.00546, 0.004555, 0.003647, 0.001825];
            for (packets, p) in [0u32, 300, 300, 250, 200, 100].into_iter().zip(expected) {
                pi.on_update(Time::ZERO, &Backlog { packets, bytes: 1000 * u64::from(packets), idle_since: None });
                assert!((pi.probability().get() - p).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn only_the_target_leaves_the_probability_where_it_is() {
        let mut pi = Params::default().build(&test_link()).unwrap();
        let mut step = |packets| {
            pi.on_update(Time::ZERO, &Backlog { packets, bytes: 0, idle_since: None });
            pi.probability().get()
        };
        (0..1000).map(|_| step(100)).for_each(|p| assert!(p <= 1.0));
        step(50);
        let settled = step(50);
        assert!(settled > 0.0 && (step(50) - settled).abs() < 1e-15);
        assert!(step(51) > settled);
    }

    #[test]
    fn gains_that_run_away_are_refused() {
        let error = Params { a: 0.1, b: 0.2, ..Params::default() }.build(&test_link()).unwrap_err();
        assert_eq!(error.field, "a");
        assert_eq!(Params { interval: Duration::ZERO, ..Params::default() }.build(&test_link()).unwrap_err().field, "interval");
    }
}
