//! Time, size, rate, probability and named random streams.
//!
//! Times and sizes are integers: [`Time`] and [`Duration`] count nanoseconds, [`Bytes`] counts bytes, and [`Rate`] counts bits per second.
//! A [`Serializer`] carries the remainder of each division to the next packet, so rounding errors do not add up. A [`Stream`] is a random
//! generator with a name. Its numbers depend on the seed and the name only, so a new stream never changes the numbers of another one.
//!
//! ```
//! use sojourn_units::{Duration, Serializer, Stream, Time, parse_rate};
//!
//! // Seven packets of 1500 B have 84,000 bits. At 7 Mbit/s they take 12 ms, although one packet takes 1,714,285.71... ns.
//! let mut link = Serializer::new(parse_rate("7 Mbit/s").unwrap());
//! let mut now = Time::ZERO;
//! for _ in 0..7 {
//!     now += link.send(1500);
//! }
//! assert_eq!(now, Time::ZERO + Duration::from_millis(12));
//!
//! // The same seed and name yield the same numbers, whatever other streams exist.
//! let first_gap = |name| Stream::named(1, name).exponential(0.02);
//! assert_eq!(first_gap("flow/web"), first_gap("flow/web"));
//! assert_ne!(first_gap("flow/web"), first_gap("flow/voice"));
//! ```
#![no_std]
extern crate alloc;
#[cfg(test)]
extern crate std;

mod amount;
mod limit;
mod memory;
mod overhead;
mod param;
mod parse;
mod probability;
mod random;
pub mod range;
mod rate;
#[cfg(feature = "schema")]
mod schema;
mod sequence;
#[cfg(feature = "serde")]
mod serde_text;
mod time;

pub use amount::Amount;
pub use limit::Limit;
pub use memory::{Items, Memory, Plain, memory_of, tighten};
pub use overhead::{AnyOverhead, Cells, LinkLayer, Overhead};
pub use param::ParamError;
pub use parse::{ParseError, parse_bytes, parse_duration, parse_rate};
pub use probability::Probability;
pub use random::{Stream, bytes_hash, name_hash};
pub use rate::{Bytes, NANOBITS_PER_BYTE, Rate, Serializer, Transmission};
pub use sequence::comes_before;
pub use time::{Duration, Time};
