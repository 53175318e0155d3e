//! From a scenario to its record.
//!
//! [`run`] plans a checked scenario for one seed, builds the world, runs it and makes the record. [`run_many`] does that for
//! many scenarios on all cores. Runs are parallel to each other; each run has one thread.

mod batch;
mod build;
mod capture;
mod captured;
mod controllers;
mod episode;
mod error;
mod kernel;
mod recorder;
mod report;
mod run;
mod series;
mod simulation;
mod traced;
mod watch;

pub use batch::{run_in_pool, run_many};
pub use build::{ExternalLaw, LawFactory, Laws, external};
pub use captured::{CapturePoints, replay_captured, run_captured};
pub use episode::{Episode, Observation, step_all};
pub use error::Error;
pub use kernel::{Logs, replay, wiring};
pub use run::{Job, run};
pub use series::Series;
pub use simulation::{Bounds, Outcome, Simulation};
