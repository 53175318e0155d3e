//! Active queue management: algorithms as pure state machines, one file each.
//!
//! An [`Aqm`] is told what happens at a queue and answers with a [`Verdict`]; it never touches a
//! packet, a clock or a global generator. Most papers define only a [`Law`]: numbers in, a
//! probability out, once per interval. [`Sampled`] turns a law and a [`Gate`] into an `Aqm`.
//! [`Admission`] applies the verdicts and keeps the accounts; [`Qdisc`] adds the packets themselves. What a law must be told
//! of round-trip times and flows a router can find out by itself: [`RttEstimator`], [`FlowSketch`].
#![no_std]
extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod algorithms;
mod aqm;
mod flow_sketch;
mod gate;
mod law;
mod qdisc;
mod registry;
mod rtt_estimator;
mod scheduler;

pub use aqm::{Aqm, Arrival, Backlog, Link, Needs, Verdict};
pub use flow_sketch::FlowSketch;
pub use gate::{Bernoulli, Gate, Scaled, Spread};
pub use law::{Law, Sample, Sampled};
pub use qdisc::{Admission, Counters, Decision, DropReason, Limit, Packet, Qdisc};
pub use registry::{AnyAqm, AqmConfig, Entry, Plugin, REGISTRY};
pub use rtt_estimator::{Header, RttEstimator};
pub use scheduler::FlowQueuing;
pub use sojourn_units::ParamError;
