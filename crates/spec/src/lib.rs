//! Definitions of links, queues, flows and TCP options.
//! Each setting is defined once, with its type, unit, range, default and source.
//!
//! The scenario reader parses and checks these types. The network and the endpoints run on them. The schema, the documents and
//! `sojourn list` print them. The feature `serde` reads and writes them; `schema` generates JSON Schema.
//!
//! ```
//! use sojourn_spec::tcp::{OPTIONS, Profile, Recovery, TcpOptions, TcpOverrides};
//! use sojourn_units::Bytes;
//!
//! // A flow sets its profile and one option. All other options come from the profile.
//! let written = TcpOverrides { profile: Some(Profile::Linux), mss: Some(Bytes(1200)), ..TcpOverrides::default() };
//! let options = written.resolve();
//! assert_eq!((options.mss, options.recovery), (1200, Recovery::Sack));
//! let rfc = TcpOptions::rfc();
//! assert_eq!((rfc.mss, rfc.recovery), (1460, Recovery::NewReno));
//!
//! // The table of options has the unit and the source of each.
//! let mss = OPTIONS.iter().find(|option| option.name == "mss").unwrap();
//! assert_eq!((mss.show)(&options), "1200 B");
//! assert!(mss.source.starts_with("rfc9293#3.7.1"));
//!
//! // An error names the option, its range and the value.
//! let error = TcpOverrides { mss: Some(Bytes(70_000)), ..TcpOverrides::default() }.check().unwrap_err();
//! assert_eq!(error.to_string(), "mss: expected a size of 1 B to 65535 B, got 70000 B");
//! ```
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
