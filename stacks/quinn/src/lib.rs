//! Endpoints of quinn-proto for `sojourn-harness`.

mod api;
#[path = "../../choice.rs"]
mod choice;
#[path = "../../controller.rs"]
mod controller;
mod ours;
#[path = "../../quic.rs"]
mod quic;

pub use choice::Choice;
pub use controller::{names, pair_named, pair_with};
pub use quic::{ends, pair};
