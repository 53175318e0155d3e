//! A token bucket, exact: tokens are bits times 10^9, so that a nanosecond at a rate in bit/s adds whole ones.

use crate::ParamError;
use sojourn_units::{Bytes, Duration, Rate, Time, range};

/// The largest bucket, in bytes: 10^15 B.
const LARGEST: u64 = range::LARGEST_TRANSFER;

/// A bucket of this size is soon empty at any data rate.
pub(crate) const SOON_EMPTY: Bytes = Bytes(1_000_000_000);

/// Whether the rate and the size of a bucket are in their ranges.
///
/// # Errors
/// The first that is not.
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
    /// The time of this number of tokens.
    since: Time,
}

impl TokenBucket {
    pub fn new(rate: Rate, burst: Bytes) -> Self {
        let full = cost(burst.0);
        TokenBucket { rate: u128::from(rate.as_bps()), full, tokens: full, since: Time::ZERO }
    }

    /// When there are tokens for `size` bytes, not before `now` and not before the last call's time; `None` if the bucket is too small.
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
