//! Definitions of all settings: type, unit, range, default, source and summary of each, in one place.
//!
//! The scenario reader parses and checks these types, the network and the endpoints use them, and the schema, the documents and `sojourn
//! list` print them. Features: `serde` for reading and writing, `schema` for JSON Schema.
#![no_std]
extern crate alloc;

pub mod flow;
pub mod link;
pub mod medium;
pub mod paths;
pub mod queue;
pub mod supply;
#[cfg(feature = "serde")]
pub mod tagged;
pub mod tcp;
#[cfg(feature = "serde")]
pub mod written;
