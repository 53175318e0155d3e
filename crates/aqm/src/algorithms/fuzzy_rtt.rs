//! `FuzzyRTT`: a probability for each category of round-trip times.
//! It keeps flows with short round-trip times from starving flows with long ones (fuzzyrtt-2024: Boudi and Loudini).
//!
//! Every category updates its probability once in its own round-trip time, by a fuzzy law of the shortest queue in that time and its
//! change. A packet that carries its sender's round-trip time gets a probability interpolated between the two nearest categories; a packet
//! without one gets that of the shortest category. The algorithm needs the sender's smoothed RTT in each data packet and the number of
//! active flows.

mod controller;

pub use controller::{Axes, Inference, Inputs, QueueDesign, QueueRules, Reading};

use crate::{Aqm, ArrivalVerdict, Backlog, DepartureVerdict, Link, Needs, PacketView, ParamError};
use alloc::vec;
use alloc::vec::Vec;
use sojourn_units::{Bytes, Duration, Probability, Stream, Time};

/// The parameters of `FuzzyRTT`.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// The categories' round-trip times, which are also the times between their updates.
    /// 1 to 16 increasing times in whole milliseconds; default 40, 80, 160, 320, 640 ms (fuzzyrtt-2024#3b).
    pub rtts: Vec<Duration>,
    /// Each category's gain, which compensates for fewer updates.
    /// Range: 0 or more; default 1, 2, 4, 8, 16 (fuzzyrtt-2024#3b).
    pub gains: Vec<f64>,
    /// Weight of the previous category in a category's probability, from the second one on.
    /// Range: 0 to 1; default 0.002, 0.004, 0.012, 0.024 (fuzzyrtt-2024#eq7).
    pub weights: Vec<f64>,
    /// Target queuing time, above 0, default 10 ms (fuzzyrtt-2024#4).
    pub target: Duration,
    /// Packet size that converts the target to packets.
    /// `"0 B"` (the default) is the link's (fuzzyrtt-2024#4: 576 B; its "10 packets" at 10 Mbit/s are 1250 B).
    pub packet: Bytes,
    /// Payload size that scales the change.
    /// `"0 B"` (the default) is `packet` less 40 B (fuzzyrtt-2024#eq4: MSS).
    pub segment: Bytes,
    /// Change of the probability for one unit of the output's axis.
    /// Range: above 0; default 0.001 (not in the paper).
    pub unit: f64,
    /// Reading of the ticks of fuzzyrtt-2024#fig2, default `"a"`.
    pub output: Reading,
    /// Method that turns the active rules into a number, default `"mean"`.
    pub inference: Inference,
    /// Positions of the inputs' sets, default `"uniform"`.
    pub inputs: Inputs,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            rtts: [40, 80, 160, 320, 640].map(Duration::from_millis).to_vec(),
            gains: vec![1.0, 2.0, 4.0, 8.0, 16.0],
            weights: vec![0.002, 0.004, 0.012, 0.024],
            target: Duration::from_millis(10),
            packet: Bytes(0),
            segment: Bytes(0),
            unit: 1e-3,
            output: Reading::default(),
            inference: Inference::default(),
            inputs: Inputs::default(),
        }
    }
}

impl Params {
    /// Its fuzzy controller, whose output is the change of a probability in `unit`.
    pub fn design(&self) -> QueueDesign {
        let Params { target, packet, segment, output, inference, inputs, .. } = *self;
        QueueDesign { target, packet, segment, output, inference, inputs }
    }

    /// `FuzzyRTT` with these parameters on this link.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn build(&self, link: &Link) -> Result<FuzzyRtt, ParamError> {
        let count = self.rtts.len();
        let whole = |rtt: &Duration| rtt.as_nanos().is_multiple_of(1_000_000) && (1..=65_535).contains(&(rtt.as_nanos() / 1_000_000));
        let rising = self.rtts.windows(2).all(|pair| pair[0] < pair[1]);
        let fine = (1..=16).contains(&count) && rising && self.rtts.iter().all(whole);
        let shown = |list: &dyn core::fmt::Debug| alloc::format!("{list:?}");
        ParamError::unless(fine, "rtts", &shown(&self.rtts), "1 to 16 increasing times in whole milliseconds, up to 65535 ms")?;
        let gains = self.gains.len() == count && self.gains.iter().all(|gain| (0.0..=1e6).contains(gain));
        ParamError::unless(gains, "gains", &shown(&self.gains), "a number from 0 to 1000000 for each of `rtts`")?;
        let weights = self.weights.len() == count - 1 && self.weights.iter().all(|weight| (0.0..=1.0).contains(weight));
        ParamError::unless(weights, "weights", &shown(&self.weights), "a number from 0 to 1 for each of `rtts` but the first")?;
        ParamError::unless(self.unit > 0.0 && self.unit <= 1e3, "unit", &self.unit, "a number above 0, up to 1000")?;
        let rules = self.design().rules(link)?;
        let category = |i: usize| Category {
            ms: (self.rtts[i].as_nanos() / 1_000_000) as u32,
            interval: self.rtts[i],
            gain: self.gains[i] * self.unit,
            weight: if i == 0 { 0.0 } else { self.weights[i - 1] },
            due: Time::ZERO + self.rtts[i],
            least: 0,
            error: None,
            probability: 0.0,
        };
        Ok(FuzzyRtt {
            rules,
            categories: (0..count).map(category).collect(),
            least: 0,
            log_flows: core::f64::consts::LN_2,
            clock: Time::ZERO,
            last: Probability::ZERO,
        })
    }
}

