//! The network: links, routes, the calendar and the accounts.

mod apart;
mod behind;
mod border;
mod branch;
mod impair;
mod lookahead;
mod offer;
mod parts;
mod places;
mod progress;
mod reading;
mod turns;

pub use border::{Crossing, Parts};
pub(crate) use impair::DiscardRoute;
pub(crate) use lookahead::Lookahead;
pub use parts::Loop;
pub(crate) use reading::Reader;

use crate::calendar::{Calendar, FIT_EVERY, Rank};
use crate::choice::Choice;
use crate::hop::{Hop, HopTarget};
use crate::impaired::LinkImpairment;
use crate::link::Link;
use crate::link::access::AccessLinks;
use crate::link::tie::TransitTimes;
use crate::link_ids::LinkIds;
use crate::medium::{Medium, Station};
use crate::observer::{DropCause, LinkObserver, Sink};
use crate::packet::Packet;
use crate::window::Window;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use border::Border;
use sojourn_aqm::DropReason;
use sojourn_units::{Items, Memory, Time, memory_of, range::LARGEST_PACKET};

/// The accounts of all packets: sent + duplicated = delivered + dropped + in flight.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Audit {
    /// Packets that hosts sent.
    pub sent: u64,
    /// Copies that impairments made.
    pub duplicated: u64,
    /// Packets that reached the end of their route.
    pub delivered: u64,
    /// Packets dropped at links, and at the ends of their routes because of bit errors.
    pub dropped: u64,
    /// Packets in the network at the end.
    pub in_flight: u64,
}

/// A route of a network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RouteId(pub(crate) u32);

/// The class of a host's timer, 0 to 3.
/// Simultaneous timers run in the order of their classes, then of their entities.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimerClass(pub u8);

/// A packet at the end of its route.
#[derive(Clone, Copy, Debug)]
pub struct Delivered<P> {
    /// The time of its arrival.
    pub at: Time,
    /// The packet.
    pub packet: P,
}

/// An event for a host.
#[derive(Clone, Copy, Debug)]
pub enum Event<P> {
    /// A packet reaches the end of its route.
    Delivery(Delivered<P>),
    /// A timer is due.
    Timer {
        /// The time.
        at: Time,
        /// Its class.
        class: TimerClass,
        /// Its owner.
        entity: u32,
        /// The host's number for it.
        tag: u32,
    },
}

/// The state of a network, for a host whose network's time does not advance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The network's time.
    pub now: Time,
    /// Events that have happened at this time, accurate to some thousands.
    pub events: u64,
    /// The flow of the next event, if it concerns a packet.
    pub flow: Option<u32>,
    /// The number of the link that this packet reaches or has left.
    pub link: Option<u32>,
}

/// The tag of an event that wakes a link, instead of ending a transmission.
const WAKE: u32 = 1;

/// Links, routes, calendar and accounts; made by a [`NetworkBuilder`](crate::NetworkBuilder).
#[derive(Clone, Debug)]
pub struct Network<P> {
    calendar: Calendar<P>,
    pub(crate) links: Vec<Link<P>>,
    pub(crate) access_links: AccessLinks,
    /// The answers that wait before each link; empty if none wait at any link.
    pub(crate) lookaheads: Vec<Lookahead<P>>,
    pub(crate) impairments: Vec<LinkImpairment>,
    /// The media that links share, and for each link its state on its medium, if any.
    pub(crate) media: Vec<Medium>,
    pub(crate) stations: Vec<Option<Station>>,
    pub(crate) hops: Vec<Hop>,
    pub(crate) choices: Vec<Choice>,
    /// The routes of packets with bit errors.
    pub(crate) discards: Vec<DiscardRoute>,
    /// For each link those whose routers read its packets; empty without such routers.
    readers: Vec<Vec<u32>>,
    /// The links that use the hashes of flows.
    hashing: Vec<usize>,
    /// The smallest size of a packet in bytes.
    pub(crate) least_packet: u32,
    /// The transit times of each link.
    transit_times: Vec<TransitTimes>,
    ids: LinkIds,
    window: Window,
    /// The last instant of the run.
    last: Time,
    now: Time,
    /// The time at the last pause, and the events since then at one time.
    last_pause: Time,
    events_at_once: u64,
    paused: bool,
    /// The link with packets that may have been decided.
    deciding: Option<usize>,
    /// The part that it simulates, if not the whole network.
    border: Option<Box<Border<P>>>,
    audit: Audit,
}

