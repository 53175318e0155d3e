//! The outstanding segments for delivery-rate samples.
//! Used where the recovery strategy does not keep them itself.
//!
//! A segment that is sent again counts as lost, unless it is a tail loss probe (rfc8985#7).
//! Without SACK a duplicate ACK delivers the oldest segment above the first one (draft-ietf-ccwg-bbr#4.1.3.5.1).
//! That is a guess, so it gives no round-trip time.
//! If the receiver then asks for that segment, another one has arrived in its place.

use super::sampler::{Sampler, Standing};
use crate::tcp::ack::AckDigest;
use crate::tcp::outstanding::{Outstanding, Run, tag};
use sojourn_cc::LostSegment;
use sojourn_spec::tcp::{Recovery, TcpOptions};
use sojourn_units::{Memory, Time};
use std::ops::Range;

/// The outstanding segments, and how far samples have looked at them.
#[derive(Clone, Default, Debug)]
pub struct SentSegments {
    sent: Outstanding,
    /// Segments below this byte were looked at when losses were last marked.
    marked_below: u64,
    /// Without SACK: duplicate ACKs have delivered the segments up to this byte.
    duplicates_to: u64,
    /// Without SACK: the byte up to which guesses turned out wrong.
    /// All segments up to it but the first count as delivered.
    corrected_to: u64,
}

impl SentSegments {
    /// The segment from `start` to `end` leaves at `now`, for the first time or again.
    pub fn on_sent(&mut self, start: u64, end: u64, now: Time, sampler: &mut Sampler) {
        sampler.begin_flight(now);
        let known = self.sent.end();
        if start < known {
            self.sent.starting_from(start).take_while(|sent| sent.start < end).for_each(|sent| sampler.on_sent_again(sent, now));
        }
        let start = start.max(known);
        if start < end {
            let sending = sampler.on_sent(end - start, now);
            self.sent.push(&(start..end), now, sending);
        }
    }

    /// Segments before `end` that were sent once are lost; `report` gets each.
    pub fn lose_below(&mut self, end: u64, now: Time, standing: Standing, report: &mut impl FnMut(&LostSegment), sampler: &mut Sampler) {
        if end <= self.marked_below {
            return;
        }
        let below = self.sent.starting_from(self.marked_below).take_while(|sent| sent.end() <= end);
        below.filter(|sent| !sent.has(tag::EVER_RETRANSMITTED)).for_each(|sent| sampler.lose(sent, now, standing, report));
        self.marked_below = end;
    }

    /// Segments that start in these bytes are lost, even if sent again; `report` gets each.
    pub fn lose(&mut self, bytes: Range<u64>, now: Time, standing: Standing, report: &mut impl FnMut(&LostSegment), sampler: &mut Sampler) {
        let within = self.sent.starting_from(bytes.start).take_while(|sent| sent.start < bytes.end);
        within.for_each(|sent| sampler.lose(sent, now, standing, report));
        self.duplicates_to = self.duplicates_to.min(bytes.start);
    }

    /// Takes an ACK; returns the number of segments that it newly acknowledges.
    /// Source: draft-ietf-ccwg-bbr#4.1.2.3.
    pub fn on_ack(&mut self, ack: &AckDigest, now: Time, params: &TcpOptions, sampler: &mut Sampler) -> f64 {
        // An ACK older than the last one brings nothing new below the cumulative ACK.
        let snd_una = ack.packet.seq.max(ack.prior_una);
        let duplicate = ack.is_duplicate() && params.recovery != Recovery::Sack;
        sampler.begin_ack(ack.packet.seq, ack.sack.is_none() && duplicate);
        self.sent.acknowledge(snd_una, |run| sampler.take_acknowledged(run, now));
        self.sent.forget_below(snd_una);
        if let Some(blocks) = ack.sack {
            for (from, to) in blocks.iter().filter(|&(_, to)| to > snd_una) {
                self.sent.sack(from.max(snd_una), to, |run| sampler.take_run(run, now));
            }
        } else if duplicate {
            if let Some(sent) = self.sent.guess_arrival(self.duplicates_to) {
                self.duplicates_to = sent.end();
                sampler.take_run(&Run::of(sent), now);
            }
        } else if let Some((first, other)) = self.sent.wrong_guess(self.corrected_to) {
            // The ACK asks for the first segment, whose arrival was guessed: another one arrived instead.
            sampler.exchange(first, other);
            self.corrected_to = other.end();
        }
        sampler.end_ack(params.mss)
    }

