//! Active queue management: algorithms as pure state machines, one file each.
//!
//! An [`Aqm`] is called for what happens at a queue and answers with an [`ArrivalVerdict`] or a [`DepartureVerdict`]; it touches no
//! packet, no clock and no global generator. Most papers define only a [`Law`]: numbers in, a probability out, once per
//! interval. [`Sampled`] makes an `Aqm` of a law and a [`Gate`]. [`QueueController`] applies the verdicts and counts;
//! [`Qdisc`] also holds the packets, those of a link with classes in a queue for each. A router can estimate round-trip times and the number of flows by itself:
//! [`RttEstimator`], [`FlowSketch`].
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
mod flow_hashes;
mod flow_sketch;
mod gate;
mod host_queue;
mod law;
mod needs;
mod packet;
#[cfg(test)]
mod parcel;
mod queuing;
mod registry;
mod rtt_estimator;
mod sampled;

pub use ack_filter::{AckFilter, AckHeader, ArrivingAck};
pub use algorithms::{AnyAqm, AqmConfig, Entry, REGISTRY};
pub use aqm::{Aqm, ArrivalVerdict, DepartureVerdict, Dropped, Link};
pub use classifier::Rule;
pub use controller::QueueController;
pub use counters::{Counters, DropReason, Fate, Subqueue, SubqueueSample};
pub use disciplines::classes::{ClassConfig, Shares};
pub use disciplines::discipline::{Arrival, Contents, Desk, Given, Leaving, Loss, Queues, Taken, Useless, Waiting};
pub use disciplines::qdisc::{AnyDiscipline, Qdisc, QdiscConfig};
pub use flow_hashes::FlowHashes;
pub use flow_sketch::FlowSketch;
pub use gate::{Bernoulli, Candidate, Gate, Scaled, Spread};
pub use host_queue::{Dequeued, HostDecision, HostQueue, Lost};
pub use law::{Law, Sample};
pub use needs::Needs;
pub use packet::{Backlog, DualClass, Ecn, HostPacket, Packet, PacketView};
pub use queuing::{
    CakeQueuing, Classification, Diffserv, DualAqm, DualFilter, DualQueuing, Fills, FlowAqm, FlowQueuing, LowLatency, Overflow,
};
pub use registry::Plugin;
pub use rtt_estimator::{Header, RttEstimator, Timestamps};
pub use sampled::Sampled;
pub use sojourn_units::{Amount, ParamError};
