//! PI: a proportional-integral controller of the queue, as in ns-2.35.
//! Source: hollot-2001 (Hollot, Misra, Towsley and Gong, INFOCOM).
//!
//! Once per interval p += a (q - target) - b (q_old - target), limited to 0..=1. Every arrival is dropped or marked with probability p,
//! independently of the others. The only difference to ns-2: a packet that finds the queue full makes its random draw too.

use crate::law::Meter;
use crate::{Law, Link, ParamError, Sample, Sampled, Scaled};
use sojourn_units::{Bytes, Duration, Probability, Time, range};

/// The parameters of PI.
/// The defaults are those of ns-2.35: the design of the paper for 15 Mbit/s, 60 flows and a round-trip time of 246 ms, with a target of 50
/// packets.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// Gain on the present error in probability per packet.
    /// Range: at least `b`; default 1.822e-5 (hollot-2001#4, ns-2 `a_`).
    #[cfg_attr(feature = "serde", serde(alias = "a_"))]
    pub a: f64,
    /// Gain on the previous error in probability per packet.
    /// Range: 0 or more; default 1.816e-5 (hollot-2001#4, ns-2 `b_`).
    #[cfg_attr(feature = "serde", serde(alias = "b_"))]
    pub b: f64,
    /// Computes `a` and `b` from the expected traffic; default absent.
    /// Not together with `a` or `b`.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub design: Option<Design>,
    /// Target queue in packets, 0 or more, default 50 (ns-2 `qref_`).
    #[cfg_attr(feature = "serde", serde(alias = "qref_", alias = "qref"))]
    pub target: f64,
    /// Time between two updates, at least 1 us, default 1/170 s (ns-2 1/`w_`).
    pub interval: Duration,
    /// Whether the probability scales with the packet's size over `mean_packet`.
    /// Default false (ns-2 `bytes_`).
    #[cfg_attr(feature = "serde", serde(alias = "bytes_"))]
    pub bytes: bool,
    /// Whether the queue is measured in bytes over `mean_packet`.
    /// Default false (ns-2 `queue_in_bytes_`).
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
            design: None,
            target: 50.0,
            interval: Duration::from_nanos(1_000_000_000 / 170),
            bytes: false,
            queue_in_bytes: false,
            mean_packet: Bytes(0),
        }
    }
}

/// The traffic that a controller is designed for (hollot-2001#4).
/// These are the fewest flows and the longest round-trip time.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Design {
    /// Number of flows, above 0.
    pub flows: f64,
    /// Round-trip time with the queue, above 0.
    pub rtt: Duration,
    /// Crossover frequency times `rtt`.
    /// Range: above 0 and below 0.86 (there the phase margin is 0); default 0.5.
    #[cfg_attr(feature = "serde", serde(default = "Design::default_beta"))]
    pub beta: f64,
}

/// The continuous controller gain (s/zero + 1)/s.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Continuous {
    /// In probability per packet and second.
    pub gain: f64,
    /// In rad/s.
    pub zero: f64,
}

/// The gains of the sampled controller, in probability per packet.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Gains {
    /// On the present error.
    pub a: f64,
    /// On the previous error.
    pub b: f64,
}

impl Design {
    /// The value at which the phase margin is 35 degrees.
    pub fn default_beta() -> f64 {
        0.5
    }

    /// The continuous controller, whose zero cancels the pole of TCP's window.
    /// The link sends `capacity` packets a second (hollot-2001#eq11, hollot-2001#eq12).
    pub fn continuous(&self, capacity: f64) -> Continuous {
        let rtt = self.rtt.as_secs_f64();
        let zero = 2.0 * self.flows / (rtt * rtt * capacity);
        let bandwidth_delay = rtt * capacity;
        let plant = 4.0 * self.flows * self.flows / (bandwidth_delay * bandwidth_delay * bandwidth_delay);
        Continuous { gain: self.beta / rtt * libm::hypot(1.0, self.beta) * plant, zero }
    }