    /// Checks that the kept segments are outstanding, and that samples count them so.
    /// Holds trivially for a sender that keeps no segments here.
    ///
    /// # Panics
    /// If they are not.
    pub fn check_invariants(&self, snd_una: u64, snd_max: u64, sampler: &Sampler) {
        if self.sent.packets_out() > 0 {
            self.sent.check_invariants(snd_una, snd_max);
            self.sent.if_few().into_iter().for_each(|segments| sampler.check_invariants(segments));
        }
    }
}

impl Memory for SentSegments {
    fn memory(&self) -> usize {
        self.sent.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Packet;
    use crate::tcp::ack_options::SackBlocks;
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

    /// A sender's segments and samples, with SACK or without.
    struct Sender {
        segments: SentSegments,
        sampler: Sampler,
        params: TcpOptions,
        snd_una: u64,
    }

    impl Sender {
        fn new(recovery: Recovery) -> Self {
            let params = TcpOptions { mss: MSS, recovery, ..TcpOptions::rfc() };
            Sender { segments: SentSegments::default(), sampler: Sampler::default(), params, snd_una: 0 }
        }

        /// The segment with this number leaves.
        fn send(&mut self, number: u64, ms: u64) {
            self.segments.on_sent(number * 1000, (number + 1) * 1000, at(ms), &mut self.sampler);
        }

        /// An ACK of everything below `seq` arrives, perhaps with a SACK block.
        /// Returns the number of segments that it newly acknowledges.
        fn ack(&mut self, seq: u64, block: Option<(u64, u64)>, ms: u64) -> f64 {
            let sack = block.map(|block| SackBlocks { blocks: [block, (0, 0), (0, 0)], count: 1 });
            let packet = Packet { seq, ..Packet::EMPTY };
            let ack = AckDigest { sack: sack.as_ref(), ..AckDigest::plain(&packet, self.snd_una) };
            self.snd_una = self.snd_una.max(seq);
            self.segments.on_ack(&ack, at(ms), &self.params, &mut self.sampler)
        }

        fn sample(&mut self, ms: u64) -> RateSample {
            self.sampler.sample(at(ms), standing(self.params.recovery == Recovery::Sack))
        }
    }

    /// Three segments leave at 0, 10 and 20 ms, then an ACK arrives; returns its sample.
    fn sampled(recovery: Recovery, seq: u64, block: Option<(u64, u64)>, ms: u64) -> RateSample {
        let mut sender = Sender::new(recovery);
        (0..3).for_each(|n| sender.send(n, 10 * n));
        sender.ack(seq, block, ms);
        sender.sample(ms)
    }

    #[test]
    fn a_duplicate_ack_without_sack_tells_of_an_arrival_and_of_no_round_trip_time() {
        let sample = sampled(Recovery::NewReno, 0, None, 21);
        assert_eq!((sample.newly_acked, sample.in_flight, sample.rtt), (1.0, 2.0, None));
        let sample = sampled(Recovery::Sack, 0, Some((1000, 2000)), 21);
        assert_eq!((sample.newly_acked, sample.in_flight, sample.rtt), (1.0, 2.0, Some(Duration::from_millis(11))));
        let sample = sampled(Recovery::NewReno, 2000, None, 50);
        assert_eq!((sample.newly_acked, sample.in_flight, sample.rtt), (2.0, 1.0, Some(Duration::from_millis(40))));
    }

    #[test]
    fn without_sack_each_segment_that_fills_a_gap_is_delivered_when_it_arrives() {
        let mut sender = Sender::new(Recovery::NewReno);
        (0..8).for_each(|n| sender.send(n, n));
        // The first, third and fifth segments are lost; five duplicate ACKs are taken for the second to the sixth.
        (0..5).for_each(|_| assert_eq!(sender.ack(0, None, 40), 1.0));
        sender.segments.lose(0..8000, at(300), standing(false), &mut |_| (), &mut sender.sampler);
        assert_eq!(sender.sampler.in_flight(), 0);
        for (n, seq) in [(0, 2000), (2, 4000), (4, 8000)] {
            sender.send(n, 300 + 50 * n);
            assert_eq!(sender.ack(seq, None, 340 + 50 * n), 1.0, "{n}");
            let sample = sender.sample(340 + 50 * n);
            assert_eq!((sample.rtt, sample.in_flight), (None, 0.0));
        }
        assert_eq!(sender.sample(540).delivered_total, 8.0);
    }

    #[test]
    fn a_short_segment_counts_as_a_whole_one_where_segments_are_counted_and_its_ack_alone_may_be_delayed() {
        let sampled = |each: u32, size: u64| {
            let mut sender = Sender { sampler: Sampler::counting(each), ..Sender::new(Recovery::Sack) };
            sender.segments.on_sent(0, size, at(0), &mut sender.sampler);
            sender.ack(size, None, 40);
            let sample = sender.sample(40);
            (sample.newly_acked, sample.delivered, sample.may_be_delayed, sample.in_flight)
        };
        assert_eq!((sampled(0, 400), sampled(MSS, 400)), ((0.4, 0.4, false, 0.0), (1.0, 1.0, true, 0.0)));
        assert_eq!(sampled(MSS, 1000), (1.0, 1.0, false, 0.0));
    }

    #[test]
    fn the_probe_of_a_tail_is_no_loss_and_its_ack_gives_no_round_trip_time() {
        let mut sender = Sender::new(Recovery::Sack);
        (0..3).for_each(|n| sender.send(n, 10 * n));
        sender.send(2, 100);
        assert_eq!(sender.sampler.in_flight(), 3000);
        assert_eq!(sender.ack(3000, None, 140), 3.0);
        let sample = sender.sample(140);
        assert_eq!((sample.newly_lost, sample.in_flight, sample.rtt), (0.0, 0.0, None));
    }

    /// A scoreboard that forgets at a timeout, as in ns-2's Sack1 (`ns-2 tcp-sack1.cc`).
    /// It therefore sends again what has arrived.
    #[test]
    fn a_segment_that_was_late_and_not_lost_is_not_in_flight_when_it_is_sent_again() {
        let mut sender = Sender::new(Recovery::Sack);
        (0..3).for_each(|n| sender.send(n, n));
        sender.segments.lose(0..3000, at(300), standing(true), &mut |_| (), &mut sender.sampler);
        assert_eq!(sender.ack(0, Some((1000, 2000)), 310), 1.0);
        sender.send(1, 320);
        assert_eq!(sender.sampler.in_flight(), 0);
        sender.segments.check_invariants(0, 3000, &sender.sampler);
    }

    /// Five segments leave around the ACKs of the first and the second.
    /// The first three leave at 0 ms, the others at 10 and at 20 ms with those ACKs.
    /// So the third, fourth and fifth leave with none, one and two delivered.
    fn sent_between_acks() -> Sender {
        let mut sender = Sender::new(Recovery::Sack);
        (0..3).for_each(|n| sender.send(n, 0));
        for n in 1..=2 {
            sender.ack(n * 1000, None, 10 * n);
            sender.send(n + 2, 10 * n);
        }
        sender
    }

    #[test]
    fn after_the_ack_of_a_segment_sent_again_it_is_known_what_was_delivered_when_the_next_left() {
        let mut sender = sent_between_acks();
        sender.send(2, 30);
        sender.ack(3000, None, 40);
        assert_eq!(sender.sample(40).prior_delivered, Some(2.0));
        sender.ack(4000, None, 50);
        let sample = sender.sample(50);
        // It left at 10 ms with one delivered. Now four are: three in the 40 ms since the ACK before it left.
        assert_eq!((sample.prior_delivered, sample.delivered, sample.delivery_rate), (Some(1.0), 3.0, 75.0));
    }

    #[test]
    fn the_ack_of_a_segment_that_comes_late_is_sampled_by_it_and_not_by_one_that_had_arrived() {
        let mut sender = sent_between_acks();
        sender.ack(3000, Some((4000, 5000)), 40);
        sender.ack(5000, None, 50);
        let sample = sender.sample(50);
        // The fourth left at 10 ms with one delivered. Now five are: four in the 40 ms since the ACK before it left.
        assert_eq!((sample.prior_delivered, sample.delivered, sample.delivery_rate), (Some(1.0), 4.0, 100.0));
    }

    #[test]
    fn an_ack_that_is_older_than_the_last_one_delivers_nothing_again() {
        let mut sender = Sender::new(Recovery::Sack);
        (0..4).for_each(|n| sender.send(n, n));
        assert_eq!(sender.ack(3000, None, 40), 3.0);
        assert_eq!(sender.ack(1000, Some((2000, 4000)), 41), 1.0, "the last segment alone is news");
        sender.segments.check_invariants(3000, 4000, &sender.sampler);
    }
}
