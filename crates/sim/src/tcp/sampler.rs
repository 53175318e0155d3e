//! Delivery-rate samples (draft-ietf-ccwg-bbr#4.1.2): what was sent when, and what each ACK delivered of it.
//!
//! A segment that is sent again counts as lost, if it did not before, unless it is the probe of a tail (rfc8985#7). Without SACK a duplicate
//! ACK delivers the oldest segment above the first one (draft-ietf-ccwg-bbr#4.1.3.5.1): a guess, so that it gives no round-trip time. Data is
//! counted in bytes here and in segments in the samples.

use super::ranges::{HasBytes, Ranges, first_from};
use super::sack_blocks::SackBlocks;
use sojourn_cc::{LossState, LostSegment, RateSample};
use sojourn_units::{Duration, Time};
use std::collections::VecDeque;
use std::ops::Range;

/// What became of a segment that is not acknowledged cumulatively.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    InFlight,
    Lost,
    Delivered,
}

/// A segment that was sent: the per-packet state P of draft-ietf-ccwg-bbr#4.1.2.1.2. It fills one cache line: when its ACK comes, it is
/// long out of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Sent {
    start: u64,
    size: u32,
    send_time: Time,
    first_send_time: Time,
    delivered_time: Time,
    delivered: u64,
    lost: u64,
    tx_in_flight: u64,
    is_app_limited: bool,
    retransmitted: bool,
    fate: Fate,
}

impl HasBytes for Sent {
    fn bytes(&self) -> Range<u64> {
        self.start..self.end()
    }
}

impl Sent {
    fn size(&self) -> u64 {
        u64::from(self.size)
    }

    /// One past its last byte.
    fn end(&self) -> u64 {
        self.start + self.size()
    }
}

/// What an ACK acknowledges, and where the sender stands.
#[derive(Clone, Copy, Debug)]
pub struct Delivery<'a> {
    pub now: Time,
    /// The next byte that the receiver expects.
    pub ack: u64,
    pub sack: Option<&'a SackBlocks>,
    /// Without SACK: whether it is a duplicate ACK.
    pub duplicate: bool,
}

/// Where the sender stands, as a sample says it.
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    pub srtt: Duration,
    pub rtt_min: Duration,
    pub state: LossState,
    pub selective_acks: bool,
    pub mss: u32,
}

/// What the last ACK delivered, in bytes.
#[derive(Clone, Copy, Default, Debug)]
struct Taken {
    newest: Option<Sent>,
    /// Whether it is a guess which segment that is.
    guessed: bool,
    newly_acked: u64,
    /// What was in flight before it.
    prior_in_flight: u64,
    ack: u64,
}

/// What was sent, and what was delivered of it: the per-connection state C of draft-ietf-ccwg-bbr#4.1.2.1.1.
#[derive(Clone, Default, Debug)]
pub struct Sampler {
    /// What is not acknowledged cumulatively, in the order of its bytes.
    sent: VecDeque<Sent>,
    /// What is known to have arrived above the cumulative ACK.
    sacked: Ranges,
    delivered: u64,
    delivered_time: Time,
    first_send_time: Time,
    lost: u64,
    /// `C.app_limited`: 0 if the application does not limit the connection.
    app_limited: u64,
    in_flight: u64,
    /// Bytes taken for lost and not sent again (`C.lost_out` less `C.retrans_out`).
    lost_out: u64,
    /// Segments below this were looked at when losses were last marked.
    marked_below: u64,
    /// Without SACK: duplicate ACKs have delivered the segments up to this byte.
    duplicates_to: u64,
    /// One past the last byte of the segment that was lost last.
    lost_end: u64,
    /// `lost` at the last sample.
    lost_before: u64,
    /// Until this byte is acknowledged, the congestion window has limited the sender in the last round trip.
    cwnd_limited_until: u64,
    /// What the last ACK delivered.
    taken: Taken,
    /// Whether its sample was not given yet.
    has_sample: bool,
}

impl Sampler {
    /// Bytes in flight.
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Whether the application limits the connection.
    pub fn is_app_limited(&self) -> bool {
        self.app_limited != 0
    }

    /// The congestion window is full; `snd_max` is one past the highest byte sent.
    pub fn on_window_full(&mut self, snd_max: u64) {
        self.cwnd_limited_until = snd_max;
    }

