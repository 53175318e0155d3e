//! What a controller sees and what it answers.

use crate::Source;
use sojourn_units::{Duration, Time};

/// An acknowledgement: of new data, or of data beyond a hole while losses are repaired.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// When it arrived.
    pub now: Time,
    /// Segments it acknowledges for the first time.
    pub acked: f64,
    /// A round-trip sample if it carries one.
    pub rtt: Option<Duration>,
    /// The smoothed round-trip time, zero before the first sample.
    pub srtt: Duration,
    /// The least round-trip time seen.
    pub rtt_min: Duration,
    /// The delay from sender to receiver by their two clocks, in nanoseconds (only differences mean something).
    pub one_way_delay: Option<i64>,
    /// Segments in flight before this acknowledgement.
    pub in_flight: f64,
    /// Whether the window, and not the application or the receiver, held the sender back.
    pub cwnd_limited: bool,
    /// Whether losses are being repaired: samples count, the window must not grow.
    pub in_recovery: bool,
    /// Whether something sent before the last timeout is not acknowledged yet (Linux's state Loss).
    pub after_timeout: bool,
    /// Segments that it may count for in slow start where bytes are counted (RFC 3465's L); 0 counts acknowledgements.
    pub abc_limit: f64,
    /// The first byte not yet acknowledged, after this acknowledgement.
    pub snd_una: u64,
    /// The byte after the last one sent.
    pub snd_max: u64,
}

impl Ack {
    /// Segments by which slow start grows on it (RFC 5681 section 3.1, RFC 3465 section 2.2).
    pub fn slow_start_growth(&self) -> f64 {
        self.acked.min(if self.abc_limit > 0.0 { self.abc_limit } else { 1.0 })
    }

    /// Segments that it counts for in congestion avoidance: those acknowledged where bytes are counted, else one.
    pub fn avoidance_count(&self) -> f64 {
        if self.abc_limit > 0.0 { self.acked } else { 1.0 }
    }
}

#[cfg(test)]
impl Ack {
    /// One segment acknowledged at time 0 within a full window: where tests start from.
    pub(crate) const ONE: Ack = Ack {
        now: Time::ZERO,
        acked: 1.0,
        rtt: None,
        srtt: Duration::ZERO,
        rtt_min: Duration::ZERO,
        one_way_delay: None,
        in_flight: 1.0,
        cwnd_limited: true,
        in_recovery: false,
        after_timeout: false,
        abc_limit: 0.0,
        snd_una: 0,
        snd_max: 0,
    };
}

/// What told of congestion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// Segments were lost (three duplicate acknowledgements or the like).
    Loss,
    /// A congestion mark was echoed (RFC 3168).
    Mark,
}

/// Congestion, reported at most once a window of data.
#[derive(Clone, Copy, Debug)]
pub struct CongestionEvent {
    /// When.
    pub now: Time,
    /// The window in use, in segments: what the endpoint's profile takes for it (cwnd bounded by the
    /// receive window, or what is in flight, RFC 5681 eq. 4).
    pub window: f64,
    /// What told of it.
    pub signal: Signal,
}

/// What a controller sets, in segments.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Window {
    /// The congestion window.
    pub cwnd: f64,
    /// The slow-start threshold.
    pub ssthresh: f64,
}

/// What a connection begins with.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// The initial window in segments.
    pub window: f64,
    /// The initial slow start threshold in segments.
    pub ssthresh: f64,
}

/// A congestion controller. `clone` copies all state; nothing may panic.
pub trait CongestionController {
    /// Data was acknowledged; while `in_recovery` or not `cwnd_limited` the window must not grow.
    fn on_ack(&mut self, ack: &Ack);

    /// Congestion was signaled.
    fn on_congestion(&mut self, event: &CongestionEvent);

    /// The retransmission timer expired; `window` as in [`CongestionEvent`].
    fn on_rto(&mut self, now: Time, window: f64);

    /// The window in segments; the endpoint sends whole segments within it.
    fn cwnd(&self) -> f64;

    /// Sets the window: the endpoint does so after a handshake, an idle time or the end of recovery.
    fn set_cwnd(&mut self, cwnd: f64);

    /// The slow start threshold in segments.
    fn ssthresh(&self) -> f64;

    /// What it reads delays from now, if it reads any: what it was told to, or the round trip where that can't be believed.
    fn delay_source(&self) -> Option<Source> {
        None
    }

    /// The window that recovery may shrink to where it halves the rate instead of the window (Linux 2.6's `min_cwnd`).
    fn min_cwnd(&self) -> f64 {
        self.cwnd()
    }

    /// Bytes of memory beyond its place in an [`AnyController`](crate::AnyController).
    fn memory(&self) -> usize {
        0
    }

    /// From now on the window is a whole number of segments, as in Linux; laws that are whole anyway do nothing.
    fn use_whole_segments(&mut self) {}
}
