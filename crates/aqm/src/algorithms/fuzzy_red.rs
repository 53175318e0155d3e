//! Fuzzy RED: a probability from the queue and its change, by seven fuzzy rules.
//! Source: lehto-2005 (Lehto, Koivisto, Ekola and Laurikkala, IFAC).
//!
//! Once per interval p = F(q, dq), with q the instantaneous queue and dq its change since the last interval. Every arrival is dropped or
//! marked with probability p, independently of the others. The paper has the number of sets and rules and the slope at (30, 0); its figures
//! of the sets are lost. The sets here are a reconstruction: [`Preset::Fit`] was chosen for its agreement with lehto-2005#table2, the
//! others for the slope alone.

use crate::law::Meter;
use crate::{Bernoulli, Law, Link, ParamError, Sample, Sampled};
use alloc::boxed::Box;
use alloc::format;
use sojourn_fuzzy::{Controller, Defuzzifier, Design, FuzzyError, Membership, Method, Output, Variable};
use sojourn_units::{Duration, Probability, Time, range};

/// The values of the sets and rules.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Preset {
    /// Closest to lehto-2005#table2: slopes of 0.89 and 1.04 percent per packet at (30, 0).
    #[default]
    Fit,
    /// As `fit`, with the paper's slopes of exactly 1.00 percent per packet.
    /// Both slopes are central differences.
    Exact,
    /// A plane with the paper's slopes on all sides of (30, 0).
    /// A full queue that falls has the level `low`.
    Plane,
}

/// Defuzzification of the active rules into a probability.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Inference {
    /// Mean of the four probabilities, each weighted by its strongest rule.
    /// It equals the center of gravity of equal triangles scaled by the strengths.
    #[default]
    Mean,
    /// Center of gravity of triangles 2 percent wide, clipped at the strengths.
    /// Weak rules have up to twice the weight.
    Clipped,
}

/// A probability by its name in the rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Level {
    /// The probability 0.
    Zero,
    /// The probability `low`.
    Low,
    /// The probability `moderate`.
    Moderate,
    /// The probability `high`.
    High,
}

/// The parameters of fuzzy RED. The preset sets the defaults of the sets.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// Origin of the values of the sets and rules.
    /// Default `"fit"` (reconstruction of lehto-2005#fig3).
    pub preset: Preset,
    /// Method that turns the active rules into a probability.
    /// Default `"mean"` (lehto-2005#3 only names Mamdani).
    pub inference: Inference,
    /// Time between two updates, at least 1 us, default 10 ms (lehto-2005#3).
    pub interval: Duration,
    /// Whether the queue is measured in bytes over the link's mean packet.
    /// Default false (lehto-2005#4: scenario 7 has packets of five sizes).
    pub queue_in_bytes: bool,
    /// Queue in packets up to which it counts as empty.
    /// Range: below `modest`. By default 22, 22, 25 with the presets fit, exact, plane (reconstruction).
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub empty: Option<f64>,
    /// Queue in packets that counts as modest.
    /// Range: between `empty` and `full`. By default 30 with every preset (the set point of lehto-2005#3).
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub modest: Option<f64>,
    /// Queue in packets from which it counts as full.
    /// Range: above `modest`. By default 45, 42.6, 42.5 with the presets fit, exact, plane (reconstruction).
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub full: Option<f64>,
    /// Fall in packets per interval from which the queue counts as decreasing.
    /// Range: above 0. By default 12, 12, 5 with the presets fit, exact, plane (lehto-2005#3: 12 is the largest fall in 10 ms at
    /// 10 Mbit/s).
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub fall: Option<f64>,
    /// Rise in packets per interval from which the queue counts as increasing.
    /// Range: above 0. By default 12, 12, 12.5 with the presets fit, exact, plane (reconstruction).
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub rise: Option<f64>,
    /// Low probability in percent.
    /// Range: above 0. By default 2, 2, 5 with the presets fit, exact, plane (reconstruction).
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub low: Option<f64>,
    /// Moderate probability in percent.
    /// Range: between `low` and `high`. By default 25, 24, 17.5 with the presets fit, exact, plane (reconstruction).
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub moderate: Option<f64>,
    /// High probability in percent.
    /// Range: at most 100. By default 30 with every preset (reconstruction).
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub high: Option<f64>,
    /// Probability level of a full queue whose length decreases.
    /// By default moderate, moderate, low with the presets fit, exact, plane (reconstruction).
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub full_falling: Option<Level>,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            preset: Preset::Fit,
            inference: Inference::Mean,
            interval: Duration::from_millis(10),
            queue_in_bytes: false,
            empty: None,
            modest: None,
            full: None,
            fall: None,
            rise: None,
            low: None,
            moderate: None,
            high: None,
            full_falling: None,
        }
    }
}

/// The values of the sets and rules, with the preset's defaults filled in.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Sets {
    /// Empty, modest, full, in packets.
    queue: [f64; 3],
    /// Fall and rise, in packets an interval.
    change: [f64; 2],
    /// Low, moderate, high, in percent.
    levels: [f64; 3],
    full_falling: Level,
}

impl Preset {
    fn sets(self) -> Sets {
        let fit = Sets { queue: [22.0, 30.0, 45.0], change: [12.0, 12.0], levels: [2.0, 25.0, 30.0], full_falling: Level::Moderate };
        match self {
            Preset::Fit => fit,
            Preset::Exact => Sets { queue: [22.0, 30.0, 42.6], levels: [2.0, 24.0, 30.0], ..fit },
            Preset::Plane => Sets { queue: [25.0, 30.0, 42.5], change: [5.0, 12.5], levels: [5.0, 17.5, 30.0], full_falling: Level::Low },
        }
    }
}

