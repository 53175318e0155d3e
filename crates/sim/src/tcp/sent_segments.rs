//! The segments that are outstanding, for delivery-rate samples, where the recovery strategy keeps none itself.
//!
//! A segment that is sent again counts as lost, if it did not before, unless it is the probe of a tail (rfc8985#7). Without SACK a duplicate
//! ACK delivers the oldest segment above the first one (draft-ietf-ccwg-bbr#4.1.3.5.1): a guess, so that it gives no round-trip time. When
//! the receiver then asks for that segment, another one has arrived in its place.

use super::ack_options::SackBlocks;
use super::ranges::Ranges;
use super::sampler::{Sampler, Standing};
use super::segment::{CHECKED, Segment, check_outstanding, first_from, tag};
use sojourn_cc::LostSegment;
use sojourn_units::Time;
use std::collections::VecDeque;
use std::ops::Range;

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

/// The segments that are not acknowledged cumulatively, in the order of their bytes.
#[derive(Clone, Default, Debug)]
pub struct SentSegments {
    sent: VecDeque<Segment>,
    /// What is known to have arrived above the cumulative ACK.
    sacked: Ranges,
    /// Segments below this were looked at when losses were last marked.
    marked_below: u64,
    /// Without SACK: duplicate ACKs have delivered the segments up to this byte.
    duplicates_to: u64,
    /// Without SACK: all but the first segment are taken for delivered up to this byte, after guesses that were wrong.
    corrected_to: u64,
}

impl SentSegments {
    /// The segment from `start` to `end` leaves at `now`: a new one, or some of those that left before.
    pub fn on_sent(&mut self, start: u64, end: u64, now: Time, sampler: &mut Sampler) {
        sampler.begin_flight(now);
        let known = self.sent.back().map_or(0, Segment::end);
        if start < known {
            let from = first_from(&self.sent, start);
            for sent in self.sent.iter_mut().skip(from).take_while(|sent| sent.start < end) {
                sampler.on_sent_again(sent, now);
            }
        }
        let start = start.max(known);
        if start < end {
            let sending = sampler.on_sent(end - start, now);
            self.sent.push_back(Segment::new(start, end, now, sending));
        }
    }

    /// Segments before `end` that were sent once are lost; tells `report` of each.
    pub fn lose_below(&mut self, end: u64, now: Time, standing: Standing, report: &mut impl FnMut(&LostSegment), sampler: &mut Sampler) {
        if end <= self.marked_below {
            return;
        }
        let from = first_from(&self.sent, self.marked_below);
        for sent in self.sent.iter_mut().skip(from).take_while(|sent| sent.end() <= end) {
            if !sent.has(tag::EVER_RETRANSMITTED) {
                sampler.lose(sent, now, standing, report);
            }
        }
        self.marked_below = end;
    }

    /// Segments that start in these bytes are lost, also those that were sent again; tells `report` of each.
    pub fn lose(&mut self, bytes: Range<u64>, now: Time, standing: Standing, report: &mut impl FnMut(&LostSegment), sampler: &mut Sampler) {
        let from = first_from(&self.sent, bytes.start);
        for sent in self.sent.iter_mut().skip(from).take_while(|sent| sent.start < bytes.end) {
            sampler.lose(sent, now, standing, report);
        }
        self.duplicates_to = self.duplicates_to.min(bytes.start);
    }

    /// Takes an ACK (draft-ietf-ccwg-bbr#4.1.2.3); gives the segments that it newly acknowledges.
    pub fn on_ack(&mut self, delivery: &Delivery, mss: u32, sampler: &mut Sampler) -> f64 {
        sampler.begin_ack(delivery.ack, delivery.sack.is_none() && delivery.duplicate);
        while self.sent.front().is_some_and(|sent| sent.end() <= delivery.ack)
            && let Some(sent) = self.sent.pop_front()
        {
            sampler.take(&sent, delivery.now);
            sampler.pass(&sent);
        }
        if let Some(blocks) = delivery.sack {
            self.sacked.forget_below(delivery.ack);
            for (from, to) in blocks.iter().filter(|&(_, to)| to > delivery.ack) {
                self.deliver_block(from.max(delivery.ack), to, delivery.now, sampler);
            }
        } else if delivery.duplicate {
            self.deliver_duplicate(delivery.now, sampler);
        } else if self.sent.front().is_some_and(|first| first.has(tag::SACKED)) {
            self.correct_guess(sampler);
        }
        sampler.end_ack(mss)
    }