    /// Nothing is left to send: marks the connection as limited by the application if the window and the losses leave room
    /// (draft-ietf-ccwg-bbr#4.1.2.4).
    pub fn check_app_limited(&mut self, cwnd_bytes: u64) {
        if self.in_flight < cwnd_bytes && self.lost_out == 0 {
            self.limit();
        }
    }

    /// `MarkConnectionAppLimited` (draft-ietf-ccwg-bbr#4.1.2.4).
    pub fn limit(&mut self) {
        self.app_limited = (self.delivered + self.in_flight).max(1);
    }

    /// The segment from `start` to `end` leaves at `now` (draft-ietf-ccwg-bbr#4.1.2.2).
    pub fn on_sent(&mut self, start: u64, end: u64, now: Time) {
        if self.in_flight == 0 {
            (self.first_send_time, self.delivered_time) = (now, now);
        }
        let known = self.sent.back().map_or(0, |last| last.end());
        if start < known {
            self.send_again(start, end, now);
        }
        let start = start.max(known);
        if start < end {
            self.in_flight += end - start;
            let sent = self.snapshot(start, end, now);
            self.sent.push_back(sent);
        }
    }

    fn snapshot(&self, start: u64, end: u64, now: Time) -> Sent {
        Sent {
            start,
            size: (end - start) as u32,
            send_time: now,
            first_send_time: self.first_send_time,
            delivered_time: self.delivered_time,
            delivered: self.delivered,
            lost: self.lost,
            tx_in_flight: self.in_flight,
            is_app_limited: self.app_limited != 0,
            retransmitted: false,
            fate: Fate::InFlight,
        }
    }

    /// Segments that start in these bytes and have not arrived leave again. One that is in flight is the probe of a tail: nothing more is in
    /// flight then, and nothing lost (Linux `tcp_send_loss_probe`).
    fn send_again(&mut self, start: u64, end: u64, now: Time) {
        let mut index = first_from(&self.sent, start);
        while let Some(&sent) = self.sent.get(index).filter(|sent| sent.start < end) {
            if sent.fate == Fate::Lost {
                self.lost_out -= sent.size();
                self.in_flight += sent.size();
            }
            if sent.fate != Fate::Delivered {
                self.sent[index] = Sent { retransmitted: true, ..self.snapshot(sent.start, sent.end(), now) };
            }
            index += 1;
        }
    }

    /// Segments before `end` that were sent once are lost; tells `report` of each.
    pub fn lose_below(&mut self, end: u64, now: Time, standing: Standing, mut report: impl FnMut(&LostSegment)) {
        if end <= self.marked_below {
            return;
        }
        let mut index = first_from(&self.sent, self.marked_below);
        while let Some(&sent) = self.sent.get(index).filter(|sent| sent.end() <= end) {
            if sent.fate == Fate::InFlight && !sent.retransmitted {
                self.lose_segment(index, now, standing, &mut report);
            }
            index += 1;
        }
        self.marked_below = end;
    }

    /// Segments that start in these bytes and are in flight are lost, also those that were sent again; tells `report` of each.
    pub fn lose(&mut self, bytes: Range<u64>, now: Time, standing: Standing, mut report: impl FnMut(&LostSegment)) {
        let mut index = first_from(&self.sent, bytes.start);
        while let Some(sent) = self.sent.get(index).filter(|sent| sent.start < bytes.end) {
            if sent.fate == Fate::InFlight {
                self.lose_segment(index, now, standing, &mut report);
            }
            index += 1;
        }
        self.duplicates_to = self.duplicates_to.min(bytes.start);
    }

    /// What is taken for lost was late: it is in flight again (Linux `tcp_undo_cwnd_reduction`).
    pub fn unmark_lost(&mut self) {
        for sent in self.sent.iter_mut().filter(|sent| sent.fate == Fate::Lost) {
            sent.fate = Fate::InFlight;
        }
        self.in_flight += core::mem::take(&mut self.lost_out);
    }

    fn lose_segment(&mut self, index: usize, now: Time, standing: Standing, report: &mut impl FnMut(&LostSegment)) {
        self.sent[index].fate = Fate::Lost;
        let sent = self.sent[index];
        self.lost += sent.size();
        self.lost_out += sent.size();
        self.in_flight -= sent.size();
        let segments = |bytes: u64| bytes as f64 / f64::from(standing.mss);
        report(&LostSegment {
            now,
            size: segments(sent.size()),
            tx_in_flight: segments(sent.tx_in_flight),
            lost: segments(self.lost - sent.lost),
            is_app_limited: sent.is_app_limited,
            delivered_total: segments(self.delivered),
            contiguous: sent.start == self.lost_end,
            selective_acks: standing.selective_acks,
        });
        self.lost_end = sent.end();
    }

