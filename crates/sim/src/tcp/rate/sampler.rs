//! Delivery-rate samples (draft-ietf-ccwg-bbr#4.1.2): what each ACK delivers, and when.
//!
//! The owner of the segments reports each one that leaves, arrives or is lost.
//! RACK-TLP keeps its own segments, and `sent_segments.rs` those of the other strategies.
//! What is the same for all segments that leave between two ACKs is kept once.
//! Data is counted in bytes here and in segments in the samples.
//! Where each segment counts as one, however short it is, it has the bytes of a full one.

use crate::tcp::clock::micros_between;
use crate::tcp::outstanding::{Run, Segment, Sending, tag};
use sojourn_cc::{LossState, LostSegment, RateSample};
use sojourn_units::{Duration, Memory, Time, tighten};
use std::collections::VecDeque;

/// The state of the sender that a sample reports.
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    pub srtt: Duration,
    pub rtt_min: Duration,
    pub state: LossState,
    pub selective_acks: bool,
    pub mss: u32,
    /// How long pacing holds the next segment back.
    pub pacing_delay: Duration,
    /// The number of segments that the ACK reports as marked.
    pub marked: f64,
}

/// What was delivered by the time when segments left.
/// It is the part of the per-packet state P of draft-ietf-ccwg-bbr#4.1.2.1.2 that segments share if they leave between two ACKs.
#[derive(Clone, Copy, Default, Debug)]
#[repr(align(32))]
struct Snapshot {
    first_send_time: Time,
    delivered_time: Time,
    delivered: u64,
    /// The last 32 bits of the lost bytes; less than 4 GiB are lost in a round trip.
    lost: u32,
    is_app_limited: bool,
}

/// Of the segments that an ACK delivered, the one that was sent last.
#[derive(Clone, Copy, Debug)]
struct Newest {
    sent: Time,
    /// One past its last byte.
    end: u64,
    sending: Sending,
    /// Whether it was sent more than once.
    resent: bool,
}

/// The data that the last ACK delivered, in bytes.
#[derive(Clone, Copy, Default, Debug)]
struct DeliveredBytes {
    /// The segment that was sent last (`newest`), and what was delivered when it left.
    newest: Option<Newest>,
    then: Snapshot,
    /// Whether it is a guess which segment arrived.
    guessed: bool,
    newly_acked: u64,
    /// The actual bytes of the segments, even if each counts as a full one.
    bytes: u64,
    /// The bytes in flight before the ACK.
    prior_in_flight: u64,
    ack: u64,
}

/// The per-connection state C of draft-ietf-ccwg-bbr#4.1.2.1.1.
#[derive(Clone, Default, Debug)]
pub struct Sampler {
    /// The bytes for which each segment counts, with a clock of microseconds, as in Linux.
    /// 0 counts a segment's own bytes, and takes exact RTTs.
    each: u32,
    /// Snapshots for the outstanding segments, in the order of time.
    snapshots: VecDeque<Snapshot>,
    /// The number of the first snapshot.
    first: u32,
    /// Whether the last snapshot is still valid.
    is_current: bool,
    delivered: u64,
    delivered_time: Time,
    first_send_time: Time,
    lost: u64,
    /// `C.app_limited`: 0 if the application does not limit the connection.
    app_limited: u64,
    in_flight: u64,
    /// Bytes counted as lost and not sent again (`C.lost_out` less `C.retrans_out`).
    lost_out: u64,
    /// One past the last byte of the segment that was lost last.
    lost_end: u64,
    /// The value of `lost` before the last ACK.
    lost_before: u64,
    /// The byte until whose ACK the sender counts as limited by the congestion window.
    /// It ends the round trip in which the window last limited the sender.
    cwnd_limited_until: u64,
    /// The delivery of the last ACK.
    delivery: DeliveredBytes,
    /// Whether the sample of the last ACK is still to be returned.
    has_sample: bool,
}

impl Sampler {
    /// The state at the start of a connection.
    /// Each segment counts for `each` bytes as in Linux, or for its own bytes if that is 0.
    pub fn counting(each: u32) -> Self {
        Sampler { each, ..Sampler::default() }
    }

