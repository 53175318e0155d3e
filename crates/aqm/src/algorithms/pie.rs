//! PIE: proportional-integral controller enhanced (Pan et al. 2013; rfc8033).
//! Its probability follows the queuing delay. A timer computes it from the backlog and the rate at which packets leave the queue. Linux's
//! PIE takes the delay from time stamps ([`linux`]).

pub(super) mod linux;

use self::linux::{Constants, LinuxPie};
use crate::{AnyLaw, Aqm, ArrivalVerdict, Backlog, DepartureVerdict, Dropped, Law, Link, Needs, PacketView, ParamError, Sample};
use alloc::boxed::Box;
use sojourn_units::{Bytes, Duration, Probability, Stream, Time, range};

/// The variant of PIE: the RFC, the code of 2013, or Linux.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Rule {
    /// rfc8033: 15 ms, every 15 ms, gains scaled down to 1/2048.
    #[default]
    #[cfg_attr(feature = "serde", serde(rename = "rfc8033"))]
    Rfc8033,
    /// The code of 2013 for ns-2: target 20 ms, updates every 30 ms.
    /// Gains are scaled down to 1/32, and up for large probabilities.
    #[cfg_attr(feature = "serde", serde(rename = "2013"))]
    Pan2013,
    /// As in Linux: rfc8033 with the delay of the last packet that left.
    /// Drops are spread out. `dq_threshold` has no effect.
    #[cfg_attr(feature = "serde", serde(rename = "linux"))]
    Linux,
}

/// The defaults that depend on the rule.
pub(super) struct Times {
    pub target: Duration,
    pub tupdate: Duration,
    pub burst: Duration,
}

impl Rule {
    pub(super) fn times(self) -> Times {
        let [target, tupdate, burst] = match self {
            Rule::Rfc8033 | Rule::Linux => [15, 15, 150],
            Rule::Pan2013 => [20, 30, 100],
        }
        .map(Duration::from_millis);
        Times { target, tupdate, burst }
    }
}

/// The parameters of PIE. The rule sets the defaults.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// The variant, default `"rfc8033"`.
    pub rule: Rule,
    /// Target queuing delay.
    /// Range: above 0 and up to 1000 s; default 15 ms (rfc8033#4.2), 20 ms with the rule of 2013.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub target: Option<Duration>,
    /// Time between two updates.
    /// Range: at least 1 us; default 15 ms (rfc8033#4.2), 30 ms with the rule of 2013.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none", alias = "interval"))]
    pub tupdate: Option<Duration>,
    /// Gain on the delay's error in Hz, 0 to 1000000, default 0.125 (rfc8033#4.2).
    pub alpha: f64,
    /// Gain on the delay's change in Hz, 0 to 1000000, default 1.25 (rfc8033#4.2).
    pub beta: f64,
    /// Time for which a burst into an empty queue passes without drops.
    /// Range: up to 1000 s; default 150 ms (rfc8033#4.2), 100 ms with the rule of 2013.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub burst: Option<Duration>,
    /// Bytes over which the departure rate is measured.
    /// Range: 1 B to 1 GB; default 16384 B (rfc8033#5.2), 10000 B with the rule of 2013.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none", alias = "rate_over"))]
    pub dq_threshold: Option<Bytes>,
    /// Whether the probability scales with the packet's size over `mean_packet`.
    /// Default false, true with the rule of 2013.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none", alias = "by_size"))]
    pub bytemode: Option<bool>,
    /// Size of a packet that gets the computed probability.
    /// `"0 B"` (the default) is the link's mean packet.
    pub mean_packet: Bytes,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            rule: Rule::Rfc8033,
            target: None,
            tupdate: None,
            alpha: 0.125,
            beta: 1.25,
            burst: None,
            dq_threshold: None,
            bytemode: None,
            mean_packet: Bytes(0),
        }
    }
}