    /// The gains of the controller sampled every `interval` (the bilinear transform).
    pub fn gains(&self, capacity: f64, interval: Duration) -> Gains {
        let (Continuous { gain, zero }, half) = (self.continuous(capacity), interval.as_secs_f64() / 2.0);
        Gains { a: gain * (1.0 / zero + half), b: gain * (1.0 / zero - half) }
    }

    fn check(&self) -> Result<(), ParamError> {
        ParamError::unless(self.flows > 0.0 && self.flows < 1e9, "design.flows", &self.flows, "a number of flows above 0")?;
        range::interval("design.rtt", self.rtt)?;
        ParamError::unless(self.beta > 0.0 && self.beta < 0.86, "design.beta", &self.beta, "a number above 0 and below 0.86")
    }
}

/// PI on one link.
pub type Pi = Sampled<PiLaw, Scaled>;

impl Params {
    /// `a` and `b` on a link that sends `capacity` mean packets a second.
    ///
    /// # Errors
    /// A parameter of the design is out of range, or `a` or `b` is given together with a design.
    pub fn gains(&self, capacity: f64) -> Result<Gains, ParamError> {
        let Some(design) = &self.design else { return Ok(Gains { a: self.a, b: self.b }) };
        let defaults = Params::default();
        let own = self.a != defaults.a || self.b != defaults.b;
        ParamError::unless(!own, "design", &"a design together with a or b", "either a design, or a and b")?;
        design.check()?;
        Ok(design.gains(capacity, self.interval))
    }

    /// PI with these parameters on this link.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn build(&self, link: &Link) -> Result<Pi, ParamError> {
        ParamError::unless((0.0..1e9).contains(&self.target), "target", &self.target, "a number of packets, 0 or more")?;
        range::interval("interval", self.interval)?;
        let mean_packet = link.mean_packet_or("mean_packet", self.mean_packet)?;
        let Gains { a, b } = self.gains(link.rate.packets_per_sec(f64::from(mean_packet)))?;
        let gain = |v: f64| (0.0..1e3).contains(&v);
        ParamError::unless(gain(a), "a", &a, "0 to 1000")?;
        ParamError::unless(gain(b), "b", &b, "0 to 1000: the interval is too long for the design, or b is out of range")?;
        ParamError::unless(a >= b, "a", &a, "no less than b, or the controller runs away from its target")?;
        let params = Params { a, b, ..self.clone() };
        let meter = Meter::new(self.queue_in_bytes.then_some(mean_packet));
        let law = PiLaw { params, meter, probability: 0.0, previous: 0.0 };
        Ok(Sampled::new(law, Scaled::new(self.bytes.then_some(mean_packet))))
    }
}

