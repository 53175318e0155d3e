//! TCP endpoints.
//!
//! | file | what it does |
//! |---|---|
//! | `params.rs` | the options of a stack, and the profiles that set them |
//! | `sender.rs` | the sending endpoint: a core and a recovery strategy |
//! | `sender_core/` | what every sender has: sequence numbers, windows, the timer |
//! | `recovery/` | loss recovery: one file for each strategy |
//! | `rto.rs` | the smoothed RTT and the retransmission timeout |
//! | `receiver.rs` | the receiving endpoint: reassembly, ACKs, SACK blocks |
//! | `inflight.rs` | `FreeBSD`'s limit on the data in flight |
//! | `ranges.rs` | sets of byte ranges |
//!
//! How wide the congestion window may be is the controller's (`sojourn-cc`).

mod call;
mod inflight;
pub mod params;
mod ranges;
mod receiver;
mod recovery;
mod rto;
mod sender;
mod sender_core;

pub use call::{Call, SegmentSink};
pub use params::{Handshake, Recovery, RttHint, SackAlgorithm, TcpParams, WindowBasis};
pub use receiver::{Received, Receiver, SackBlocks, SackPool};
pub use sender::{Progress, Sender};
pub use sender_core::{Origin, SenderStats};