    /// Takes an ACK (draft-ietf-ccwg-bbr#4.1.2.3); gives the segments that it newly acknowledges.
    pub fn on_ack(&mut self, delivery: &Delivery, mss: u32) -> f64 {
        self.begin_ack(delivery.ack, delivery.sack.is_none() && delivery.duplicate);
        self.deliver(delivery);
        self.end_ack(mss)
    }

    /// An ACK of everything below this byte arrives; what it delivers follows, until [`Sampler::end_ack`].
    /// `guessed`: which segments those are is a guess.
    #[inline]
    pub fn begin_ack(&mut self, ack: u64, guessed: bool) {
        self.taken = Taken { newest: None, guessed, newly_acked: 0, prior_in_flight: self.in_flight, ack };
    }

    /// All that an ACK delivers was taken; gives the segments that it newly acknowledges.
    #[inline]
    pub fn end_ack(&mut self, mss: u32) -> f64 {
        if let Some(newest) = &self.taken.newest {
            self.first_send_time = newest.send_time;
        }
        if self.app_limited != 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        self.has_sample = true;
        self.taken.newly_acked as f64 / f64::from(mss)
    }

    /// Whether the sample of the last ACK was not given yet.
    #[inline]
    pub fn has_sample(&self) -> bool {
        self.has_sample
    }