    /// The bytes for which these segments, of `bytes` bytes together, count.
    #[inline]
    fn count(&self, bytes: u64, segments: u32) -> u64 {
        if self.each == 0 { bytes } else { u64::from(self.each) * u64::from(segments) }
    }

    /// The bytes for which a segment counts.
    #[inline]
    fn size(&self, segment: &Segment) -> u64 {
        self.count(segment.size(), 1)
    }

    /// Bytes in flight.
    #[inline]
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Whether the application limits the connection.
    #[inline]
    pub fn is_app_limited(&self) -> bool {
        self.app_limited != 0
    }

    /// The congestion window is full; `snd_max` is one past the highest byte sent.
    #[inline]
    pub fn on_window_full(&mut self, snd_max: u64) {
        self.cwnd_limited_until = snd_max;
    }

    /// Nothing is left to send: marks the connection as limited by the application.
    /// It does so if the window and the losses leave room (draft-ietf-ccwg-bbr#4.1.2.4).
    pub fn check_app_limited(&mut self, cwnd_bytes: u64) {
        if self.in_flight < cwnd_bytes && self.lost_out == 0 {
            self.limit();
        }
    }

    /// Marks it so in any case: `MarkConnectionAppLimited` (draft-ietf-ccwg-bbr#4.1.2.4).
    pub fn limit(&mut self) {
        self.is_current &= self.is_app_limited();
        self.app_limited = (self.delivered + self.in_flight).max(1);
    }

    /// A new segment of `bytes` bytes leaves at `now` (draft-ietf-ccwg-bbr#4.1.2.2).
    /// Returns what is to be kept with it.
    #[inline]
    pub fn on_sent(&mut self, bytes: u64, now: Time) -> Sending {
        self.begin_flight(now);
        self.in_flight += self.count(bytes, 1);
        self.sending()
    }

    /// A segment leaves again.
    /// If it is in flight, it is a tail loss probe, which adds nothing to the bytes in flight or lost (Linux `tcp_send_loss_probe`).
    pub fn on_sent_again(&mut self, segment: &mut Segment, now: Time) {
        self.begin_flight(now);
        if segment.has(tag::SAMPLED_LOST) {
            segment.clear(tag::SAMPLED_LOST);
            self.lost_out -= self.size(segment);
            self.in_flight += self.size(segment);
        }
        segment.set(tag::EVER_RETRANSMITTED);
        (segment.sent, segment.sending) = (now, self.sending());
    }

    /// If nothing is in flight, samples start with what leaves now.
    #[inline]
    pub fn begin_flight(&mut self, now: Time) {
        if self.in_flight == 0 {
            (self.first_send_time, self.delivered_time) = (now, now);
            self.is_current = false;
        }
    }

    /// What is to be kept with a segment that leaves now and is in flight.
    #[inline]
    fn sending(&mut self) -> Sending {
        if !self.is_current {
            self.is_current = true;
            self.snapshots.push_back(Snapshot {
                first_send_time: self.first_send_time,
                delivered_time: self.delivered_time,
                delivered: self.delivered,
                lost: self.lost as u32,
                is_app_limited: self.app_limited != 0,
            });
        }
        let snapshot = self.first.wrapping_add(self.snapshots.len() as u32).wrapping_sub(1);
        Sending { snapshot, in_flight: u32::try_from(self.in_flight).unwrap_or(u32::MAX) }
    }

    /// The snapshot of a segment with which this was kept.
    fn snapshot(&self, sending: Sending) -> Snapshot {
        self.snapshots.get(sending.snapshot.wrapping_sub(self.first) as usize).copied().unwrap_or_default()
    }

    /// The bytes lost since that snapshot.
    fn lost_since(&self, then: &Snapshot) -> u64 {
        u64::from((self.lost as u32).wrapping_sub(then.lost))
    }

