//! The C interface of the simulated network.
//!
//! A program in C creates a network from a scenario in TOML, sends the packets of the flows that have a `host`, and receives their
//! arrivals, in virtual time. A transport in C can also use the simulator's congestion controllers, without a network. `build.rs` writes the header `sojourn.h` beside the library. Functions that fail
//! return NULL or -1, and [`sojourn_error`] returns the reason. A network belongs to one thread.

mod controller;
mod network;
mod text;

pub use controller::*;
pub use network::*;
pub use text::*;
