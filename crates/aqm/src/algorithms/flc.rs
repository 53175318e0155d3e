//! FLC: a fuzzy controller of the queue and its change, with one probability for all packets.
//! After Ren, Ren and Shan 2002, in the form in which the authors of `FuzzyRTT` compare with it.
//!
//! Once per interval p += step * FLC(e, de), limited to 0..=1. e is the distance of the instantaneous queue from the target and de its
//! change. The paper of 2002 was not available: fuzzyrtt-2024#table1 replaces its sets and rules.

use super::fuzzy_rtt::{Inference, Inputs, QueueDesign, QueueRules, Reading};
use crate::{Bernoulli, Law, Link, ParamError, Sample, Sampled};
use sojourn_units::{Bytes, Duration, Probability, range};

/// The parameters of FLC.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// Target queuing time, above 0, default 10 ms (fuzzyrtt-2024#4).
    pub target: Duration,
    /// Time between two updates.
    /// Range: at least 1 us; default 1/160 s (hollot-2001#5: the rate at which it was compared).
    pub interval: Duration,
    /// Change of the probability for one unit of the controller's output.
    /// Range: above 0; default 0.001 (not in the paper).
    pub step: f64,
    /// Packet size that converts the target to packets; `"0 B"` (the default) is the link's.
    pub packet: Bytes,
    /// Payload size that scales the change; `"0 B"` (the default) is `packet` less 40 B.
    pub segment: Bytes,
    /// The output's sets, default `"a"`.
    pub output: Reading,
    /// Method that turns the active rules into a number, default `"mean"`.
    pub inference: Inference,
    /// Positions of the inputs' sets, default `"uniform"`.
    pub inputs: Inputs,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            target: Duration::from_millis(10),
            interval: Duration::from_nanos(1_000_000_000 / 160),
            step: 1e-3,
            packet: Bytes(0),
            segment: Bytes(0),
            output: Reading::default(),
            inference: Inference::default(),
            inputs: Inputs::default(),
        }
    }
}

/// FLC on one link.
pub type Flc = Sampled<FlcLaw, Bernoulli>;

impl Params {
    /// Its fuzzy controller, whose output is the change of the probability in `step`.
    pub fn design(&self) -> QueueDesign {
        let Params { target, packet, segment, output, inference, inputs, .. } = *self;
        QueueDesign { target, packet, segment, output, inference, inputs }
    }

    /// FLC with these parameters on this link.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn build(&self, link: &Link) -> Result<Flc, ParamError> {
        range::interval("interval", self.interval)?;
        ParamError::unless(self.step > 0.0 && self.step <= 1e3, "step", &self.step, "a number above 0, up to 1000")?;
        let law = FlcLaw { rules: self.design().rules(link)?, interval: self.interval, step: self.step, previous: None, probability: 0.0 };
        Ok(Sampled::new(law, Bernoulli))
    }
}

/// The controller and its state.
#[derive(Clone, Debug)]
pub struct FlcLaw {
    rules: QueueRules,
    interval: Duration,
    step: f64,
    /// The error at the previous step.
    previous: Option<f64>,
    probability: f64,
}

impl Law for FlcLaw {
    fn interval(&self) -> Duration {
        self.interval
    }

    fn step(&mut self, sample: &Sample) -> Probability {
        let error = sample.backlog_packets - self.rules.axes.target;
        let output = self.rules.output(sample.backlog_packets, error - self.previous.unwrap_or(error));
        self.previous = Some(error);
        self.probability = (self.probability + self.step * output).clamp(0.0, 1.0);
        Probability::clamped(self.probability)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::test_link;
    use crate::{Aqm, Backlog};
    use sojourn_units::Time;

    fn ticks(flc: &mut Sampled<FlcLaw, Bernoulli>, queues: &[u32]) -> f64 {
        queues.iter().for_each(|&packets| flc.on_update(Time::ZERO, &Backlog { packets, bytes: 0, idle_since: None }));
        flc.probability().unwrap().get()
    }

    #[test]
    fn the_probability_changes_by_the_output_of_the_rules() {
        // The target is 12.5 packets: a constant queue of twice as many gives the inputs (1, 0) and the output 0.16.
        let mut flc = Params::default().build(&test_link()).unwrap();
        assert!((ticks(&mut flc, &[25]) - 0.16e-3).abs() < 1e-12);
        assert!((ticks(&mut flc, &[25, 25]) - 0.48e-3).abs() < 1e-12);
        // A fall from 25 to 0 gives the inputs (-1, -1) and the output -0.32.
        assert!((ticks(&mut flc, &[0]) - 0.16e-3).abs() < 1e-12);
        assert_eq!(ticks(&mut flc, &[0, 0, 0]), 0.0);
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        let default = Params::default;
        for (params, field) in [
            (Params { interval: Duration::ZERO, ..default() }, "interval"),
            (Params { step: f64::NAN, ..default() }, "step"),
            (Params { segment: Bytes(2_000_000), ..default() }, "segment"),
        ] {
            assert_eq!(params.build(&test_link()).unwrap_err().field, field);
        }
    }
}