impl<P: Packet> Network<P> {
    /// These links at time 0, without routes.
    pub(crate) fn new(
        links: Vec<Link<P>>,
        access_links: AccessLinks,
        transit_times: Vec<TransitTimes>,
        ids: LinkIds,
        window: Window,
    ) -> Self {
        Network {
            calendar: Calendar::new(),
            hashing: links.iter().enumerate().filter(|(_, link)| link.hashes_flows()).map(|(at, _)| at).collect(),
            links,
            access_links,
            lookaheads: Vec::new(),
            impairments: Vec::new(),
            media: Vec::new(),
            stations: Vec::new(),
            hops: Vec::new(),
            choices: Vec::new(),
            discards: Vec::new(),
            readers: Vec::new(),
            least_packet: 1,
            transit_times,
            ids,
            window,
            last: window.last(),
            now: Time::ZERO,
            last_pause: Time::ZERO,
            events_at_once: 0,
            paused: false,
            deciding: None,
            border: None,
            audit: Audit::default(),
        }
    }

    /// Turns off the fast paths of links: each departure of a buffered queue has an event.
    pub(crate) fn take_no_shortcuts(&mut self) {
        self.links.iter_mut().for_each(Link::take_no_shortcuts);
    }

    /// The links that decide or measure (no access links), in the order of their addition.
    pub fn links(&self) -> &[Link<P>] {
        &self.links
    }

    /// The index of the link of this number in [`Network::links`]; `None` for an access link.
    pub fn place_of(&self, number: u32) -> Option<usize> {
        self.ids.place_of(number)
    }

    /// The impairments of all links, those of a link in their configured order.
    pub fn impairments(&self) -> &[LinkImpairment] {
        &self.impairments
    }

    /// The links, to start traces.
    pub fn links_mut(&mut self) -> &mut [Link<P>] {
        &mut self.links
    }

    /// A host sends a packet on a route, not before the network's time.
    /// It travels until it needs an event. If it reaches the end of its route before, it is delivered at once
    /// ([`Delivery`](crate::Delivery)).
    pub fn send(&mut self, now: Time, route: RouteId, mut packet: P, observer: &mut impl LinkObserver<P>) -> Option<Delivered<P>> {
        let at = self.send_in_place(now, route, &mut packet, observer)?;
        Some(Delivered { at, packet })
    }

    /// Sends a packet without moving it: returns the time if it is delivered at once.
    /// Otherwise it takes the packet. For hosts that need the speed.
    #[inline(always)]
    pub fn send_in_place(&mut self, now: Time, route: RouteId, packet: &mut P, observer: &mut impl LinkObserver<P>) -> Option<Time> {
        debug_assert!(packet.size() >= self.least_packet, "a packet of {} B is sent, less than {}", packet.size(), self.least_packet);
        debug_assert!(u64::from(packet.size()) <= LARGEST_PACKET, "a packet of {} B is sent, more than {LARGEST_PACKET}", packet.size());
        self.audit.sent += 1;
        self.travel(now, route.0, false, packet, observer)
    }

    /// Plans a timer of a host: [`Event::Timer`] comes at `at`.
    /// That must not lie before the network's time. `entity` is below 2^29.
    #[inline]
    pub fn set_timer(&mut self, at: Time, class: TimerClass, entity: u32, tag: u32) {
        debug_assert!(at >= self.now, "timer {class:?} of {entity} is set for {at:?} at {:?}", self.now);
        self.calendar.push_number(at, Rank::timer(class.0), entity, tag);
    }

    /// Wakes `link`: its host-owned queue is ready to send after it held packets back.
    /// The number is that of the link in the order of addition; everything due by `now` has happened.
    pub fn wake(&mut self, now: Time, link: u32, observer: &mut impl LinkObserver<P>) {
        if let Some(at) = self.place_of(link) {
            self.wake_link(now, at, observer);
        }
    }

