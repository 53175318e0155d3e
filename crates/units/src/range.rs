//! Ranges of parameters that several kinds share, with their messages.

use crate::{Bytes, Duration, ParamError, Rate};

/// The longest time that a parameter may have: a million seconds.
pub const LONGEST_TIME: Duration = Duration::from_secs(1_000_000);
/// The highest rate that a parameter may have, in bit/s: 10 Tbit/s.
pub const HIGHEST_RATE_BPS: u64 = 10_000_000_000_000;
/// The largest packet, in bytes on the wire.
/// It is the maximum of the length field in an IP header.
pub const LARGEST_PACKET: u64 = 65_535;
/// The expectation for a time in messages.
pub const TIME: &str = "a time with its unit such as \"50 ms\", at most 1000000 s";
/// The expectation for a rate in messages.
pub const RATE: &str = "a rate such as \"10 Mbit/s\", at most 10000 Gbit/s";
/// The largest transfer in bytes.
pub const LARGEST_TRANSFER: u64 = 1_000_000_000_000_000;

/// Checks a time of at most [`LONGEST_TIME`].
///
/// # Errors
/// The time is longer.
pub fn time(field: &'static str, time: Duration) -> Result<(), ParamError> {
    ParamError::unless(time <= LONGEST_TIME, field, &time, "a time of at most 1000000 s")
}

/// Checks a time above zero, of at most [`LONGEST_TIME`].
///
/// # Errors
/// The time is zero or longer.
pub fn positive_time(field: &'static str, value: Duration) -> Result<(), ParamError> {
    ParamError::unless(value > Duration::ZERO, field, &value, "a time above zero")?;
    time(field, value)
}

/// The longest target of a queuing delay: a thousand seconds.
const LONGEST_TARGET: Duration = Duration::from_secs(1000);

/// Checks a target of the queuing delay: above zero, at most [`LONGEST_TARGET`].
///
/// # Errors
/// The time is zero or longer.
pub fn target(field: &'static str, target: Duration) -> Result<(), ParamError> {
    ParamError::unless(target > Duration::ZERO && target <= LONGEST_TARGET, field, &target, "a time above 0, up to 1000 s")
}

/// Checks the gain of a proportional-integral law: 0 to 1,000,000 Hz.
///
/// # Errors
/// The gain is outside that range, or NaN.
pub fn gain(field: &'static str, gain: f64) -> Result<(), ParamError> {
    ParamError::unless((0.0..=1e6).contains(&gain), field, &gain, "0 to 1000000 Hz")
}

/// Checks the time between two updates: a microsecond to [`LONGEST_TIME`].
///
/// # Errors
/// The time is outside that range.
pub fn interval(field: &'static str, time: Duration) -> Result<(), ParamError> {
    ParamError::unless((Duration::from_micros(1)..=LONGEST_TIME).contains(&time), field, &time, "a time of 1 us to 1000000 s")
}

/// Checks a rate of at most [`HIGHEST_RATE_BPS`].
///
/// # Errors
/// The rate is higher.
pub fn rate(field: &'static str, rate: Rate) -> Result<(), ParamError> {
    ParamError::unless(rate.as_bps() <= HIGHEST_RATE_BPS, field, &rate, RATE)
}

/// Checks the size of a packet on the wire: 1 B to [`LARGEST_PACKET`].
///
/// # Errors
/// The size is zero or larger.
pub fn packet_size(field: &'static str, size: Bytes) -> Result<(), ParamError> {
    ParamError::unless((1..=LARGEST_PACKET).contains(&size.0), field, &size, "a size of 1 B to 65535 B")
}

/// Checks the size of a transfer: 1 B to [`LARGEST_TRANSFER`].
///
/// # Errors
/// The size is zero or larger.
pub fn transfer_size(field: &'static str, size: Bytes) -> Result<(), ParamError> {
    ParamError::unless((1..=LARGEST_TRANSFER).contains(&size.0), field, &size, "a size of 1 B to 1000000 GB")
}

/// Checks the shape of a Pareto distribution: above 1, at most 1000.
///
/// # Errors
/// The shape is outside that range, or NaN.
pub fn pareto_shape(field: &'static str, shape: f64) -> Result<(), ParamError> {
    let expected = "a number above 1 (at 1 and below the mean is infinite), at most 1000";
    ParamError::unless(shape > 1.0 && shape <= 1000.0, field, &shape, expected)
}
