//! A network without its endpoints.
//!
//! It consists of links with their queues, routes, the event calendar, statistics and the audit. The crate does no I/O and has no clock
//! (sans-IO). A host sends packets on routes, and receives the deliveries, drops and marks of the network. The host defines the type of its
//! packets: any type that implements [`Packet`].
//!
//! ```text
//!   send(now, route, packet)
//!            |
//!   host  ---+--> hop: access link --> hop: link --> ... --> end of the route
//!    ^             (FIFO only)         queue, AQM, measured         |
//!    |                                                              |
//!    +--- next(until): deliveries and timers, ordered by time <--- calendar
//! ```
//!
//! - [`NetworkBuilder`] adds links and routes, and builds a [`Network`].
//! - [`Network::send`] moves a packet along its route until it needs an event. [`Network::next`] runs events until one concerns the host.
//!   [`Network::advance`] does so in a loop, and reports to a [`Sink`].
//! - [`Network::finish`] completes all statistics and checks that every packet is accounted for.
//!
//! ```
//! use sojourn_aqm::QueueController;
//! use sojourn_net::{Delivery, Event, LinkConfig, Network, NetworkBuilder, Window};
//! use sojourn_spec::link::Link;
//! use sojourn_units::{Duration, Rate, Time};
//!
//! #[derive(Clone, Default, Debug)]
//! struct Letter(&'static str);
//! impl sojourn_aqm::Packet for Letter {
//!     fn size(&self) -> u32 { 1000 }
//!     fn flow(&self) -> u32 { 0 }
//!     fn can_mark(&self) -> bool { false }
//!     fn mark(&mut self) {}
//! }
//! impl sojourn_net::Packet for Letter {}
//!
//! // One link: 1000 B take 1 ms at 8 Mbit/s, and then 10 ms to the other end.
//! let link = Link { rate: Rate::from_bps(8_000_000), delay: Duration::from_millis(10), ..Link::default() };
//! let end = Time::from_secs_f64(1.0);
//! let mut builder = NetworkBuilder::new(Window { from: Time::ZERO, until: end });
//! let number = builder.add_link(LinkConfig::new(link, QueueController::passing()));
//! let route = builder.add_route(&[number], Delivery::Deferred, false).unwrap();
//! let mut network: Network<Letter> = builder.build();
//!
//! // Two packets are sent at time 0. The second one waits while the link sends the first.
//! network.send(Time::ZERO, route, Letter("first"), &mut ());
//! network.send(Time::ZERO, route, Letter("second"), &mut ());
//! let mut delivered = Vec::new();
//! while let Some(Event::Delivery(delivery)) = network.next(end, &mut ()) {
//!     delivered.push((delivery.at.as_millis(), delivery.packet.0));
//! }
//! assert_eq!(delivered, [(11, "first"), (12, "second")]);
//! assert_eq!(network.finish(end).unwrap().delivered, 2);
//! ```
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod answers;
mod builder;
mod calendar;
mod choice;
mod contention;
mod hop;
mod impaired;
mod link;
mod link_ids;
mod medium;
mod network;
mod observer;
mod packet;
mod prefetch;
mod sent;
mod stats;
mod trace;
mod window;

pub use builder::{Delivery, NetworkBuilder, UnknownLink};
pub use choice::Turn;
pub use impaired::{ImpairmentStats, LinkImpairment};
pub use link::{Link, LinkConfig, LinkStats, SubqueueStats};
pub use medium::TurnStats;
pub use network::{Audit, Crossing, Delivered, Event, Loop, Network, Parts, Place, RouteId, TimerClass};
pub use observer::{DropCause, LinkObserver, Sink};
pub use packet::{Direction, Headers, Packet, packet_hash};
pub use prefetch::prefetch;
pub use sojourn_aqm::{AckHeader, Timestamps};
pub use sojourn_link::TcpOption;
pub use stats::{Moments, Quantiles, QueueStats, Sums, TimeWeighted};
pub use trace::{PacketWait, QueueSample, QueueTrace, SubqueueTrace, ThroughputTrace};
pub use window::Window;
