//! Traffic models of applications.
//!
//! There are two families. A [`FlowModel`] feeds one flow: datagrams or a TCP connection. A [`SessionModel`] opens TCP connections over
//! time. A model has no clock. Each call gets a random stream, and returns the data to send and the time until the next call. [`kinds`]
//! defines each kind of traffic in one file: parameters, ranges and state machine. An [`Application`] is a running model of one flow, with
//! its start and stop time.
//!
//! ```
//! use sojourn_traffic::{Action, Application, Model, Traffic, kinds::cbr};
//! use sojourn_units::{Bytes, Duration, Stream, Time, parse_rate};
//!
//! // A camera sends 1 Mbit/s in packets of 1250 B, so one packet every 10 ms. It starts at 2 s and stops at 3 s.
//! let camera = Traffic::Cbr(cbr::Params { rate: parse_rate("1 Mbit/s").unwrap(), size: Bytes(1250), jitter: 0.0 });
//! let Model::Flow(model) = camera.model() else { panic!("constant-rate traffic feeds one flow") };
//! let (start, stop) = (Time::from_secs_f64(2.0), Time::from_secs_f64(3.0));
//! let mut application = Application::new(model, start, stop, || Stream::named(1, "camera"));
//!
//! let mut sent = Vec::new();
//! loop {
//!     let now = application.due();
//!     match application.act() {
//!         Action::Write(write) => sent.push((now, write.bytes.unwrap())),
//!         Action::Stop => break,
//!     }
//! }
//! assert_eq!(sent.len(), 100);
//! assert_eq!(sent[1], (start + Duration::from_millis(10), 1250));
//! assert_eq!(application.due(), Time::NEVER);
//! ```
#![no_std]
extern crate alloc;
#[cfg(test)]
extern crate std;

mod application;
pub mod kinds;
mod model;
pub mod pairs;
mod session;

pub use application::{Action, Application};
pub use kinds::{AnyFlowModel, AnySessionModel, Entry, Model, REGISTRY, Traffic};
pub use model::{Connection, FlowModel, Opening, Params, SessionModel, Size, Transport, Write};
pub use session::Session;
pub use sojourn_units::ParamError;
