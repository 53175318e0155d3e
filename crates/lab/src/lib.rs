//! Runs scenarios and returns their records.
//!
//! [`run`] plans a checked scenario for one seed, builds the world, runs it and returns the record. [`run_many`] runs many scenarios on all
//! cores, each in one thread. [`run_on`] runs one on several cores.
//!
//! ```
//! use sojourn_lab::{Laws, run};
//! use sojourn_scenario::Document;
//!
//! let text = r#"
//! duration = "20 s"
//! warmup = "5 s"
//!
//! [[links]]
//! name = "uplink"
//! from = "home"
//! to = "internet"
//! rate = "10 Mbit/s"
//! delay = "20 ms"
//! queue = { aqm = "droptail", limit = "200 packets" }
//! duplex = true
//!
//! [[flows]]
//! name = "upload"
//! count = 2
//! from = "home"
//! to = "internet"
//! traffic = { kind = "bulk" }
//! "#;
//! let mean_wait_ms = |text: &str| {
//!     let scenario = Document::from_toml("home.toml", text).unwrap().check().unwrap();
//!     let record = run(&scenario, None, &Laws::default(), &|| false).unwrap().record;
//!     record.links[0].wait_ms.unwrap().mean
//! };
//! // Two uploads fill a deep queue without AQM. CoDel keeps the wait short.
//! let codel = mean_wait_ms(&text.replace("droptail", "codel"));
//! assert!(codel < mean_wait_ms(text) / 4.0);
//! ```

mod accounts;
mod batch;
mod build;
mod capture;
mod captured;
mod controllers;
mod episode;
mod error;
mod foreign;
mod hosted;
mod kernel;
mod live;
mod parallel;
mod recorder;
mod report;
mod run;
mod sender_log;
mod series;
mod simulation;
mod traced;
mod watch;

pub use batch::{run_in_pool, run_many};
pub use build::{LawFactory, Laws};
pub use captured::{CapturePoints, replay_captured, run_captured};
pub use episode::{Episode, Observation, step_all};
pub use error::Error;
pub use foreign::ForeignRun;
pub use kernel::{Logs, replay, wiring};
pub use live::{LiveCapture, LivePath, LiveRun, live_hosts};
pub use parallel::run_on;
pub use run::{Job, run};
pub use sender_log::{SenderReport, sender_reports};
pub use series::Series;
pub use simulation::{Bounds, Outcome, Simulation};
