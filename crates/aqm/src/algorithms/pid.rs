//! PID: a controller of the queue with gains designed for stability margins.
//! After Fan, Ren and Lin 2003, in the form in which the authors of `FuzzyRTT` compare with it.
//!
//! The gains follow from the link, the number of flows and the round-trip time, for required gain and phase margins (ho-1995: Ho, Hang and
//! Cao). The plant is the linear model of TCP under a probability (hollot-2001): a gain, two lags and a delay. The derivative cancels the
//! shorter lag. The controller is in position form: only the integral is limited to 0..=1, so that a derivative limited at zero cannot move
//! it.

use crate::{Bernoulli, Law, Link, ParamError, Sample, Sampled};
use core::f64::consts::PI;
use sojourn_units::{Bytes, Duration, Probability, range};

/// The parameters of PID.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// Target queuing time, above 0, default 10 ms (fuzzyrtt-2024#4).
    pub target: Duration,
    /// Time between two updates, at least 1 us, default 1/160 s (hollot-2001).
    pub interval: Duration,
    /// Number of flows for which the gains are designed.
    /// 0 (the default) is the light load of rfc7928#8.2 on this link.
    pub flows: f64,
    /// Round-trip time with queuing for which the gains are designed.
    /// Range: more than `target`; default 170 ms.
    pub rtt: Duration,
    /// Gain margin, above 1, default 3 (ho-1995).
    pub gain_margin: f64,
    /// Phase margin in degrees, above 0 and below 90, default 60 (ho-1995).
    pub phase_margin: f64,
    /// Time constant of the filter on the derivative, default 10 ms.
    pub filter: Duration,
    /// Packet size that converts the target and the link's rate to packets.
    /// `"0 B"` (the default) is the link's.
    pub packet: Bytes,
    /// The gains themselves, instead of those designed for `flows`, `rtt` and the margins.
    /// Default absent. `sojourn design pid` computes some.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub gains: Option<Gains>,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            target: Duration::from_millis(10),
            interval: Duration::from_nanos(1_000_000_000 / 160),
            flows: 0.0,
            rtt: Duration::from_millis(170),
            gain_margin: 3.0,
            phase_margin: 60.0,
            filter: Duration::from_millis(10),
            packet: Bytes(0),
            gains: None,
        }
    }
}

/// Gains of a parallel PID.
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gains {
    /// Gain on the error, in probability per packet.
    pub proportional: f64,
    /// Gain on the integral, in probability per packet and second.
    pub integral: f64,
    /// Gain on the derivative, in probability per packet per second.
    pub derivative: f64,
}

/// The parameters of the linear model of TCP.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Plant {
    /// The link's rate in packets a second.
    pub rate: f64,
    /// Number of flows.
    pub flows: f64,
    /// Round-trip time in seconds.
    pub rtt: f64,
}

impl Gains {
    /// The gains for these margins, by ho-1995.
    /// The phase margin is in radians. The plant is K exp(-sR) / ((1 + s t1)(1 + s t2)) of hollot-2001.
    pub fn design(plant: &Plant, gain_margin: f64, phase_margin: f64) -> Gains {
        let Plant { rate, flows, rtt } = *plant;
        let k = (rtt * rate) * (rtt * rate) * (rtt * rate) / (4.0 * flows * flows);
        let (t1, t2) = (rtt * rtt * rate / (2.0 * flows), rtt);
        let (lag, td) = (t1.max(t2), t1.min(t2));
        let am = gain_margin;
        let crossover = (am * phase_margin + 0.5 * PI * am * (am - 1.0)) / ((am * am - 1.0) * rtt);
        let kp = crossover * lag / (am * k);
        // Margins too wide for the delay would give a negative integral time: then there is no integral.
        let inverse_ti = (2.0 * crossover - 4.0 * crossover * crossover * rtt / PI + 1.0 / lag).max(0.0);
        Gains { proportional: kp * (1.0 + td * inverse_ti), integral: kp * inverse_ti, derivative: kp * td }
    }
}

/// PID on one link.
pub type Pid = Sampled<PidLaw, Bernoulli>;