/// The controller and its state.
#[derive(Clone, Debug)]
pub struct PiLaw {
    params: Params,
    meter: Meter,
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
        let queue = self.meter.backlog(sample);
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
    fn the_probability_is_that_of_the_led_paper() {
        // The defaults with a target of 200 packets.
        for queue_in_bytes in [false, true] {
            let mut pi = Params { target: 200.0, queue_in_bytes, ..Params::default() }.build(&test_link()).unwrap();
            let expected = [0.0, 0.005454, 0.00546, 0.004555, 0.003647, 0.001825];
            for (packets, p) in [0u32, 300, 300, 250, 200, 100].into_iter().zip(expected) {
                pi.on_update(Time::ZERO, &Backlog { packets, bytes: 1000 * u64::from(packets), idle_since: None });
                assert!((pi.probability().unwrap().get() - p).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn only_the_target_leaves_the_probability_where_it_is() {
        let mut pi = Params::default().build(&test_link()).unwrap();
        let mut step = |packets| {
            pi.on_update(Time::ZERO, &Backlog { packets, bytes: 0, idle_since: None });
            pi.probability().unwrap().get()
        };
        (0..1000).map(|_| step(100)).for_each(|p| assert!(p <= 1.0));
        step(50);
        let settled = step(50);
        assert!(settled > 0.0 && (step(50) - settled).abs() < 1e-15);
        assert!(step(51) > settled);
    }

    #[test]
    fn a_long_overload_is_not_remembered_beyond_a_probability_of_1() {
        let mut pi = Params { target: 200.0, a: 0.002, b: 0.001, ..Params::default() }.build(&test_link()).unwrap();
        let mut step = |packets| {
            pi.on_update(Time::ZERO, &Backlog { packets, bytes: 0, idle_since: None });
            pi.probability().unwrap().get()
        };
        assert_eq!((0..1000).map(|_| step(300)).last(), Some(1.0));
        // 1 + a (100 - target) - b (300 - target)
        assert!((step(100) - 0.7).abs() < 1e-12);
    }

    #[test]
    fn the_design_rule_gives_the_published_gains() {
        // hollot-2001#5: 60 flows, 3750 packets a second, 246 ms, crossover 0.5207 rad/s, sampled at 160 Hz.
        let rtt = Duration::from_millis(246);
        let design = Design { flows: 60.0, rtt, beta: 0.5207 * 0.246 };
        let Continuous { gain, zero } = design.continuous(3750.0);
        assert!((gain - 9.63e-6).abs() < 1e-8 && (zero - 0.5288).abs() < 1e-4);
        let Gains { a, b } = design.gains(3750.0, Duration::from_micros(6250));
        assert!((a - 1.824e-5).abs() < 5e-9 && (b - 1.818e-5).abs() < 5e-9, "{a} {b}");
        // Three designs for 50 ms with a margin of 34.8 degrees.
        for (flows, capacity, ms, a, b) in
            [(10.0, 187.5, 60, 0.1538, 0.0229), (30.0, 625.0, 60, 0.0398, 0.0080), (30.0, 187.5, 200, 0.0286, 0.0191)]
        {
            let design = Design { flows, rtt: Duration::from_millis(ms), beta: 0.5 };
            let gains = design.gains(capacity, Duration::from_millis(50));
            assert!((gains.a - a).abs() < 6e-5 && (gains.b - b).abs() < 6e-5, "{gains:?}");
        }
    }

    #[test]
    fn a_design_sets_the_gains_of_the_law_and_is_refused_together_with_a_or_b() {
        let design = Some(Design { flows: 30.0, rtt: Duration::from_millis(60), beta: 0.5 });
        let mut pi = Params { design: design.clone(), target: 10.0, interval: Duration::from_millis(50), ..Params::default() };
        // 10 Mbit/s in packets of 1000 bytes: 1250 a second.
        let a = design.as_ref().unwrap().gains(1250.0, pi.interval).a;
        let mut built = pi.build(&test_link()).unwrap();
        built.on_update(Time::ZERO, &Backlog { packets: 10, bytes: 0, idle_since: None });
        let before = built.probability().unwrap().get();
        built.on_update(Time::ZERO, &Backlog { packets: 11, bytes: 0, idle_since: None });
        assert!((built.probability().unwrap().get() - before - a).abs() < 1e-12);
        pi.a = 0.5;
        assert_eq!(pi.build(&test_link()).unwrap_err().field, "design");
    }

    #[test]
    fn a_design_has_a_positive_number_of_flows_a_round_trip_time_and_a_phase_margin() {
        let design = Design { flows: 30.0, rtt: Duration::from_millis(60), beta: 0.5 };
        let refused = |design: Design| design.check().err().map(|error| error.field);
        assert_eq!(refused(design.clone()), None);
        for flows in [0.0, -1.0, 1e9, f64::NAN] {
            assert_eq!(refused(Design { flows, ..design.clone() }), Some("design.flows".into()), "{flows}");
        }
        for beta in [0.0, 0.86] {
            assert_eq!(refused(Design { beta, ..design.clone() }), Some("design.beta".into()), "{beta}");
        }
        assert_eq!(refused(Design { rtt: Duration::ZERO, ..design }), Some("design.rtt".into()));
    }

    #[test]
    fn gains_that_move_away_from_the_target_are_refused() {
        let error = Params { a: 0.1, b: 0.2, ..Params::default() }.build(&test_link()).unwrap_err();
        assert_eq!(error.field, "a");
        assert_eq!(Params { interval: Duration::ZERO, ..Params::default() }.build(&test_link()).unwrap_err().field, "interval");
    }
}