    /// Takes the oldest segment in flight above the first one.
    fn deliver_duplicate(&mut self, now: Time, sampler: &mut Sampler) {
        let from = first_from(&self.sent, self.duplicates_to).max(1);
        let in_flight = |sent: &&mut Segment| !sent.has(tag::SACKED | tag::SAMPLED_LOST);
        if let Some(sent) = self.sent.iter_mut().skip(from).find(in_flight) {
            self.duplicates_to = sent.end();
            sampler.take(sent, now);
            sent.set(tag::SACKED);
        }
    }

    /// The receiver asks for the first segment, which was guessed to be there: the next one that was not is in its place.
    #[cold]
    fn correct_guess(&mut self, sampler: &mut Sampler) {
        let from = first_from(&self.sent, self.corrected_to).max(1);
        let Some(at) = (from..self.sent.len()).find(|&at| !self.sent[at].has(tag::SACKED)) else { return };
        let (mut first, mut other) = (self.sent[0], self.sent[at]);
        sampler.exchange(&mut first, &mut other);
        (self.sent[0], self.sent[at]) = (first, other);
        self.corrected_to = other.end();
    }

    /// Takes what a SACK block newly says to have arrived.
    fn deliver_block(&mut self, from: u64, to: u64, now: Time, sampler: &mut Sampler) {
        let mut at = self.sacked.gap_from(from);
        if at >= to {
            return;
        }
        while at < to {
            let stop = self.sacked.next_from(at).min(to);
            let from = first_from(&self.sent, at);
            for sent in self.sent.iter_mut().skip(from).take_while(|sent| sent.end() <= stop) {
                sampler.take(sent, now);
                sent.set(tag::SACKED);
            }
            at = self.sacked.gap_from(stop);
        }
        self.sacked.insert(from, to);
    }

    /// Checks that what is kept is outstanding, and that samples count it as it is. A sender that keeps no segments here has none.
    ///
    /// # Panics
    /// It is not.
    pub fn check_invariants(&self, snd_una: u64, snd_max: u64, sampler: &Sampler) {
        if self.sent.is_empty() {
            return;
        }
        check_outstanding(&self.sent, snd_una, snd_max);
        self.sacked.check_invariants(snd_una, snd_max);
        if self.sent.len() <= CHECKED {
            sampler.check_invariants(self.sent.iter());
        }
    }

