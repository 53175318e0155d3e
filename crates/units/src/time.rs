//! Instants and durations, in whole nanoseconds.

use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Sub};

/// An instant: nanoseconds since the start of a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

/// A duration in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(u64);

impl Time {
    /// The start of a run.
    pub const ZERO: Time = Time(0);
    /// An instant after every event: never.
    pub const NEVER: Time = Time(u64::MAX);

    /// From nanoseconds since the start of the run.
    pub const fn from_nanos(nanos: u64) -> Self {
        Time(nanos)
    }

    /// From seconds since the start of the run, rounded to the nearest nanosecond.
    /// Negative numbers and NaN become zero.
    pub fn from_secs_f64(secs: f64) -> Self {
        Time(Duration::from_secs_f64(secs).0)
    }

    /// Nanoseconds since the start of the run.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Whole microseconds since the start of the run.
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    /// Whole milliseconds since the start of the run.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }

    /// Seconds since the start of the run.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as i64 as f64 * 1e-9
    }

    /// The time from `earlier` to `self`; zero if `earlier` is later.
    pub const fn since(self, earlier: Time) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// No time.
    pub const ZERO: Duration = Duration(0);
    /// The longest duration.
    pub const MAX: Duration = Duration(u64::MAX);

    /// From nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Duration(nanos)
    }

    /// From microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Duration(micros * 1_000)
    }

    /// From milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Duration(millis * 1_000_000)
    }

    /// From whole seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Duration(secs * 1_000_000_000)
    }

    /// From seconds, rounded to the nearest nanosecond.
    /// Negative numbers and NaN become zero; numbers that are too large become the maximum.
    pub fn from_secs_f64(secs: f64) -> Self {
        let nanos = secs * 1e9;
        let whole = nanos as u64;
        Duration(whole.saturating_add(u64::from(nanos - whole as f64 >= 0.5)))
    }

    /// The duration in nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The duration in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as i64 as f64 * 1e-9
    }

    /// `self - other`, or zero if that is negative.
    pub const fn saturating_sub(self, other: Duration) -> Duration {
        Duration(self.0.saturating_sub(other.0))
    }

    /// `self * factor`, rounded to the nearest nanosecond; a negative factor gives zero.
    pub fn mul_f64(self, factor: f64) -> Duration {
        Duration(libm::round(self.0 as f64 * factor) as u64)
    }
}

/// The same duration, at most 584 years.
impl From<core::time::Duration> for Duration {
    fn from(time: core::time::Duration) -> Self {
        Duration(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    fn add(self, span: Duration) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl Add for Duration {
    type Output = Duration;
    fn add(self, other: Duration) -> Duration {
        Duration(self.0.saturating_add(other.0))
    }
}

impl Sub for Duration {
    type Output = Duration;
    fn sub(self, other: Duration) -> Duration {
        Duration(self.0 - other.0)
    }
}

impl Mul<u64> for Duration {
    type Output = Duration;
    fn mul(self, factor: u64) -> Duration {
        Duration(self.0.saturating_mul(factor))
    }
}

impl Div<u64> for Duration {
    type Output = Duration;
    fn div(self, divisor: u64) -> Duration {
        Duration(self.0 / divisor)
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            n if n.is_multiple_of(1_000_000_000) => write!(f, "{} s", n / 1_000_000_000),
            n if n >= 1_000_000 => write!(f, "{} ms", n as f64 / 1e6),
            n if n >= 1_000 => write!(f, "{} us", n as f64 / 1e3),
            n => write!(f, "{n} ns"),
        }
    }
}
