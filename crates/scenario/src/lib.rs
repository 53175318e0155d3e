//! Scenarios, sweeps and records: the input and output of runs.
//!
//! A [`Document`] is a scenario file. [`Document::check`] turns it into a [`Checked`] scenario with resolved names and all defaults.
//! [`Checked::plan`] turns that into a [`Plan`]: every link and flow of one run with its values. A run returns a [`record::Record`].

mod bounded;
pub mod check;
mod document;
mod error;
mod field_order;
mod host;
mod key;
mod measures;
mod not_yet;
mod path;
pub mod plan;
mod quantity;
pub mod record;
mod schema;
pub mod series;
pub mod sweep;
mod syntax;
mod trace_file;
pub mod written;

pub use check::{Checked, check};
pub use document::Document;
pub use error::{Error, is_shown, one_line};
pub use measures::{measures, record_schema};
pub use path::{path_element, set_path, split_path, value};
pub use plan::Plan;
pub use quantity::{Quantity, Varying};
pub use record::Record;
pub use schema::schema;
pub use sweep::{Run, Sweep};
pub use syntax::{check_shape, parse};
pub use trace_file::{parse_trace, read_trace};