    /// Bytes of memory beyond its own size.
    pub fn memory(&self) -> usize {
        self.sent.capacity() * size_of::<Segment>() + self.sacked.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_cc::{LossState, RateSample};
    use sojourn_units::Duration;

    const MSS: u32 = 1000;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    fn standing(selective_acks: bool) -> Standing {
        let (srtt, rtt_min) = (Duration::ZERO, Duration::ZERO);
        Standing { srtt, rtt_min, state: LossState::Open, selective_acks, mss: MSS, pacing_delay: Duration::ZERO, marked: 0.0 }
    }

    /// Three segments leave at 0, 10 and 20 ms; then an ACK comes. Gives what is sampled of it.
    fn sampled(delivery: &Delivery) -> RateSample {
        let (mut segments, mut sampler) = (SentSegments::default(), Sampler::default());
        (0..3).for_each(|n| segments.on_sent(n * 1000, (n + 1) * 1000, at(10 * n), &mut sampler));
        segments.on_ack(delivery, MSS, &mut sampler);
        sampler.sample(delivery.now, standing(delivery.sack.is_some()))
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
    fn without_sack_each_segment_that_fills_a_gap_is_delivered_when_it_arrives() {
        let (mut segments, mut sampler) = (SentSegments::default(), Sampler::default());
        (0..8).for_each(|n| segments.on_sent(n * 1000, (n + 1) * 1000, at(n), &mut sampler));
        // The first, the third and the fifth are lost; five duplicates are taken for the second to the sixth.
        let duplicate = Delivery { now: at(40), ack: 0, sack: None, duplicate: true };
        (0..5).for_each(|_| assert_eq!(segments.on_ack(&duplicate, MSS, &mut sampler), 1.0));
        segments.lose(0..8000, at(300), standing(false), &mut |_| (), &mut sampler);
        assert_eq!(sampler.in_flight(), 0);
        for (n, ack) in [(0, 2000), (2, 4000), (4, 8000)] {
            segments.on_sent(n * 1000, (n + 1) * 1000, at(300 + 50 * n), &mut sampler);
            let delivery = Delivery { now: at(340 + 50 * n), ack, sack: None, duplicate: false };
            assert_eq!(segments.on_ack(&delivery, MSS, &mut sampler), 1.0, "{n}");
            let sample = sampler.sample(delivery.now, standing(false));
            assert_eq!((sample.rtt, sample.in_flight), (None, 0.0));
        }
        assert_eq!(sampler.sample(at(540), standing(false)).delivered_total, 8.0);
    }

    #[test]
    fn a_short_segment_counts_as_a_whole_one_where_segments_are_counted_and_its_ack_alone_may_be_delayed() {
        let sampled = |each: u32, size: u64| {
            let (mut segments, mut sampler) = (SentSegments::default(), Sampler::counting(each));
            segments.on_sent(0, size, at(0), &mut sampler);
            let ack = Delivery { now: at(40), ack: size, sack: None, duplicate: false };
            segments.on_ack(&ack, MSS, &mut sampler);
            let sample = sampler.sample(ack.now, standing(true));
            (sample.newly_acked, sample.delivered, sample.may_be_delayed, sample.in_flight)
        };
        assert_eq!((sampled(0, 400), sampled(MSS, 400)), ((0.4, 0.4, false, 0.0), (1.0, 1.0, true, 0.0)));
        assert_eq!(sampled(MSS, 1000), (1.0, 1.0, false, 0.0));
    }

    #[test]
    fn the_probe_of_a_tail_is_no_loss_and_its_ack_gives_no_round_trip_time() {
        let (mut segments, mut sampler) = (SentSegments::default(), Sampler::default());
        (0..3).for_each(|n| segments.on_sent(n * 1000, (n + 1) * 1000, at(10 * n), &mut sampler));
        segments.on_sent(2000, 3000, at(100), &mut sampler);
        assert_eq!(sampler.in_flight(), 3000);
        let ack = Delivery { now: at(140), ack: 3000, sack: None, duplicate: false };
        assert_eq!(segments.on_ack(&ack, MSS, &mut sampler), 3.0);
        let sample = sampler.sample(ack.now, standing(true));
        assert_eq!((sample.newly_lost, sample.in_flight, sample.rtt), (0.0, 0.0, None));
    }

    /// Five segments leave: the first three at 0 ms, the others at 10 and at 20 ms with the ACKs of the first and the second. So the third,
    /// fourth and fifth leave with none, one and two delivered.
    fn sent_between_acks() -> (SentSegments, Sampler) {
        let (mut segments, mut sampler) = (SentSegments::default(), Sampler::default());
        (0..3).for_each(|n| segments.on_sent(n * 1000, (n + 1) * 1000, at(0), &mut sampler));
        for n in 1..=2 {
            let ack = Delivery { now: at(10 * n), ack: n * 1000, sack: None, duplicate: false };
            segments.on_ack(&ack, MSS, &mut sampler);
            segments.on_sent((n + 2) * 1000, (n + 3) * 1000, ack.now, &mut sampler);
        }
        (segments, sampler)
    }

    #[test]
    fn after_the_ack_of_a_segment_sent_again_it_is_known_what_was_delivered_when_the_next_left() {
        let (mut segments, mut sampler) = sent_between_acks();
        segments.on_sent(2000, 3000, at(30), &mut sampler);
        let ack = Delivery { now: at(40), ack: 3000, sack: None, duplicate: false };
        segments.on_ack(&ack, MSS, &mut sampler);
        assert_eq!(sampler.sample(ack.now, standing(true)).prior_delivered, Some(2.0));
        let ack = Delivery { now: at(50), ack: 4000, ..ack };
        segments.on_ack(&ack, MSS, &mut sampler);
        let sample = sampler.sample(ack.now, standing(true));
        // It left at 10 ms with one delivered. Four are now: three in the 40 ms since the ACK before it left.
        assert_eq!((sample.prior_delivered, sample.delivered, sample.delivery_rate), (Some(1.0), 3.0, 75.0));
    }

    #[test]
    fn the_ack_of_a_segment_that_comes_late_is_sampled_by_it_and_not_by_one_that_had_arrived() {
        let (mut segments, mut sampler) = sent_between_acks();
        let mut blocks = SackBlocks::default();
        (blocks.blocks[0], blocks.count) = ((4000, 5000), 1);
        segments.on_ack(&Delivery { now: at(40), ack: 3000, sack: Some(&blocks), duplicate: false }, MSS, &mut sampler);
        let ack = Delivery { now: at(50), ack: 5000, sack: None, duplicate: false };
        segments.on_ack(&ack, MSS, &mut sampler);
        let sample = sampler.sample(ack.now, standing(true));
        // The fourth left at 10 ms with one delivered. Five are now: four in the 40 ms since the ACK before it left.
        assert_eq!((sample.prior_delivered, sample.delivered, sample.delivery_rate), (Some(1.0), 4.0, 100.0));
    }
}
