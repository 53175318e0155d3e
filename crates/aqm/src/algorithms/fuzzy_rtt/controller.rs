//! The fuzzy controller that `FuzzyRTT` and FLC share (fuzzyrtt-2024#table1).
//! Options cover everything that the paper's figures leave open.

use crate::{Link, ParamError};
use alloc::boxed::Box;
use sojourn_fuzzy::{Controller, Defuzzifier, Design, Method, Output, Variable};
use sojourn_units::{Bytes, Duration, range};

/// How the ticks of fuzzyrtt-2024#fig2 define the centers of the output's sets.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Reading {
    /// Centers 0.04, 0.08, 0.16, 0.32 and shoulders up to 0.64: every tick of the figure is used.
    #[default]
    A,
    /// Centers 0.08, 0.16, 0.32, 0.64; the sets next to zero cross at 0.04.
    B,
}

/// Defuzzification of the active rules into a number.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Inference {
    /// Mean of the centers, each weighted by its strongest rule.
    #[default]
    Mean,
    /// Center of gravity of the union of the clipped sets.
    Centroid,
}

/// Positions of the centers of the inputs' sets.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Inputs {
    /// At thirds: 0, 1/3, 2/3, 1.
    #[default]
    Uniform,
    /// Each at twice the previous one: 0, 1/4, 1/2, 1.
    Geometric,
}

/// fuzzyrtt-2024#table1: rows are the error, columns its change.
const TABLE_I: &str = "
    e\\de NB NM NS Z  PS PM PB
    NB    NH NH NB NB NM NS Z
    NM    NH NH NB NM NS Z  PS
    NS    NB NB NM NS Z  PS PM
    Z     NB NM NS Z  PS PM PB
    PS    NM NS Z  PS PM PB PB
    PM    NS Z  PS PM PB PH PH
    PB    Z  PS PM PB PB PH PH";

/// The parameters of a law that define its fuzzy controller.
#[derive(Clone, Copy, Debug)]
pub struct QueueDesign {
    /// Target queuing time, above 0.
    pub target: Duration,
    /// Packet size that converts the target to packets; `"0 B"` is the link's.
    pub packet: Bytes,
    /// Payload size that scales the change; `"0 B"` is `packet` less 40 B.
    pub segment: Bytes,
    /// The output's sets.
    pub output: Reading,
    /// Defuzzification of the active rules into a number.
    pub inference: Inference,
    /// Positions of the inputs' sets.
    pub inputs: Inputs,
}

impl QueueDesign {
    /// The fuzzy controller, from error and change to a number.
    /// Its inputs are in -1..=1, its output is on the axis of fuzzyrtt-2024#fig2.
    ///
    /// # Errors
    /// None that a parameter can cause.
    pub fn controller(&self) -> Result<Controller, ParamError> {
        table_i(self.output, self.inference, self.inputs)
    }

    /// The fuzzy controller, scaled to the queue of this link.
    ///
    /// # Errors
    /// `target`, `packet` or `segment` is out of range.
    pub fn rules(&self, link: &Link) -> Result<QueueRules, ParamError> {
        let axes = self.axes(link)?;
        Ok(QueueRules { controller: Box::new(self.controller()?), axes })
    }

    fn axes(&self, link: &Link) -> Result<Axes, ParamError> {
        let QueueDesign { target, segment, .. } = *self;
        range::target("target", target)?;
        let packet = link.mean_packet_or("packet", self.packet)?;
        ParamError::unless(segment.0 <= 1_000_000, "segment", &segment.0, "0 B (40 less than a packet) to 1 MB")?;
        let segment = if segment.0 == 0 { packet.saturating_sub(40).max(1) } else { segment.0 as u32 };
        let sent = |size: u32| target.as_secs_f64() * link.rate.packets_per_sec(f64::from(size));
        Ok(Axes { target: sent(packet), error: 1.0 / sent(packet), change: 1.0 / sent(segment) })
    }
}

/// The controller, from error and change to a number.
/// Its inputs are in -1..=1, its output is on the axis of fuzzyrtt-2024#fig2.
fn table_i(reading: Reading, inference: Inference, inputs: Inputs) -> Result<Controller, ParamError> {
    let [near, far] = match inputs {
        Inputs::Uniform => [1.0 / 3.0, 2.0 / 3.0],
        Inputs::Geometric => [0.25, 0.5],
    };
    let input = [("NB", -1.0), ("NM", -far), ("NS", -near), ("Z", 0.0), ("PS", near), ("PM", far), ("PB", 1.0)];
    let unit = match reading {
        Reading::A => 0.04,
        Reading::B => 0.08,
    };
    let output = [
        ("NH", -8.0 * unit),
        ("NB", -4.0 * unit),
        ("NM", -2.0 * unit),
        ("NS", -unit),
        ("Z", 0.0),
        ("PS", unit),
        ("PM", 2.0 * unit),
        ("PB", 4.0 * unit),
        ("PH", 8.0 * unit),
    ];
    let defuzzifier = match inference {
        Inference::Mean => Defuzzifier::TermMean,
        Inference::Centroid => Defuzzifier::Centroid,
    };
    let build = || {
        Design {
            row: Variable::partition("e", &input)?,
            column: Variable::partition("de", &input)?,
            output: Output::partition("y", (-16.0 * unit, 16.0 * unit), &output)?,
            rules: TABLE_I,
            method: Method { defuzzifier, ..Method::default() },
        }
        .build()
    };
    // The values above are consistent; if not, this is the engine's message.
    build().map_err(|error| ParamError::new("output", &error, "numbers that make fuzzy sets"))
}

/// Scales a queue in packets to the inputs of the controller.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Axes {
    /// The target queue in packets (fuzzyrtt-2024#eq1).
    pub target: f64,
    /// Scaling of the error (fuzzyrtt-2024#eq3).
    pub error: f64,
    /// Scaling of its change (fuzzyrtt-2024#eq4).
    pub change: f64,
}

impl Axes {
    /// Both inputs, limited to -1..=1.
    #[inline]
    pub fn scaled(&self, error: f64, change: f64) -> (f64, f64) {
        ((error * self.error).clamp(-1.0, 1.0), (change * self.change).clamp(-1.0, 1.0))
    }
}

/// The rules over a queue in packets.
#[derive(Clone, Debug)]
pub struct QueueRules {
    pub(super) controller: Box<Controller>,
    /// The scaling of its inputs.
    pub axes: Axes,
}

impl QueueRules {
    /// The output of the rules, to which the change of the probability is proportional.
    /// `queue` is in packets, `change` its difference to the update before. The output is on the axis of fuzzyrtt-2024#fig2.
    #[inline]
    pub fn output(&self, queue: f64, change: f64) -> f64 {
        let (x1, x2) = self.axes.scaled(queue - self.axes.target, change);
        self.controller.evaluate(x1, x2)
    }
}
