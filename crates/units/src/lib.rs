//! Time, size, rate, probability and named random streams.
//!
//! No time and no number of bytes is a float: [`Time`] and [`Duration`] count nanoseconds, [`Bytes`] counts bytes, and
//! [`Rate`] counts bits per second. [`Serializer`] carries the remainder of every division, so transmission times are exact
//! over any number of packets.
#![no_std]
extern crate alloc;
#[cfg(test)]
extern crate std;

mod amount;
mod limit;
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
pub use overhead::{AnyOverhead, Cells, LinkLayer, Overhead};
pub use param::ParamError;
pub use parse::{ParseError, parse_bytes, parse_duration, parse_rate};
pub use probability::Probability;
pub use random::{Stream, name_hash};
pub use rate::{Bytes, NANOBITS_PER_BYTE, Rate, Serializer, Transmission};
pub use sequence::comes_before;
pub use time::{Duration, Time};
