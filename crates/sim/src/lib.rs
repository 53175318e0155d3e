//! A deterministic packet simulator: TCP endpoints and traffic on a network.
//!
//! A [`World`] owns the endpoints and the network, and runs them. Links, routes and the calendar come from `sojourn_net`. The module
//! `world` explains why endpoints may run ahead of the network's time.
//!
//! ```
//! use sojourn_sim::{LinkConfig, World, WorldConfig, tcp::TcpOptions};
//! use sojourn_aqm::{Amount, AnyAqm, QueueController, algorithms::drop_tail::DropTail};
//! use sojourn_spec::{flow::Flow, link::Link};
//! use sojourn_traffic::{Traffic, kinds::bulk};
//! use sojourn_units::{Bytes, Duration, Rate, Stream, Time};
//!
//! // 8 Mbit/s with a queue of 50 packets there, a pure delay back: a round trip takes 40 ms.
//! let delay = Duration::from_millis(20);
//! let queue = QueueController::new(AnyAqm::DropTail(DropTail), Amount::Packets(50), false, Stream::named(1, "queue"));
//! let there = LinkConfig::new(Link { name: "there".into(), rate: Rate::from_bps(8_000_000), delay, ..Link::default() }, queue);
//! let back = LinkConfig::new(Link { name: "back".into(), delay, ..Link::default() }, QueueController::passing());
//! // One TCP connection sends 5 MB.
//! let flow = Flow {
//!     name: "upload".into(), group: 0, forward: vec![0], back: vec![1], paths: None, stack: Some(0),
//!     traffic: Traffic::Bulk(bulk::Params { size: Some(Bytes(5_000_000)) }), start: Time::ZERO, stop: Time::NEVER, host: None,
//! };
//! let config = WorldConfig {
//!     seed: 1, end: Time::from_secs_f64(10.0), links: vec![there, back], flows: vec![flow].into(), stacks: vec![TcpOptions::rfc()],
//!     ..WorldConfig::default()
//! };
//! let mut world = World::new(config).unwrap();
//! let audit = world.finish().unwrap();
//!
//! // The payload alone takes 5 s at 8 Mbit/s. Headers, handshake and slow start take less than another second.
//! let upload = &world.completions()[0];
//! assert!((5.0..6.0).contains(&upload.closed.as_secs_f64()), "{upload:?}");
//! assert_eq!(audit.sent, audit.delivered + audit.dropped + audit.in_flight);
//! ```

mod accounts;
pub mod config;
mod flow;
mod foreign;
mod hosts;
mod needs;
mod observer;
mod packet;
mod report;
pub mod tcp;
mod world;

pub use config::{BuildError, WorldConfig};
pub use flow::{Completion, FlowStats};
pub use foreign::{ForeignAction, ForeignEvent, ForeignPacket};
pub use observer::{HostDoes, NoopObserver, Observer};
pub use packet::{Packet, flag};
pub use report::FlowReport;
pub use sojourn_net::{Audit, DropCause, ImpairmentStats, LinkConfig, LinkImpairment, LinkStats, Moments, PacketWait, Place};
pub use sojourn_net::{Quantiles, QueueStats, QueueTrace, Sums, ThroughputTrace, TimeWeighted};
pub use world::{Division, Mail, World};

/// A link of the simulator's network.
pub type Link = sojourn_net::Link<Packet>;