impl Params {
    /// PID with these parameters on this link.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn build(&self, link: &Link) -> Result<Pid, ParamError> {
        Ok(Sampled::new(self.law(link)?, Bernoulli))
    }

    /// The configured gains, after a check of their ranges.
    fn own(&self, gains: Gains) -> Result<Gains, ParamError> {
        let default = Params::default();
        let designed = |p: &Params| (p.flows, p.rtt, p.gain_margin, p.phase_margin);
        let both = designed(self) != designed(&default);
        ParamError::unless(!both, "gains", &"gains together with a design", "either gains, or flows, rtt and margins")?;
        let named =
            [("gains.proportional", gains.proportional), ("gains.integral", gains.integral), ("gains.derivative", gains.derivative)];
        for (field, gain) in named {
            ParamError::unless((0.0..=1e3).contains(&gain), field, &gain, "a gain, 0 to 1000")?;
        }
        Ok(gains)
    }

    /// The law alone, with gains for a path of `rtt`.
    fn law(&self, link: &Link) -> Result<PidLaw, ParamError> {
        self.law_at(link, self.rtt)
    }

    /// The law alone, with gains for a path of this round-trip time.
    pub(super) fn law_at(&self, link: &Link, design: Duration) -> Result<PidLaw, ParamError> {
        range::target("target", self.target)?;
        range::interval("interval", self.interval)?;
        ParamError::unless((0.0..=1e9).contains(&self.flows), "flows", &self.flows, "a number of flows, or 0")?;
        let fine = self.rtt > self.target && self.rtt <= Duration::from_secs(1000);
        ParamError::unless(fine, "rtt", &self.rtt, "a time above the target, up to 1000 s")?;
        ParamError::unless(self.gain_margin > 1.0 && self.gain_margin <= 1e3, "gain_margin", &self.gain_margin, "a number above 1")?;
        let degrees = self.phase_margin;
        ParamError::unless(degrees > 0.0 && degrees < 90.0, "phase_margin", &degrees, "degrees above 0 and below 90")?;
        ParamError::unless(self.filter <= Duration::from_secs(1000), "filter", &self.filter, "a time up to 1000 s")?;
        let rate = link.rate.packets_per_sec(f64::from(link.mean_packet_or("packet", self.packet)?));
        let rtt = self.rtt.as_secs_f64();
        let flows = if self.flows > 0.0 { self.flows } else { light_load(rate * (rtt - self.target.as_secs_f64())) };
        let plant = Plant { rate, flows, rtt: design.as_secs_f64() };
        let gains = match self.gains {
            Some(gains) => self.own(gains)?,
            None => Gains::design(&plant, self.gain_margin, degrees * PI / 180.0),
        };
        let interval = self.interval.as_secs_f64();
        Ok(PidLaw {
            gains,
            target: rate * self.target.as_secs_f64(),
            interval: self.interval,
            seconds: interval,
            smoothing: if self.filter == Duration::ZERO { 1.0 } else { 1.0 - libm::exp(-interval / self.filter.as_secs_f64()) },
            previous: None,
            integral: 0.0,
            derivative: 0.0,
        })
    }
}

/// The number of flows that lose one packet in a thousand at a drop-tail queue.
/// The queue holds one bandwidth-delay product (rfc7928#8.2: loss is 0.76 N^2/S^2 with S the packets on the path and in the queue; 0.036 as
/// printed there).
fn light_load(bdp: f64) -> f64 {
    libm::round(0.036 * 2.0 * bdp).max(1.0)
}

/// The controller and its state.
#[derive(Clone, Debug)]
pub struct PidLaw {
    gains: Gains,
    /// The target queue in packets.
    target: f64,
    interval: Duration,
    seconds: f64,
    /// Weight of the newest derivative in the filtered one.
    smoothing: f64,
    previous: Option<f64>,
    integral: f64,
    derivative: f64,
}

impl PidLaw {
    /// The gains, for analysis.
    pub fn gains(&self) -> Gains {
        self.gains
    }

    /// The probability at this queue in packets, one interval after the last call.
    pub(super) fn control(&mut self, queue: f64) -> f64 {
        let error = queue - self.target;
        let slope = (error - self.previous.unwrap_or(error)) / self.seconds;
        self.previous = Some(error);
        self.integral = (self.integral + self.gains.integral * self.seconds * error).clamp(0.0, 1.0);
        self.derivative += self.smoothing * (self.gains.derivative * slope - self.derivative);
        (self.integral + self.gains.proportional * error + self.derivative).clamp(0.0, 1.0)
    }
}

impl Law for PidLaw {
    fn interval(&self) -> Duration {
        self.interval
    }

    fn step(&mut self, sample: &Sample) -> Probability {
        Probability::clamped(self.control(sample.backlog_packets))
    }

