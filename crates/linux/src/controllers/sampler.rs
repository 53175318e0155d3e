//! Delivery rate samples for the simulator's controllers (draft-ietf-ccwg-bbr#4.1).
//! The kernel measures the rate, but does not store the data in flight and lost when a segment was sent. It is stored here.

use super::KernelAck;
use alloc::collections::VecDeque;
use sojourn_cc::{AnyController, CongestionController, Event, LossState, LostSegment, RateSample};
use sojourn_units::{Duration, Time, comes_before};

/// A segment that was sent.
#[derive(Clone, Copy, Debug)]
struct Sent {
    /// The byte after its last one, as a sequence number.
    end: u32,
    /// Segments in flight when it was sent, including itself.
    in_flight: u32,
    /// The value of `tcp_sock.lost` when it was sent.
    lost: u32,
    app_limited: bool,
    is_lost: bool,
}

/// The unacknowledged segments.
#[derive(Clone, Default, Debug)]
pub(crate) struct Sampler {
    /// The segments in the order of their bytes.
    sent: VecDeque<Sent>,
    /// The segment that was declared lost last.
    last_lost: Option<u32>,
}

impl Sampler {
    /// Handles a segment that is about to be sent.
    pub fn on_sent(&mut self, now: Time, end: u32, ack: &KernelAck, cc: &mut AnyController) {
        if ack.in_flight == 0 {
            cc.on_event(&Event::FlightStart { now, srtt: micros(ack.srtt_us), app_limited: ack.app_limited != 0 });
        }
        let sent =
            Sent { end, in_flight: ack.in_flight.saturating_add(1), lost: ack.lost, app_limited: ack.app_limited != 0, is_lost: false };
        match self.sent.iter().rposition(|known| !comes_before(end, known.end)) {
            Some(at) if self.sent[at].end == end => self.sent[at] = sent,
            Some(at) => self.sent.insert(at + 1, sent),
            None => self.sent.push_front(sent),
        }
    }

    /// Handles the loss of a segment.
    pub fn on_lost(&mut self, now: Time, end: u32, ack: &KernelAck, cc: &mut AnyController) {
        let Some(at) = self.sent.iter().position(|sent| sent.end == end) else { return };
        let previous = at.checked_sub(1).map(|previous| self.sent[previous].end);
        let contiguous = self.last_lost.is_some() && self.last_lost == previous;
        let sent = &mut self.sent[at];
        if core::mem::replace(&mut sent.is_lost, true) {
            return;
        }
        self.last_lost = Some(end);
        cc.on_lost(&LostSegment {
            now,
            size: 1.0,
            tx_in_flight: f64::from(sent.in_flight),
            lost: f64::from(ack.lost.wrapping_sub(sent.lost)),
            is_app_limited: sent.app_limited,
            delivered_total: f64::from(ack.delivered),
            contiguous,
            selective_acks: ack.sack != 0,
        });
    }

    /// Handles an ACK, or a detected loss; returns the rate sample.
    pub fn on_ack(&mut self, now: Time, ack: &KernelAck) -> RateSample {
        let newest = self.sent.iter().find(|sent| sent.end == ack.newest).copied();
        while self.sent.front().is_some_and(|first| !comes_before(ack.unacknowledged, first.end)) {
            self.sent.pop_front();
        }
        let sampled = ack.delivered_since > 0 && ack.interval_us > 0;
        let state = match (ack.after_timeout != 0, ack.repairs != 0) {
            (true, _) => LossState::Timeout,
            (_, true) => LossState::Recovery,
            _ => LossState::Open,
        };
        RateSample {
            now,
            delivered_total: f64::from(ack.delivered),
            lost_total: f64::from(ack.lost),
            newly_acked: f64::from(ack.acked),
            newly_lost: f64::from(ack.newly_lost),
            prior_delivered: (ack.acked > 0).then(|| f64::from(ack.prior_delivered)),
            delivered: f64::from(ack.delivered_since),
            lost: newest.map_or(0.0, |sent| f64::from(ack.lost.wrapping_sub(sent.lost))),
            tx_in_flight: newest.map_or(0.0, |sent| f64::from(sent.in_flight)),
            delivery_rate: if sampled { f64::from(ack.delivered_since) * 1e6 / f64::from(ack.interval_us) } else { 0.0 },
            is_app_limited: ack.app_limited != 0,
            rtt: u64::try_from(ack.rtt_us).ok().map(Duration::from_micros),
            srtt: micros(ack.srtt_us),
            prior_in_flight: f64::from(ack.in_flight),
            in_flight: f64::from(ack.in_flight_after),
            may_be_delayed: ack.may_be_delayed != 0,
            pacing_delay: Duration::from_nanos(ack.pacing_delay_ns),
            is_cwnd_limited: ack.cwnd_limited != 0,
            state,
            selective_acks: ack.sack != 0,
            marked: f64::from(ack.marked),
        }
    }
}

fn micros(number: u32) -> Duration {
    Duration::from_micros(u64::from(number))
}