/// One category of round-trip times.
#[derive(Clone, Copy, Debug)]
struct Category {
    /// Its round-trip time in ms.
    ms: u32,
    interval: Duration,
    /// Change of the probability for one unit of the controller's output.
    /// It includes the logarithm of the number of flows.
    gain: f64,
    /// Weight of the previous category in its probability.
    weight: f64,
    /// The time of its next update.
    due: Time,
    /// The shortest queue since its last update, in packets.
    least: u32,
    /// The error at its last update.
    error: Option<f64>,
    probability: f64,
}

/// The algorithm and its state; it keeps no state for single flows.
#[derive(Clone, Debug)]
pub struct FuzzyRtt {
    rules: QueueRules,
    categories: Vec<Category>,
    /// The shortest queue since the last update of any category.
    least: u32,
    /// Logarithm of the number of active flows, at least two (fuzzyrtt-2024#eq6).
    /// With one flow the probabilities would never change.
    log_flows: f64,
    clock: Time,
    /// The probability of the last packet.
    last: Probability,
}

impl FuzzyRtt {
    /// The probability for a packet whose sender's round-trip time is `ms` milliseconds.
    /// 0 is an unknown round-trip time (fuzzyrtt-2024#eq8).
    #[inline]
    pub fn probability_for(&self, ms: u16) -> f64 {
        let ms = u32::from(ms);
        match self.categories.iter().position(|category| ms <= category.ms) {
            Some(0) => self.categories[0].probability,
            None => self.categories[self.categories.len() - 1].probability,
            Some(above) => {
                let (low, high) = (&self.categories[above - 1], &self.categories[above]);
                let share = f64::from(ms - low.ms) / f64::from(high.ms - low.ms);
                (1.0 - share) * low.probability + share * high.probability
            }
        }
    }

    /// One update of category `i` (fuzzyrtt-2024#eq1 to fuzzyrtt-2024#eq7).
    fn update_category(&mut self, i: usize, backlog: u32) {
        let before = if i == 0 { 0.0 } else { self.categories[i - 1].probability };
        let category = &mut self.categories[i];
        let least = f64::from(category.least);
        let error = least - self.rules.axes.target;
        let step = self.rules.output(least, error - category.error.unwrap_or(error)) * self.log_flows * category.gain;
        let probability = (1.0 - category.weight) * (category.probability + step) + category.weight * before;
        category.probability = probability.clamp(0.0, 1.0);
        category.error = Some(error);
        category.least = backlog;
        category.due += category.interval;
    }
}

impl Aqm for FuzzyRtt {
    #[inline]
    fn on_enqueue(&mut self, arrival: &PacketView, _backlog: &Backlog, random: &mut Stream) -> ArrivalVerdict {
        // Pure acknowledgments are exempt.
        if !arrival.has_data {
            return ArrivalVerdict::Pass;
        }
        self.last = Probability::clamped(self.probability_for(arrival.rtt_hint_ms));
        if random.unit() < self.last.get() { ArrivalVerdict::Signal } else { ArrivalVerdict::Pass }
    }

    #[inline]
    fn on_dequeue(&mut self, _departure: &PacketView, _sojourn: Duration, backlog: &Backlog, _: &mut Stream) -> DepartureVerdict {
        // Only a departure makes the queue shorter.
        self.least = self.least.min(backlog.packets);
        DepartureVerdict::Pass
    }

    fn on_flows(&mut self, _now: Time, active: u32) {
        self.log_flows = libm::log(f64::from(active.max(2)));
    }

    fn update_interval(&self) -> Option<Duration> {
        let due = self.categories.iter().map(|category| category.due).min();
        due.map(|due| due.since(self.clock))
    }

    fn on_update(&mut self, now: Time, backlog: &Backlog) {
        let least = self.least.min(backlog.packets);
        for i in 0..self.categories.len() {
            self.categories[i].least = self.categories[i].least.min(least);
            if self.categories[i].due <= now {
                self.update_category(i, backlog.packets);
            }
        }
        (self.least, self.clock) = (backlog.packets, now);
    }

    fn needs(&self) -> Needs {
        Needs { departures: true, rtt_hints: true, flow_count: true, ..Needs::default() }
    }

    /// The probability of the last packet.
    fn probability(&self) -> Option<Probability> {
        Some(self.last)
    }
}

#[cfg(test)]
mod tests;