/// Fuzzy RED on one link.
pub type FuzzyRed = Sampled<FuzzyLaw, Bernoulli>;

impl Params {
    /// Fuzzy RED with these parameters on this link.
    ///
    /// # Errors
    /// The first parameter that is out of range, the values of the preset included.
    pub fn build(&self, link: &Link) -> Result<FuzzyRed, ParamError> {
        range::interval("interval", self.interval)?;
        let law = FuzzyLaw {
            controller: Box::new(self.controller()?),
            interval: self.interval,
            meter: Meter::new(self.queue_in_bytes.then_some(link.mean_packet)),
            previous: 0.0,
        };
        Ok(Sampled::new(law, Bernoulli))
    }

    /// The controller F(q, dq): from packets, and packets per interval, to percent.
    ///
    /// # Errors
    /// The first parameter of the sets that is out of range.
    pub fn controller(&self) -> Result<Controller, ParamError> {
        let sets = self.sets()?;
        // The checks above should be enough for the fuzzy engine; if not, this is its message.
        design(&sets, self.inference).map_err(|error: FuzzyError| ParamError::new("preset", &error, "numbers that make fuzzy sets"))
    }

    /// The numbers of packets beyond which the rules do not change.
    /// They are the length of a full queue, and the fall and the rise per interval.
    ///
    /// # Errors
    /// The first parameter of the sets that is out of range.
    pub(crate) fn reach(&self) -> Result<[f64; 3], ParamError> {
        self.sets().map(|Sets { queue: [_, _, full], change: [fall, rise], .. }| [full, fall, rise])
    }

    fn sets(&self) -> Result<Sets, ParamError> {
        let preset = self.preset.sets();
        let [empty, modest, full] = preset.queue;
        let queue @ [empty, modest, full] = [self.empty.unwrap_or(empty), self.modest.unwrap_or(modest), self.full.unwrap_or(full)];
        ParamError::unless((0.0..1e9).contains(&empty), "empty", &empty, "a number of packets, 0 or more")?;
        ParamError::unless(modest > empty && modest < 1e9, "modest", &modest, "a number of packets above empty")?;
        ParamError::unless(full > modest && full <= 1e9, "full", &full, "a number of packets above modest")?;
        let change @ [fall, rise] = [self.fall.unwrap_or(preset.change[0]), self.rise.unwrap_or(preset.change[1])];
        let moving = |packets: f64| packets > 0.0 && packets <= 1e9;
        ParamError::unless(moving(fall), "fall", &fall, "a number of packets above 0")?;
        ParamError::unless(moving(rise), "rise", &rise, "a number of packets above 0")?;
        let [low, moderate, high] = preset.levels;
        let levels @ [low, moderate, high] = [self.low.unwrap_or(low), self.moderate.unwrap_or(moderate), self.high.unwrap_or(high)];
        ParamError::unless(low > 0.0 && low < 100.0, "low", &low, "a percentage above 0")?;
        ParamError::unless(moderate > low && moderate < 100.0, "moderate", &moderate, "a percentage above low")?;
        ParamError::unless(high > moderate && high <= 100.0, "high", &high, "a percentage above moderate, at most 100")?;
        Ok(Sets { queue, change, levels, full_falling: self.full_falling.unwrap_or(preset.full_falling) })
    }
}

/// The seven rules over these sets.
/// Neighbors cross at one half, and an empty queue has the level zero at any change.
fn design(sets: &Sets, inference: Inference) -> Result<Controller, FuzzyError> {
    let Sets { queue: [empty, modest, full], change: [fall, rise], levels: [low, moderate, high], full_falling } = *sets;
    let triangle = |center: f64| Membership::triangle(center - 1.0, center, center + 1.0);
    let falling = match full_falling {
        Level::Zero => "zero",
        Level::Low => "low",
        Level::Moderate => "moderate",
        Level::High => "high",
    };
    let defuzzifier = match inference {
        Inference::Mean => Defuzzifier::TermMean,
        Inference::Clipped => Defuzzifier::Centroid,
    };
    Design {
        row: Variable::partition("q", &[("empty", empty), ("modest", modest), ("full", full)])?,
        column: Variable::partition("dq", &[("decreasing", -fall), ("steady", 0.0), ("increasing", rise)])?,
        output: Output::new(
            "p",
            (-1.0, high + 1.0),
            &[("zero", triangle(0.0)?), ("low", triangle(low)?), ("moderate", triangle(moderate)?), ("high", triangle(high)?)],
        )?,
        rules: &format!(
            "IF q IS empty THEN p IS zero
            q\\dq    decreasing  steady    increasing
            modest   zero        low       moderate
            full     {falling}   moderate  high"
        ),
        method: Method { defuzzifier, ..Method::default() },
    }
    .build()
}

/// The controller and its state.
#[derive(Clone, Debug)]
pub struct FuzzyLaw {
    /// Boxed because it is large and only the timer reads it.
    controller: Box<Controller>,
    interval: Duration,
    meter: Meter,
    /// The queue at the previous step in packets, 0 before the first.
    previous: f64,
}

impl Law for FuzzyLaw {
    fn interval(&self) -> Duration {
        self.interval
    }

    /// The law steps at time 0, when the queue is empty.
    fn first_step(&self) -> Time {
        Time::ZERO
    }

    /// lehto-2005#eq9.
    fn step(&mut self, sample: &Sample) -> Probability {
        let queue = self.meter.backlog(sample);
        let percent = self.controller.evaluate(queue, queue - self.previous);
        self.previous = queue;
        Probability::clamped(percent / 100.0)
    }
}

#[cfg(test)]
mod tests;
