//! Trials: rules of congestion controllers, each over a network and a script of its own.
//!
//! [`run`] runs all of them against a stack, and [`one`] runs one by its name. A trial passes, fails with the first time at which its rule
//! is broken, or does not apply.

mod cubic;
mod recovery;
mod view;

pub use cubic::cubic_decrease;

use crate::endpoint::{FlowInfo, Pair};
use crate::error::Error;
use crate::log::Run;
use crate::network::Dumbbell;
use crate::run::Harness;
use std::fmt;
use std::time::Duration;
use view::View;

/// The verdict on one rule.
#[derive(Clone, PartialEq, Debug)]
pub enum Verdict {
    /// The rule held, this many times.
    Pass(usize),
    /// The rule was broken.
    Fail {
        /// When it was broken first.
        at: Duration,
        /// What was expected and what was got.
        why: String,
    },
    /// The run never had the condition of the rule.
    NotApplicable(String),
}

/// A rule, its source, and the verdict.
#[derive(Clone, PartialEq, Debug)]
pub struct Judged {
    /// The rule with its source.
    pub rule: &'static str,
    /// The verdict.
    pub verdict: Verdict,
}

impl Judged {
    /// Whether the rule was not broken.
    pub fn holds(&self) -> bool {
        !matches!(self.verdict, Verdict::Fail { .. })
    }
}

impl fmt::Display for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.verdict {
            Verdict::Pass(times) => write!(f, "{}: held {times} times", self.rule),
            Verdict::Fail { at, why } => write!(f, "{}: broken at {:.6} s: {why}", self.rule, at.as_secs_f64()),
            Verdict::NotApplicable(why) => write!(f, "{}: not applicable: {why}", self.rule),
        }
    }
}

/// The controller that a stack claims to have. It selects the trials that apply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Law {
    /// Reno or NewReno (rfc5681, rfc9002).
    Reno,
    /// CUBIC (rfc9438).
    Cubic,
}

/// The flow of a trial, and the name of its host.
const FLOW: &str = "trial/0";
const HOST: &str = "stack";

/// A trial: a rule, a network with a script, and the judge.
pub struct Trial {
    /// The name.
    pub name: &'static str,
    /// The rule with its source.
    pub rule: &'static str,
    /// The controllers to which it applies; empty for all.
    laws: &'static [Law],
    network: fn() -> Dumbbell,
    script: fn(Harness<'_>) -> Harness<'_>,
    judge: fn(&View<'_>, Law) -> Verdict,
}

impl Trial {
    /// Whether the rule concerns this controller.
    pub fn concerns(&self, law: Law) -> bool {
        self.laws.is_empty() || self.laws.contains(&law)
    }

    /// Runs a stack over the network of this trial.
    ///
    /// # Errors
    /// An endpoint breaks a rule of the harness.
    pub fn log(&self, make: &dyn Fn(&FlowInfo) -> Pair) -> Result<Run, Error> {
        (self.script)(Harness::new((self.network)().check()?).host(HOST, make)).run()
    }

    /// Runs a stack with this controller, and judges it.
    /// A run that ends early fails the trial.
    pub fn run(&self, law: Law, make: &dyn Fn(&FlowInfo) -> Pair) -> Judged {
        let verdict = match self.concerns(law) {
            false => Verdict::NotApplicable(format!("not a rule of {law:?}")),
            true => match self.log(make) {
                Ok(run) => self.judge(law, &run),
                Err(error) => Verdict::Fail { at: Duration::ZERO, why: format!("the run ends early: {error}") },
            },
        };
        Judged { rule: self.rule, verdict }
    }

    /// Judges a run over the network of this trial.
    pub fn judge(&self, law: Law, run: &Run) -> Verdict {
        (self.judge)(&View::new(&run.log, FLOW), law)
    }
}

/// All trials.
pub fn all() -> impl Iterator<Item = &'static Trial> {
    recovery::TRIALS.iter().chain(cubic::TRIALS)
}

/// Runs all trials against a stack with this controller; returns their names and results.
pub fn run(law: Law, make: &dyn Fn(&FlowInfo) -> Pair) -> Vec<(&'static str, Judged)> {
    all().map(|trial| (trial.name, trial.run(law, make))).collect()
}

/// Runs the trial of this name; `None` if there is no such trial.
pub fn one(name: &str, law: Law, make: &dyn Fn(&FlowInfo) -> Pair) -> Option<Judged> {
    all().find(|trial| trial.name == name).map(|trial| trial.run(law, make))
}

/// A path without congestion of its own: all losses and marks are those of the script.
fn wide(rtt: &str, duration: &str) -> Dumbbell {
    Dumbbell::new("200 Mbit/s", rtt).limit("20000 packets").duration(duration).flow("trial", HOST)
}
