//! Range checks of TCP options.

use super::choices::{Control, StartUp, Switch};
use sojourn_cc::{ParamError, Start};
use sojourn_units::{Amount, Bytes, Duration, Rate, range};

type Checked = Result<(), ParamError>;

/// Accepts every value of the type.
pub fn any<T>(_: &'static str, _: &T) -> Checked {
    Ok(())
}

/// Checks the size of a packet or of a part of one.
pub fn packet(field: &'static str, size: &Bytes) -> Checked {
    range::packet_size(field, *size)
}

/// Checks the size of an application's write.
pub fn written(field: &'static str, size: &Bytes) -> Checked {
    ParamError::unless(size.0 <= u64::from(u32::MAX), field, size, "a size of 0 B to 4 GB")
}

/// Checks the bytes that a SACK option adds to an ACK.
pub fn sack_option(field: &'static str, size: &Bytes) -> Checked {
    ParamError::unless(size.0 <= 40, field, size, "a size of 0 B to 40 B, the most that TCP options take (rfc9293#3.1)")
}

/// Checks a window.
pub fn amount(field: &'static str, amount: &Amount) -> Checked {
    ParamError::unless(!amount.is_zero(), field, amount, "an amount above zero")
}

/// Checks a rate.
pub fn rate(field: &'static str, rate: &Rate) -> Checked {
    range::rate(field, *rate)
}

/// Checks a time, zero or more.
pub fn time(field: &'static str, time: &Duration) -> Checked {
    range::time(field, *time)
}

/// Checks a time above zero.
pub fn positive_time(field: &'static str, time: &Duration) -> Checked {
    range::positive_time(field, *time)
}

/// Checks a whole number above zero.
pub fn count(field: &'static str, count: &u32) -> Checked {
    ParamError::unless((1..=65_535).contains(count), field, count, "a whole number, 1 to 65535")
}

/// Checks a whole number, zero or more.
pub fn number(field: &'static str, number: &u32) -> Checked {
    ParamError::unless(*number <= 65_535, field, number, "a whole number, 0 to 65535")
}

/// Checks a number of segments, zero or more.
pub fn segments(field: &'static str, segments: &u32) -> Checked {
    ParamError::unless(*segments <= 65_535, field, segments, "a number of segments, 0 to 65535")
}

/// Checks a difference of clock rates in parts per million.
pub fn skew(field: &'static str, skew: &f64) -> Checked {
    ParamError::unless((-1000.0..=1000.0).contains(skew), field, skew, "a number, -1000 to 1000")
}

/// Checks a time above zero, if one is given.
pub fn delayed_ack(field: &'static str, switch: &Switch) -> Checked {
    if let Switch::Time(time) = switch { range::positive_time(field, *time) } else { Ok(()) }
}

/// Checks a time that fits the 16 bits of a packet's hint, in milliseconds.
pub fn rtt_hint(field: &'static str, switch: &Switch) -> Checked {
    let Switch::Time(time) = switch else { return Ok(()) };
    let fits = (Duration::from_millis(1)..=Duration::from_millis(65_535)).contains(time);
    ParamError::unless(fits, field, time, "true, false, or a time of 1 ms to 65535 ms")
}

/// Checks that the parameters of a controller are in their ranges.
pub fn control(field: &'static str, control: &Control) -> Checked {
    let built = control.0.build(Start::new(1.0, f64::INFINITY));
    built.map(drop).map_err(|error| error.within(field))
}

/// Checks that the parameters of a start-up are in their ranges.
pub fn start_up(field: &'static str, start_up: &StartUp) -> Checked {
    start_up.0.check().map_err(|error| error.within(field))
}
