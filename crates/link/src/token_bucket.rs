//! A token bucket with exact arithmetic.
//! Tokens are bits times 10^9, so that a nanosecond at a rate in bit/s adds a whole number of them.

use crate::ParamError;
use sojourn_units::{Bytes, Duration, Rate, Time, range};

/// The largest bucket, in bytes: 10^15 B.
const LARGEST: u64 = range::LARGEST_TRANSFER;

/// A bucket of at most this size is soon empty at any data rate.
pub(crate) const SOON_EMPTY: Bytes = Bytes(1_000_000_000);

/// Checks the ranges of a bucket's rate and size.
///
/// # Errors
/// The first value out of range.
pub(crate) fn check(rate: Rate, burst: Bytes) -> Result<(), ParamError> {
    range::rate("rate", rate)?;
    ParamError::unless((1..=LARGEST).contains(&burst.0), "burst", &burst, "a size of 1 B to 1000000 GB")
}

/// A bucket that fills at a rate. It is full at the start.
#[derive(Clone, Debug)]
pub(crate) struct TokenBucket {
    rate: u128,
    full: u128,
    tokens: u128,
    /// The time at which the number of tokens was updated.
    since: Time,
}

impl TokenBucket {
    pub fn new(rate: Rate, burst: Bytes) -> Self {
        let full = cost(burst.0);
        TokenBucket { rate: u128::from(rate.as_bps()), full, tokens: full, since: Time::ZERO }
    }

    /// The time at which there are tokens for `size` bytes; `None` if the bucket is too small.
    /// It is not before `now` and not before the last call's time.
    pub fn ready(&mut self, now: Time, size: u32) -> Option<Time> {
        let cost = cost(u64::from(size));
        if cost > self.full {
            return None;
        }
        self.fill(now.max(self.since));
        let lacking = cost.saturating_sub(self.tokens).div_ceil(self.rate);
        Some(self.since + Duration::from_nanos(lacking as u64))
    }

    /// Takes the tokens for `size` bytes at the time returned by [`TokenBucket::ready`].
    pub fn take(&mut self, at: Time, size: u32) {
        self.fill(at);
        self.tokens -= cost(u64::from(size));
    }

    fn fill(&mut self, now: Time) {
        self.tokens = self.full.min(self.tokens + self.rate * u128::from(now.since(self.since).as_nanos()));
        self.since = now;
    }
}

fn cost(bytes: u64) -> u128 {
    u128::from(bytes) * 8_000_000_000
}
