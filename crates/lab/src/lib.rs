//! Runs scenarios and returns their records.
//!
//! [`run`] plans a checked scenario for one seed, builds the world, runs it and creates the record. [`run_many`] does so for many scenarios
//! on all cores; each run uses one thread.

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
