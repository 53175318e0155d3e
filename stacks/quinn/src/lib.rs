//! Endpoints of quinn-proto for `sojourn-harness`.

mod api;
#[path = "../../controller.rs"]
mod controller;
mod ours;
#[path = "../../quic.rs"]
mod quic;

pub use controller::{Choice, names, pair_named, pair_with};
pub use quic::{ends, pair};
