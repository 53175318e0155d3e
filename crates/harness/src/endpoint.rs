//! The interface to a transport that is not ours.

use std::time::Duration;

pub use sojourn_aqm::Ecn;

/// Bytes of an IPv4 and a UDP header, which each datagram has on the wire by default.
pub const HEADERS: usize = 28;

/// A datagram between two endpoints.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Datagram {
    /// Its bytes, without the [headers](Endpoint::headers) of the endpoint.
    pub payload: Vec<u8>,
    /// The ECN field of its IP header.
    pub ecn: Ecn,
}

/// What an endpoint tells of itself after each call.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct State {
    /// The congestion window in bytes; `None` if it has none.
    pub window: Option<u64>,
    /// The pacing rate in bit/s; `None` if it has none, or does not tell.
    pub pacing_rate: Option<u64>,
    /// Its estimate of the path's bandwidth in bit/s; `None` if it has none, or does not tell.
    pub bandwidth: Option<u64>,
    /// The latest sample of the round-trip time.
    pub rtt: Option<Duration>,
    /// Packets that it has declared lost since the start; `None` if it doesn't count them.
    pub lost: Option<u64>,
    /// Congestion events since the start: losses and marks.
    /// `None` if it doesn't count them.
    pub congestion_events: Option<u64>,
    /// Bytes that its receiving application has read since the start.
    pub delivered: u64,
    /// Whether a finite transfer is complete: its peer has acknowledged all bytes.
    pub complete: bool,
}

/// One end of a connection, without I/O and without a clock.
///
/// All times are since the start of the run, and never go back. After each call of [`write`](Endpoint::write),
/// [`receive`](Endpoint::receive) and [`on_timeout`](Endpoint::on_timeout), the harness calls [`transmit`](Endpoint::transmit) until it
/// returns `None`, and then asks for the [`timeout`](Endpoint::timeout).
pub trait Endpoint {
    /// The application writes data; only the sending end is asked to.
    /// `bytes` is `None` for data without end, which a later write with a number ends: what was not yet sent is discarded.
    /// `last` is true if no write follows.
    fn write(&mut self, now: Duration, bytes: Option<u64>, last: bool) {
        let _ = (now, bytes, last);
    }

    /// The application stops: data that was not yet sent is discarded.
    fn stop(&mut self, now: Duration) {
        let _ = now;
    }

    /// A datagram arrives, marked if a link marked it.
    fn receive(&mut self, now: Duration, datagram: Datagram);

    /// The next datagram to send now; `None` if there is none.
    fn transmit(&mut self, now: Duration) -> Option<Datagram>;

    /// The time at which [`Endpoint::on_timeout`] must be called; `None` without a timer.
    fn timeout(&mut self) -> Option<Duration>;

    /// The time of [`Endpoint::timeout`] has come.
    fn on_timeout(&mut self, now: Duration);

    /// Bytes on the wire before each payload, constant for an endpoint.
    /// Default: [`HEADERS`]. A TCP stack whose payloads are segments has an IPv4 header of 20 bytes.
    fn headers(&self) -> usize {
        HEADERS
    }

    /// What it tells of itself.
    fn state(&self) -> State {
        State::default()
    }

    /// The reason why it cannot go on, such as a lost connection.
    /// The harness asks after each call, and a reason ends the run.
    fn fault(&self) -> Option<String> {
        None
    }
}

/// The flow that a connection carries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowInfo {
    /// Its name, such as `web/0`.
    pub name: String,
    /// The seed of its random numbers; equal for equal runs.
    pub seed: u64,
}

/// Both ends of a connection.
pub struct Pair {
    /// The end whose application writes.
    pub sender: Box<dyn Endpoint>,
    /// The end whose application reads.
    pub receiver: Box<dyn Endpoint>,
}
