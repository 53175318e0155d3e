//! A deterministic packet simulator with exact event elision.
//!
//! [`World`] owns everything and is the only one that schedules; components answer what they want.
//! See `world` for what makes an event, `schedule` for the order of simultaneous ones.

pub mod config;
mod flow;
mod hosts;
mod lane;
mod link;
mod link_config;
mod net;
mod observe;
mod packet;
mod report;
mod router;
mod schedule;
mod stats;
pub mod tcp;
mod trace;
mod ways;
mod world;

pub use config::{BuildError, FlowConfig, WorldConfig};
pub use flow::FlowStats;
pub use link::Link;
pub use link_config::{Hints, LinkConfig, LinkStats, Measure};
pub use net::Audit;
pub use observe::{Blind, Observer};
pub use packet::{Packet, flag};
pub use report::FlowReport;
pub use stats::{Moments, Quantiles, QueueStats, Sums, TimeWeighted};
pub use trace::LinkTrace;
pub use world::{Completion, World};
