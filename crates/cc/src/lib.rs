//! Congestion control: computes the congestion window, and nothing else.
//!
//! A [`CongestionController`] receives ACKs, congestion events and timeouts, and returns the number of segments that may be in flight.
//! The endpoint detects losses, retransmits segments and runs the timers. Windows are counted in segments. [`REGISTRY`] lists all
//! controllers. `crates/cc/examples/transfer.rs` defines a new one and drives it in a loop.
//!
//! ```
//! use sojourn_cc::{Ack, CongestionController, CongestionEvent, REGISTRY, Signal, Start};
//! use sojourn_units::{Duration, Time};
//!
//! let reno = REGISTRY.iter().find(|entry| entry.name == "reno").unwrap();
//! let mut controller = (reno.default)().build(Start::new(10.0, f64::INFINITY)).unwrap();
//!
//! // Slow start: each ACK of one segment grows the window by one segment.
//! let rtt = Duration::from_millis(50);
//! let ack = |n: u64| Ack {
//!     now: Time::ZERO + rtt, rtt: Some(rtt), srtt: rtt, rtt_min: rtt, in_flight: 10.0,
//!     snd_una: n * 1000, snd_max: (n + 10) * 1000, ..Ack::ONE
//! };
//! (1..=10).for_each(|n| controller.on_ack(&ack(n)));
//! assert_eq!(controller.cwnd(), 20.0);
//!
//! // A loss halves the window, and ends slow start.
//! controller.on_congestion(&CongestionEvent { now: Time::ZERO + rtt * 2, window: 20.0, signal: Signal::Loss });
//! assert_eq!((controller.cwnd(), controller.ssthresh()), (10.0, 10.0));
//! ```
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
mod driver;
mod max_filter;
mod needs;
mod registry;
mod sample;
mod silence;
mod start;
pub mod startup;
mod variable;

pub use algorithms::{AnyController, CcConfig, Entry, REGISTRY};
pub use classic::{Classic, Counted, Early, LawOrKernel, Observation, WindowLaw};
pub use controller::{Ack, Arithmetic, CongestionController, CongestionEvent, Event, Feedback, Signal, Window};
pub use delay::{DelayBased, DelayLaw, DelaySample, Estimator, EstimatorParams, Marks};
pub(crate) use delay::{MARK_GAIN, Slowdown, growth};
pub use driver::{Driver, Pace, RoundTrip, drivable};
pub use needs::{EcnNeed, Floor, Needs, Pacing, Source};
pub use sample::{LossState, LostSegment, RateSample};
pub use sojourn_units::ParamError;
pub use start::Start;
pub(crate) use startup::Detector;
pub use startup::{Phase, START_UPS, StartUp, StartUpConfig, StartUpEntry, StartUpNeeds};
pub use variable::{About, Variable};