    /// The sample of the last ACK, if it was not given yet.
    pub fn sample(&mut self, now: Time, standing: Standing) -> Option<RateSample> {
        if !std::mem::take(&mut self.has_sample) {
            return None;
        }
        let Taken { newest, guessed, newly_acked, prior_in_flight, ack } = &self.taken;
        let segments = |bytes: u64| bytes as f64 / f64::from(standing.mss);
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
            is_cwnd_limited: *ack <= self.cwnd_limited_until,
            state: standing.state,
            selective_acks: standing.selective_acks,
            marked: 0.0,
        };
        self.lost_before = self.lost;
        let Some(newest) = newest else { return Some(sample) };
        sample.prior_delivered = Some(segments(newest.delivered));
        sample.delivered = segments(self.delivered - newest.delivered);
        sample.lost = segments(self.lost - newest.lost);
        sample.tx_in_flight = segments(newest.tx_in_flight);
        sample.is_app_limited = newest.is_app_limited;
        sample.rtt = (!newest.retransmitted && !guessed).then(|| now.since(newest.send_time));
        let send_elapsed = newest.send_time.since(newest.first_send_time);
        let ack_elapsed = self.delivered_time.since(newest.delivered_time);
        let interval = send_elapsed.max(ack_elapsed);
        if interval >= standing.rtt_min && interval > Duration::ZERO {
            sample.delivery_rate = sample.delivered / interval.as_secs_f64();
        }
        Some(sample)
    }

    /// Takes what an ACK delivers.
    fn deliver(&mut self, delivery: &Delivery) {
        self.take_acknowledged(delivery.ack, delivery.now);
        if let Some(blocks) = delivery.sack {
            self.sacked.forget_below(delivery.ack);
            for (from, to) in blocks.iter().filter(|&(_, to)| to > delivery.ack) {
                self.deliver_block(from.max(delivery.ack), to, delivery.now);
            }
        } else if delivery.duplicate {
            self.deliver_duplicate(delivery.now);
        }
    }

    /// Takes the oldest segment in flight above the first one.
    fn deliver_duplicate(&mut self, now: Time) {
        let from = first_from(&self.sent, self.duplicates_to).max(1);
        if let Some(index) = (from..self.sent.len()).find(|&index| self.sent[index].fate == Fate::InFlight) {
            self.duplicates_to = self.sent[index].end();
            self.take(index, now);
        }
    }

    /// Takes what a SACK block newly says to have arrived.
    fn deliver_block(&mut self, from: u64, to: u64, now: Time) {
        let mut at = self.sacked.gap_from(from);
        if at >= to {
            return;
        }
        while at < to {
            let stop = self.sacked.next_from(at).min(to);
            let mut index = first_from(&self.sent, at);
            while self.sent.get(index).is_some_and(|sent| sent.end() <= stop) {
                self.take(index, now);
                index += 1;
            }
            at = self.sacked.gap_from(stop);
        }
        self.sacked.insert(from, to);
    }

    /// All segments below this byte are acknowledged cumulatively.
    pub fn take_acknowledged(&mut self, ack: u64, now: Time) {
        while self.sent.front().is_some_and(|sent| sent.end() <= ack)
            && let Some(sent) = self.sent.pop_front()
        {
            self.count(&sent, now);
        }
    }

    /// The segment at this place of the list has arrived.
    #[inline]
    pub fn take(&mut self, index: usize, now: Time) {
        let sent = self.sent[index];
        self.sent[index].fate = Fate::Delivered;
        self.count(&sent, now);
    }

    /// This segment has arrived, perhaps not only now (`UpdateRateSample`, draft-ietf-ccwg-bbr#4.1.2.3).
    #[inline]
    fn count(&mut self, sent: &Sent, now: Time) {
        match sent.fate {
            Fate::Delivered => return,
            Fate::InFlight => self.in_flight -= sent.size(),
            Fate::Lost => self.lost_out -= sent.size(),
        }
        self.delivered += sent.size();
        self.delivered_time = now;
        self.taken.newly_acked += sent.size();
        if self.taken.newest.is_none_or(|newest| (sent.send_time, sent.end()) > (newest.send_time, newest.end())) {
            self.taken.newest = Some(*sent);
        }
    }

    /// Bytes of memory beyond its own size.
    pub fn memory(&self) -> usize {
        self.sent.capacity() * size_of::<Sent>() + self.sacked.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1000;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    /// Three segments leave at 0, 10 and 20 ms; then an ACK comes. Gives what is sampled of it.
    fn sampled(delivery: &Delivery) -> RateSample {
        let mut sampler = Sampler::default();
        (0..3).for_each(|n| sampler.on_sent(n * 1000, (n + 1) * 1000, at(10 * n)));
        sampler.on_ack(delivery, MSS);
        let standing = Standing {
            srtt: Duration::ZERO,
            rtt_min: Duration::ZERO,
            state: LossState::Open,
            selective_acks: delivery.sack.is_some(),
            mss: MSS,
        };
        sampler.sample(delivery.now, standing).unwrap()
    }

    #[test]
    fn a_duplicate_ack_without_sack_tells_of_an_arrival_and_of_no_round_trip_time() {
        let duplicate = Delivery { now: at(21), ack: 0, sack: None, duplicate: true };
        let sample = sampled(&duplicate);
        assert_eq!((sample.newly_acked, sample.in_flight, sample.rtt), (1.0, 2.0, None));
        let mut blocks = SackBlocks::default();
        (blocks.blocks[0], blocks.count) = ((1000, 2000), 1);
        let sample = sampled(&Delivery { sack: Some(&blocks), ..duplicate });
        assert_eq!((sample.newly_acked, sample.in_flight, sample.rtt), (1.0, 2.0, Some(Duration::from_millis(11))));
        let sample = sampled(&Delivery { now: at(50), ack: 2000, sack: None, duplicate: false });
        assert_eq!((sample.newly_acked, sample.in_flight, sample.rtt), (2.0, 1.0, Some(Duration::from_millis(40))));
    }

    #[test]
    fn the_probe_of_a_tail_is_no_loss_and_its_ack_gives_no_round_trip_time() {
        let mut sampler = Sampler::default();
        (0..3).for_each(|n| sampler.on_sent(n * 1000, (n + 1) * 1000, at(10 * n)));
        sampler.on_sent(2000, 3000, at(100));
        assert_eq!(sampler.in_flight(), 3000);
        let ack = Delivery { now: at(140), ack: 3000, sack: None, duplicate: false };
        assert_eq!(sampler.on_ack(&ack, MSS), 3.0);
        let standing = Standing { srtt: Duration::ZERO, rtt_min: Duration::ZERO, state: LossState::Open, selective_acks: true, mss: MSS };
        let sample = sampler.sample(ack.now, standing).unwrap();
        assert_eq!((sample.newly_lost, sample.in_flight, sample.rtt), (0.0, 0.0, None));
    }
}
