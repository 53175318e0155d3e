//! Which outstanding segments are lost, and which are retransmitted.
//! Segments are looked at in the order in which they left, as RACK-TLP requires.

use super::{Outstanding, Segment, Transmission, tag};
use sojourn_units::Time;

impl Segment {
    /// Whether it is lost and not yet retransmitted.
    fn waits(&self) -> bool {
        self.has(tag::LOST) && !self.has(tag::SACKED | tag::RETRANSMITTED)
    }

    /// Whether nothing more can be learned from its last transmission.
    /// It has arrived, or it is lost and not yet retransmitted.
    fn is_settled(&self) -> bool {
        self.has(tag::SACKED) || (self.has(tag::LOST) && !self.has(tag::RETRANSMITTED))
    }
}

impl Outstanding {
    /// Marks a segment as lost, or its retransmission if that is in flight.
    /// Returns whether it was marked.
    pub fn mark_lost(&mut self, number: u64) -> bool {
        let Some(segment) = self.get_mut(number).filter(|segment| !segment.is_settled()) else { return false };
        let known = segment.has(tag::LOST);
        segment.clear(if known { tag::RETRANSMITTED } else { 0 });
        segment.set(tag::LOST);
        self.lost_out += u32::from(!known);
        self.retrans_out -= u32::from(known);
        self.hint = self.hint.min(number);
        self.learn(number);
        true
    }

    /// Clears the loss marks of all segments, for samples too.
    pub fn unmark_lost(&mut self) {
        self.segments.iter_mut().for_each(|segment| segment.clear(tag::LOST | tag::SAMPLED_LOST));
        self.lost_out = 0;
    }

    /// Whether a retransmission may be in flight or the first segment was sent more than once.
    pub fn any_retransmission(&self) -> bool {
        self.retrans_out > 0 || self.head().is_some_and(|head| head.has(tag::EVER_RETRANSMITTED))
    }

    /// Whether a lost segment may wait for retransmission.
    #[inline]
    pub fn has_waiting(&self) -> bool {
        self.retrans_out < self.lost_out
    }

    /// The lowest segment that is lost and not yet retransmitted.
    pub fn next_lost(&mut self) -> Option<u64> {
        if !self.has_waiting() {
            return None;
        }
        let skipped = (self.hint.max(self.first) - self.first) as usize;
        let found = self.segments.iter().skip(skipped).position(Segment::waits)?;
        self.hint = self.first + (skipped + found) as u64;
        Some(self.hint)
    }

    /// The segments that are lost and not yet retransmitted.
    pub fn waiting(&mut self) -> impl Iterator<Item = &mut Segment> {
        self.segments.iter_mut().filter(|segment| segment.waits())
    }

    /// Retransmits a segment, and returns it; a `probe` is not counted as a retransmission.
    pub fn resend(&mut self, number: u64, now: Time, probe: bool) -> Option<&mut Segment> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok().filter(|&index| index < self.segments.len())?;
        while self.list_next() {}
        self.by_time.push_back(Transmission { number, sent: now });
        self.learn(number);
        let segment = &mut self.segments[index];
        segment.sent = now;
        self.retrans_out += u32::from(!probe && !segment.has(tag::RETRANSMITTED));
        segment.set(if probe { tag::EVER_RETRANSMITTED } else { tag::EVER_RETRANSMITTED | tag::RETRANSMITTED });
        Some(segment)
    }

    /// Lists the first transmission of the next unlisted segment, none of which was resent.
    /// Returns whether there was one.
    pub(super) fn list_next(&mut self) -> bool {
        let Some(sent) = self.get(self.unlisted).map(|segment| segment.sent) else { return false };
        self.by_time.push_back(Transmission { number: self.unlisted, sent });
        self.unlisted += 1;
        true
    }

    /// Marks as lost, in the order of time, the segments for which `test` is `Some(true)`.
    /// Stops at the first `None`.
    /// Returns how many it marked.
    pub fn mark_lost_by_time(&mut self, mut test: impl FnMut(&mut Segment) -> Option<bool>) -> u32 {
        let (mut at, mut lost) = (0, 0);
        while let Some(&Transmission { number, sent }) = self.by_time.get(at) {
            let current = self.get_mut(number).filter(|segment| segment.sent == sent && !segment.is_settled());
            match current.map(&mut test) {
                Some(None) => return lost,
                Some(Some(false)) => at += 1,
                is_lost => {
                    lost += u32::from(is_lost.is_some() && self.mark_lost(number));
                    // A settled transmission is removed from the order: later searches skip it.
                    if at == 0 {
                        self.by_time.pop_front();
                    } else {
                        self.by_time.remove(at);
                    }
                }
            }
        }
        // Unlisted segments left later than all listed ones; most searches end before them.
        loop {
            let number = self.unlisted;
            let Some(segment) = self.get_mut(number) else { return lost };
            let sent = segment.sent;
            let is_lost = if segment.is_settled() { None } else { Some(test(segment)) };
            match is_lost {
                Some(None) => return lost,
                Some(Some(false)) => self.by_time.push_back(Transmission { number, sent }),
                Some(Some(true)) => lost += u32::from(self.mark_lost(number)),
                None => {}
            }
            self.unlisted += 1;
        }
    }
}
