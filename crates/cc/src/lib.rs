//! Congestion control: how wide the window may be, and nothing else.
//!
//! A [`CongestionController`] is told of acknowledgements, congestion and timeouts and says how
//! many segments may be in flight. What is lost, what is sent again and when belongs to the
//! endpoint; so do the habits of a stack. Windows are counted in segments.
#![no_std]
#[cfg(test)]
extern crate std;

pub mod algorithms;
mod classic;
mod controller;
mod delay;
mod hystart;
mod registry;

pub use algorithms::{AnyController, CcConfig, REGISTRY};
pub use classic::{Classic, WindowLaw};
pub use controller::{Ack, CongestionController, CongestionEvent, Signal, Start, Window};
pub use delay::{DelayBased, DelayLaw, DelaySample, Estimator, EstimatorParams, Source};
pub use hystart::HyStart;
pub use registry::Entry;
pub use sojourn_units::ParamError;
