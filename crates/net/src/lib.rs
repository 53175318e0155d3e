//! A network apart from its endpoints: links with their queues, routes, the calendar of events, statistics and the audit.
//!
//! It does no I/O and has no clock (sans-IO): a host says when it sends which packet on which route, and learns what the network
//! delivers, drops and marks. What a packet carries is the host's: anything that is a [`Packet`].
//!
//! ```text
//!                      send(now, route, packet)
//!                               |
//!   host  ----------------------+-----> hop: access link --> hop: link --> ... --> end of the route
//!    ^                                       (FIFO only)    queue, AQM, measured           |
//!    |                                                                                     |
//!    +---- next(until): deliveries and timers in the order of time <---- calendar <--------+
//! ```
//!
//! - [`NetworkBuilder`] takes links and routes and makes a [`Network`].
//! - [`Network::send`] takes a packet as far along its route as no event is needed; [`Network::next`] runs events until one concerns
//!   the host. [`Network::advance`] does that in a loop and reports to a [`Sink`].
//! - [`Network::finish`] brings all statistics to the end and checks the accounts.
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
pub use network::{Audit, Delivered, Event, Network, Place, RouteId, TimerClass};
pub use observer::{DropCause, LinkObserver, Sink};
pub use packet::{Direction, Headers, Packet, packet_hash};
pub use prefetch::prefetch;
pub use sojourn_aqm::{AckHeader, Timestamps};
pub use sojourn_link::TcpOption;
pub use stats::{Moments, Quantiles, QueueStats, Sums, TimeWeighted};
pub use trace::{PacketWait, QueueTrace, SubqueueTrace, ThroughputTrace};
pub use window::Window;
