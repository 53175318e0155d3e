//! Captures: the packets that arrive at links, as they leave the queue there, and those that hosts send and get, in a pcapng file.
//!
//! A packet has the time of its arrival at the queue, and so has one that is dropped there: the packets of a flow are in the order in
//! which they were sent. What the queue did to a packet is said in a comment, and a mark that it got there is in its header.

mod hosts;
mod segment;

use crate::Error;
pub(crate) use hosts::Host;
use hosts::Hosts;
use sojourn_aqm::DropReason;
use sojourn_capture::pcapng::{Captured, Writer};
use sojourn_scenario::plan::Plan;
use sojourn_sim::tcp::SackBlocks;
use sojourn_sim::{HostDoes, Link, Packet, flag};
use sojourn_units::Time;
use std::collections::{HashMap, VecDeque};
use std::io::Write;

/// Packets that may wait to be written. If there are more, the oldest is written though its queue still holds it.
const MOST_PENDING: usize = 1 << 20;

/// What the queue did with a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Waits,
    Sent,
    Marked,
    Dropped(DropReason),
}

impl Fate {
    /// What is said of it in the file.
    fn comment(self) -> &'static str {
        match self {
            Fate::Waits | Fate::Sent => "",
            Fate::Marked => "marked: the queue set CE",
            Fate::Dropped(DropReason::Tail) => "dropped: the queue was full",
            Fate::Dropped(DropReason::Early) => "dropped: a signal of the queue",
            Fate::Dropped(DropReason::AckFilter) => "dropped: a newer ACK says the same",
            Fate::Dropped(DropReason::Forced) => "dropped: forced by the queue",
        }
    }
}

/// A packet that has arrived at a link.
#[derive(Clone, Debug)]
struct Arrival {
    at: Time,
    packet: Packet,
    sack: Option<SackBlocks>,
    fate: Fate,
}

/// Where packets are captured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// At a link, as a position in the plan.
    Link(u32),
    /// At a host.
    Host(Host),
}

/// The packets of one place that are not written yet.
#[derive(Clone, Debug)]
struct Point {
    place: Place,
    /// Whether it is a link that decides about packets after their arrival.
    buffers: bool,
    pending: VecDeque<Arrival>,
    /// The first of them that still waits, or one before it.
    first_waiting: usize,
}

impl Point {
    /// What becomes of a packet that still waits is known.
    fn settle(&mut self, packet: &Packet, fate: Fate) {
        while self.pending.get(self.first_waiting).is_some_and(|arrival| arrival.fate != Fate::Waits) {
            self.first_waiting += 1;
        }
        let is_it = |arrival: &Arrival| arrival.fate == Fate::Waits && is_same(&arrival.packet, packet);
        // A packet that is dropped as it arrives is the last.
        let found = match self.pending.back() {
            Some(last) if matches!(fate, Fate::Dropped(_)) && is_it(last) => self.pending.back_mut(),
            _ => self.pending.iter_mut().skip(self.first_waiting).find(|arrival| is_it(arrival)),
        };
        if let Some(arrival) = found {
            let marked = packet.has(flag::CE) && !arrival.packet.has(flag::CE);
            arrival.packet.flags |= packet.flags & flag::CE;
            arrival.fate = if marked { Fate::Marked } else { fate };
        }
    }

    /// Adds a packet whose fate is known. The flows of a host may run ahead of each other: its place is that of its time.
    fn insert(&mut self, arrival: Arrival) {
        let later = self.pending.iter().rev().take_while(|other| other.at > arrival.at).count();
        self.pending.insert(self.pending.len() - later, arrival);
    }

    fn take_first(&mut self) -> Option<Arrival> {
        self.first_waiting = self.first_waiting.saturating_sub(1);
        self.pending.pop_front()
    }
}

/// Whether both are the same packet, marked or not.
fn is_same(one: &Packet, other: &Packet) -> bool {
    let same_flags = (one.flags ^ other.flags) & !flag::CE == 0;
    let key = |packet: &Packet| (packet.flow, packet.incarnation, packet.seq, packet.stamp, packet.peer, packet.size);
    same_flags && key(one) == key(other)
}