impl Params {
    /// The checked constants that all variants of PIE share.
    pub(super) fn constants(&self, link: &Link) -> Result<Constants, ParamError> {
        let Params { alpha, beta, .. } = *self;
        let default = self.rule.times();
        let (target, tupdate) = (self.target.unwrap_or(default.target), self.tupdate.unwrap_or(default.tupdate));
        let burst = self.burst.unwrap_or(default.burst);
        range::target("target", target)?;
        range::interval("tupdate", tupdate)?;
        ParamError::unless(burst <= Duration::from_secs(1000), "burst", &burst, "a time up to 1000 s")?;
        range::gain("alpha", alpha)?;
        range::gain("beta", beta)?;
        let bytemode = self.bytemode.unwrap_or(self.rule == Rule::Pan2013);
        let mtu = link.mean_packet_or("mean_packet", self.mean_packet)?;
        Ok(Constants { target, tupdate, alpha, beta, burst, bytemode, mtu })
    }

    /// PIE with these parameters on this link.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn build(&self, link: &Link) -> Result<Pie, ParamError> {
        let constants = self.constants(link)?;
        let old = self.rule == Rule::Pan2013;
        let dq_threshold = self.dq_threshold.map_or(if old { 10_000 } else { 16_384 }, |bytes| bytes.0);
        ParamError::unless((1..=1_000_000_000).contains(&dq_threshold), "dq_threshold", &dq_threshold, "1 B to 1 GB")?;
        if self.rule == Rule::Linux {
            return Ok(Pie::Linux(LinuxPie::new(constants)));
        }
        let Constants { target, tupdate, alpha, beta, burst, bytemode, mtu } = constants;
        Ok(Pie::Estimated(EstimatedPie {
            old,
            target: target.as_secs_f64(),
            tupdate,
            alpha,
            beta,
            burst: burst.as_secs_f64(),
            dq_threshold,
            bytemode,
            mean_packet: mtu,
            probability: 0.0,
            delay: 0.0,
            previous_delay: 0.0,
            burst_allowance: if old { burst.as_secs_f64() } else { 0.0 },
            rate: 0.0,
            measurement: None,
        }))
    }
}

/// A measurement of the departure rate in progress (rfc8033#5.2).
#[derive(Clone, Copy, Debug)]
struct Measurement {
    start: Time,
    /// Bytes that left since the start.
    bytes: u64,
}

/// The algorithm.
#[derive(Clone, Debug)]
pub enum Pie {
    /// With a departure rate that is estimated.
    Estimated(EstimatedPie),
    /// With time stamps, as in Linux.
    Linux(LinuxPie),
}

impl Pie {
    fn aqm(&self) -> &dyn Aqm {
        match self {
            Pie::Estimated(pie) => pie,
            Pie::Linux(pie) => pie,
        }
    }

    fn aqm_mut(&mut self) -> &mut dyn Aqm {
        match self {
            Pie::Estimated(pie) => pie,
            Pie::Linux(pie) => pie,
        }
    }
}

impl Pie {
    /// Its law, for models that feed it with numbers instead of packets.
    pub(super) fn law(&self) -> Box<dyn AnyLaw> {
        match self {
            Pie::Estimated(pie) => pie.boxed_clone(),
            Pie::Linux(pie) => pie.boxed_clone(),
        }
    }
}

impl Aqm for Pie {
    fn on_enqueue(&mut self, arrival: &PacketView, backlog: &Backlog, random: &mut Stream) -> ArrivalVerdict {
        self.aqm_mut().on_enqueue(arrival, backlog, random)
    }

    fn on_dequeue(&mut self, departure: &PacketView, sojourn: Duration, backlog: &Backlog, random: &mut Stream) -> DepartureVerdict {
        self.aqm_mut().on_dequeue(departure, sojourn, backlog, random)
    }

    fn on_drop(&mut self, dropped: Dropped) {
        self.aqm_mut().on_drop(dropped);
    }

    fn update_interval(&self) -> Option<Duration> {
        self.aqm().update_interval()
    }

    fn on_update(&mut self, now: Time, backlog: &Backlog) {
        self.aqm_mut().on_update(now, backlog);
    }

    fn needs(&self) -> Needs {
        self.aqm().needs()
    }

    fn probability(&self) -> Option<Probability> {
        self.aqm().probability()
    }
}

