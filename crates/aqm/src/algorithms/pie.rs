//! PIE: proportional-integral controller enhanced (Pan et al. 2013; RFC 8033). A probability that follows how long
//! packets wait, computed on a timer from the backlog and the rate at which the queue drains.

use crate::{Aqm, ArrivalVerdict, Backlog, DepartureVerdict, Law, Link, Needs, PacketView, ParamError, Sample};
use sojourn_units::{Bytes, Duration, Probability, Stream, Time};

/// Which rules where the drafts and the RFC differ.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Rule {
    /// RFC 8033: 15 ms, every 15 ms, gains scaled down to 1/2048.
    #[default]
    #[cfg_attr(feature = "serde", serde(rename = "rfc8033"))]
    Rfc8033,
    /// The code for ns-2 of 2013: 20 ms, every 30 ms, gains scaled down to 1/32 and up for large probabilities.
    #[cfg_attr(feature = "serde", serde(rename = "2013"))]
    Pan2013,
}

/// The parameters of PIE. What is absent takes its value from the rule.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// Which rules; default `"rfc8033"`.
    pub rule: Rule,
    /// How long packets are to wait; default 15 ms (rfc8033#4.2), 20 ms by the rule of 2013.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub target: Option<Duration>,
    /// Between updates; default 15 ms (rfc8033#4.2), 30 ms by the rule of 2013.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub interval: Option<Duration>,
    /// Probability per second of distance from the target, default 0.125 (rfc8033#4.2).
    pub alpha: f64,
    /// Probability per second that the delay grew, default 1.25 (rfc8033#4.2).
    pub beta: f64,
    /// A queue that was empty may burst this long; default 150 ms (rfc8033#4.2), 100 ms by the rule of 2013.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub burst: Option<Duration>,
    /// Bytes over which the drain rate is measured; default 16384 B (rfc8033#4.3), 10000 B by the rule of 2013.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub rate_over: Option<Bytes>,
    /// Whether large packets are dropped more often; default false (rfc8033#5.1), true by the rule of 2013.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub by_size: Option<bool>,
    /// The packet whose probability is the computed one; `"0 B"` (the default) is the link's mean packet.
    pub mean_packet: Bytes,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            rule: Rule::Rfc8033,
            target: None,
            interval: None,
            alpha: 0.125,
            beta: 1.25,
            burst: None,
            rate_over: None,
            by_size: None,
            mean_packet: Bytes(0),
        }
    }
}

impl Params {
    /// PIE with these parameters on this link.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn build(&self, link: &Link) -> Result<Pie, ParamError> {
        let old = self.rule == Rule::Pan2013;
        let pick = |given: Option<Duration>, new: u64, was: u64| given.unwrap_or(Duration::from_millis(if old { was } else { new }));
        let (target, interval) = (pick(self.target, 15, 20), pick(self.interval, 15, 30));
        let burst = pick(self.burst, 150, 100);
        let rate_over = self.rate_over.map_or(if old { 10_000 } else { 16_384 }, |bytes| bytes.0);
        for (field, time) in [("target", target), ("interval", interval)] {
            let fine = time > Duration::ZERO && time <= Duration::from_secs(1000);
            ParamError::unless(fine, field, &time, "a time above 0, up to 1000 s")?;
        }
        ParamError::unless(burst <= Duration::from_secs(1000), "burst", &burst, "a time up to 1000 s")?;
        for (field, gain) in [("alpha", self.alpha), ("beta", self.beta)] {
            ParamError::unless((0.0..=1e6).contains(&gain), field, &gain, "a number, 0 to 1000000")?;
        }
        ParamError::unless((1..=1_000_000_000).contains(&rate_over), "rate_over", &rate_over, "1 B to 1 GB")?;
        Ok(Pie {
            old,
            target: target.as_secs_f64(),
            interval,
            gains: (self.alpha, self.beta),
            burst: burst.as_secs_f64(),
            rate_over,
            by_size: self.by_size.unwrap_or(old),
            mean_packet: link.mean_packet_or("mean_packet", self.mean_packet)?,
            probability: 0.0,
            delay: (0.0, 0.0),
            allowance: if old { burst.as_secs_f64() } else { 0.0 },
            rate: 0.0,
            cycle: None,
        })
    }
}