    /// This segment is lost, even if it was sent again; `report` gets the loss.
    /// Ignored if the segment has arrived or already counts as lost.
    pub fn lose(&mut self, segment: &mut Segment, now: Time, standing: Standing, report: &mut impl FnMut(&LostSegment)) {
        if segment.has(tag::SACKED | tag::SAMPLED_LOST) {
            return;
        }
        segment.set(tag::SAMPLED_LOST);
        self.is_current = false;
        let size = self.size(segment);
        self.lost += size;
        self.lost_out += size;
        self.in_flight -= size;
        let then = self.snapshot(segment.sending);
        let segments = |bytes: u64| bytes as f64 / f64::from(standing.mss);
        report(&LostSegment {
            now,
            size: segments(size),
            tx_in_flight: segments(u64::from(segment.sending.in_flight)),
            lost: segments(self.lost_since(&then)),
            is_app_limited: then.is_app_limited,
            delivered_total: segments(self.delivered),
            contiguous: segment.start == self.lost_end,
            selective_acks: standing.selective_acks,
        });
        self.lost_end = segment.end();
    }

    /// The segments counted as lost were only late, and are in flight again.
    /// They lose that tag elsewhere (Linux `tcp_undo_cwnd_reduction`).
    pub fn unmark_lost(&mut self) {
        self.in_flight += core::mem::take(&mut self.lost_out);
    }

    /// An ACK of everything below this byte arrives.
    /// What it delivers follows, until [`Sampler::end_ack`].
    /// `guessed` is whether it is a guess which segments those are.
    #[inline]
    pub fn begin_ack(&mut self, ack: u64, guessed: bool) {
        let prior_in_flight = self.in_flight;
        self.lost_before = self.lost;
        self.delivery = DeliveredBytes { newest: None, guessed, newly_acked: 0, bytes: 0, prior_in_flight, ack, ..self.delivery };
    }

    /// This segment has arrived (`UpdateRateSample`, draft-ietf-ccwg-bbr#4.1.2.3).
    /// Ignored if its tag says that it arrived before.
    #[inline]
    pub fn take(&mut self, segment: &Segment, now: Time) {
        if segment.has(tag::SACKED) {
            return;
        }
        if segment.has(tag::SAMPLED_LOST) {
            self.lost_out -= self.size(segment);
            self.in_flight += self.size(segment);
        }
        self.take_in_flight(segment.size(), 1, segment, now);
    }

    /// The segments of this run have arrived.
    #[inline]
    pub fn take_run(&mut self, run: &Run, now: Time) {
        if run.first.is_untagged() {
            self.take_in_flight(run.last.end() - run.first.start, run.count, &run.last, now);
        } else {
            self.take(&run.last, now);
        }
    }

    /// The cumulative ACK has reached these segments, which may have arrived before.
    #[inline]
    pub fn take_acknowledged(&mut self, run: &Run, now: Time) {
        self.take_run(run, now);
        self.pass(&run.last);
    }

    /// Segments in flight have arrived, `last` being the one that was sent last.
    /// They have `bytes` bytes together.
    #[inline]
    fn take_in_flight(&mut self, bytes: u64, segments: u32, last: &Segment, now: Time) {
        self.delivery.bytes += bytes;
        let bytes = self.count(bytes, segments);
        self.in_flight -= bytes;
        self.is_current = false;
        self.delivered += bytes;
        self.delivered_time = now;
        self.delivery.newly_acked += bytes;
        if self.delivery.newest.is_none_or(|newest| (last.sent, last.end()) > (newest.sent, newest.end)) {
            let resent = last.has(tag::EVER_RETRANSMITTED);
            self.delivery.newest = Some(Newest { sent: last.sent, end: last.end(), sending: last.sending, resent });
        }
    }

    /// A guess was wrong: `other` has arrived and not `first`.
    /// `other` was in flight or lost, and `first` now is so in its place.
    pub fn exchange(&mut self, first: &mut Segment, other: &mut Segment) {
        let is_lost = other.has(tag::SAMPLED_LOST);
        let (took, gave) = (self.size(first), self.size(other));
        let left = if is_lost { &mut self.lost_out } else { &mut self.in_flight };
        *left = *left + took - gave;
        self.delivered = self.delivered + gave - took;
        first.clear(tag::SACKED);
        other.set(tag::SACKED);
        if is_lost {
            first.set(tag::SAMPLED_LOST);
            other.clear(tag::SAMPLED_LOST);
        }
    }

