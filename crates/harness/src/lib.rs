//! A network under transports that are not ours, in virtual time.
//!
//! A test of a QUIC or TCP stack needs a network: links with rates and delays, queues, losses, marks, and other traffic beside it. This
//! crate is that network. A stack without I/O is connected by one trait, [`Endpoint`]. It gets every queue discipline, impairment and
//! trace of a Sojourn scenario, and the simulator's own TCP as a competitor. A run is deterministic: the same scenario, seed and stack give
//! the same packets at the same times.
//!
//! ```
//! use sojourn_harness::{Datagram, Dumbbell, Ecn, Endpoint, Harness, Pair, State};
//! use std::time::Duration;
//!
//! /// Sends a datagram of 1000 bytes each 10 ms; the other end counts the bytes.
//! #[derive(Default)]
//! struct Camera { due: Option<Duration>, waiting: bool, received: u64 }
//!
//! impl Endpoint for Camera {
//!     fn write(&mut self, now: Duration, _: Option<u64>, _: bool) { self.due = Some(now) }
//!     fn receive(&mut self, _: Duration, datagram: Datagram) { self.received += datagram.payload.len() as u64 }
//!     fn transmit(&mut self, _: Duration) -> Option<Datagram> {
//!         std::mem::take(&mut self.waiting).then(|| Datagram { payload: vec![0; 1000], ecn: Ecn::NotEct })
//!     }
//!     fn timeout(&mut self) -> Option<Duration> { self.due }
//!     fn on_timeout(&mut self, now: Duration) { (self.waiting, self.due) = (true, Some(now + Duration::from_millis(10))) }
//!     fn state(&self) -> State { State { delivered: self.received, ..State::default() } }
//! }
//!
//! // The camera shares a bottleneck of 10 Mbit/s with a CUBIC flow.
//! let network = Dumbbell::new("10 Mbit/s", "40 ms").queue("fq-codel").flow("video", "camera").tcp("download", "cubic");
//! let pair = |_: &_| Pair { sender: Box::new(Camera::default()), receiver: Box::new(Camera::default()) };
//! let run = Harness::new(network.check().unwrap()).host("camera", pair).run().unwrap();
//! let goodput = |name: &str| run.record.flows.iter().find(|flow| flow.name == name).unwrap().goodput_bps;
//! assert!((790_000.0..=801_000.0).contains(&goodput("video/0")));
//! assert!(goodput("download/0") > 8_000_000.0);
//! ```

mod connection;
mod endpoint;
mod error;
mod files;
mod log;
mod network;
mod packets;
mod run;
mod script;
mod shrink;
pub mod trials;

pub use endpoint::{Datagram, Ecn, Endpoint, FlowInfo, HEADERS, Pair, State};
pub use error::Error;
pub use log::{Changes, Log, PacketEvent, PacketKind, Run};
pub use network::{Dumbbell, scenario};
pub use run::{Harness, MakePair};
pub use script::Fate;
pub use shrink::shrink;
