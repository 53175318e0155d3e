//! Delivery-rate samples: the information in an ACK about the path.
//! Source: draft-ietf-ccwg-bbr#4.1. Data is counted in segments.

use sojourn_units::{Duration, Time};

/// The state of loss recovery.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LossState {
    /// No loss is being repaired.
    #[default]
    Open,
    /// Losses that ACKs reported are being repaired.
    Recovery,
    /// Losses that a timeout reported are being repaired.
    Timeout,
}

/// A sample of the delivery rate (draft-ietf-ccwg-bbr#2.4), with the connection's state.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RateSample {
    /// The arrival time of the ACK.
    pub now: Time,
    /// `C.delivered`: segments delivered since the connection opened, including this ACK's.
    pub delivered_total: f64,
    /// `C.lost`: segments declared lost since the connection opened.
    pub lost_total: f64,
    /// `RS.newly_acked`: newly acknowledged segments, cumulatively or selectively.
    pub newly_acked: f64,
    /// `RS.newly_lost`: segments that the ACK reveals to be lost; not those that a timer found.
    pub newly_lost: f64,
    /// `RS.prior_delivered`: `C.delivered` when the newest delivered segment was sent.
    /// `None` if the ACK delivered no segment.
    pub prior_delivered: Option<f64>,
    /// `RS.delivered`: segments delivered since then.
    pub delivered: f64,
    /// `RS.lost`: segments lost since then.
    pub lost: f64,
    /// `RS.tx_in_flight`: segments in flight when that segment was sent, including itself.
    pub tx_in_flight: f64,
    /// `RS.delivery_rate` in segments per second; 0 without a reliable sample.
    pub delivery_rate: f64,
    /// `RS.is_app_limited`: whether the sender was application-limited at that segment's send.
    pub is_app_limited: bool,
    /// `RS.rtt`: the round-trip time of that segment; `None` if it was sent more than once.
    pub rtt: Option<Duration>,
    /// The smoothed RTT before this ACK; zero before the first sample.
    pub srtt: Duration,
    /// Segments in flight before this ACK.
    pub prior_in_flight: f64,
    /// `C.inflight`: segments in flight after this ACK.
    pub in_flight: f64,
    /// Whether the receiver may have delayed the ACK (Linux `is_ack_delayed`).
    /// That is so for a single short segment that was alone in flight.
    pub may_be_delayed: bool,
    /// The time for which pacing holds the next segment back (Linux `tcp_wstamp_ns`).
    pub pacing_delay: Duration,
    /// `C.is_cwnd_limited`: whether the window limited the sender in the last round trip.
    pub is_cwnd_limited: bool,
    /// The state of loss recovery.
    pub state: LossState,
    /// Whether more than one loss can be detected in a round trip (`C.has_selective_acks`).
    pub selective_acks: bool,
    /// Segments that this ACK reports as marked, if the feedback counts them.
    pub marked: f64,
}

/// A segment that was declared lost (draft-ietf-ccwg-bbr#5.5.10.2).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LostSegment {
    /// The time of the detection.
    pub now: Time,
    /// The size in full segments: 1 for a full one.
    pub size: f64,
    /// `P.tx_in_flight`: segments in flight when it was sent, including itself.
    pub tx_in_flight: f64,
    /// Segments lost since it was sent, including itself.
    pub lost: f64,
    /// Whether the application limited the sender when it was sent.
    pub is_app_limited: bool,
    /// `C.delivered` at the detection.
    pub delivered_total: f64,
    /// Whether it directly follows the previous lost segment.
    pub contiguous: bool,
    /// Whether more than one loss can be detected in a round trip.
    pub selective_acks: bool,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A sample of one segment in a round trip of 100 ms. Tests modify it.
    pub(crate) const SAMPLE: RateSample = RateSample {
        now: Time::ZERO,
        delivered_total: 1.0,
        lost_total: 0.0,
        newly_acked: 1.0,
        newly_lost: 0.0,
        prior_delivered: Some(0.0),
        delivered: 1.0,
        lost: 0.0,
        tx_in_flight: 1.0,
        delivery_rate: 10.0,
        is_app_limited: false,
        rtt: Some(Duration::from_millis(100)),
        srtt: Duration::from_millis(100),
        prior_in_flight: 1.0,
        in_flight: 0.0,
        may_be_delayed: false,
        pacing_delay: Duration::ZERO,
        is_cwnd_limited: true,
        state: LossState::Open,
        selective_acks: true,
        marked: 0.0,
    };
}
