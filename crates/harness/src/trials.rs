//! Trials: rules of congestion controllers, judged from a run.

mod cubic;

pub use cubic::cubic_decrease;

use std::fmt;
use std::time::Duration;

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