    /// Runs events that are due by `until`, up to the first that concerns a host.
    pub fn next(&mut self, until: Time, observer: &mut impl LinkObserver<P>) -> Option<Event<P>> {
        let mut packet = P::default();
        loop {
            return Some(match self.next_in_place(until, &mut packet, observer) {
                Some(Event::Delivery(Delivered { at, .. })) => Event::Delivery(Delivered { at, packet }),
                Some(Event::Timer { at, class, entity, tag }) => Event::Timer { at, class, entity, tag },
                None if self.paused => continue,
                None => return None,
            });
        }
    }

    /// Runs events like [`Network::next`], and leaves a delivered packet in `packet`.
    /// Returns `None` also when it pauses ([`Network::paused`]).
    #[inline(always)]
    pub fn next_in_place(&mut self, until: Time, packet: &mut P, observer: &mut impl LinkObserver<P>) -> Option<Event<()>> {
        loop {
            if let Some(link) = self.deciding {
                let Some((hop, arrival)) = self.next_decided(link, packet, observer) else { continue };
                match self.travel(arrival, hop + 1, false, packet, observer) {
                    Some(at) => return Some(Event::Delivery(Delivered { at, packet: () })),
                    None => continue,
                }
            }
            let until = until.min(self.last);
            let Some(due) = self.calendar.pop(until, packet) else {
                self.pause();
                if !self.paused && self.catch_up_all(until) {
                    continue;
                }
                return None;
            };
            debug_assert!(due.time >= self.now, "an event at {:?} comes after {:?}", due.time, self.now);
            self.now = due.time;
            let delivered = match due.rank {
                Rank::ARRIVAL | Rank::DELIVERY => self.travel(due.time, due.hop, true, packet, observer),
                Rank::DEPARTURE => {
                    let link = due.entity as usize;
                    if due.hop == WAKE {
                        self.wake_link(due.time, link, observer);
                    } else {
                        self.links[link].event_comes(due.time);
                        self.deciding = Some(link);
                    }
                    continue;
                }
                Rank::RELEASE => {
                    let Some((time, at)) = self.release(due.entity as usize, due.time, packet) else { continue };
                    self.travel(time, at, true, packet, observer)
                }
                timer => {
                    let class = TimerClass(timer.timer_class());
                    return Some(Event::Timer { at: due.time, class, entity: due.entity, tag: due.hop });
                }
            };
            if let Some(at) = delivered {
                return Some(Event::Delivery(Delivered { at, packet: () }));
            }
        }
    }

    /// Pauses if that is why no event was returned.
    #[cold]
    fn pause(&mut self) {
        self.paused = self.calendar.needs_fit();
        if self.paused {
            self.calendar.fit(self.now);
            self.events_at_once = if self.now == self.last_pause { self.events_at_once + u64::from(FIT_EVERY) } else { 0 };
            self.last_pause = self.now;
        }
    }

    /// Runs everything that is due by `until` and reports to `sink`. For a host without timers.
    pub fn advance(&mut self, until: Time, sink: &mut impl Sink<P>) {
        while let Some(event) = self.next(until, sink) {
            if let Event::Delivery(Delivered { at, packet }) = event {
                sink.on_deliver(at, packet);
            }
        }
    }

    /// Moves a packet from `time` on over every hop from `at` on that needs no event.
    /// Returns the time if it reaches the end of its route. `from_event` is whether this is the event of the first hop.
    #[inline(always)]
    fn travel(
        &mut self,
        mut time: Time,
        mut at: u32,
        from_event: bool,
        packet: &mut P,
        observer: &mut impl LinkObserver<P>,
    ) -> Option<Time> {
        let first = self.hops[at as usize];
        let mut hop = if from_event { first.immediate() } else { first };
        loop {
            if hop.needs_event() {
                if hop.is_ordered() {
                    (hop, time, at) = self.change_places(hop, time, at, packet)?;
                    continue;
                }
                return self.wait(time, at, hop, packet);
            }
            // The common hops come first; their rare cases are separate functions.
            time = if let Some(link) = hop.access_link() {
                match self.access_links.pass(link, time, packet.size()) {
                    Some(arrival) => arrival,
                    None => match self.offer_to_access_link(link, time, at, packet) {
                        Some(arrival) => arrival,
                        None => return self.lose(time, at, DropCause::Queue(DropReason::Tail), packet, observer),
                    },
                }
            } else if time > self.last {
                // Nothing happens after the end: the packet is still in flight. An access link has no statistics to which it could add.
                return self.wait(time, at, hop, packet);
            } else if let Some(link) = hop.link() {
                match self.links[link].pass(time, packet) {
                    Some(arrival) => arrival,
                    None => self.offer_to_link(link, time, at, packet, observer)?,
                }
            } else if let Some(impairment) = hop.impairment()
                && self.impairments[impairment].lets_pass(time, packet.size())
            {
                time
            } else {
                match hop.target() {
                    HopTarget::End => {
                        self.audit.delivered += 1;
                        return Some(time);
                    }
                    HopTarget::Choice(choice) => {
                        at = self.choices[choice].take(time);
                        hop = self.hops[at as usize];
                        continue;
                    }
                    HopTarget::Discard => return self.lose(time, at, DropCause::Corruption, packet, observer),
                    HopTarget::Impairment(impairment) => {
                        let next = self.impair(time, at, impairment, packet, observer)?;
                        at = next.at;
                        next.time
                    }
                    HopTarget::Reading(link) => self.note_for_readers(link, time, packet),
                    HopTarget::Link(_) | HopTarget::AccessLink(_) => unreachable!("a link is one of the usual hops"),
                }
            };
            at += 1;
            if hop.is_last() && time <= self.last {
                self.audit.delivered += 1;
                return Some(time);
            }
            hop = self.hops[at as usize];
        }
    }

