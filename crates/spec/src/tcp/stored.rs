//! Conversions between the stored form of an option and its form in scenarios.

use super::TcpOptions;
use super::choices::{Control, RttHint, StartUp, Switch};
use sojourn_cc::{CcConfig, StartUpConfig};
use sojourn_units::{Amount, Bytes, Duration, Rate};

/// The stored form of an option that a scenario writes as `W`.
pub trait Stored<W>: Sized {
    /// Converts from the form in scenarios.
    /// `options` contain the profile's values and the earlier options of the table.
    fn store(written: &W, options: &TcpOptions) -> Self;
    /// Converts to the form in scenarios; `None` if a scenario would omit it.
    fn written(&self) -> Option<W>;
}

/// The kind of an option's value, for lists.
pub trait Kind {
    /// The kind as a noun, such as "time".
    const KIND: &'static str;
}

macro_rules! kinds {
    ($($type:ty: $kind:literal,)*) => {
        $(impl Kind for $type { const KIND: &'static str = $kind; })*
    };
}
kinds! {
    Bytes: "size",
    Amount: "packets or size",
    Rate: "rate",
    Duration: "time",
    Control: "table",
    StartUp: "name or table",
    Switch: "true, false or time",
    bool: "true or false",
    u32: "whole number",
    f64: "number",
}

impl<T: Clone> Stored<T> for T {
    fn store(written: &T, _: &TcpOptions) -> Self {
        written.clone()
    }
    fn written(&self) -> Option<T> {
        Some(self.clone())
    }
}

impl Stored<Bytes> for u32 {
    fn store(written: &Bytes, _: &TcpOptions) -> Self {
        u32::try_from(written.0).unwrap_or(u32::MAX)
    }
    fn written(&self) -> Option<Bytes> {
        Some(Bytes(u64::from(*self)))
    }
}

impl Stored<Amount> for u32 {
    fn store(written: &Amount, options: &TcpOptions) -> Self {
        written.in_packets(options.mss)
    }
    fn written(&self) -> Option<Amount> {
        Some(Amount::Packets(*self))
    }
}

impl Stored<Amount> for f64 {
    fn store(written: &Amount, options: &TcpOptions) -> Self {
        f64::from(written.in_packets(options.mss))
    }
    fn written(&self) -> Option<Amount> {
        Some(Amount::Packets(*self as u32))
    }
}

impl Stored<u32> for f64 {
    fn store(written: &u32, _: &TcpOptions) -> Self {
        f64::from(*written)
    }
    fn written(&self) -> Option<u32> {
        Some(*self as u32)
    }
}

impl Stored<Rate> for Option<Rate> {
    fn store(written: &Rate, _: &TcpOptions) -> Self {
        Some(*written)
    }
    fn written(&self) -> Option<Rate> {
        *self
    }
}

impl Stored<Control> for CcConfig {
    fn store(written: &Control, _: &TcpOptions) -> Self {
        written.0.clone()
    }
    fn written(&self) -> Option<Control> {
        Some(Control(self.clone()))
    }
}

impl Stored<StartUp> for Option<StartUpConfig> {
    fn store(written: &StartUp, _: &TcpOptions) -> Self {
        Some(written.0)
    }
    fn written(&self) -> Option<StartUp> {
        self.map(StartUp)
    }
}

/// The ACK delay for `true` if the profile has none (ns-2's `interval_` of `DelAck`).
const DELAYED_ACK: Duration = Duration::from_millis(100);

impl Stored<Switch> for Option<Duration> {
    fn store(written: &Switch, options: &TcpOptions) -> Self {
        match *written {
            Switch::Off => None,
            Switch::On => options.delayed_ack.or(Some(DELAYED_ACK)),
            Switch::Time(time) => Some(time),
        }
    }
    fn written(&self) -> Option<Switch> {
        Some(self.map_or(Switch::Off, Switch::Time))
    }
}

impl Stored<Switch> for RttHint {
    fn store(written: &Switch, _: &TcpOptions) -> Self {
        match *written {
            Switch::Off => RttHint::Off,
            Switch::On => RttHint::Smoothed,
            Switch::Time(time) => RttHint::Claimed((time.as_nanos() / 1_000_000).clamp(1, 0xffff) as u16),
        }
    }
    fn written(&self) -> Option<Switch> {
        Some(match *self {
            RttHint::Off => Switch::Off,
            RttHint::Smoothed => Switch::On,
            RttHint::Claimed(ms) => Switch::Time(Duration::from_millis(u64::from(ms))),
        })
    }
}

impl Stored<Duration> for i64 {
    fn store(written: &Duration, _: &TcpOptions) -> Self {
        written.as_nanos() as i64
    }
    fn written(&self) -> Option<Duration> {
        Some(Duration::from_nanos(self.unsigned_abs()))
    }
}
