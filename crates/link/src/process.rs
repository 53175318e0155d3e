//! Traces with the statistics of a measured link.
//!
//! A sum of Gaussian processes gives each window a normal score: Ornstein-Uhlenbeck processes of several time constants, a level that changes
//! at handovers, and white noise. The score's quantile is the rate (a Gaussian copula). A Markov chain of two states adds outages.

use crate::LinkTrace;
use crate::trace::{Builder, Row, Service};
use alloc::format;
use alloc::vec::Vec;
use sojourn_units::{Duration, Stream};

/// A random process of rates and delays, with a new value in each window.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Process {
    /// The length of a window, above zero.
    pub every: Duration,
    /// The rate in Mbit/s, without outages and handovers.
    pub rate: Quantity,
    /// The delay in ms on top of the link's, if it varies.
    pub delay: Option<Quantity>,
    /// Windows without service, if any.
    pub outages: Option<Outages>,
    /// A periodic change of the satellite, if any.
    pub handover: Option<Handover>,
}

/// A random quantity: its distribution, and the memory of its normal scores.
/// The rest of the variance, beyond `memory` and `slot_share`, is white.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Quantity {
    /// Levels, 0 to 1, and their values, both increasing.
    /// Between them values are interpolated linearly, in the logarithm if all are positive.
    pub quantiles: Vec<(f64, f64)>,
    /// Parts of the variance that decay with time.
    pub memory: Vec<Memory>,
    /// The share of the variance that is constant between two handovers, 0 to 1.
    pub slot_share: f64,
}

/// A share of the variance whose autocorrelation decays with a time constant.
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Memory {
    /// The share, 0 to 1.
    pub share: f64,
    /// The time constant in seconds.
    pub seconds: f64,
}

/// Periods without service.
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Outages {
    /// Their share of time, below 1.
    pub share: f64,
    /// Their mean length in seconds.
    pub seconds: f64,
}

/// A periodic change of the satellite.
/// All links with the same period change at the same times.
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Handover {
    /// The time between two changes, a multiple of the window.
    pub period_ms: u64,
    /// The time without service at each change.
    pub outage_ms: u64,
    /// The share of packets lost at a change, 0 to 1, default 0.
    /// They are lost from the change to the end of the window after its outage.
    #[cfg_attr(feature = "serde", serde(default))]
    pub loss: f64,
}

impl Quantity {
    /// The value at a level, 0 to 1.
    fn value(&self, level: f64) -> f64 {
        let at = self.quantiles.partition_point(|(known, _)| *known <= level).clamp(1, self.quantiles.len() - 1);
        let ((low, least), (high, most)) = (self.quantiles[at - 1], self.quantiles[at]);
        let part = ((level - low) / (high - low)).clamp(0.0, 1.0);
        match self.quantiles[0].1 > 0.0 {
            true => least * libm::pow(most / least, part),
            false => least + (most - least) * part,
        }
    }
}

/// A quantity while a trace is made.
struct Drawn<'a> {
    quantity: &'a Quantity,
    /// For each memory: what a window keeps, the state, and its stream.
    parts: Vec<(f64, f64, Stream)>,
    slot: (f64, Stream),
    white: (f64, Stream),
}

impl<'a> Drawn<'a> {
    fn new(quantity: &'a Quantity, every: Duration, stream: impl Fn(&str) -> Stream) -> Self {
        let part = |(number, memory): (usize, &Memory)| {
            let mut random = stream(&format!("memory/{number}"));
            (libm::exp(-every.as_secs_f64() / memory.seconds), random.normal(0.0, 1.0), random)
        };
        let parts = quantity.memory.iter().enumerate().map(part).collect();
        let rest = 1.0 - quantity.slot_share - quantity.memory.iter().map(|memory| memory.share).sum::<f64>();
        let mut slot = (0.0, stream("slot"));
        slot.0 = slot.1.normal(0.0, 1.0);
        Drawn { quantity, parts, slot, white: (libm::sqrt(rest.max(0.0)), stream("white")) }
    }