/// PIE with an estimated departure rate.
/// Times are in seconds, rates in bytes a second.
#[derive(Clone, Debug)]
pub struct EstimatedPie {
    old: bool,
    target: f64,
    tupdate: Duration,
    alpha: f64,
    beta: f64,
    burst: f64,
    dq_threshold: u64,
    bytemode: bool,
    mean_packet: u32,
    probability: f64,
    /// The queuing delay at the last update.
    delay: f64,
    /// The queuing delay at the update before.
    previous_delay: f64,
    /// The remaining time for which a burst passes.
    burst_allowance: f64,
    /// The departure rate; 0 while it is unknown.
    rate: f64,
    measurement: Option<Measurement>,
}

impl EstimatedPie {
    /// The factor on the gains for the present probability.
    /// Source: rfc8033#4.2, section 5.3 of the code of 2013.
    fn scale(&self) -> f64 {
        if !self.old {
            return Constants::scale(self.probability);
        }
        let steps = [(1e-3, 32.0), (1e-2, 8.0), (0.1, 2.0), (1.0, 0.5), (10.0, 0.125)];
        steps.iter().find(|(below, _)| self.probability < *below).map_or(1.0, |(_, divisor)| 1.0 / divisor)
    }

    /// Whether congestion is over: low delays (below half the target) and a probability of 0.
    fn idle(&self) -> bool {
        self.delay < self.target / 2.0 && self.previous_delay < self.target / 2.0 && self.probability == 0.0
    }

    /// Whether all packets pass at this backlog.
    /// They do in a burst, or if the queue is short (rfc8033#4.1, rfc8033#4.4).
    fn bypass(&self, backlog_bytes: f64) -> bool {
        let safe = (self.previous_delay < self.target / 2.0 && self.probability < 0.2) || backlog_bytes <= f64::from(2 * self.mean_packet);
        self.burst_allowance > 0.0 || safe
    }

    /// Sets the departure rate from a fluid interval in which the queue was never empty.
    fn update_rate(&mut self, sample: &Sample) {
        if sample.backlog_bytes > 0.0 && sample.departed_bytes > 0.0 {
            self.rate = sample.departed_bytes / self.tupdate.as_secs_f64();
        }
    }

    /// The queuing delay at this backlog.
    fn delay_of(&self, backlog_bytes: f64) -> f64 {
        if self.rate > 0.0 { backlog_bytes / self.rate } else { 0.0 }
    }

    /// One update at this backlog (rfc8033#4.2).
    fn update_prob(&mut self, backlog_bytes: f64) {
        let (delay, previous) = (self.delay_of(backlog_bytes), self.delay);
        (self.delay, self.previous_delay) = (delay, previous);
        let mut step = (self.alpha * (delay - self.target) + self.beta * (delay - previous)) * self.scale();
        if self.probability >= 0.1 {
            // rfc8033#5.5.
            step = step.min(0.02);
        }
        if self.old && delay > 0.2 {
            // The code of 2013: a delay above 200 ms raises the probability at once.
            step += 0.02;
        }
        self.probability = (self.probability + step).clamp(0.0, 1.0);
        if delay == 0.0 && previous == 0.0 {
            self.probability *= 0.98;
        }
        self.burst_allowance = (self.burst_allowance - self.tupdate.as_secs_f64()).max(0.0);
        if self.idle() && self.rate > 0.0 {
            self.burst_allowance = self.burst;
        }
    }
}

impl Law for EstimatedPie {
    fn interval(&self) -> Duration {
        self.tupdate
    }

    fn step(&mut self, sample: &Sample) -> Probability {
        self.update_rate(sample);
        self.update_prob(sample.backlog_bytes);
        if self.bypass(sample.backlog_bytes) { Probability::ZERO } else { Probability::clamped(self.probability) }
    }

    fn needs(&self) -> Needs {
        Aqm::needs(self)
    }

    fn rest(&mut self, sample: &Sample, probability: f64) {
        self.update_rate(sample);
        let delay = self.delay_of(sample.backlog_bytes);
        (self.delay, self.previous_delay) = (delay, delay);
        (self.probability, self.burst_allowance) = (probability, 0.0);
    }
}