    fn rest(&mut self, sample: &Sample, probability: f64) {
        self.previous = Some(sample.backlog_packets - self.target);
        (self.integral, self.derivative) = (probability.clamp(0.0, 1.0), 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::test_link;

    fn link() -> Link {
        Link { mean_packet: 576, ..test_link() }
    }

    const OWN: Gains = Gains { proportional: 1e-3, integral: 2e-3, derivative: 3e-4 };

    #[test]
    fn given_gains_are_those_of_the_law() {
        assert_eq!(Params { gains: Some(OWN), ..Params::default() }.law(&link()).unwrap().gains(), OWN);
    }

    fn close(a: f64, b: f64, relative: f64) {
        assert!((a - b).abs() <= relative * b.abs(), "{a} is not {b}");
    }

    #[test]
    fn the_design_for_25_flows_is_the_worked_example() {
        let law = Params::default().law(&link()).unwrap();
        let same = Params { flows: 25.0, ..Params::default() }.law(&link()).unwrap();
        assert_eq!(law.gains(), same.gains(), "25 flows are a light load on 10 Mbit/s and 160 ms");
        // K = 20080, t1 = 1.254 s, wp = 9.24 rad/s: Kp = 1.924e-4, Ti = 1.254 s, Td = 0.17 s.
        let (kp, ti, td) = (1.924e-4, 1.254, 0.17);
        close(law.gains().proportional, kp * (1.0 + td / ti), 1e-3);
        close(law.gains().integral, kp / ti, 1e-3);
        close(law.gains().derivative, kp * td, 1e-3);
    }

    #[test]
    fn the_loop_has_about_the_margins_it_was_designed_for() {
        let plant = Plant { rate: 2170.1, flows: 25.0, rtt: 0.17 };
        let g = Gains::design(&plant, 3.0, PI / 3.0);
        let k = libm::pow(plant.rtt * plant.rate, 3.0) / (4.0 * plant.flows * plant.flows);
        let (t1, t2) = (plant.rtt * plant.rtt * plant.rate / (2.0 * plant.flows), plant.rtt);
        // Size and phase of the open loop, and where each passes 1 and -pi.
        let size = |w: f64| {
            let c = libm::hypot(g.proportional, g.derivative * w - g.integral / w);
            k * c / (libm::hypot(1.0, w * t1) * libm::hypot(1.0, w * t2))
        };
        let phase = |w: f64| {
            let c = libm::atan2(g.derivative * w - g.integral / w, g.proportional);
            c - w * plant.rtt - libm::atan(w * t1) - libm::atan(w * t2)
        };
        let cross = |f: &dyn Fn(f64) -> f64| {
            let (mut low, mut high) = (0.1, 100.0);
            for _ in 0..80 {
                let mid = 0.5 * (low + high);
                if f(mid) > 0.0 { low = mid } else { high = mid }
            }
            low
        };
        let gain_crossover = cross(&|w| size(w) - 1.0);
        let phase_crossover = cross(&|w| phase(w) + PI);
        // The method approximates arctan: within 5 % here.
        close(1.0 / size(phase_crossover), 3.0, 0.05);
        close(PI + phase(gain_crossover), PI / 3.0, 0.05);
    }

    #[test]
    fn a_constant_error_adds_up_and_an_empty_queue_removes_it() {
        let mut law = Params::default().law(&link()).unwrap();
        let p: alloc::vec::Vec<f64> = (0..1600).map(|_| law.control(31.701_389)).collect();
        let g = law.gains();
        // Ten packets for ten seconds, and ten in proportion.
        close(p[1599], 10.0 * g.proportional + 100.0 * g.integral, 1e-6);
        let back = (0..16_000).map(|_| law.control(0.0)).last();
        assert_eq!(back, Some(0.0));
    }

    #[test]
    fn the_filter_spreads_a_change_over_its_time() {
        let gains = Some(Gains { proportional: 0.0, integral: 0.0, derivative: 1e-3 });
        let params = Params { gains, filter: Duration::from_millis(50), interval: Duration::from_millis(10), ..Params::default() };
        let mut law = params.law(&link()).unwrap();
        let p: alloc::vec::Vec<f64> = [20.0, 30.0, 30.0, 30.0].map(|queue| law.control(queue)).into();
        // Ten packets in 10 ms are 1000 a second; a filter of first order keeps exp(-10 ms / 50 ms) of what it has each interval.
        let kept = libm::exp(-0.2);
        assert_eq!(p[0], 0.0);
        for (p, expected) in p[1..].iter().zip([1.0 - kept, (1.0 - kept) * kept, (1.0 - kept) * kept * kept]) {
            close(*p, expected, 1e-12);
        }
        let mut unfiltered = Params { filter: Duration::ZERO, ..params }.law(&link()).unwrap();
        assert_eq!([20.0, 25.0, 25.0].map(|queue| unfiltered.control(queue)), [0.0, 0.5, 0.0]);
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        let default = Params::default;
        for (params, field) in [
            (Params { target: Duration::ZERO, ..default() }, "target"),
            (Params { interval: Duration::ZERO, ..default() }, "interval"),
            (Params { flows: f64::NAN, ..default() }, "flows"),
            (Params { rtt: Duration::from_millis(10), ..default() }, "rtt"),
            (Params { gain_margin: 1.0, ..default() }, "gain_margin"),
            (Params { phase_margin: 90.0, ..default() }, "phase_margin"),
            (Params { filter: Duration::MAX, ..default() }, "filter"),
            (Params { packet: Bytes(u64::MAX), ..default() }, "packet"),
            (Params { gains: Some(Gains { integral: -1.0, ..OWN }), ..default() }, "gains.integral"),
            (Params { gains: Some(OWN), flows: 20.0, ..default() }, "gains"),
        ] {
            assert_eq!(params.build(&link()).unwrap_err().field, field);
        }
    }
}
