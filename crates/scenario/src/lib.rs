//! Scenarios, sweeps and records: the data that goes into a run and comes out of it.
//!
//! A [`Document`] is a scenario file. [`Document::check`] makes a [`Checked`] scenario of it, with names resolved and defaults
//! filled in. [`Checked::plan`] makes a [`Plan`] of it: every link and every flow of one run with its values. A run gives a
//! [`record::Record`].

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
