//! REM: random exponential marking, as in ns-2.35.
//! Source: athuraliya-2001 (Athuraliya, Li, Low and Yin).
//!
//! Once per interval a price follows the mismatch of rate and queue: price += gamma (x + alpha (q - target) - c), never below 0, where x
//! packets arrived and the link can send c. Every arrival is dropped or marked with probability 1 - phi^-price. With `at_departure`, as in
//! ns-2 with ECN, packets that can be marked are drawn as they leave.

use crate::law::Meter;
use crate::{Law, Link, ParamError, Sample, Sampled, Scaled};
use sojourn_units::{Bytes, Duration, Probability, range};

/// The parameters of REM. The defaults are those of ns-2.35, with the link's own mean packet.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// Step of the price per packet of mismatch, above 0, default 0.001 (ns-2 `gamma_`).
    #[cfg_attr(feature = "serde", serde(alias = "gamma_"))]
    pub gamma: f64,
    /// Base of the probability, above 1, default 1.001 (ns-2 `phi_`).
    #[cfg_attr(feature = "serde", serde(alias = "phi_"))]
    pub phi: f64,
    /// Weight of the queue relative to the rate in the mismatch.
    /// Range: 0 or more; default 0.1 (a constant in ns-2).
    pub alpha: f64,
    /// Target queue in packets, 0 or more, default 20 (ns-2 `pbo_`).
    #[cfg_attr(feature = "serde", serde(alias = "pbo_"))]
    pub target: f64,
    /// Weight of the newest interval in the mean rate.
    /// Range: above 0 and up to 1; default 1 (ns-2 `inw_`).
    #[cfg_attr(feature = "serde", serde(alias = "inw_"))]
    pub weight: f64,
    /// Time between two updates.
    /// Range: at least 1 us; default `"2 ms"` (ns-2 `pupdtime_`, in seconds there).
    #[cfg_attr(feature = "serde", serde(alias = "pupdtime_"))]
    pub interval: Duration,
    /// Whether arrivals and queue are measured in bytes over `mean_packet`.
    /// The probability then scales with the packet's size; default false (ns-2 `qib_`).
    #[cfg_attr(feature = "serde", serde(alias = "qib_", alias = "queue_in_bytes"))]
    pub bytes: bool,
    /// Mean packet size; `"0 B"` (the default) is the link's (ns-2 `mean_pktsize_`, there 1000).
    #[cfg_attr(feature = "serde", serde(alias = "mean_pktsize_", alias = "mean_pktsize"))]
    pub mean_packet: Bytes,
    /// Whether ECN-capable packets are drawn as they leave, as in ns-2 with ECN.
    /// Default false: all packets are drawn on arrival.
    pub at_departure: bool,
    /// Whether packets that cannot be marked pass, if `at_departure` and ECN are on.
    /// True as in ns-2 with its `markpkts_`. Default false: they are drawn on arrival, and dropped.
    pub spare_unmarkable: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            gamma: 0.001,
            phi: 1.001,
            alpha: 0.1,
            target: 20.0,
            weight: 1.0,
            interval: Duration::from_millis(2),
            bytes: false,
            mean_packet: Bytes(0),
            at_departure: false,
            spare_unmarkable: false,
        }
    }
}

/// REM on one link.
pub type Rem = Sampled<RemLaw, Scaled>;

impl Params {
    /// REM with these parameters on this link.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn build(&self, link: &Link) -> Result<Rem, ParamError> {
        ParamError::unless(self.gamma > 0.0 && self.gamma < 1e6, "gamma", &self.gamma, "a number above 0 and below a million")?;
        ParamError::unless(self.phi > 1.0 && self.phi < 1e6, "phi", &self.phi, "a number above 1 and below a million")?;
        ParamError::unless((0.0..1e6).contains(&self.alpha), "alpha", &self.alpha, "a number from 0 to a million")?;
        ParamError::unless((0.0..1e9).contains(&self.target), "target", &self.target, "a number of packets, 0 or more")?;
        ParamError::unless(self.weight > 0.0 && self.weight <= 1.0, "weight", &self.weight, "a number above 0, up to 1")?;
        range::interval("interval", self.interval)?;
        let mean_packet = link.mean_packet_or("mean_packet", self.mean_packet)?;
        let capacity = link.rate.packets_per_sec(f64::from(mean_packet)) * self.interval.as_secs_f64();
        let mean_packet = self.bytes.then_some(mean_packet);
        let law = RemLaw { params: self.clone(), meter: Meter::new(mean_packet), capacity, price: 0.0, arriving: 0.0 };
        Ok(Sampled::new(law, Scaled::new(mean_packet).at_departure(self.at_departure, self.spare_unmarkable)))
    }
}

