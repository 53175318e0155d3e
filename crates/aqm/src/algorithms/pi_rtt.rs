//! PI-RTT: one controller whose probability depends on each packet's round-trip time.
//!
//! A Reno flow sends in proportion to 1/(RTT sqrt(p)). With the probability p (r0/RTT)^2 for a flow of that round-trip time all flows have
//! the same rate. The controller is PID. Packets must carry their senders' round-trip times; a packet without one counts as `unknown`.
//!
//! N flows that all send C/N answer a small change of p with -C/(2p), and p is 2 N^2/(r0 C)^2. The queue adds a gain of the harmonic mean
//! of their round-trip times, which is r0 and the queuing time. The plant's gain is therefore that of hollot-2001 for a path of (r0^2 (r0 +
//! target))^(1/3), whatever the longest round-trip time, and the gains are designed for this path. The gains for PID's path of 170 ms would
//! make the integral four times too slow.

use super::pid::{self, PidLaw};
use crate::{Candidate, Gate, Link, Needs, ParamError, Sampled};
use sojourn_units::{Bytes, Duration, Stream};

/// The parameters of PI-RTT: those of PID, and how the probability is scaled.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// Exponent of r0/RTT.
    /// Range: 0 to 4. 2 for Reno (the default), 1/3 for CUBIC in its cubic region, 0 for senders whose rate is independent of the RTT.
    pub exponent: f64,
    /// The RTT r0 at which a packet gets the unscaled probability.
    /// Range: above 0; default 103 ms: the harmonic mean of 40, 80, 160, 320 and 640 ms.
    pub reference: Duration,
    /// RTT assumed for packets that report none.
    /// Range: above 0; default 40 ms: short, so that senders gain nothing by not reporting it.
    pub unknown: Duration,
    /// Target queuing time, above 0, default 10 ms.
    pub target: Duration,
    /// Time between two updates, at least 1 us, default 1/160 s.
    pub interval: Duration,
    /// Flows that the gains are designed for.
    /// 0 (the default) is the light load of rfc7928#8.2 on this link.
    pub flows: f64,
    /// RTT with queuing that defines the light load if `flows` is 0.
    /// Range: above `target`; default 170 ms. The gains are designed for `reference`.
    pub rtt: Duration,
    /// Gain margin, above 1, default 3.
    pub gain_margin: f64,
    /// Phase margin in degrees, above 0 and below 90, default 60.
    pub phase_margin: f64,
    /// Time constant of the filter on the derivative, default 10 ms.
    pub filter: Duration,
    /// Packet size that converts the target and the link's rate to packets.
    /// `"0 B"` (the default) is the link's.
    pub packet: Bytes,
}

impl Default for Params {
    fn default() -> Self {
        let pid::Params { target, interval, flows, rtt, gain_margin, phase_margin, filter, packet, .. } = pid::Params::default();
        let (reference, unknown) = (Duration::from_millis(103), Duration::from_millis(40));
        Params { exponent: 2.0, reference, unknown, target, interval, flows, rtt, gain_margin, phase_margin, filter, packet }
    }
}

/// PI-RTT on one link.
/// Its reported probability is that of a packet with the reference round-trip time.
pub type PiRtt = Sampled<PidLaw, RttGate>;

impl Params {
    /// PI-RTT with these parameters on this link.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn build(&self, link: &Link) -> Result<PiRtt, ParamError> {
        ParamError::unless((0.0..=4.0).contains(&self.exponent), "exponent", &self.exponent, "0 to 4")?;
        let time = |time: Duration| (Duration::from_millis(1)..=Duration::from_secs(65)).contains(&time);
        ParamError::unless(time(self.reference), "reference", &self.reference, "1 ms to 65 s")?;
        ParamError::unless(time(self.unknown), "unknown", &self.unknown, "1 ms to 65 s")?;
        let Params { target, interval, flows, rtt, gain_margin, phase_margin, filter, packet, .. } = *self;
        let (r0, queuing) = (self.reference.as_secs_f64(), target.as_secs_f64());
        let design = Duration::from_secs_f64(libm::cbrt(r0 * r0 * (r0 + queuing)));
        let law =
            pid::Params { target, interval, flows, rtt, gain_margin, phase_margin, filter, packet, gains: None }.law_at(link, design)?;
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        Ok(Sampled::new(law, RttGate { exponent: self.exponent, reference: ms(self.reference), unknown: ms(self.unknown) }))
    }
}

