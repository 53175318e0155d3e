//! Endpoints of noq-proto for `sojourn-harness`.

mod api;
#[path = "../../quic.rs"]
mod quic;

pub use quic::pair;
