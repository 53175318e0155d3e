//! The content of an ACK.

use super::rack::{Arrival, Rack};
use crate::tcp::clock::millis;
use crate::tcp::outstanding::{Run, Segment, tag};
use crate::tcp::rate::Sampler;
use sojourn_units::{Duration, Time};

/// The content of an ACK.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct AckOutcome {
    /// `snd_una` before the ACK.
    pub(super) prior_una: u64,
    /// One past the last byte of the highest SACKed segment before the ACK.
    pub(super) prior_highest: u64,
    /// Segments in flight before the ACK.
    pub(super) prior_in_flight: u32,
    /// Segments delivered, by the cumulative ACK or SACK blocks.
    pub(super) delivered: u32,
    /// Segments acknowledged cumulatively, SACKed before or not.
    pub(super) covered: u32,
    /// Whether the cumulative ACK advanced.
    pub(super) advanced: bool,
    /// Whether the state was `Open` before the ACK.
    pub(super) open: bool,
    /// Whether a segment was acknowledged cumulatively.
    pub(super) acked: bool,
    /// Whether a segment was SACKed.
    pub(super) sacked: bool,
    /// Whether never retransmitted data below `high_seq` arrived (`FLAG_ORIG_SACK_ACKED`).
    pub(super) original: bool,
    /// Whether retransmitted data was acknowledged cumulatively.
    pub(super) retransmitted: bool,
    /// Whether it reports a duplicate that may be of a retransmission (`FLAG_DSACKING_ACK`).
    pub(super) duplicate: bool,
    /// Whether that duplicate is of the probe (`FLAG_DSACK_TLP`).
    pub(super) duplicate_probe: bool,
    /// Whether it echoes a congestion mark.
    pub(super) ece: bool,
    /// Whether the timer must be set (`FLAG_SET_XMIT_TIMER`).
    pub(super) set_timer: bool,
    /// Whether a retransmission was found lost.
    pub(super) lost_retransmission: bool,
    /// The first and the last departure time of the newly acknowledged segments.
    /// Only segments count that were acknowledged cumulatively, sent once and not SACKed before.
    pub(super) acked_sent: Option<(Time, Time)>,
    /// The first and the last departure time of the newly SACKed segments.
    pub(super) sacked_sent: Option<(Time, Time)>,
    /// The lowest byte of a never retransmitted segment that arrived below another one.
    pub(super) reordered: Option<u64>,
    /// The RTT of the newest segment that arrived.
    pub(super) rtt: Option<Duration>,
    /// The delay from sender to receiver in nanoseconds, by their two clocks.
    pub(super) one_way_delay: Option<i64>,
    /// Whether the ACK was reported to the controller.
    pub(super) reported: bool,
}

impl AckOutcome {
    /// The content of an ACK of this run that reports marks, in the state `Open`.
    pub(super) fn of_marked(run: &Run, prior_una: u64, high_seq: u64) -> Self {
        let mut outcome = AckOutcome { prior_una, prior_highest: prior_una, covered: run.count, ..AckOutcome::default() };
        outcome.take_run(run, high_seq);
        AckOutcome { advanced: true, open: true, acked: true, ece: true, set_timer: true, ..outcome }
    }

    /// Extends a span of departure times by those of newly delivered segments.
    /// The segments left from `first` to `last`.
    #[inline]
    pub(super) fn span(of: Option<(Time, Time)>, first: Time, last: Time) -> Option<(Time, Time)> {
        Some((of.map_or(first, |(first, _)| first), last))
    }

    /// Processes cumulatively acknowledged segments that were sent once.
    #[inline]
    pub(super) fn take_run(&mut self, run: &Run, high_seq: u64) {
        self.delivered += run.count;
        self.acked_sent = AckOutcome::span(self.acked_sent, run.first.sent, run.last.sent);
        self.original |= run.first.end() <= high_seq;
        if run.first.start < self.prior_highest {
            self.reordered = self.reordered.or(Some(run.first.start));
        }
    }

    /// Processes the cumulative ACK of a single segment that has tags.
    /// `echo` is the timestamp that the ACK echoes, if any. `advance` reports the segment to RACK if it arrives only now.
    #[inline(never)]
    pub(super) fn take_tagged(&mut self, run: &Run, echo: Option<Time>, high_seq: u64, advance: impl FnOnce(&Segment)) {
        let segment = &run.first;
        let resent = segment.has(tag::RETRANSMITTED | tag::EVER_RETRANSMITTED);
        self.retransmitted |= resent;
        if segment.has(tag::SACKED) {
            return;
        }
        if resent {
            self.delivered += 1;
        } else {
            self.take_run(run, high_seq);
        }
        if !(resent && echo.is_some_and(|echo| millis(echo) < millis(segment.sent))) {
            advance(segment);
        }
    }
}

/// Processes segments that SACK blocks report for the first time.
pub(super) struct Taker<'a> {
    pub(super) rack: &'a mut Rack,
    pub(super) sampler: Option<&'a mut Sampler>,
    pub(super) outcome: &'a mut AckOutcome,
    pub(super) arrival: Arrival,
    /// One past the last byte of the highest segment that had arrived.
    pub(super) highest: u64,
    pub(super) high_seq: u64,
}

impl Taker<'_> {
    #[inline(never)]
    pub(super) fn take(&mut self, run: &Run) {
        let Taker { rack, outcome, arrival, .. } = self;
        rack.advance(&run.last, *arrival);
        if let Some(sampler) = &mut self.sampler {
            sampler.take_run(run, arrival.now);
        }
        outcome.sacked = true;
        outcome.delivered += run.count;
        if !run.first.has(tag::RETRANSMITTED | tag::EVER_RETRANSMITTED) {
            let Segment { start, sent, .. } = run.first;
            if start < self.highest {
                outcome.reordered = Some(outcome.reordered.map_or(start, |lowest| lowest.min(start)));
            }
            outcome.original |= run.first.end() <= self.high_seq;
            outcome.sacked_sent = AckOutcome::span(outcome.sacked_sent, sent, run.last.sent);
        }
    }
}
