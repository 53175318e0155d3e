//! Answers that come to a link nearly in order pass it without an event of their own.
//!
//! Receivers that answer at once stand behind one link, the *source*, and their answers meet on another. The source sends one packet
//! after the other, and no answer comes to the other link sooner than the *lead* after its packet left the source. So once the source
//! has planned a departure, no answer that is still to come is earlier than that time and the lead, and all that are may go on, in
//! their order, ahead of the network's time: the conservative lookahead of Chandy and Misra (chandy-1979). In a steady stream
//! each answer changes places with the one before it, which goes on. One event stands for all that wait, so none comes late.

use super::Network;
use crate::calendar::Rank;
use crate::hop::Hop;
use crate::packet::Packet;
use alloc::collections::VecDeque;
use core::mem::{replace, swap};
use sojourn_units::{Duration, Memory, Time};

/// The answers that wait before one link, in the order in which they come to it.
#[derive(Clone, Debug)]
pub(crate) struct Lookahead<P> {
    /// The link that sends what is answered.
    source: usize,
    /// The least time from the end of a transmission there to here.
    lead: Duration,
    /// The first; its time is [`Time::NEVER`] if none waits.
    first: Waiting<P>,
    /// Those behind it.
    others: VecDeque<Waiting<P>>,
    /// When the event is due that lets the first go on, if no other answer does before.
    armed: Time,
}

/// An answer that waits: when it comes to the link, and where it stands on its route.
#[derive(Clone, Default, Debug)]
struct Waiting<P> {
    time: Time,
    at: u32,
    packet: P,
}

impl<P: Packet> Lookahead<P> {
    /// None yet; for a link before which none will wait any source does.
    pub fn new(source: usize, lead: Duration) -> Self {
        Lookahead { source, lead, first: Waiting::none(), others: VecDeque::new(), armed: Time::NEVER }
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.others.len() + usize::from(self.first.time != Time::NEVER)
    }

    /// Puts an answer in its place: in the order of events, by time, then by flow, then as they were put.
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

    /// Puts an answer behind others and takes the first out in its place; gives whether that is all that there is to do: there are others,
    /// the answer comes after them, and the first before `horizon`.
    #[inline]
    fn take_turns(&mut self, horizon: Time, answer: &mut Waiting<P>) -> bool {
        let (true, Some(last)) = (self.first.time < horizon, self.others.back_mut()) else { return false };
        if last.time >= answer.time {
            return false;
        }
        swap(&mut self.first, answer);
        if let Some(next) = self.others.front_mut() {
            swap(&mut self.first, next);
            self.others.rotate_left(1);
        }
        true
    }

    /// Takes the first out, if it comes before `time`.
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
    /// What stands where none waits.
    fn none() -> Self {
        Waiting { time: Time::NEVER, ..Waiting::default() }
    }

    fn key(&self) -> (Time, u32) {
        (self.time, self.packet.flow())
    }
}

impl<P: Packet> Network<P> {
    /// An answer waits before a link in its order, and another may go on in its place: gives the hop of that, which needs no event, when it
    /// comes and where it stands.
    #[inline(always)]
    pub(super) fn change_places(&mut self, hop: Hop, time: Time, at: u32, packet: &mut P) -> Option<(Hop, Time, u32)> {
        let (time, at) = self.wait_in_order(hop.link()?, time, at, packet)?;
        Some((self.hops[at as usize].immediate(), time, at))
    }

    /// An answer comes to a link at `time` and stands at `at`. If one may go on, it has changed places with that answer: gives when that comes
    /// and where it stands.
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

    /// The same where the answer is not simply the next.
    #[inline(never)]
    fn wait_behind(&mut self, link: usize, time: Time, at: u32, packet: &mut P) -> Option<(Time, u32)> {
        let horizon = self.horizon(link);
        let mut answer = Waiting { time, at, packet: packet.take() };
        if self.lookaheads[link].take_turns(horizon, &mut answer) {
            *packet = answer.packet;
            return Some((answer.time, answer.at));
        }
        self.lookaheads[link].insert(answer);
        let Some(first) = self.lookaheads[link].take_before(horizon) else {
            self.arm(link);
            return None;
        };
        *packet = first.packet;
        Some((first.time, first.at))
    }

    /// No answer that is still to come to this link comes before this time.
    fn horizon(&self, link: usize) -> Time {
        let ahead = &self.lookaheads[link];
        self.links[ahead.source].free_at() + ahead.lead
    }

    /// Plans an event for the first answer that waits before a link, if none comes before it.
    fn arm(&mut self, link: usize) {
        let ahead = &mut self.lookaheads[link];
        if ahead.first.time < ahead.armed {
            ahead.armed = ahead.first.time;
            self.calendar.push_number(ahead.armed, Rank::RELEASE, link as u32, 0);
        }
    }

    /// The event of the answers before a link: the first may go on, to `packet`, if it comes by `now` or before all that are still to
    /// come. Gives when it comes to the link and where it stands.
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
