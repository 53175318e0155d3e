//! Delivery-rate samples: what an ACK says about the path (draft-ietf-ccwg-bbr#4.1). Data is counted in segments.

use sojourn_units::{Duration, Time};

/// How far the endpoint is with the repair of losses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LossState {
    /// No loss is being repaired.
    #[default]
    Open,
    /// Losses that acknowledgments told of are being repaired.
    Recovery,
    /// Losses that a timeout told of are being repaired.
    Timeout,
}

/// What an ACK says about the path: a sample of the delivery rate (draft-ietf-ccwg-bbr#2.4), and where the connection stands.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RateSample {
    /// When the ACK arrived.
    pub now: Time,
    /// `C.delivered`: segments delivered since the connection opened, this ACK's too.
    pub delivered_total: f64,
    /// `C.lost`: segments taken for lost since the connection opened.
    pub lost_total: f64,
    /// `RS.newly_acked`: segments that this ACK acknowledges for the first time, cumulatively or selectively.
    pub newly_acked: f64,
    /// `RS.newly_lost`: segments that the ACK shows to be lost; not those that a timer found.
    pub newly_lost: f64,
    /// `RS.prior_delivered`: `C.delivered` when the newest segment that this ACK delivered was sent; `None` if it delivered none.
    pub prior_delivered: Option<f64>,
    /// `RS.delivered`: segments delivered since then.
    pub delivered: f64,
    /// `RS.lost`: segments lost since then.
    pub lost: f64,
    /// `RS.tx_in_flight`: segments in flight when that segment had been sent, itself included.
    pub tx_in_flight: f64,
    /// `RS.delivery_rate` in segments per second; 0 without a reliable sample.
    pub delivery_rate: f64,
    /// `RS.is_app_limited`: whether the application limited the sender when that segment was sent.
    pub is_app_limited: bool,
    /// `RS.rtt`: the round-trip time of that segment; `None` if it was sent more than once.
    pub rtt: Option<Duration>,
    /// The smoothed round-trip time before this ACK, zero before the first sample.
    pub srtt: Duration,
    /// Segments in flight before this ACK.
    pub prior_in_flight: f64,
    /// `C.inflight`: segments in flight after this ACK.
    pub in_flight: f64,
    /// Whether the receiver may have delayed the ACK: it is that of a single short segment, which was alone in flight (Linux `is_ack_delayed`).
    pub may_be_delayed: bool,
    /// For how long the pace holds the next segment back (Linux `tcp_wstamp_ns`).
    pub pacing_delay: Duration,
    /// `C.is_cwnd_limited`: whether the congestion window limited the sender in the last round trip.
    pub is_cwnd_limited: bool,
    /// How far the endpoint is with the repair of losses.
    pub state: LossState,
    /// Whether more than one loss can be found in a round trip (`C.has_selective_acks`).
    pub selective_acks: bool,
    /// Segments that this ACK reports as marked, where the feedback counts them.
    pub marked: f64,
}

/// A segment that was taken for lost (draft-ietf-ccwg-bbr#5.5.10.2).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LostSegment {
    /// When.
    pub now: Time,
    /// Its size: 1 for a full segment.
    pub size: f64,
    /// `P.tx_in_flight`: segments in flight when it had been sent, itself included.
    pub tx_in_flight: f64,
    /// Segments lost since it was sent, itself included.
    pub lost: f64,
    /// Whether the application limited the sender when it was sent.
    pub is_app_limited: bool,
    /// `C.delivered` now.
    pub delivered_total: f64,
    /// Whether it follows directly on the segment that was lost before it.
    pub contiguous: bool,
    /// Whether more than one loss can be found in a round trip.
    pub selective_acks: bool,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A sample of one segment in a round trip of 100 ms. Tests change what they need.
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
