//! Offers packets to links, and reports the effects of links on packets.

use super::places::Arrival;
use super::{Network, WAKE};
use crate::calendar::Rank;
use crate::link::access::AccessLinks;
use crate::link::{Offer, Report};
use crate::observer::{DropCause, LinkObserver};
use crate::packet::Packet;
use sojourn_units::Time;

impl<P: Packet> Network<P> {
    /// Offers a packet to a link; returns its arrival at the other end, if it continues at once.
    #[inline]
    pub(super) fn offer_to_link(
        &mut self,
        link: usize,
        time: Time,
        at: u32,
        packet: &mut P,
        observer: &mut impl LinkObserver<P>,
    ) -> Option<Time> {
        let state = &mut self.links[link];
        if state.holds_packets() {
            self.defer_arrival(link, time, at, packet);
            return None;
        }
        if state.is_watched() {
            observer.on_arrival(time, self.ids.link(link), packet);
        }
        let arrival = Arrival { hops: &self.hops, at, now: time, size: packet.size() };
        let transit_time = || arrival.transit_time(&self.access_links, &self.transit_times);
        match state.offer(time, at, packet, transit_time) {
            Offer::Arrives(arrival) => return Some(arrival),
            Offer::ArrivesMarked(arrival) => {
                observer.on_mark(time, self.ids.link(link), packet.flow());
                return Some(arrival);
            }
            Offer::Dropped(reason) => return self.lose(time, at, DropCause::Queue(reason), packet, observer),
            Offer::Undecided => self.deciding = Some(link),
        }
        None
    }

    /// Offers a packet to a busy access link; returns its arrival at the other end.
    /// `None` if there is no room.
    #[inline(never)]
    pub(super) fn offer_to_access_link(&mut self, link: usize, time: Time, at: u32, packet: &P) -> Option<Time> {
        let arrival = Arrival { hops: &self.hops, at, now: time, size: packet.size() };
        self.access_links.offer(link, time, arrival.size, &|links: &AccessLinks| arrival.transit_time(links, &self.transit_times))
    }

    /// Wakes a link that held packets back.
    pub(super) fn wake_link(&mut self, time: Time, link: usize, observer: &mut impl LinkObserver<P>) {
        if self.links[link].takes_turns() {
            return self.contend(time, link, observer);
        }
        self.links[link].wake(time);
        self.after_buffering(time, link, observer);
    }

    /// Reports the effects of a buffered link and plans its next event.
    #[inline]
    pub(super) fn after_buffering(&mut self, time: Time, link: usize, observer: &mut impl LinkObserver<P>) {
        self.report_all(time, link, observer);
        self.plan_event(link);
    }

    /// Plans the next event of a link, if it needs one.
    #[inline]
    pub(super) fn plan_event(&mut self, link: usize) {
        if let Some(at) = self.links[link].plan_event() {
            self.calendar.push_number(at, Rank::DEPARTURE, link as u32, 0);
        }
    }

    /// Takes the next decided packet of the link that decided last, to `packet`.
    /// Returns its position on its route, and its arrival at the other end of the link; `None` without such a packet.
    #[inline]
    pub(super) fn next_decided(&mut self, link: usize, packet: &mut P, observer: &mut impl LinkObserver<P>) -> Option<(u32, Time)> {
        let decided = if self.links[link].holds_packets() {
            self.catch_up(link, packet, observer)
        } else {
            let decided = self.links[link].next_decided(self.now, packet);
            self.report_all(self.now, link, observer);
            decided
        };
        if decided.is_none() {
            self.deciding = None;
            self.plan_event(link);
        }
        decided
    }

    /// Reports the effects of a buffered link on packets, if there are any.
    #[inline(always)]
    pub(super) fn report_all(&mut self, time: Time, link: usize, observer: &mut impl LinkObserver<P>) {
        if self.links[link].has_reports() {
            self.report(time, link, observer);
        }
    }

    /// Reports the effects of a buffered link on packets.
    #[inline(never)]
    fn report(&mut self, time: Time, link: usize, observer: &mut impl LinkObserver<P>) {
        let id = self.ids.link(link);
        while let Some(report) = self.links[link].next_report() {
            match report {
                Report::Dropped(packet, reason) => {
                    self.audit.dropped += 1;
                    observer.on_drop(time, id, DropCause::Queue(reason), packet);
                }
                Report::Marked(flow) => observer.on_mark(time, id, flow),
                Report::HeldUntil(at) => self.calendar.push_number(at, Rank::DEPARTURE, link as u32, WAKE),
            }
        }
    }
}
