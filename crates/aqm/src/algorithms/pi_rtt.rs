//! PI-RTT: one controller for all, its probability scaled by each packet's round-trip time.
//!
//! A Reno flow sends in proportion to 1/(RTT sqrt(p)); with p (r0/RTT)^2 for a flow of that round-trip time, all send the
//! same. The controller is PID; packets must carry their senders' round-trip times, and one that says nothing counts as
//! `unknown`.

use super::pid::{self, PidLaw};
use crate::{Aqm, Arrival, Backlog, Link, Needs, ParamError, Verdict};
use sojourn_units::{Bytes, Duration, Probability, Stream, Time};

/// The parameters of PI-RTT: those of PID, and how the probability is scaled.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// Power of r0/RTT, 0 to 4: 2 for Reno (the default), 1/3 for CUBIC where it is cubic, 0 for senders whose rate does not
    /// depend on their RTT.
    pub exponent: f64,
    /// The round-trip time r0 at which the probability is the controller's, above 0, default 103 ms: the harmonic mean of
    /// 40, 80, 160, 320 and 640 ms.
    pub reference: Duration,
    /// The round-trip time of packets that say nothing, above 0, default 40 ms: silence is not rewarded.
    pub unknown: Duration,
    /// Queuing time to be held, above 0, default 10 ms.
    pub target: Duration,
    /// Time between two updates, at least 1 us, default 1/160 s.
    pub interval: Duration,
    /// Flows that the gains are designed for; 0 (the default) is the light load of rfc7928#8.2 on this link.
    pub flows: f64,
    /// Round-trip time with queuing that the gains are designed for, more than `target`, default 170 ms.
    pub rtt: Duration,
    /// Gain margin to be kept, above 1, default 3.
    pub gain_margin: f64,
    /// Phase margin to be kept, in degrees, above 0 and below 90, default 60.
    pub phase_margin: f64,
    /// Time constant of the filter on the derivative, default 10 ms.
    pub filter: Duration,
    /// Packet size that makes packets of the target and the link's rate; `"0 B"` (the default) is the link's.
    pub packet: Bytes,
}

impl Default for Params {
    fn default() -> Self {
        let pid::Params { target, interval, flows, rtt, gain_margin, phase_margin, filter, packet } = pid::Params::default();
        let (reference, unknown) = (Duration::from_millis(103), Duration::from_millis(40));
        Params { exponent: 2.0, reference, unknown, target, interval, flows, rtt, gain_margin, phase_margin, filter, packet }
    }
}

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
        let law = pid::Params { target, interval, flows, rtt, gain_margin, phase_margin, filter, packet }.law(link)?;
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        Ok(PiRtt { law, interval, exponent: self.exponent, reference: ms(self.reference), unknown: ms(self.unknown), probability: 0.0 })
    }
}

/// The controller, the scaling and their state.
#[derive(Clone, Debug)]
pub struct PiRtt {
    law: PidLaw,
    interval: Duration,
    exponent: f64,
    /// In ms.
    reference: f64,
    unknown: f64,
    probability: f64,
}

impl PiRtt {
    #[inline]
    fn probability_for(&self, ms: u16) -> f64 {
        let ratio = self.reference / if ms == 0 { self.unknown } else { f64::from(ms) };
        // The usual powers without the library's logarithm.
        let scale = if self.exponent == 2.0 { ratio * ratio } else { libm::pow(ratio, self.exponent) };
        (self.probability * scale).min(1.0)
    }
}

impl Aqm for PiRtt {
    #[inline]
    fn on_enqueue(&mut self, arrival: &Arrival, _backlog: &Backlog, random: &mut Stream) -> Verdict {
        if !arrival.has_data {
            return Verdict::Pass;
        }
        if random.unit() < self.probability_for(arrival.rtt_hint_ms) { Verdict::Mark } else { Verdict::Pass }
    }

    fn update_interval(&self) -> Option<Duration> {
        Some(self.interval)
    }

    fn on_update(&mut self, _now: Time, backlog: &Backlog) {
        self.probability = self.law.control(f64::from(backlog.packets));
    }

    fn needs(&self) -> Needs {
        Needs { rtt_hints: true, ..Needs::default() }
    }

    /// At the reference round-trip time.
    fn probability(&self) -> Probability {
        Probability::clamped(self.probability)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::test_link;

    #[test]
    fn the_probability_falls_with_the_power_of_the_round_trip_time() {
        let mut pi = Params::default().build(&test_link()).unwrap();
        pi.probability = 0.01;
        for (ms, expected) in [(103, 0.01), (206, 0.0025), (40, 0.066_306_25), (0, 0.066_306_25), (1, 1.0), (65_535, 2.47e-8)] {
            assert!((pi.probability_for(ms) - expected).abs() < 1e-10, "{ms}");
        }
        pi.exponent = 1.0 / 3.0;
        assert!((pi.probability_for(824) - 0.005).abs() < 1e-12);
        pi.exponent = 0.0;
        assert_eq!(pi.probability_for(824), 0.01);
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
