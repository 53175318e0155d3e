//! The store of outstanding segments, and the knowledge about each.
//!
//! Loss detection by time (RACK-TLP) and delivery-rate samples use single segments. A sender stores them once, if either of the two needs
//! them. Beside the segments the store holds the SACKed bytes, the number of segments in each state, and the order in which segments left.
//! That order is listed only as far as it was needed: without losses and marks it is the order of the bytes.

mod order;
mod segment;
#[cfg(test)]
mod tests;

use crate::tcp::ranges::{CHECKED, Ranges};

pub use segment::{Segment, Sending, tag};
use sojourn_units::{Memory, Time, memory_of, tighten};
use std::collections::VecDeque;
use std::ops::Range;

/// One transmission of a segment.
#[derive(Clone, Copy, Debug)]
struct Transmission {
    number: u64,
    sent: Time,
}

/// Consecutive segments that are in the same state.
/// A run is one of these:
/// - segments that were each sent once, in this order, and about which nothing else is known
/// - segments that are all known to have arrived, and about which nothing else is known
/// - a single segment
#[derive(Clone, Copy, Debug)]
pub struct Run {
    pub first: Segment,
    pub last: Segment,
    pub count: u32,
}

impl Run {
    /// A run of a single segment.
    pub fn of(segment: Segment) -> Self {
        Run { first: segment, last: segment, count: 1 }
    }
}

/// The retransmitted segments of which a duplicate arrived.
#[derive(Clone, Copy, Default, Debug)]
pub struct SentAgain {
    /// How many segments had been retransmitted.
    pub count: u32,
    /// The lowest first byte of those that were SACKed already.
    /// For these the retransmission came after the original.
    pub late: Option<u64>,
}

/// The outstanding segments in the order of their bytes.
/// Each segment of a connection has a number, from 0 on.
#[derive(Clone, Debug, Default)]
pub struct Outstanding {
    segments: VecDeque<Segment>,
    /// The number of the first of them.
    first: u64,
    /// Transmissions in the order of time, as far as they were needed.
    /// Some are outdated.
    by_time: VecDeque<Transmission>,
    /// The number of the first segment whose first transmission is not listed yet.
    unlisted: u64,
    /// The SACKed bytes.
    sacked: Ranges,
    /// The number of segments that the receiver has above the first gap.
    pub sacked_out: u32,
    /// The number of lost segments, retransmitted or not.
    pub lost_out: u32,
    /// The number of retransmissions in flight.
    pub retrans_out: u32,
    /// No segment with a lower number waits for retransmission.
    hint: u64,
    /// Nothing is known of the segments from this number on.
    /// It holds if RACK-TLP stores them.
    plain_from: u64,
}

impl Outstanding {
    /// The number of outstanding segments.
    pub fn packets_out(&self) -> u32 {
        self.segments.len() as u32
    }

    /// The number of segments in flight.
    pub fn in_flight(&self) -> u32 {
        (self.packets_out() + self.retrans_out).saturating_sub(self.sacked_out + self.lost_out)
    }

    /// The first outstanding segment.
    pub fn head(&self) -> Option<&Segment> {
        self.segments.front()
    }

    /// One past the last byte sent; 0 if nothing is outstanding.
    pub fn end(&self) -> u64 {
        self.segments.back().map_or(0, Segment::end)
    }

    /// Whether this is the number of the first outstanding segment.
    pub fn is_head(&self, number: u64) -> bool {
        number == self.first
    }

    /// The number of the last segment sent.
    pub fn last(&self) -> Option<u64> {
        (self.first + self.segments.len() as u64).checked_sub(1).filter(|_| !self.segments.is_empty())
    }

    /// Adds a new segment that is sent now.
    #[inline]
    pub fn push(&mut self, bytes: &Range<u64>, now: Time, sending: Sending) {
        self.segments.push_back(Segment::new(bytes.start, bytes.end, now, sending));
    }

