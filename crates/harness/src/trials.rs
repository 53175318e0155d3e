//! Trials: rules of congestion controllers, each over a network and a script of its own.
//!
//! [`run`] runs all of them against a stack, and [`one`] runs one by its name. A trial passes, fails with the first time at which its rule
//! is broken, or does not apply.

mod bbr;
mod cubic;
mod hystart;
mod l4s;
mod recovery;
mod view;

pub use cubic::cubic_decrease;

use crate::endpoint::{FlowInfo, Pair};
use crate::error::Error;
use crate::log::Run;
use crate::network::Dumbbell;
use crate::run::Harness;
use std::fmt;
use std::path::Path;
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
    /// Whether the rule was held at least once, and never broken.
    pub fn passes(&self) -> bool {
        matches!(self.verdict, Verdict::Pass(_))
    }

    /// Whether the rule was not broken. That is so, too, if it was not applicable.
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
    /// BBR version 3 (draft-ietf-ccwg-bbr).
    Bbr,
    /// A scalable controller, such as Prague (rfc9331#4).
    Scalable,
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
    /// Changes of the network that depend on a run before.
    /// An example is an outage in a certain phase of the sender.
    steps: &'static [Step],
    judge: fn(&View<'_>, Law) -> Verdict,
}

/// A change of the network, from what a run over it has shown.
/// It returns the time from which the change has an effect.
type Step = fn(Dumbbell, &View<'_>) -> Result<(Dumbbell, Duration), Broken>;

/// A condition that does not hold.
#[derive(Clone, PartialEq, Debug)]
struct Broken {
    at: Duration,
    why: String,
}

impl From<Broken> for Verdict {
    fn from(broken: Broken) -> Verdict {
        Verdict::Fail { at: broken.at, why: broken.why }
    }
}

impl Trial {
    /// Whether the rule concerns this controller.
    pub fn concerns(&self, law: Law) -> bool {
        self.laws.is_empty() || self.laws.contains(&law)
    }

    /// Runs a stack with this controller, and judges it.
    /// A run that ends early fails the trial.
    pub fn run(&self, law: Law, make: &dyn Fn(&FlowInfo) -> Pair) -> Judged {
        self.judged(law, make).0
    }

    fn judged(&self, law: Law, make: &dyn Fn(&FlowInfo) -> Pair) -> (Judged, Option<Run>) {
        let (verdict, run) = match self.concerns(law) {
            false => (Verdict::NotApplicable(format!("not a rule of {law:?}")), None),
            true => match self.log(make) {
                Ok(run) => (self.judge(law, &run), Some(run)),
                Err(verdict) => (verdict, None),
            },
        };
        (Judged { rule: self.rule, verdict }, run)
    }

    /// Runs a stack over the network of this trial.
    /// A trial with steps takes a run for each before the last.
    ///
    /// # Errors
    /// The verdict on a run that ends early, or that never comes to where a step applies.
    pub fn log(&self, make: &dyn Fn(&FlowInfo) -> Pair) -> Result<Run, Verdict> {
        let mut network = (self.network)();
        let mut run = self.over(&network, make)?;
        for step in self.steps {
            let (next, from) = step(network, &View::new(&run.log, FLOW))?;
            network = next;
            let again = self.over(&network, make)?;
            if !run.log.is_equal_until(&again.log, from) {
                let why =
                    format!("two runs of the stack differ before {:.3} s: its random numbers must come from the seed", from.as_secs_f64());
                return Err(Verdict::NotApplicable(why));
            }
            run = again;
        }
        Ok(run)
    }

    fn over(&self, network: &Dumbbell, make: &dyn Fn(&FlowInfo) -> Pair) -> Result<Run, Verdict> {
        let run = || (self.script)(Harness::new(network.check()?).host(HOST, make)).run();
        run().map_err(|error: Error| Verdict::Fail { at: Duration::ZERO, why: format!("the run ends early: {error}") })
    }

    /// Judges a run over the network of this trial.
    pub fn judge(&self, law: Law, run: &Run) -> Verdict {
        (self.judge)(&View::new(&run.log, FLOW), law)
    }
}

/// All trials.
pub fn all() -> impl Iterator<Item = &'static Trial> {
    recovery::TRIALS.iter().chain(hystart::TRIALS).chain(cubic::TRIALS).chain(bbr::TRIALS).chain(l4s::TRIALS)
}

/// Runs all trials that concern a controller; returns their names and results.
pub fn run(law: Law, make: &dyn Fn(&FlowInfo) -> Pair) -> Vec<(&'static str, Judged)> {
    all().filter(|trial| trial.concerns(law)).map(|trial| (trial.name, trial.run(law, make))).collect()
}

/// Runs the trial of this name; `None` if there is no such trial.
pub fn one(name: &str, law: Law, make: &dyn Fn(&FlowInfo) -> Pair) -> Option<Judged> {
    all().find(|trial| trial.name == name).map(|trial| trial.run(law, make))
}

/// Runs the trial of this name, and writes its run to `target/trials` if it fails.
/// A trial that is not applicable does not fail; [`one`] with [`Judged::passes`] is strict.
///
/// # Panics
/// The trial fails, there is none of this name, or it is not a rule of this controller.
#[track_caller]
pub fn check(name: &str, law: Law, make: &dyn Fn(&FlowInfo) -> Pair) {
    let trial = all().find(|trial| trial.name == name).unwrap_or_else(|| {
        let names: Vec<&str> = all().filter(|trial| trial.concerns(law)).map(|trial| trial.name).collect();
        panic!("{name:?}: expected a trial of {law:?}, one of {}", names.join(", "))
    });
    assert!(trial.concerns(law), "{name}: expected a trial of {law:?}, got one of {:?}", trial.laws);
    let (judged, run) = trial.judged(law, make);
    if !judged.holds() {
        let files = run.map(|run| run.save(Path::new("target/trials"), name));
        let files = match files {
            Some(Ok([capture, log])) => format!("; see {} and {}", capture.display(), log.display()),
            Some(Err(error)) => format!("; its run cannot be written: {error}"),
            None => String::new(),
        };
        panic!("{name}: {judged}{files}");
    }
}

/// A path without congestion of its own: all losses and marks are those of the script.
fn wide(rtt: &str, duration: &str) -> Dumbbell {
    Dumbbell::new("200 Mbit/s", rtt).limit("20000 packets").duration(duration).flow("trial", HOST)
}
