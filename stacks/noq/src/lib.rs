//! Endpoints of noq-proto for `sojourn-harness`.

mod api;
#[path = "../../choice.rs"]
mod choice;
#[path = "../../controller.rs"]
mod controller;
mod ours;
#[path = "../../quic.rs"]
mod quic;
mod random;

pub use choice::Choice;
pub use controller::{names, pair_named, pair_with};
use noq_proto::TransportConfig;
use sojourn_harness::{FlowInfo, Pair};

/// Both ends of a connection, with this configuration of their transport.
/// All random numbers of the stack follow from the seed of the flow.
pub fn pair(flow: &FlowInfo, transport: TransportConfig) -> Pair {
    random::reseed(flow);
    quic::pair(flow, transport)
}