/// The algorithm and its state; times in seconds, rates in bytes a second.
#[derive(Clone, Debug)]
pub struct Pie {
    old: bool,
    target: f64,
    interval: Duration,
    gains: (f64, f64),
    burst: f64,
    rate_over: u64,
    by_size: bool,
    mean_packet: u32,
    probability: f64,
    /// How long packets wait now, and at the update before.
    delay: (f64, f64),
    /// What remains of the burst that is let through.
    allowance: f64,
    rate: f64,
    /// A measurement of the rate: since when, and bytes gone.
    cycle: Option<(Time, u64)>,
}

impl Pie {
    /// The part of the gains that fits the probability (rfc8033#4.2, section 5.3 of the code of 2013).
    fn scale(&self) -> f64 {
        let new = [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (0.1, 2.0)];
        let old = [(1e-3, 32.0), (1e-2, 8.0), (0.1, 2.0), (1.0, 0.5)];
        let steps: &[(f64, f64)] = if self.old { &old } else { &new };
        steps.iter().find(|(below, _)| self.probability < *below).map_or(1.0, |(_, divisor)| 1.0 / divisor)
    }

    fn quiet(&self) -> bool {
        self.delay.0 < self.target / 2.0 && self.delay.1 < self.target / 2.0 && self.probability == 0.0
    }

    /// Whether all packets pass while so many bytes wait: a burst is let through, or the queue is too short to matter.
    fn lenient(&self, bytes: f64) -> bool {
        let safe = (self.delay.1 < self.target / 2.0 && self.probability < 0.2) || bytes <= f64::from(2 * self.mean_packet);
        self.allowance > 0.0 || safe
    }

    /// Takes the drain rate from an interval in which the queue was never empty.
    fn drain(&mut self, sample: &Sample) {
        if sample.backlog_bytes > 0.0 && sample.departed_bytes > 0.0 {
            self.rate = sample.departed_bytes / self.interval.as_secs_f64();
        }
    }

    /// One update while so many bytes wait (rfc8033#4.2).
    fn advance(&mut self, bytes: f64) {
        let now = if self.rate > 0.0 { bytes / self.rate } else { 0.0 };
        self.delay = (now, self.delay.0);
        let (now, before) = self.delay;
        let mut step = (self.gains.0 * (now - self.target) + self.gains.1 * (now - before)) * self.scale();
        if self.probability >= 0.1 {
            step = step.min(0.02);
        }
        if self.old && now > 0.2 {
            // The code of 2013: a delay beyond reason raises the probability at once.
            step += 0.02;
        }
        self.probability = (self.probability + step).clamp(0.0, 1.0);
        if now == 0.0 && before == 0.0 {
            self.probability *= 0.98;
        }
        self.allowance = (self.allowance - self.interval.as_secs_f64()).max(0.0);
        if self.quiet() && self.rate > 0.0 {
            self.allowance = self.burst;
        }
    }
}

impl Law for Pie {
    fn interval(&self) -> Duration {
        self.interval
    }

    fn step(&mut self, sample: &Sample) -> Probability {
        self.drain(sample);
        self.advance(sample.backlog_bytes);
        if self.lenient(sample.backlog_bytes) { Probability::ZERO } else { self.probability() }
    }

    fn needs(&self) -> Needs {
        Aqm::needs(self)
    }

    fn rest(&mut self, sample: &Sample, probability: f64) {
        self.drain(sample);
        let now = if self.rate > 0.0 { sample.backlog_bytes / self.rate } else { 0.0 };
        (self.delay, self.probability, self.allowance) = ((now, now), probability, 0.0);
    }
}

