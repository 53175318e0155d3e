//! Explicit congestion notification: how ACKs report marks, and how both ends count them.
//!
//! | file | what it does |
//! |---|---|
//! | `accurate_ecn.rs` | counts of marked packets in ACKs, as the receiver counts and as the sender reads them |
//! | `accecn_option.rs` | counts of bytes, in the option of `AccECN` |
//! | `mark_feedback.rs` | what a receiver tells of marks, by either kind of feedback |

mod accecn_option;
mod accurate_ecn;
mod mark_feedback;

pub use accecn_option::{AckFeedback, ByteCounter, ByteCounts};
pub use accurate_ecn::{MarkReader, NO_MARKS, NewlyAcked, ONE_MARK, handshake};
pub use mark_feedback::MarkFeedback;
