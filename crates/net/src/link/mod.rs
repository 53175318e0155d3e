//! Links: a queue, a transmitter and a propagation delay.
//!
//! A packet that arrives at a [`Link`] (`link.rs`) meets a queue of one of three kinds, then the [`transmitter`]; the [`meter`] counts it:
//!
//! - [`precomputed`]: the discipline decides at arrival, so a departure is known when the packet is accepted. If the limit is the only decision,
//!   a packet passes without an offer;
//! - [`ahead`]: the discipline decides at departure, but mostly in advance, so the link holds few packets;
//! - [`buffered`]: the discipline decides at departure too or inspects waiting packets, so the link holds them.
//!
//! An access link ([`access`]) is the compact form of the first: it measures nothing. [`tie`] orders a simultaneous arrival and departure.
//! Other calls of the network are in `questions.rs`.

pub(crate) mod access;
mod ahead;
mod buffered;
mod config;
#[allow(clippy::module_inception, reason = "the link is the thing that the folder is about")]
mod link;
mod meter;
mod precomputed;
mod questions;
mod queue;
mod router;
mod stats;
pub(crate) mod tie;
mod traced;
mod transmitter;
mod updates;

pub(crate) use buffered::{Report, Step};
pub use config::LinkConfig;
pub use link::Link;
pub(crate) use link::Offer;
pub use stats::{LinkStats, SubqueueStats};
