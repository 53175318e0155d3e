//! Pace and delivery rate of a sender.
//!
//! | file | content |
//! |---|---|
//! | `pacer.rs` | the time at which the next segment may leave |
//! | `sampler.rs` | the delivered data at each departure, and the samples of each ACK |
//! | `sent_segments.rs` | the outstanding segments of samples, for recovery strategies that store none |

mod pacer;
mod sampler;
mod sent_segments;

pub use pacer::Pacer;
pub use sampler::{Sampler, Standing};
pub use sent_segments::SentSegments;
