//! From a scenario to its record.
//!
//! [`run`] lays a checked scenario out for one seed, builds the world, runs it and reads the record
//! off it; [`run_many`] does that for many on all cores. Parallelism is across runs, never inside one.

mod build;
mod error;
mod recorder;
mod report;
mod run;

pub use build::{ExternalLaw, LawFactory, Laws, external};
pub use error::Error;
pub use report::Series;
pub use run::{Job, Outcome, run, run_many};
