//! TCP endpoints.
//!
//! | file | what it does |
//! |---|---|
//! | `ack.rs` | what an ACK says, for recovery, controller and samples |
//! | `sender.rs` | the sending endpoint: a core and a recovery strategy |
//! | `sender_core/` | what every sender has: sequence numbers, windows, the timer |
//! | `recovery/` | loss recovery: one file for each strategy |
//! | `rto.rs` | the smoothed RTT and the retransmission timeout |
//! | `receiver.rs` | the receiving endpoint: when it sends ACKs, and what they say |
//! | `reassembly.rs` | what arrived above a gap, and the SACK blocks that report it |
//! | `clock.rs` | what the receiver's clock shows |
//! | `receive_window.rs` | the window that a receiver advertises |
//! | `ack_rules.rs` | what a receiver has whose ACKs may wait, or tell more |
//! | `ack_policy.rs` | when a receiver acknowledges, as in Linux |
//! | `inflight.rs` | `FreeBSD`'s limit on the data in flight |
//! | `wheel.rs` | when a timer of Linux expires |
//! | `pacer.rs` | pacing: when the next segment may leave |
//! | `outstanding.rs` | the segments that are sent and not acknowledged |
//! | `segment.rs` | a segment that was sent, as its sender keeps it |
//! | `sampler.rs` | delivery-rate samples: what was delivered when a segment left, and what each ACK delivers |
//! | `sent_segments.rs` | the outstanding segments as these see them, where the recovery strategy keeps none itself |
//! | `accurate_ecn.rs` | the counts of marked packets in ACKs |
//! | `accecn_option.rs` | the counts of bytes in their option |
//! | `mark_feedback.rs` | what ACKs tell of marked packets |
//! | `ack_options.rs` | the options of ACKs on their way: SACK blocks, and `AccECN`'s |
//! | `ranges.rs` | sets of byte ranges |
//!
//! The options of a stack and the profiles are defined in `sojourn-spec`.
//! How wide the congestion window may be is the controller's (`sojourn-cc`).

mod accecn_option;
mod accurate_ecn;
mod ack;
mod ack_options;
mod ack_policy;
mod ack_rules;
mod call;
mod clock;
mod increase_limit;
mod inflight;
mod mark_feedback;
mod outstanding;
mod pacer;
mod ranges;
mod reassembly;
mod receive_window;
mod receiver;
mod recovery;
mod rto;
mod sampler;
mod segment;
mod sender;
mod sender_core;
mod sent_segments;
mod wheel;

pub use accecn_option::ByteCounts;
pub use ack_options::{AckOptions, AckOptionsPool, SackBlocks};
pub use call::{Call, SegmentSink};
pub use receiver::{Received, Receiver};
pub use sender::{Progress, Sender};
pub use sender_core::{Origin, SenderStats};
pub use sojourn_spec::tcp::{AccEcnOption, Ecn, Handshake, Recovery, RttHint, SackAlgorithm, TcpOptions, WindowBasis};