/// Collects what arrives at the watched links and hosts of a world.
#[derive(Clone, Debug)]
pub(crate) struct Capture {
    points: Vec<Point>,
    /// The points of hosts, as positions among all.
    at_hosts: HashMap<Host, usize>,
    hosts: Hosts,
}

impl Capture {
    /// Watches these places. The flows that there are follow.
    ///
    /// # Errors
    /// More flows than there are addresses.
    pub fn new(plan: &Plan, places: &[Place], links: &mut [Link]) -> Result<Self, Error> {
        hosts::check(plan)?;
        let (mut points, mut at_hosts) = (Vec::new(), HashMap::new());
        for &place in places {
            let buffers = match place {
                Place::Link(link) => {
                    let watched = &mut links[link as usize];
                    watched.watch();
                    watched.is_buffered()
                }
                Place::Host(host) => {
                    at_hosts.insert(host, points.len());
                    false
                }
            };
            points.push(Point { place, buffers, pending: VecDeque::new(), first_waiting: 0 });
        }
        Ok(Capture { points, at_hosts, hosts: Hosts::new(plan) })
    }

    pub fn on_flow(&mut self, entry: u32, reversed: bool) {
        self.hosts.add_flow(entry, reversed);
    }

    /// Whether a host is among the places.
    pub fn watches_hosts(&self) -> bool {
        !self.at_hosts.is_empty()
    }

    pub fn on_host(&mut self, at: Time, packet: &Packet, does: HostDoes, sack: Option<&SackBlocks>) {
        if let Some(&point) = self.at_hosts.get(&self.hosts.host_of(packet, does)) {
            self.points[point].insert(Arrival { at, packet: *packet, sack: sack.copied(), fate: Fate::Sent });
        }
    }

    pub fn on_arrival(&mut self, at: Time, link: u32, packet: &Packet, sack: Option<&SackBlocks>) {
        if let Some(point) = self.point(link) {
            let fate = if point.buffers { Fate::Waits } else { Fate::Sent };
            point.pending.push_back(Arrival { at, packet: *packet, sack: sack.copied(), fate });
        }
    }

    pub fn on_departure(&mut self, link: u32, packet: &Packet) {
        if let Some(point) = self.point(link) {
            point.settle(packet, Fate::Sent);
        }
    }

    pub fn on_drop(&mut self, link: u32, reason: DropReason, packet: &Packet) {
        let Some(point) = self.point(link) else { return };
        if point.buffers {
            point.settle(packet, Fate::Dropped(reason));
        } else if let Some(last) = point.pending.back_mut() {
            last.fate = Fate::Dropped(reason);
        }
    }

    /// A link that decides at arrival marks the packet that has just arrived; of others the packet shows it when it leaves.
    pub fn on_mark(&mut self, link: u32) {
        if let Some(point) = self.point(link).filter(|point| !point.buffers)
            && let Some(last) = point.pending.back_mut()
        {
            last.fate = Fate::Marked;
            last.packet.flags |= flag::CE;
        }
    }

    fn point(&mut self, link: u32) -> Option<&mut Point> {
        self.points.iter_mut().find(|point| point.place == Place::Link(link))
    }

    /// The place of the packet to write next: the first by time of those that arrived by `until`, if its fate is known. At the `end`
    /// of the run, or if too many wait, it need not be.
    fn next(&self, until: Time, end: bool) -> Option<usize> {
        let firsts = self.points.iter().enumerate().filter_map(|(at, point)| Some((point.pending.front()?, at)));
        let (first, at) = firsts.min_by_key(|(first, _)| first.at)?;
        let known =
            || first.fate != Fate::Waits || end || self.points.iter().map(|point| point.pending.len()).sum::<usize>() > MOST_PENDING;
        (first.at <= until && known()).then_some(at)
    }

    /// Writes in the order of time what arrived by `until`.
    pub fn write<W: Write>(&mut self, plan: &Plan, until: Time, end: bool, out: &mut Writer<W>) -> std::io::Result<()> {
        while let Some(at) = self.next(until, end)
            && let Some(Arrival { at: time, packet, sack, fate }) = self.points[at].take_first()
        {
            let headers = self.hosts.headers(plan, &packet, sack.as_ref());
            let interface = at as u32;
            out.packet(&Captured { interface, at: time, bytes: headers.bytes(), length: headers.length, comment: fate.comment() })?;
        }
        Ok(())
    }
}