impl Aqm for EstimatedPie {
    fn on_enqueue(&mut self, arrival: &PacketView, backlog: &Backlog, random: &mut Stream) -> ArrivalVerdict {
        if self.bypass(backlog.bytes as f64) {
            return ArrivalVerdict::Pass;
        }
        let scale = if self.bytemode { f64::from(arrival.size) / f64::from(self.mean_packet) } else { 1.0 };
        if random.unit() >= self.probability * scale {
            ArrivalVerdict::Pass
        } else if self.probability > 0.1 && !self.old {
            // rfc8033#5.1: above 0.1 packets are dropped instead of marked.
            ArrivalVerdict::Drop
        } else {
            ArrivalVerdict::Signal
        }
    }

    fn on_dequeue(&mut self, departure: &PacketView, _sojourn: Duration, backlog: &Backlog, _: &mut Stream) -> DepartureVerdict {
        if let Some(Measurement { start, bytes }) = self.measurement {
            let bytes = bytes + u64::from(departure.size);
            let elapsed = departure.now.since(start).as_secs_f64();
            self.measurement = Some(Measurement { start, bytes });
            if bytes >= self.dq_threshold && elapsed > 0.0 {
                let rate = bytes as f64 / elapsed;
                self.rate = if self.rate == 0.0 { rate } else { 0.5 * self.rate + 0.5 * rate };
                self.measurement = None;
            }
        }
        if self.measurement.is_none() && backlog.bytes >= self.dq_threshold {
            self.measurement = Some(Measurement { start: departure.now, bytes: 0 });
        }
        DepartureVerdict::Pass
    }

    fn update_interval(&self) -> Option<Duration> {
        Some(self.tupdate)
    }

    fn on_update(&mut self, _now: Time, backlog: &Backlog) {
        self.update_prob(backlog.bytes as f64);
    }

    fn needs(&self) -> Needs {
        Needs { departures: true, ..Needs::default() }
    }