    /// Forgets the snapshots before that of this segment, if it was sent once and just arrived.
    /// All segments before it are acknowledged, and those after it left later or were sent again later.
    /// So no segment that this ACK delivers needs an older snapshot.
    #[inline]
    fn pass(&mut self, segment: &Segment) {
        if !segment.has(tag::EVER_RETRANSMITTED | tag::SACKED) {
            while self.first != segment.sending.snapshot && self.snapshots.pop_front().is_some() {
                self.first = self.first.wrapping_add(1);
            }
            tighten(&mut self.snapshots);
        }
    }

    /// Ends an ACK; returns the number of segments that it newly acknowledges.
    #[inline]
    pub fn end_ack(&mut self, mss: u32) -> f64 {
        if let Some(newest) = self.delivery.newest {
            self.delivery.then = self.snapshot(newest.sending);
            self.first_send_time = newest.sent;
        }
        if self.app_limited != 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
            self.is_current = false;
        }
        self.has_sample = true;
        self.delivery.newly_acked as f64 / f64::from(mss)
    }

    /// Whether the sample of the last ACK is still to be returned.
    #[inline]
    pub fn has_sample(&self) -> bool {
        self.has_sample
    }

    /// The sample of the last ACK, which is returned once.
    #[inline]
    pub fn sample(&mut self, now: Time, standing: Standing) -> RateSample {
        self.has_sample = false;
        let DeliveredBytes { newest, then, guessed, newly_acked, bytes, prior_in_flight, ack } = &self.delivery;
        let segments = |bytes: u64| bytes as i64 as f64 / f64::from(standing.mss);
        let mut sample = RateSample {
            now,
            delivered_total: segments(self.delivered),
            lost_total: segments(self.lost),
            newly_acked: segments(*newly_acked),
            newly_lost: segments(self.lost - self.lost_before),
            prior_delivered: None,
            delivered: 0.0,
            lost: 0.0,
            tx_in_flight: 0.0,
            delivery_rate: 0.0,
            is_app_limited: false,
            rtt: None,
            srtt: standing.srtt,
            prior_in_flight: segments(*prior_in_flight),
            in_flight: segments(self.in_flight),
            may_be_delayed: false,
            pacing_delay: standing.pacing_delay,
            is_cwnd_limited: *ack <= self.cwnd_limited_until,
            state: standing.state,
            selective_acks: standing.selective_acks,
            marked: standing.marked,
        };
        let Some(newest) = newest else { return sample };
        sample.prior_delivered = Some(segments(then.delivered));
        sample.delivered = segments(self.delivered - then.delivered);
        sample.may_be_delayed = sample.delivered == 1.0 && *newly_acked == u64::from(self.each) && *bytes < u64::from(self.each);
        sample.lost = segments(self.lost_since(then));
        sample.tx_in_flight = segments(u64::from(newest.sending.in_flight));
        sample.is_app_limited = then.is_app_limited;
        let rtt = || if self.each == 0 { now.since(newest.sent) } else { micros_between(newest.sent, now) };
        sample.rtt = (!newest.resent && !guessed).then(rtt);
        let send_elapsed = newest.sent.since(then.first_send_time);
        let ack_elapsed = self.delivered_time.since(then.delivered_time);
        let interval = send_elapsed.max(ack_elapsed);
        if interval >= standing.rtt_min && interval > Duration::ZERO {
            sample.delivery_rate = sample.delivered / interval.as_secs_f64();
        }
        sample
    }

    /// Checks that the outstanding segments are counted correctly as in flight or lost.
    ///
    /// # Panics
    /// If they are not.
    pub fn check_invariants<'a>(&self, outstanding: impl Iterator<Item = &'a Segment>) {
        let (mut in_flight, mut lost) = (0, 0);
        for segment in outstanding.filter(|segment| !segment.has(tag::SACKED)) {
            *(if segment.has(tag::SAMPLED_LOST) { &mut lost } else { &mut in_flight }) += self.size(segment);
        }
        assert_eq!((self.in_flight, self.lost_out), (in_flight, lost), "bytes in flight and lost as counted, and as the segments say");
        assert!(self.delivered_time >= Time::ZERO && self.lost >= self.lost_out, "{} lost, {} out", self.lost, self.lost_out);
    }
}

impl Memory for Sampler {
    fn memory(&self) -> usize {
        self.snapshots.memory()
    }
}

#[cfg(test)]
#[path = "sampler_tests.rs"]
mod tests;
