//! A deterministic packet simulator: TCP endpoints and traffic on a network.
//!
//! [`World`] owns everything and runs it. Links, routes and the calendar are those of `sojourn_net`; the endpoints here may run ahead
//! of the network's time (see `world`).

mod accounts;
pub mod config;
mod flow;
mod hosts;
mod needs;
mod observer;
mod packet;
mod report;
pub mod tcp;
mod world;

pub use config::{BuildError, WorldConfig};
pub use flow::{Completion, FlowStats};
pub use observer::{HostDoes, NoopObserver, Observer};
pub use packet::{Packet, flag};
pub use report::FlowReport;
pub use sojourn_net::{Audit, DropCause, ImpairmentStats, LinkConfig, LinkImpairment, LinkStats, Moments, PacketWait, Place};
pub use sojourn_net::{Quantiles, QueueStats, QueueTrace, Sums, ThroughputTrace, TimeWeighted};
pub use world::World;

/// A link of the simulator's network.
pub type Link = sojourn_net::Link<Packet>;
