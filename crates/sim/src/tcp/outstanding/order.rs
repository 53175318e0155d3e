//! Which outstanding segments are lost, and which are sent again: in the order in which they left, as RACK-TLP asks.

use super::{Outstanding, Segment, Transmission, tag};
use sojourn_units::Time;

impl Segment {
    /// Whether it was lost and is not sent again.
    fn waits(&self) -> bool {
        self.has(tag::LOST) && !self.has(tag::SACKED | tag::RETRANSMITTED)
    }

    /// Whether nothing more can be learned from its last transmission: it arrived, or it was lost and is not sent again.
    fn is_settled(&self) -> bool {
        self.has(tag::SACKED) || (self.has(tag::LOST) && !self.has(tag::RETRANSMITTED))
    }
}

impl Outstanding {
    /// Marks a segment as lost, or its retransmission if that is in flight. Says whether it was marked.
    pub fn mark_lost(&mut self, number: u64) -> bool {
        let Some(segment) = self.get_mut(number).filter(|segment| !segment.is_settled()) else { return false };
        let known = segment.has(tag::LOST);
        segment.clear(if known { tag::RETRANSMITTED } else { 0 });
        segment.set(tag::LOST);
        self.lost_out += u32::from(!known);
        self.retrans_out -= u32::from(known);
        self.hint = self.hint.min(number);
        true
    }

    /// Takes back that segments were lost, for samples too.
    pub fn unmark_lost(&mut self) {
        self.segments.iter_mut().for_each(|segment| segment.clear(tag::LOST | tag::SAMPLED_LOST));
        self.lost_out = 0;
    }

    /// Whether a retransmission may be in flight or the first segment was sent more than once.
    pub fn any_retransmission(&self) -> bool {
        self.retrans_out > 0 || self.head().is_some_and(|head| head.has(tag::EVER_RETRANSMITTED))
    }

    /// Whether a segment may have been lost that is not sent again.
    #[inline]
    pub fn has_waiting(&self) -> bool {
        self.retrans_out < self.lost_out
    }

    /// The lowest segment that was lost and is not sent again.
    pub fn next_lost(&mut self) -> Option<u64> {
        if !self.has_waiting() {
            return None;
        }
        let skipped = (self.hint.max(self.first) - self.first) as usize;
        let found = self.segments.iter().skip(skipped).position(Segment::waits)?;
        self.hint = self.first + (skipped + found) as u64;
        Some(self.hint)
    }

    /// The segments that were lost and are not sent again.
    pub fn waiting(&mut self) -> impl Iterator<Item = &mut Segment> {
        self.segments.iter_mut().filter(|segment| segment.waits())
    }

    /// A segment is sent again; gives it. A `probe` is not counted as its retransmission.
    pub fn resend(&mut self, number: u64, now: Time, probe: bool) -> Option<&mut Segment> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok().filter(|&index| index < self.segments.len())?;
        while self.list_next() {}
        self.by_time.push_back(Transmission { number, sent: now });
        let segment = &mut self.segments[index];
        segment.sent = now;
        self.retrans_out += u32::from(!probe && !segment.has(tag::RETRANSMITTED));
        segment.set(if probe { tag::EVER_RETRANSMITTED } else { tag::EVER_RETRANSMITTED | tag::RETRANSMITTED });
        Some(segment)
    }

    /// Lists the first transmission of the next segment of which it is not listed, if there is one; says whether. None of them was sent again.
    pub(super) fn list_next(&mut self) -> bool {
        let Some(sent) = self.get(self.unlisted).map(|segment| segment.sent) else { return false };
        self.by_time.push_back(Transmission { number: self.unlisted, sent });
        self.unlisted += 1;
        true
    }

    /// Marks segments as lost, in the order of time, of which `test` says that they are; up to the first of which it says nothing.
    /// Gives how many there were.
    pub fn mark_lost_by_time(&mut self, mut test: impl FnMut(&mut Segment) -> Option<bool>) -> u32 {
        let (mut at, mut lost) = (0, 0);
        while let Some(&Transmission { number, sent }) = self.by_time.get(at) {
            let current = self.get_mut(number).filter(|segment| segment.sent == sent && !segment.is_settled());
            match current.map(&mut test) {
                Some(None) => return lost,
                Some(Some(false)) => at += 1,
                is_lost => {
                    lost += u32::from(is_lost.is_some() && self.mark_lost(number));
                    // A transmission of which all is known is not looked at again.
                    if at == 0 {
                        self.by_time.pop_front();
                    } else {
                        self.by_time.remove(at);
                    }
                }
            }
        }
        // Those that are not listed left later, and most need not be.
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