    /// The value of the next window; `changes`: it begins with another satellite.
    fn next(&mut self, changes: bool) -> f64 {
        if changes {
            self.slot.0 = self.slot.1.normal(0.0, 1.0);
        }
        let mut score = self.white.0 * self.white.1.normal(0.0, 1.0) + libm::sqrt(self.quantity.slot_share) * self.slot.0;
        for ((keep, state, random), memory) in self.parts.iter_mut().zip(&self.quantity.memory) {
            score += libm::sqrt(memory.share) * *state;
            *state = *keep * *state + libm::sqrt(1.0 - *keep * *keep) * random.normal(0.0, 1.0);
        }
        self.quantity.value(0.5 * libm::erfc(-score * core::f64::consts::FRAC_1_SQRT_2))
    }
}

/// Which windows are without service.
struct Down {
    is_down: bool,
    /// The probabilities per window that an outage ends, and that one starts.
    end: f64,
    start: f64,
    random: Stream,
}

impl Down {
    fn new(outages: Outages, every: Duration, mut random: Stream) -> Self {
        let end = (every.as_secs_f64() / outages.seconds).min(1.0);
        let start = end * outages.share / (1.0 - outages.share);
        Down { is_down: random.unit() < outages.share, end, start, random }
    }

    fn next(&mut self) -> bool {
        let now = self.is_down;
        let draw = self.random.unit();
        self.is_down = if now { draw >= self.end } else { draw < self.start };
        now
    }
}

impl Process {
    /// The trace of the link called `link` in the run with this seed, `duration` or longer.
    /// It draws from the streams `link/<link>/path/...`. Handovers draw their first time from `path/handover`, which all links share.
    /// A longer trace begins with the shorter one.
    pub fn trace(&self, duration: Duration, seed: u64, link: &str) -> LinkTrace {
        let stream = |role: &str| Stream::named(seed, &format!("link/{link}/path/{role}"));
        let mut rate = Drawn::new(&self.rate, self.every, |role| stream(&format!("rate/{role}")));
        let mut delay = self.delay.as_ref().map(|quantity| Drawn::new(quantity, self.every, |role| stream(&format!("delay/{role}"))));
        let mut down = self.outages.map(|outages| Down::new(outages, self.every, stream("outages")));
        let mut until_change = self.first_change(seed);
        let mut rows = Builder::new(Service::Rates);
        let (mut time, mut served, mut outage, mut loses) = (Duration::ZERO, false, Duration::ZERO, false);
        while time < duration || !served {
            let changes = self.handover.is_some() && until_change == 0;
            if let Some(handover) = self.handover {
                if changes {
                    (outage, loses) = (Duration::from_millis(handover.outage_ms), true);
                    until_change = self.windows(handover);
                }
                until_change -= 1;
            }
            let bps = rate.next(changes) * 1e6;
            let service = if down.as_mut().is_some_and(Down::next) { 0 } else { libm::round(bps) as u64 };
            let delay =
                delay.as_mut().map_or(Duration::ZERO, |delay| Duration::from_nanos(1000 * libm::round(delay.next(changes) * 1e3) as u64));
            let loss = self.handover.filter(|_| loses).map_or(0, |handover| (handover.loss * 1e9) as u32);
            loses &= outage > Duration::ZERO;
            let lost = outage.min(self.every);
            for (span, service) in [(lost, 0), (self.every - lost, service)] {
                if span > Duration::ZERO {
                    rows.push(Row { span, service, delay, loss });
                    served |= service > 0;
                }
            }
            (time, outage) = (time + self.every, outage - lost);
        }
        rows.finish().unwrap_or_else(|| unreachable!("it ends after a window with service"))
    }

    /// The number of windows between two handovers.
    fn windows(&self, handover: Handover) -> u64 {
        (handover.period_ms * 1_000_000 / self.every.as_nanos()).max(1)
    }

