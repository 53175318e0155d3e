//! Replays the log of a sender through its controller, and finds where the windows part.
//! Our controller of the same name receives the sender's events. Each divergence has the rule that ours applied and the likely cause.
//!
//! ```
//! use sojourn_judge::{Acked, Action, Cause, Event, Limit, Subject, judge};
//! use sojourn_units::{Duration, Time};
//!
//! let at = |ms: u64| Time::ZERO + Duration::from_millis(ms);
//! let acked = Acked { bytes: 1200, sent: Some(at(0)), limit: Limit::Window, ..Acked::default() };
//! let log = [
//!     Event { at: at(0), action: Action::Window { cwnd: 120_000, ssthresh: Some(120_000) } },
//!     Event { at: at(40), action: Action::Acked(acked) },
//!     Event { at: at(40), action: Action::Lost { sent: Some(at(0)), persistent: false, in_flight: None } },
//!     Event { at: at(40), action: Action::Window { cwnd: 60_000, ssthresh: Some(60_000) } },
//! ];
//! let reno = judge(&Subject::quic("reno", 1200), &log).unwrap();
//! assert!(reno.divergences.is_empty());
//! let cubic = judge(&Subject::quic("cubic", 1200), &log).unwrap();
//! assert_eq!(cubic.divergences[0].cause, Cause::OtherFactor);
//! assert_eq!(cubic.divergences[0].cause.about().rule, "rfc9438#4.6");
//! ```

mod cause;
mod event;
mod growth;
mod reduction;
mod replay;
mod rival;
mod subject;

pub use cause::{About, CAUSES, Cause};
pub use event::{Acked, Action, Event, Limit};
pub use replay::{Divergence, Judgement, Point, judge};
pub use subject::{ESTIMATE, ESTIMATE_SHARE, Subject, SubjectError, Transport, controllers};