impl Aqm for Pie {
    fn on_enqueue(&mut self, arrival: &PacketView, backlog: &Backlog, random: &mut Stream) -> ArrivalVerdict {
        if self.lenient(backlog.bytes as f64) {
            return ArrivalVerdict::Pass;
        }
        let size = if self.by_size { f64::from(arrival.size) / f64::from(self.mean_packet) } else { 1.0 };
        if random.unit() >= self.probability * size {
            ArrivalVerdict::Pass
        } else if self.probability > 0.1 && !self.old {
            // rfc8033#5.1: above a tenth, marks no longer help.
            ArrivalVerdict::Drop
        } else {
            ArrivalVerdict::Signal
        }
    }

    fn on_dequeue(&mut self, departure: &PacketView, _sojourn: Duration, backlog: &Backlog, _: &mut Stream) -> DepartureVerdict {
        let size = u64::from(departure.size);
        if let Some((since, gone)) = self.cycle {
            let gone = gone + size;
            let took = departure.now.since(since).as_secs_f64();
            self.cycle = Some((since, gone));
            if gone >= self.rate_over && took > 0.0 {
                let rate = gone as f64 / took;
                self.rate = if self.rate == 0.0 { rate } else { 0.5 * self.rate + 0.5 * rate };
                self.cycle = None;
            }
        }
        if self.cycle.is_none() && backlog.bytes >= self.rate_over {
            self.cycle = Some((departure.now, 0));
        }
        DepartureVerdict::Pass
    }

    fn update_interval(&self) -> Option<Duration> {
        Some(self.interval)
    }

    fn on_update(&mut self, _now: Time, backlog: &Backlog) {
        self.advance(backlog.bytes as f64);
    }

    fn needs(&self) -> Needs {
        Needs { departures: true, ..Needs::default() }
    }

    fn probability(&self) -> Probability {
        Probability::clamped(self.probability)
    }

    fn law(&mut self) -> Option<&mut dyn Law> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backlog(bytes: u64) -> Backlog {
        Backlog { packets: (bytes / 1000) as u32, bytes, idle_since: None }
    }

    fn packet(now: u64) -> PacketView {
        PacketView { now: Time::from_nanos(now), size: 1000, flow: 0, rtt_hint_ms: 0, has_data: true }
    }

    /// Drains 20 packets at 10 Mbit/s so that the rate is known.
    fn measured(rule: Rule) -> Pie {
        let mut pie = Params { rule, ..Params::default() }.build(&crate::algorithms::test_link()).unwrap();
        let mut random = Stream::named(1, "pie");
        (0..30u64).for_each(|i| {
            pie.on_dequeue(&packet(i * 800_000), Duration::ZERO, &backlog(50_000), &mut random);
        });
        pie
    }

    #[test]
    fn the_drain_rate_is_what_the_link_drains() {
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
    fn an_empty_queue_forgets_and_may_burst_again() {
        let mut pie = measured(Rule::Rfc8033);
        pie.probability = 1e-9;
        (0..400).for_each(|_| pie.on_update(Time::ZERO, &backlog(0)));
        assert_eq!(pie.probability, 0.0);
        assert!(pie.allowance > 0.14);
        (0..20).for_each(|_| pie.on_update(Time::ZERO, &backlog(50_000)));
        assert_eq!(pie.allowance, 0.0);
    }

    #[test]
    fn a_short_queue_and_a_burst_lose_nothing() {
        let mut pie = measured(Rule::Rfc8033);
        let mut random = Stream::named(1, "test");
        pie.probability = 1.0;
        pie.delay = (1.0, 1.0);
        assert_eq!(pie.on_enqueue(&packet(0), &backlog(2000), &mut random), ArrivalVerdict::Pass);
        assert_eq!(pie.on_enqueue(&packet(0), &backlog(3000), &mut random), ArrivalVerdict::Drop);
        pie.allowance = 0.1;
        assert_eq!(pie.on_enqueue(&packet(0), &backlog(3000), &mut random), ArrivalVerdict::Pass);
    }
}