/// The price and its inputs.
#[derive(Clone, Debug)]
pub struct RemLaw {
    params: Params,
    meter: Meter,
    /// Packets of mean size that the link can send in an interval.
    capacity: f64,
    /// The link's price.
    price: f64,
    /// Mean arrivals in an interval, in packets.
    arriving: f64,
}

impl RemLaw {
    /// The link's price.
    pub fn price(&self) -> f64 {
        self.price
    }
}

impl Law for RemLaw {
    fn interval(&self) -> Duration {
        self.params.interval
    }

    /// athuraliya-2001#eq1, athuraliya-2001#eq2.
    fn step(&mut self, sample: &Sample) -> Probability {
        let (arrived, queue) = (self.meter.arrived(sample), self.meter.backlog(sample));
        let Params { gamma, phi, alpha, target, weight, .. } = self.params;
        self.arriving += weight * (arrived - self.arriving);
        self.price = (self.price + gamma * (self.arriving + alpha * (queue - target) - self.capacity)).max(0.0);
        Probability::clamped(1.0 - libm::pow(phi, -self.price))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::{test_link, test_packet};
    use crate::{Aqm, ArrivalVerdict, Backlog, DepartureVerdict};
    use sojourn_units::{Rate, Stream, Time};

    fn sample(packets: f64, queue: f64) -> Sample {
        Sample {
            now: Time::ZERO,
            backlog_packets: queue,
            backlog_bytes: 1000.0 * queue,
            least_backlog_packets: 0.0,
            arrived_packets: packets,
            arrived_bytes: 1000.0 * packets,
            departed_packets: 0.0,
            departed_bytes: 0.0,
            sojourn: 0.0,
        }
    }

    #[test]
    fn price_and_probability_are_those_of_the_led_paper() {
        // 625 packets a second, target 20, gamma 0.01.
        let link = Link { rate: Rate::from_bps(5_000_000).unwrap(), ..test_link() };
        for bytes in [false, true] {
            let mut rem = Params { gamma: 0.01, bytes, ..Params::default() }.build(&link).unwrap();
            let expected = [(0.0, 0.0), (0.0, 0.0), (0.0375, 3.7481e-5), (0.095, 9.4948e-5), (0.1325, 1.32425e-4)];
            for ((x, q), (price, p)) in [(1.0, 0.0), (2.0, 10.0), (3.0, 40.0), (3.0, 60.0), (2.0, 50.0)].into_iter().zip(expected) {
                let probability = rem.inner().step(&sample(x, q)).get();
                assert!((rem.inner().price() - price).abs() < 1e-12);
                assert!((probability - p).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn the_mean_rate_follows_its_weight() {
        let mut rem = Params { weight: 0.25, alpha: 0.0, gamma: 1.0, ..Params::default() }.build(&test_link()).unwrap();
        // 10 Mbit/s and 1000 bytes: 2.5 packets in 2 ms. The mean goes 2.5, 4.375.
        rem.inner().step(&sample(10.0, 0.0));
        assert!(rem.inner().price().abs() < 1e-12);
        rem.inner().step(&sample(10.0, 0.0));
        assert!((rem.inner().price() - 1.875).abs() < 1e-12);
    }

    #[test]
    fn a_base_of_one_is_refused() {
        assert_eq!(Params { phi: 1.0, ..Params::default() }.build(&test_link()).unwrap_err().field, "phi");
    }

    #[test]
    fn with_at_departure_packets_that_can_be_marked_are_drawn_as_they_leave() {
        let (link, mut random) = (test_link(), Stream::named(1, "rem"));
        let arrival = test_packet();
        let backlog = Backlog { packets: 90, bytes: 90_000, idle_since: None };
        for (at_departure, spare_unmarkable, arrives, leaves) in [
            (false, false, ArrivalVerdict::Signal, DepartureVerdict::Pass),
            (false, true, ArrivalVerdict::Signal, DepartureVerdict::Pass),
            (true, false, ArrivalVerdict::DropUnlessMarkable, DepartureVerdict::MarkOrPass),
            (true, true, ArrivalVerdict::DropWithoutEcn, DepartureVerdict::MarkOrPass),
        ] {
            let mut rem = Params { gamma: 1e5, at_departure, spare_unmarkable, ..Params::default() }.build(&link).unwrap();
            assert_eq!(rem.needs().head_drop, at_departure);
            rem.on_update(Time::ZERO, &backlog);
            assert_eq!(rem.on_enqueue(&arrival, &backlog, &mut random), arrives);
            assert_eq!(rem.on_dequeue(&arrival, Duration::ZERO, &backlog, &mut random), leaves);
        }
    }
}
