//! Congestion control: how wide the congestion window may be, and nothing else.
//!
//! A [`CongestionController`] receives acknowledgments, congestion events and timeouts, and says how many segments may be in
//! flight. The endpoint finds losses, sends segments again and keeps the timer. Windows are counted in segments.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod algorithms;
mod bounds;
mod classic;
mod classic_ecn;
mod controller;
mod delay;
mod hystart;
mod max_filter;
mod needs;
mod registry;
mod sample;
mod silence;
mod variable;

pub use algorithms::{AnyController, CcConfig, Entry, REGISTRY};
pub use classic::{Classic, Counted, Early, LawOrKernel, Seen, WindowLaw};
pub use controller::{Ack, Arithmetic, CongestionController, CongestionEvent, Event, Feedback, Signal, Start, Window};
pub(crate) use delay::Slowdown;
pub use delay::{DelayBased, DelayLaw, DelaySample, Estimator, EstimatorParams, MARK_GAIN, Marks, growth};
pub use hystart::HyStart;
pub use needs::{EcnNeed, Floor, Needs, Pacing, Source};
pub use sample::{LossState, LostSegment, RateSample};
pub use sojourn_units::ParamError;
pub use variable::{About, Variable};
