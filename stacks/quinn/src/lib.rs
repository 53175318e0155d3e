//! Endpoints of quinn-proto for `sojourn-harness`.

mod api;
#[path = "../../quic.rs"]
mod quic;

pub use quic::{ends, pair};