    /// Plans the event of a packet that waits before `hop`, the hop at index `at`.
    #[inline(always)]
    fn wait(&mut self, time: Time, at: u32, hop: Hop, packet: &mut P) -> Option<Time> {
        debug_assert!(time >= self.now, "an arrival is planned for {time:?} at {:?}", self.now);
        if self.border.as_mut().is_some_and(|border| border.takes(time, at, packet)) {
            return None;
        }
        let (rank, entity) = match hop.is_passing() {
            false => (Rank::ARRIVAL, packet.flow()),
            true if hop.is_end() => (Rank::DELIVERY, packet.flow()),
            // Packets that leave one upstream in the same nanosecond stay in order, whatever their flows.
            true => (Rank::DELIVERY, 0),
        };
        self.calendar.push(time, rank, entity, at, packet);
        None
    }

    /// Drops a packet at the hop `at`, if that is not after the end of the run.
    #[cold]
    fn lose(&mut self, time: Time, at: u32, cause: DropCause, packet: &mut P, observer: &mut impl LinkObserver<P>) -> Option<Time> {
        let hop = self.hops[at as usize];
        if time > self.last {
            return self.wait(time, at, hop, packet);
        }
        self.audit.dropped += 1;
        let Some(link) = self.link_number(at) else { unreachable!("a packet is dropped at a link or after one") };
        observer.on_drop(time, link, cause, packet.take());
        None
    }

    /// Ends the run at `end`, after every event by then.
    /// It completes all statistics and checks the accounts.
    ///
    /// # Errors
    /// A sentence on what does not balance.
    pub fn finish(&mut self, end: Time) -> Result<Audit, String> {
        self.links.iter_mut().for_each(|link| link.finish(end));
        let buffered: u64 = self.links.iter().map(Link::buffered_packets).sum();
        let ordered: usize = self.lookaheads.iter().map(Lookahead::len).sum();
        let elsewhere = self.border.as_ref().map_or(0, |border| border.elsewhere);
        self.audit.in_flight = (self.calendar.packets() + ordered) as u64 + buffered + elsewhere;
        let audit = self.audit;
        if audit.sent + audit.duplicated != audit.delivered + audit.dropped + audit.in_flight {
            return Err(format!("packets do not balance: {audit:?}"));
        }
        self.check_access_links()?;
        self.finish_turns(end)?;
        self.links.iter().try_for_each(Link::check).map(|()| audit)
    }

    fn check_access_links(&self) -> Result<(), String> {
        match self.access_links.faster_than_rate().and_then(|at| self.ids.access_link(at)) {
            Some(link) => Err(format!("link {link}: sent more than its rate allows")),
            None => Ok(()),
        }
    }
}

impl<P: Packet> Memory for Network<P> {
    fn memory(&self) -> usize {
        let links = memory_of([&self.links, &Items(&self.links), &self.access_links, &self.hops, &self.ids]);
        links + memory_of([&self.calendar, &self.lookaheads, &Items(&self.lookaheads)])
    }
}