    /// The number of windows before the first handover, up to that of a whole period.
    fn first_change(&self, seed: u64) -> u64 {
        let at = |handover| 1 + (Stream::named(seed, "path/handover").unit() * self.windows(handover) as f64) as u64;
        self.handover.map_or(u64::MAX, at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use sojourn_units::Time;

    fn process() -> Process {
        let quantity = |low, high, slot_share| Quantity { quantiles: vec![(0.0, low), (1.0, high)], memory: Vec::new(), slot_share };
        Process {
            every: Duration::from_millis(100),
            rate: quantity(0.0, 10.0, 0.0),
            delay: Some(quantity(0.0, 8.0, 0.99)),
            outages: None,
            handover: Some(Handover { period_ms: 15_000, outage_ms: 130, loss: 0.01 }),
        }
    }

    #[test]
    fn a_link_and_a_seed_determine_the_trace() {
        let made = |seed, link| process().trace(Duration::from_secs(20), seed, link);
        assert_eq!(made(1, "up"), made(1, "up"));
        assert_ne!(made(1, "up"), made(2, "up"));
        assert_ne!(made(1, "up"), made(1, "down"));
    }

    #[test]
    fn a_longer_trace_begins_with_the_shorter() {
        let rows = |seconds| process().trace(Duration::from_secs(seconds), 7, "up").rows().collect::<Vec<_>>();
        let (short, long) = (rows(30), rows(60));
        assert!(short.len() < long.len());
        assert_eq!(short, long[..short.len()]);
    }

    #[test]
    fn handovers_come_at_the_same_times_on_all_links_each_with_its_outage_and_losses() {
        let starts = |link| {
            let trace = process().trace(Duration::from_secs(100), 3, link);
            let (mut time, mut found, mut lost) = (Time::ZERO, Vec::new(), 0);
            for row in trace.rows() {
                if row.loss > 0 && lost == 0 {
                    found.push(time);
                }
                lost = row.loss;
                time += row.span;
            }
            found
        };
        let found = starts("up");
        assert!((6..=7).contains(&found.len()));
        assert!(found.windows(2).all(|pair| pair[1].since(pair[0]) == Duration::from_secs(15)));
        assert_eq!(found, starts("down"));
        let trace = process().trace(Duration::from_secs(100), 3, "up");
        let without: u64 = trace.rows().filter(|row| row.service == 0).map(|row| row.span.as_nanos()).sum();
        assert_eq!(without, found.len() as u64 * 130_000_000);
        let lossy: u64 = trace.rows().filter(|row| row.loss == 10_000_000).map(|row| row.span.as_nanos()).sum();
        assert_eq!(lossy, found.len() as u64 * 300_000_000, "to the end of the window after the outage");
    }

    #[test]
    fn a_rate_has_the_quantiles_of_its_distribution() {
        let trace = process().trace(Duration::from_secs(10_000), 1, "up");
        let served: Vec<u64> = trace.rows().filter(|row| row.service > 0).map(|row| row.service).collect();
        for (level, bps) in [(0.1, 1_000_000), (0.5, 5_000_000), (0.9, 9_000_000)] {
            // White noise: the standard deviation of a share of 100,000 windows is at most 0.0016.
            let below = served.iter().filter(|rate| **rate < bps).count() as f64 / served.len() as f64;
            assert!((below - level).abs() < 0.006, "{below} below {bps}");
        }
    }

    #[test]
    fn a_trace_goes_on_until_something_can_be_sent() {
        let outages = Some(Outages { share: 0.999, seconds: 1e3 });
        let trace = Process { outages, handover: None, ..process() }.trace(Duration::from_millis(1), 1, "up");
        assert!(trace.period() > Duration::from_millis(100));
        assert!(trace.rows().last().is_some_and(|row| row.service > 0));
    }
}
