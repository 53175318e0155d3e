//! Controllers of the registry under a transport in Python that reports packets.

use pyo3::prelude::*;
use sojourn_cc::{Driver, RoundTrip, drivable};
use sojourn_units::{Duration, Stream, Time};

/// The names of the controllers that a `Driver` runs.
#[pyfunction]
pub fn driver_names() -> Vec<&'static str> {
    drivable().map(|entry| entry.name).collect()
}

/// A controller of the registry for a transport that reports packets.
/// Times are the transport's, in seconds; sizes are in bytes.
#[pyclass(name = "Driver", module = "sojourn")]
pub struct PyDriver(Driver);

fn time(seconds: f64) -> Time {
    Time::from_secs_f64(seconds.max(0.0))
}

fn span(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds.max(0.0))
}

#[pymethods]
impl PyDriver {
    /// The controller of this name with its defaults.
    /// `packet` is the size of a full packet, and `window` the initial window.
    #[new]
    fn new(name: &str, packet: u64, window: u64) -> PyResult<Self> {
        let unknown = || crate::refused(format_args!("controller: expected one of {}, got {name:?}", driver_names().join(", ")));
        let entry = drivable().find(|entry| entry.name == name).ok_or_else(unknown)?;
        Driver::new(&(entry.default)(), packet, window).map(PyDriver).map_err(crate::refused)
    }

    /// Draws the random choices of the controller from a stream with this seed.
    fn seed(&mut self, seed: u64) {
        self.0.use_random(Stream::named(seed, "controller"));
    }

    /// The congestion window.
    #[getter]
    fn window(&self) -> u64 {
        self.0.window()
    }

    /// The slow start threshold; `None` before the first reduction.
    #[getter]
    fn ssthresh(&self) -> Option<u64> {
        self.0.ssthresh()
    }

    /// The rate in bytes per second and the quantum that the controller wants.
    /// `None` leaves both to the transport.
    #[getter]
    fn pace(&self) -> Option<(u64, u64)> {
        self.0.pace().map(|pace| (pace.rate, pace.quantum))
    }

    /// A packet is sent.
    fn on_sent(&mut self, now: f64, size: u64) {
        self.0.on_sent(time(now), size);
    }

    /// The packet of this size that was sent at `sent` is acknowledged.
    /// `on_acks_end` follows.
    fn on_ack(&mut self, now: f64, sent: f64, size: u64) {
        self.0.on_ack(time(now), time(sent), size);
    }

    /// All packets of an ACK were reported.
    /// It measured `rtt`; `smoothed` and `least` are the other RTTs. `app_limited` says whether the application limited the sender.
    fn on_acks_end(&mut self, now: f64, rtt: Option<f64>, smoothed: f64, least: f64, app_limited: bool) {
        let rtt = RoundTrip { latest: rtt.map(span), smoothed: span(smoothed), least: span(least) };
        self.0.on_acks_end(time(now), rtt, 0, app_limited);
    }

    /// Nothing is in flight.
    fn on_empty(&mut self) {
        self.0.on_empty();
    }

    /// Packets of `size` bytes in all are lost; the newest of them was sent at `sent`.
    fn on_lost(&mut self, now: f64, sent: f64, size: u64) {
        self.0.on_lost(time(now), time(sent), size);
    }

    /// All packets over a long time were lost.
    fn on_persistent_congestion(&mut self, now: f64) {
        self.0.on_persistent_congestion(time(now));
    }
}