    /// The segment with this number.
    pub fn get(&self, number: u64) -> Option<&Segment> {
        self.segments.get(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    fn get_mut(&mut self, number: u64) -> Option<&mut Segment> {
        self.segments.get_mut(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    /// The segments that start at this byte or above.
    /// Segments follow each other without a gap, and nearly all have one length: the first is mostly where it is looked for first.
    pub fn starting_from(&mut self, seq: u64) -> impl Iterator<Item = &mut Segment> {
        let index = self.index_from(seq);
        self.segments.iter_mut().skip(index)
    }

    #[inline]
    fn index_from(&self, seq: u64) -> usize {
        let Some(first) = self.segments.front().filter(|first| first.start < seq) else { return 0 };
        let guess = ((seq - first.start) / first.size()) as usize;
        match self.segments.get(guess) {
            Some(segment) if segment.start == seq => guess,
            _ => self.segments.partition_point(|segment| segment.start < seq),
        }
    }

    /// Removes the segments that are acknowledged fully, and passes them to `seen`.
    /// Nearly all come in runs.
    #[inline]
    pub fn acknowledge(&mut self, snd_una: u64, mut seen: impl FnMut(&Run)) {
        while let Some(&first) = self.segments.front().filter(|first| first.end() <= snd_una) {
            let run = self.pop_run(first, snd_una);
            seen(&run);
        }
    }

    /// Whether this ACK acknowledges a segment, and nothing is known of any outstanding one.
    /// The first segment must start at `snd_una`.
    #[inline]
    pub fn is_plain(&self, snd_una: u64, ack: u64) -> bool {
        self.first >= self.plain_from
            && self.sacked.is_empty()
            && self.head().is_some_and(|head| head.start == snd_una && head.end() <= ack)
    }

    /// Removes the acknowledged segments after [`Outstanding::is_plain`].
    #[inline]
    pub fn take_plain(&mut self, snd_una: u64) -> Option<Run> {
        let mut run = Run::of(self.segments.pop_front()?);
        while let Some(&segment) = self.segments.front().filter(|segment| segment.end() <= snd_una) {
            self.segments.pop_front();
            (run.last, run.count) = (segment, run.count + 1);
        }
        self.begin_at(self.first + u64::from(run.count));
        Some(run)
    }

    /// Removes the first segment, and those after it that are acknowledged and in the same state.
    /// The state is that nothing is known of them, or only that they arrived.
    #[inline]
    fn pop_run(&mut self, first: Segment, snd_una: u64) -> Run {
        self.segments.pop_front();
        let mut run = Run { first, last: first, count: 1 };
        if first.is_untagged() || first.is_sacked_only() {
            let is_next = |segment: &&Segment| segment.end() <= snd_una && segment.has_tags_of(&first);
            while let Some(&segment) = self.segments.front().filter(is_next) {
                self.segments.pop_front();
                (run.last, run.count) = (segment, run.count + 1);
            }
        }
        if !first.is_untagged() {
            self.sacked_out -= if first.has(tag::SACKED) { run.count } else { 0 };
            self.lost_out -= u32::from(first.has(tag::LOST));
            self.retrans_out -= u32::from(first.has(tag::RETRANSMITTED));
        }
        self.begin_at(self.first + u64::from(run.count));
        run
    }

    /// Makes this the number of the first outstanding segment.
    #[inline]
    fn begin_at(&mut self, first: u64) {
        self.first = first;
        tighten(&mut self.segments);
        self.unlisted = self.unlisted.max(first);
        self.hint = self.hint.max(first);
        while self.by_time.front().is_some_and(|transmission| transmission.number < first) {
            self.by_time.pop_front();
        }
    }

    /// Forgets SACKed bytes that are acknowledged; returns their number.
    #[inline]
    pub fn forget_below(&mut self, snd_una: u64) -> u64 {
        if self.sacked.is_empty() { 0 } else { self.sacked.forget_below(snd_una) }
    }

    /// One past the highest SACKed byte; `snd_una` without SACKed bytes.
    #[inline]
    pub fn highest_sacked(&self, snd_una: u64) -> u64 {
        self.sacked.end().max(snd_una)
    }

    /// Whether a SACK block reports something new.
    /// It does if it has bytes above `snd_una` that were sent and are not known to have arrived.
    #[inline]
    pub fn is_new(&self, (from, to): (u64, u64), snd_una: u64) -> bool {
        to > snd_una && to <= self.end() && self.sacked.gap_from(from.max(snd_una)) < to
    }

    /// Marks the segments of a SACK block as arrived; returns the number of new bytes.
    /// Passes those reported for the first time to `seen`, in their state before.
    /// They come in runs, or one by one where something else was known of them.
    #[inline]
    pub fn sack(&mut self, from: u64, to: u64, mut seen: impl FnMut(&Run)) -> u64 {
        let mut at = self.sacked.gap_from(from);
        while at < to {
            let end = self.sacked.next_from(at).min(to);
            let mut index = self.index_from(at);
            while let Some(&first) = self.segments.get(index).filter(|segment| segment.end() <= end) {
                let mut run = Run { first, last: first, count: 1 };
                if !first.has(tag::SACKED) {
                    self.mark_sacked(index, &mut run, end);
                    seen(&run);
                }
                index += run.count as usize;
            }
            at = if end < to { self.sacked.gap_from(end) } else { to };
        }
        self.sacked.insert(from, to)
    }

    /// Marks as arrived the segment with this index, the first of a run.
    /// Also marks the segments after it that end by `end`, if nothing was known of any of them.
    #[inline]
    fn mark_sacked(&mut self, index: usize, run: &mut Run, end: u64) {
        let first = &mut self.segments[index];
        if first.has(tag::LOST) {
            self.lost_out -= 1;
            self.retrans_out -= u32::from(first.has(tag::RETRANSMITTED));
            first.clear(tag::LOST | tag::RETRANSMITTED);
        }
        first.set(tag::SACKED);
        first.clear(tag::SAMPLED_LOST);
        while run.first.is_untagged()
            && let Some(segment) = self.segments.get_mut(index + run.count as usize)
            && segment.end() <= end
            && segment.is_untagged()
        {
            (run.last, run.count) = (*segment, run.count + 1);
            segment.set(tag::SACKED);
        }
        self.sacked_out += run.count;
        self.learn(self.first + index as u64 + u64::from(run.count - 1));
    }

    /// Something is known of the segment with this number.
    #[inline]
    fn learn(&mut self, number: u64) {
        self.plain_from = self.plain_from.max(number + 1);
    }

    /// A duplicate of these bytes arrived: their retransmissions are no longer in flight.
    pub fn sack_duplicate(&mut self, from: u64, to: u64) -> SentAgain {
        let (index, mut found) = (self.index_from(from), SentAgain::default());
        for segment in self.segments.iter_mut().skip(index).take_while(|segment| segment.end() <= to) {
            if segment.has(tag::RETRANSMITTED | tag::EVER_RETRANSMITTED) {
                found.count += 1;
                found.late = found.late.or(segment.has(tag::SACKED).then_some(segment.start));
            }
            if segment.has(tag::RETRANSMITTED) {
                segment.clear(tag::RETRANSMITTED);
                self.retrans_out -= 1;
            }
        }
        found
    }

    /// The numbers of the outstanding segments.
    pub fn numbers(&self) -> Range<u64> {
        self.first..self.first + self.segments.len() as u64
    }

    /// Marks a segment as arrived by a guess; returns it as it was.
    /// It is the first one from this byte on that is neither known to have arrived nor lost for samples.
    /// It is never the very first segment.
    pub fn guess_arrival(&mut self, from: u64) -> Option<Segment> {
        let index = self.index_from(from).max(1);
        let segment = self.segments.iter_mut().skip(index).find(|segment| !segment.has(tag::SACKED | tag::SAMPLED_LOST))?;
        let before = *segment;
        segment.set(tag::SACKED);
        self.sacked_out += 1;
        Some(before)
    }

    /// The first segment if it was guessed to have arrived, and one that was not.
    /// The second is the first from this byte on that is not marked as arrived.
    pub fn wrong_guess(&mut self, from: u64) -> Option<(&mut Segment, &mut Segment)> {
        let index = self.index_from(from).max(1);
        let mut segments = self.segments.iter_mut();
        let first = segments.next().filter(|first| first.has(tag::SACKED))?;
        Some((first, segments.skip(index - 1).find(|segment| !segment.has(tag::SACKED))?))
    }

    /// All segments, if they are few enough to be checked one by one after each call.
    pub fn if_few(&self) -> Option<impl Iterator<Item = &Segment>> {
        (self.segments.len() <= CHECKED).then(|| self.segments.iter())
    }

    /// Checks that nothing is known of the segments from `plain_from` on.
    ///
    /// # Panics
    /// If something is.
    pub fn check_plain(&self) {
        let plain = |(number, segment): (u64, &Segment)| number < self.plain_from || segment.is_untagged();
        assert!(
            self.segments.len() > CHECKED || self.numbers().zip(&self.segments).all(plain),
            "nothing is known from {} on: {self:?}",
            self.plain_from
        );
    }

    /// Checks that the segments cover `snd_una` to `snd_max`, and that their states are counted.
    ///
    /// # Panics
    /// If something does not hold.
    pub fn check_invariants(&self, snd_una: u64, snd_max: u64) {
        let (first, last) = (self.segments.front(), self.segments.back());
        assert!(
            first.is_none_or(|first| first.start <= snd_una && snd_una < first.end()),
            "{first:?} is the first after snd_una {snd_una}"
        );
        assert_eq!(last.map_or(snd_una, Segment::end), snd_max, "where the last segment ends, and snd_max");
        self.sacked.check_invariants(snd_una, snd_max);
        assert!(self.sacked_out + self.lost_out <= self.packets_out() + self.retrans_out, "more lost and SACKed than sent: {self:?}");
        assert!(self.unlisted >= self.first && self.hint >= self.first, "first {}: {} {}", self.first, self.unlisted, self.hint);
        let Some(mut segments) = self.if_few() else { return };
        assert!(segments.all(|segment| !(segment.has(tag::SACKED) && segment.has(tag::LOST))), "{:?}", self.segments);
        let follow = self.segments.iter().zip(self.segments.iter().skip(1)).all(|(segment, next)| segment.end() == next.start);
        assert!(follow, "segments without a gap: {:?}", self.segments);
        let count = |tags| self.segments.iter().filter(|segment| segment.has(tags)).count() as u32;
        let counted = (self.sacked_out, self.lost_out, self.retrans_out);
        assert_eq!(counted, (count(tag::SACKED), count(tag::LOST), count(tag::RETRANSMITTED)), "SACKed, lost, sent again");
    }
}

impl Memory for Outstanding {
    fn memory(&self) -> usize {
        memory_of([&self.segments, &self.by_time, &self.sacked])
    }
}
