//! The path of the cases.

use crate::network::Dumbbell;
use crate::trials::{Broken, HOST};
use std::time::Duration;

/// The rate of the path in bit/s.
pub const PATH_RATE: f64 = 1e7;
/// Its round-trip time.
pub const ROUND_TRIP: Duration = Duration::from_millis(40);
/// A time after the first ProbeRTT. The next one follows 5 s later.
pub const AFTER_PROBE_RTT: Duration = Duration::from_millis(5600);
/// Its bandwidth-delay product in bytes.
pub const BDP: f64 = PATH_RATE * 0.04 / 8.0;

/// Fails unless a condition holds.
pub fn expect(holds: bool, at: Duration, why: impl FnOnce() -> String) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err(Broken { at, why: why() }) }
}

/// The path with a buffer of this many bandwidth-delay products.
pub fn path(buffer: f64, duration: &str) -> Dumbbell {
    bulk(queue(buffer, duration))
}

pub fn queue(buffer: f64, duration: &str) -> Dumbbell {
    let limit = format!("{} packets", (buffer * BDP / 1500.0).round());
    Dumbbell::new("10 Mbit/s", "40 ms").limit(&limit).duration(duration)
}

pub fn bulk(network: Dumbbell) -> Dumbbell {
    network.flow("trial", HOST)
}

/// The path with an application whose rate changes.
pub fn scheduled(network: Dumbbell, rates: &str) -> Dumbbell {
    let traffic = format!("host = {HOST:?}\ntraffic = {{ kind = \"schedule\", size = \"1200 B\", rates = [{rates}] }}");
    network.with_flow("trial", &traffic)
}

/// A time in a scenario.
pub fn text(at: Duration) -> String {
    format!("{} us", at.as_micros())
}
