//! The data contract: the scenario as written, as checked, sweeps over it, and the record of a run.
//!
//! A [`Document`] is a scenario file; [`Document::check`] turns it into a [`Checked`] scenario in which nothing
//! is left to be interpreted; [`Checked::plan`] lays out every link and flow for one seed. A run gives a
//! [`record::Record`].

pub mod check;
mod document;
mod error;
mod field_order;
mod measures;
mod path;
pub mod plan;
mod quantity;
pub mod record;
mod schema;
pub mod sweep;
pub mod written;

pub use check::{Checked, check};
pub use document::Document;
pub use error::Error;
pub use measures::{measures, record_schema};
pub use path::{path_element, set_path, split_path, value};
pub use plan::Plan;
pub use quantity::{FASTEST, LONGEST, Quantity, Varying};
pub use record::Record;
pub use schema::schema;
pub use sojourn_units::Amount;
pub use sweep::Sweep;