    fn probability(&self) -> Option<Probability> {
        Some(Probability::clamped(self.probability))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::{test_link, test_packet};

    #[cfg(feature = "serde")]
    #[test]
    fn former_names_of_parameters_are_understood() {
        let alias = serde_json::json!({ "interval": "10 ms", "rate_over": "5000 B", "by_size": true });
        let params: Params = serde_json::from_value(alias).unwrap();
        let expected =
            Params { tupdate: Some(Duration::from_millis(10)), dq_threshold: Some(Bytes(5000)), bytemode: Some(true), ..Params::default() };
        assert_eq!(params, expected);
    }

    fn backlog(bytes: u64) -> Backlog {
        Backlog { packets: (bytes / 1000) as u32, bytes, idle_since: None }
    }

    fn packet(now: u64) -> PacketView {
        PacketView { now: Time::from_nanos(now), ..test_packet() }
    }

    /// After 30 departures at 10 Mbit/s, so that the rate is known.
    fn measured(rule: Rule) -> EstimatedPie {
        let built = Params { rule, ..Params::default() }.build(&test_link()).unwrap();
        let Pie::Estimated(mut pie) = built else { panic!("expected an estimate of the rate, got {built:?}") };
        let mut random = Stream::named(1, "pie");
        (0..30u64).for_each(|i| {
            pie.on_dequeue(&packet(i * 800_000), Duration::ZERO, &backlog(50_000), &mut random);
        });
        pie
    }

    #[test]
    fn the_departure_rate_is_the_rate_of_the_link() {
        for rule in [Rule::Rfc8033, Rule::Pan2013] {
            assert!((measured(rule).rate - 1_250_000.0).abs() < 1.0);
        }
    }

    #[test]
    fn one_update_moves_the_probability_by_what_the_rfc_says() {
        let mut pie = measured(Rule::Rfc8033);
        pie.probability = 0.05;
        pie.on_update(Time::ZERO, &backlog(31_250)); // 25 ms
        // (0.125 (0.025 - 0.015) + 1.25 (0.025 - 0)) / 2
        assert!((pie.probability - 0.05 - 0.01625).abs() < 1e-12, "{}", pie.probability);
        pie.probability = 0.5;
        pie.on_update(Time::ZERO, &backlog(1_250_000));
        assert!((pie.probability - 0.52).abs() < 1e-12);
    }

    #[test]
    fn gains_of_2013_grow_with_large_probabilities_and_eightfold_at_one() {
        for (probability, factor) in [(0.05, 0.5), (0.1, 2.0), (0.9, 2.0), (1.0, 8.0)] {
            let mut pie = measured(Rule::Pan2013);
            pie.probability = probability;
            (pie.delay, pie.previous_delay) = (0.016, 0.016);
            pie.on_update(Time::ZERO, &backlog(18_750)); // 15 ms
            // 0.125 (0.015 - 0.020) + 1.25 (0.015 - 0.016), times the factor.
            let moved = pie.probability - probability;
            assert!((moved + factor * 0.001875).abs() < 1e-9, "at {probability}: {moved}");
        }
    }

    #[test]
    fn after_an_empty_queue_the_probability_is_zero_and_a_burst_may_pass_again() {
        let mut pie = measured(Rule::Rfc8033);
        pie.probability = 1e-9;
        (0..400).for_each(|_| pie.on_update(Time::ZERO, &backlog(0)));
        assert_eq!(pie.probability, 0.0);
        assert!(pie.burst_allowance > 0.14);
        (0..20).for_each(|_| pie.on_update(Time::ZERO, &backlog(50_000)));
        assert_eq!(pie.burst_allowance, 0.0);
    }

    #[test]
    fn a_short_queue_and_a_burst_lose_nothing() {
        let mut pie = measured(Rule::Rfc8033);
        let mut random = Stream::named(1, "test");
        pie.probability = 1.0;
        (pie.delay, pie.previous_delay) = (1.0, 1.0);
        assert_eq!(pie.on_enqueue(&packet(0), &backlog(2000), &mut random), ArrivalVerdict::Pass);
        assert_eq!(pie.on_enqueue(&packet(0), &backlog(3000), &mut random), ArrivalVerdict::Drop);
        pie.burst_allowance = 0.1;
        assert_eq!(pie.on_enqueue(&packet(0), &backlog(3000), &mut random), ArrivalVerdict::Pass);
    }

    /// A sample of the rate covers DQ_THRESHOLD bytes (2^14), however uneven the gaps are.
    /// It begins only if as much waits (rfc8033#5.2).
    #[test]
    fn the_departure_rate_is_a_mean_over_the_threshold() {
        let after = |waiting: u64| {
            let mut pie = EstimatedPie { rate: 0.0, measurement: None, ..measured(Rule::Rfc8033) };
            let (mut now, mut random) = (0, Stream::named(1, "pie"));
            for i in 0..100 {
                now += if i % 2 == 0 { 400_000 } else { 1_200_000 };
                pie.on_dequeue(&packet(now), Duration::ZERO, &backlog(waiting), &mut random);
            }
            pie.rate
        };
        let found = after(16_384);
        assert!((found / 1_250_000.0 - 1.0).abs() < 0.05, "{found}");
        assert_eq!(after(16_383), 0.0);
    }

    /// rfc8033#5.4.
    #[test]
    fn in_byte_mode_small_packets_are_signaled_by_their_share_of_the_mean() {
        let mut pie = EstimatedPie { bytemode: true, ..measured(Rule::Rfc8033) };
        (pie.probability, pie.delay, pie.previous_delay) = (0.5, 1.0, 1.0);
        let mut random = Stream::named(1, "pie");
        for (size, share) in [(1000, 0.5), (100, 0.05)] {
            let sent = (0..20_000).map(|_| pie.on_enqueue(&PacketView { size, ..packet(0) }, &backlog(50_000), &mut random));
            let signals = sent.filter(|verdict| *verdict != ArrivalVerdict::Pass).count();
            assert!((signals as f64 / 20_000.0 - share).abs() < 0.015, "{size}: {signals}");
        }
    }
}
