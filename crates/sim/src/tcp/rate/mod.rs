//! Pace and delivery rate of a sender.
//!
//! | file | what it does |
//! |---|---|
//! | `pacer.rs` | when the next segment may leave |
//! | `sampler.rs` | what was delivered when a segment left, and what each ACK delivers |
//! | `sent_segments.rs` | the outstanding segments as samples see them, where the recovery strategy keeps none itself |

mod pacer;
mod sampler;
mod sent_segments;

pub use pacer::Pacer;
pub use sampler::{Sampler, Standing};
pub use sent_segments::SentSegments;
