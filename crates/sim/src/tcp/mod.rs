//! TCP endpoints.
//!
//! | room | what it holds |
//! |---|---|
//! | `endpoint.rs` | the sending endpoint as its host sees it: a sender's core and a recovery strategy |
//! | `sender/` | what every sender has: sequence numbers, windows, the timer |
//! | `recovery/` | loss recovery: one file for each strategy |
//! | `outstanding/` | the store of segments that are sent and not acknowledged |
//! | `rate/` | pace and delivery-rate samples |
//! | `receiver/` | the receiving endpoint: when it sends ACKs, and what they say |
//! | `ecn/` | what ACKs tell of marks |
//! | `ack.rs` | what an ACK says, for recovery, controller and samples |
//! | `ack_options.rs` | the options of ACKs on their way: SACK blocks, and `AccECN`'s |
//! | `call.rs` | what the host gives to an endpoint with every call |
//! | `clock.rs`, `wheel.rs` | what a clock shows, and when a timer expires |
//! | `ranges.rs` | sets of byte ranges |
//!
//! The options of a stack and the profiles are defined in `sojourn-spec`.
//! How wide the congestion window may be is the controller's (`sojourn-cc`).

mod ack;
mod ack_options;
mod call;
mod clock;
mod ecn;
mod endpoint;
mod outstanding;
mod ranges;
mod rate;
mod receiver;
mod recovery;
mod sender;
mod wheel;

pub(crate) use ack_options::AckOptionsPool;
pub use ack_options::{AckOptions, SackBlocks};
pub use call::{Call, SegmentSink};
pub use ecn::ByteCounts;
pub use endpoint::{Progress, Sender};
pub(crate) use receiver::{Received, Receiver};
pub use sender::{Origin, SenderStats};
pub use sojourn_spec::tcp::{AccEcnOption, Ecn, Handshake, Recovery, RttHint, SackAlgorithm, TcpOptions, WindowBasis};
