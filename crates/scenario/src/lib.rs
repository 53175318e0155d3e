//! Scenarios, sweeps and records: the input and output of runs.
//!
//! A [`Document`] is a scenario file. [`Document::check`] returns a [`Checked`] scenario: all names resolved, all defaults filled in.
//! [`Checked::plan`] returns a [`Plan`]: every link and flow of the run with a given seed. A run returns a [`record::Record`]
//! (`sojourn_lab::run`).
//!
//! ```
//! use sojourn_scenario::Document;
//! use sojourn_units::Duration;
//!
//! let text = r#"
//! duration = "10 s"
//!
//! [[links]]
//! name = "uplink"
//! from = "home"
//! to = "internet"
//! rate = "10 Mbit/s"
//! delay = "20 ms"
//! queue = { aqm = "codel", limit = "200 packets" }
//! duplex = true
//!
//! [[flows]]
//! name = "upload"
//! count = 3
//! from = "home"
//! to = "internet"
//! traffic = { kind = "bulk" }
//! "#;
//! let plan = Document::from_toml("home.toml", text).unwrap().check().unwrap().plan(1);
//! assert_eq!(plan.links.len(), 2, "a duplex link is two links");
//! assert_eq!((plan.links[1].name.as_str(), plan.links[1].delay), ("uplink:back", Duration::from_millis(20)));
//! assert_eq!(plan.flows.len(), 3);
//!
//! // An error names the file, the line and the field, what was expected and what was found.
//! let error = Document::from_toml("home.toml", &text.replace("20 ms", "20")).unwrap().check().unwrap_err();
//! assert!(error.to_string().starts_with("home.toml:9:9: links.uplink.delay: expected "), "{error}");
//! ```

mod bounded;
pub mod check;
mod document;
mod error;
mod field_order;
mod host;
mod key;
mod lints;
mod measures;
mod missing;
mod not_yet;
mod path;
pub mod plan;
mod quantity;
pub mod record;
mod schema;
pub mod series;
mod slips;
pub mod sweep;
mod syntax;
mod trace_file;
pub mod written;

pub use check::{Checked, check};
pub use document::Document;
pub use error::{Error, is_shown, one_line};
pub use lints::Lint;
pub use measures::{measures, record_schema};
pub use path::{path_element, set_path, split_path, value};
pub use plan::Plan;
pub use quantity::{Quantity, Varying};
pub use record::Record;
pub use schema::schema;
pub use sweep::{Run, Sweep};
pub use syntax::{check_shape, parse};
pub use trace_file::{parse_trace, read_trace};
