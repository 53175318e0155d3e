//! Active queue management: each algorithm is a pure state machine in one file.
//!
//! An [`Aqm`] is called on arrivals, departures and timers, and answers with an [`ArrivalVerdict`] or a [`DepartureVerdict`]. It accesses
//! no packet, no clock and no global random generator. Most papers define only a [`Law`], which computes a drop probability once per
//! interval. [`Sampled`] turns a law and a [`Gate`] into an `Aqm`. A [`QueueController`] applies the verdicts and counts them. A [`Qdisc`]
//! also stores the packets, in one queue or in one queue per flow or class. [`RttEstimator`] and [`FlowSketch`] estimate
//! round-trip times and the number of flows from headers.
//!
//! ```
//! use sojourn_aqm::{Amount, Link, Packet, Qdisc, QueueController, REGISTRY};
//! use sojourn_units::{Duration, Rate, Stream, Time};
//!
//! #[derive(Clone, Debug)]
//! struct Datagram;
//! impl Packet for Datagram {
//!     fn size(&self) -> u32 { 1000 }
//!     fn flow(&self) -> u32 { 0 }
//!     fn can_mark(&self) -> bool { false }
//!     fn mark(&mut self) {}
//! }
//!
//! let codel = REGISTRY.iter().find(|entry| entry.name == "codel").unwrap();
//! let link = Link { rate: Rate::from_bps(4_000_000).unwrap(), delay: Duration::from_millis(20), mean_packet: 1000, limit_packets: 1000 };
//! let aqm = (codel.default)().build(&link).unwrap();
//! let mut queue = Qdisc::new(QueueController::new(aqm, Amount::Packets(1000), false, Stream::named(1, "queue")));
//!
//! // A packet arrives every millisecond, and the link sends one every two milliseconds.
//! let mut first_drop = None;
//! for ms in 0..200 {
//!     let now = Time::from_nanos(ms * 1_000_000);
//!     queue.enqueue(now, Datagram, None, |_, _| ());
//!     if ms % 2 == 0 {
//!         queue.dequeue(now, |_, _| first_drop = first_drop.or(Some(ms)));
//!     }
//! }
//! // The wait reaches the target of 5 ms at 10 ms. CoDel drops a packet when it has stayed above it for the interval of 100 ms.
//! assert_eq!(first_drop, Some(110));
//! assert!(queue.balances(), "each packet was sent, was dropped or still waits");
//! ```
#![no_std]
extern crate alloc;
#[cfg(test)]
extern crate std;

mod ack_filter;
pub mod algorithms;
mod aqm;
mod classifier;
mod controller;
mod counters;
mod disciplines;
mod fixed_point;
mod flow_hashes;
mod flow_sketch;
mod gate;
mod host_queue;
mod law;
mod needs;
mod packet;
#[cfg(test)]
mod parcel;
mod qdisc;
mod registry;
mod rtt_estimator;
mod sampled;

pub use ack_filter::{AckFilter, AckHeader, ArrivingAck};
pub use algorithms::{AnyAqm, AqmConfig, Entry, QueueController, REGISTRY};
pub use aqm::{Aqm, ArrivalVerdict, DepartureVerdict, Dropped, Link};
pub use classifier::{Classification, DualFilter, Rule};
pub use controller::ControllerOf;
pub use counters::{Counters, DropReason, Fate, Subqueue, SubqueueSample};
pub use disciplines::cake::Diffserv;
pub use disciplines::discipline::{
    Arrival, ChangedSubqueue, Contents, Departure, Layout, Loss, OwnQueues, QueueSetup, QueueState, Queues, RemovedPacket, Waiting,
    WaitingPacket,
};
pub use disciplines::dual::{DualAqm, DualQueues, DualQueuing, LowLatency};
pub use disciplines::flows::{FlowAqm, FlowQueues, FlowQueuing, Overflow};
pub use fixed_point::fixed_point;
pub use flow_hashes::FlowHashes;
pub use flow_sketch::FlowSketch;
pub use gate::{Bernoulli, Candidate, Gate, Scaled, Spread};
pub use host_queue::{Dequeued, HostDecision, HostQueue, Lost};
pub use law::{AnyLaw, Law, Sample};
pub use needs::Needs;
pub use packet::{Backlog, Drawn, DualClass, Ecn, HostPacket, Packet, PacketView};
pub use qdisc::{ClassConfig, Qdisc, QdiscConfig, Shares};
pub use registry::Plugin;
pub use rtt_estimator::{Header, RttEstimator, Timestamps};
pub use sampled::Sampled;
pub use sojourn_units::{Amount, ParamError};