/// Independent draws at the law's probability times (reference/RTT)^exponent.
#[derive(Clone, Debug)]
pub struct RttGate {
    exponent: f64,
    /// The reference round-trip time in ms.
    reference: f64,
    /// The round-trip time in ms of packets that report none.
    unknown: f64,
}

impl RttGate {
    /// The probability for a packet whose sender's RTT is `ms` milliseconds, 0 for unknown.
    #[inline]
    fn scaled(&self, probability: f64, ms: u16) -> f64 {
        let ratio = self.reference / if ms == 0 { self.unknown } else { f64::from(ms) };
        // A fast path for the default exponent, without libm's logarithm.
        let scale = if self.exponent == 2.0 { ratio * ratio } else { libm::pow(ratio, self.exponent) };
        (probability * scale).min(1.0)
    }
}

impl Gate for RttGate {
    #[inline]
    fn signals(&mut self, candidate: &Candidate<'_>, random: &mut Stream) -> bool {
        let packet = candidate.packet;
        packet.has_data && random.unit() < self.scaled(candidate.probability.get(), packet.rtt_hint_ms)
    }

    fn needs(&self) -> Needs {
        Needs { rtt_hints: true, ..Needs::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::{test_link, test_packet};

    #[test]
    fn the_probability_falls_with_the_power_of_the_round_trip_time() {
        let mut pi = Params::default().build(&test_link()).unwrap();
        let gate = pi.gate_at(0.01);
        for (ms, expected) in [(103, 0.01), (206, 0.0025), (40, 0.066_306_25), (0, 0.066_306_25), (1, 1.0), (65_535, 2.47e-8)] {
            assert!((gate.scaled(0.01, ms) - expected).abs() < 1e-10, "{ms}");
        }
        gate.exponent = 1.0 / 3.0;
        assert!((gate.scaled(0.01, 824) - 0.005).abs() < 1e-12);
        gate.exponent = 0.0;
        assert_eq!(gate.scaled(0.01, 824), 0.01);
    }

    #[test]
    fn acknowledgments_without_data_pass() {
        let mut pi = Params::default().build(&test_link()).unwrap();
        let backlog = crate::Backlog { packets: 9, bytes: 9000, idle_since: None };
        let mut random = Stream::named(1, "pi-rtt");
        let mut signals = |has_data| {
            let now = sojourn_units::Time::ZERO;
            let packet = crate::PacketView { now, rtt_hint_ms: 1, has_data, ..test_packet() };
            let candidate = Candidate { probability: sojourn_units::Probability::clamped(1.0), packet: &packet, backlog: &backlog };
            pi.gate_at(1.0).signals(&candidate, &mut random)
        };
        assert_eq!((signals(true), signals(false)), (true, false));
    }

    /// Total rate of all flows at a probability.
    /// Each flow follows hollot-2001 at its scaled probability.
    fn total(p: f64, rtts: &[f64], r0: f64) -> f64 {
        rtts.iter().map(|r| (2.0 / (p * (r0 / r) * (r0 / r))).sqrt() / r).sum()
    }

    #[test]
    fn the_gains_are_designed_for_the_plant_of_flows_with_equal_rates() {
        let (link, target) = (test_link(), 0.01);
        let mut pi = Params { flows: 25.0, ..Params::default() }.build(&link).unwrap();
        let (c, n, r0) = (link.rate.packets_per_sec(f64::from(link.mean_packet)), 25.0, 0.103);
        let rtts: alloc::vec::Vec<f64> = [0.04, 0.08, 0.16, 0.32, 0.64].iter().cycle().take(25).copied().collect();
        let p = 2.0 * n * n / (r0 * c * r0 * c);
        assert!((total(p, &rtts, r0) / c - 1.0).abs() < 1e-12);
        let slope = (total(p * 1.000_1, &rtts, r0) - total(p, &rtts, r0)) / (1e-4 * p);
        let gain = -slope * (r0 + target);
        let same = libm::cbrt(4.0 * n * n * gain) / c;
        let design = pid::Gains::design(&pid::Plant { rate: c, flows: n, rtt: same }, 3.0, core::f64::consts::PI / 3.0);
        assert!((pi.inner().gains().integral / design.integral - 1.0).abs() < 1e-3, "{gain} {same}");
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        let default = Params::default;
        for (params, field) in [
            (Params { exponent: 5.0, ..default() }, "exponent"),
            (Params { reference: Duration::ZERO, ..default() }, "reference"),
            (Params { unknown: Duration::MAX, ..default() }, "unknown"),
            (Params { gain_margin: 0.5, ..default() }, "gain_margin"),
        ] {
            assert_eq!(params.build(&test_link()).unwrap_err().field, field);
        }
    }
}
