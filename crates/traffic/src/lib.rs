//! Traffic models of applications.
//!
//! A kind of traffic is one file in [`kinds`] with its parameters, their ranges and its state machine, and one line in the registry there.
//! There are two families: a [`FlowModel`] feeds one flow (datagrams or a TCP connection), a [`SessionModel`] opens TCP connections
//! dynamically. Neither has a clock: it is called with the current time and a random stream, and returns the data to send and the time of
//! the next call.
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
