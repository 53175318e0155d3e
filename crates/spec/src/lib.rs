//! What can be configured, each thing defined once: its type, unit, range, default and source, and one sentence.
//!
//! The scenario reads and checks these types, the network and the endpoints run them, and the schema, the documents and
//! `sojourn list` print them. Features: `serde` for reading and writing, `schema` for JSON Schema.
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
