//! Answers that arrive at a link nearly in order pass it without their own events.
//!
//! Receivers that answer at once stand behind one link, the *source*, and their answers meet on another. The source sends one packet after
//! the other, and no answer arrives at the other link sooner than the *lead* after its packet left the source. So once the source has
//! planned a departure, no future answer is earlier than that time and the lead, and all earlier ones may continue, in their order, ahead
//! of the network's time: the conservative lookahead of Chandy and Misra (chandy-1979). In a steady stream each answer changes places with
//! the one before it, which continues. One event serves all that wait, so none comes late.

use super::Network;
use crate::calendar::Rank;
use crate::hop::Hop;
use crate::packet::Packet;
use alloc::collections::VecDeque;
use core::mem::{replace, swap};
use sojourn_units::{Duration, Memory, Time};

/// The answers that wait before one link, in the order of their arrivals.
#[derive(Clone, Debug)]
pub(crate) struct Lookahead<P> {
    /// The link that sends the answered packets.
    source: usize,
    /// The shortest time from the end of a transmission there to the arrival here.
    lead: Duration,
    /// The first answer; its time is [`Time::NEVER`] if none waits.
    first: Waiting<P>,
    /// Those behind it.
    others: VecDeque<Waiting<P>>,
    /// The time of the event that releases the first, if no other answer does before.
    armed: Time,
}

/// An answer that waits: its arrival at the link, and its position on its route.
#[derive(Clone, Default, Debug)]
struct Waiting<P> {
    time: Time,
    at: u32,
    packet: P,
}

impl<P: Packet> Lookahead<P> {
    /// An empty look-ahead. `source` is ignored if no answer ever waits at this link.
    pub fn new(source: usize, lead: Duration) -> Self {
        Lookahead { source, lead, first: Waiting::none(), others: VecDeque::new(), armed: Time::NEVER }
    }

    /// The number of waiting answers.
    pub fn len(&self) -> usize {
        self.others.len() + usize::from(self.first.time != Time::NEVER)
    }

    /// Inserts an answer in the order of events: by time, then by flow, then by insertion.
    fn insert(&mut self, answer: Waiting<P>) {
        if answer.key() < self.first.key() {
            let first = replace(&mut self.first, answer);
            if first.time != Time::NEVER {
                self.others.push_front(first);
            }
        } else {
            let place = self.others.partition_point(|other| other.key() <= answer.key());
            self.others.insert(place, answer);
        }
    }

    /// Removes the first answer, if it comes before `time`.
    fn take_before(&mut self, time: Time) -> Option<Waiting<P>> {
        (self.first.time < time).then(|| replace(&mut self.first, self.others.pop_front().unwrap_or(Waiting::none())))
    }
}

impl<P> Memory for Lookahead<P> {
    fn memory(&self) -> usize {
        self.others.memory()
    }
}

impl<P: Packet> Waiting<P> {
    /// The entry if none waits.
    fn none() -> Self {
        Waiting { time: Time::NEVER, ..Waiting::default() }
    }

    fn key(&self) -> (Time, u32) {
        (self.time, self.packet.flow())
    }
}

impl<P: Packet> Network<P> {
    /// Exchanges an answer that waits before a link in order for another one that may continue.
    /// Returns the hop of the other one, which needs no event, its arrival and its position.
    #[inline(always)]
    pub(super) fn change_places(&mut self, hop: Hop, time: Time, at: u32, packet: &mut P) -> Option<(Hop, Time, u32)> {
        let (time, at) = self.wait_in_order(hop.link()?, time, at, packet)?;
        Some((self.hops[at as usize].immediate(), time, at))
    }

    /// Handles an answer that arrives at a link at `time`, with the position `at`.
    /// If one may continue, it has changed places with that answer: returns its arrival and its position.
    #[inline(always)]
    fn wait_in_order(&mut self, link: usize, time: Time, at: u32, packet: &mut P) -> Option<(Time, u32)> {
        let ahead = &mut self.lookaheads[link];
        let horizon = self.links[ahead.source].free_at() + ahead.lead;
        if ahead.first.time >= horizon.min(time) || !ahead.others.is_empty() {
            return self.wait_behind(link, time, at, packet);
        }
        swap(&mut ahead.first.packet, packet);
        Some((replace(&mut ahead.first.time, time), replace(&mut ahead.first.at, at)))
    }

    /// Handles an answer that is not simply the next one.
    #[inline(never)]
    fn wait_behind(&mut self, link: usize, time: Time, at: u32, packet: &mut P) -> Option<(Time, u32)> {
        let horizon = self.horizon(link);
        let answer = Waiting { time, at, packet: packet.take() };
        self.lookaheads[link].insert(answer);
        let Some(first) = self.lookaheads[link].take_before(horizon) else {
            self.arm(link);
            return None;
        };
        *packet = first.packet;
        Some((first.time, first.at))
    }

    /// No future answer arrives at this link before this time.
    fn horizon(&self, link: usize) -> Time {
        let ahead = &self.lookaheads[link];
        self.links[ahead.source].free_at() + ahead.lead
    }

    /// Plans an event for the first answer that waits before a link, if none is pending.
    fn arm(&mut self, link: usize) {
        let ahead = &mut self.lookaheads[link];
        if ahead.first.time < ahead.armed {
            ahead.armed = ahead.first.time;
            self.calendar.push_number(ahead.armed, Rank::RELEASE, link as u32, 0);
        }
    }

    /// Handles the event of the answers before a link: releases the first one to `packet`.
    /// It continues if it arrives by `now` or before all future ones. Returns its arrival at the link and its position.
    #[inline(never)]
    pub(super) fn release(&mut self, link: usize, now: Time, packet: &mut P) -> Option<(Time, u32)> {
        if self.lookaheads[link].armed != now {
            return None;
        }
        let horizon = self.horizon(link).max(now + Duration::from_nanos(1));
        let ahead = &mut self.lookaheads[link];
        ahead.armed = Time::NEVER;
        let first = ahead.take_before(horizon);
        self.arm(link);
        let Waiting { time, at, packet: first } = first?;
        *packet = first;
        Some((time, at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::Numbered;

    #[test]
    fn answers_leave_by_time_then_by_flow_and_else_as_they_came() {
        let mut waiting = Lookahead::<Numbered>::new(0, Duration::ZERO);
        let comes = [(7, 1, 0), (7, 1, 1), (5, 9, 2), (7, 0, 3), (7, 1, 4), (5, 9, 5), (9, 0, 6)];
        for (ns, flow, at) in comes {
            waiting.insert(Waiting { time: Time::from_nanos(ns), at, packet: Numbered(flow) });
        }
        assert_eq!(waiting.len(), 7);
        let mut before = |ns| waiting.take_before(Time::from_nanos(ns)).map(|answer| answer.at);
        assert_eq!([5, 6, 7].map(&mut before), [None, Some(2), Some(5)], "not at the time itself");
        assert_eq!([8; 5].map(&mut before), [Some(3), Some(0), Some(1), Some(4), None]);
        assert_eq!(before(10), Some(6));
    }
}
