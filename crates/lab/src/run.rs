//! Runs a scenario.

use crate::Error;
use crate::build::Laws;
use crate::simulation::{Outcome, Simulation};
use sojourn_scenario::Checked;
use sojourn_units::Time;
use std::sync::Arc;

/// A run to execute.
#[derive(Clone)]
pub struct Job {
    /// The scenario.
    pub scenario: Arc<Checked>,
    /// The seed; `None` is the scenario's own.
    pub seed: Option<u64>,
    /// The laws of its queues and flows.
    pub laws: Laws,
}

/// Runs a scenario with a seed.
/// `stop` is called after every few thousand events. If it returns true, the run ends.
///
/// # Errors
/// A queue does not fit its link, a law is missing, the run does not advance or needs too much memory, the audit fails, or `stop` returned
/// true.
pub fn run(scenario: &Checked, seed: Option<u64>, laws: &Laws, stop: &dyn Fn() -> bool) -> Result<Outcome, Error> {
    let mut simulation = Simulation::new(scenario, seed.unwrap_or(scenario.seed), laws)?;
    simulation.advance(Time::NEVER, stop)?;
    simulation.finish()
}
