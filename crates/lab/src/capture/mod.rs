//! Captures packets at links and hosts into a pcapng file.
//!
//! At a link, every packet, dropped or not, has the time of its arrival at the queue. The packets of a flow are thus in the order of
//! transmission. A comment says what the queue did to a packet. A mark that the queue sets is in the header.

mod hosts;
mod kernel;
mod segment;

pub(crate) use hosts::{Host, Hosts, Simulated};
pub(crate) use kernel::KernelHosts;
use sojourn_aqm::DropReason;
use sojourn_capture::pcapng::{Captured, Writer};
use sojourn_capture::wire::Headers;
use sojourn_scenario::plan::Plan;
use sojourn_sim::HostDoes;
use sojourn_units::Time;
use std::collections::{HashMap, VecDeque};
use std::io::Write;

/// The maximum number of packets waiting to be written.
/// Beyond it, the oldest packet is written even if it is still queued.
const MOST_PENDING: usize = 1 << 20;

/// The fate of a packet in a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Waits,
    Sent,
    Marked,
    Dropped(DropReason),
}

impl Fate {
    /// The comment in the file.
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

/// A packet that is captured.
pub(crate) trait Segment: Clone {
    /// Whether both are the same packet, marked or not.
    fn is_same(&self, other: &Self) -> bool;
    /// Whether it is marked.
    fn is_marked(&self) -> bool;
    /// Marks it.
    fn mark(&mut self);
}

/// The hosts of a run, which supply the headers of their packets.
pub(crate) trait Wire {
    /// The type of their packets.
    type Segment: Segment;

    /// The host that performs this action on a packet.
    fn host_of(&self, packet: &Self::Segment, does: HostDoes) -> Host;

    /// The headers of a packet; updates the state of the connection.
    /// `None` if the headers can't be represented.
    fn headers(&mut self, plan: &Plan, packet: &Self::Segment) -> Option<Headers>;
}

/// A packet that has arrived at a link.
#[derive(Clone, Debug)]
struct Arrival<P> {
    at: Time,
    packet: P,
    fate: Fate,
}

/// A capture point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// A link, as an index of the plan.
    Link(u32),
    /// A host.
    Host(Host),
}

/// The unwritten packets of one capture point.
#[derive(Clone, Debug)]
struct Point<P> {
    place: Place,
    /// Whether it is a link that drops or marks packets after their arrival.
    buffers: bool,
    pending: VecDeque<Arrival<P>>,
    /// An index at or before the first packet that still waits.
    first_waiting: usize,
}

impl<P: Segment> Point<P> {
    /// Sets the fate of a waiting packet.
    fn settle(&mut self, packet: &P, fate: Fate) {
        while self.pending.get(self.first_waiting).is_some_and(|arrival| arrival.fate != Fate::Waits) {
            self.first_waiting += 1;
        }
        let is_it = |arrival: &Arrival<P>| arrival.fate == Fate::Waits && arrival.packet.is_same(packet);
        // A packet that is dropped on arrival is the last one.
        let found = match self.pending.back() {
            Some(last) if matches!(fate, Fate::Dropped(_)) && is_it(last) => self.pending.back_mut(),
            _ => self.pending.iter_mut().skip(self.first_waiting).find(|arrival| is_it(arrival)),
        };
        if let Some(arrival) = found {
            let marked = packet.is_marked() && !arrival.packet.is_marked();
            if marked {
                arrival.packet.mark();
            }
            arrival.fate = if marked { Fate::Marked } else { fate };
        }
    }

    /// Inserts a packet with a known fate by its time.
    /// Flows of a host may be simulated ahead of each other.
    fn insert(&mut self, arrival: Arrival<P>) {
        let later = self.pending.iter().rev().take_while(|other| other.at > arrival.at).count();
        self.pending.insert(self.pending.len() - later, arrival);
    }

    fn take_first(&mut self) -> Option<Arrival<P>> {
        self.first_waiting = self.first_waiting.saturating_sub(1);
        self.pending.pop_front()
    }
}

/// Collects the packets at the captured links and hosts of a run.
#[derive(Clone, Debug)]
pub(crate) struct Capture<W: Wire> {
    points: Vec<Point<W::Segment>>,
    /// The indices of the points that are hosts.
    at_hosts: HashMap<Host, usize>,
    pub hosts: W,
}

impl<W: Wire> Capture<W> {
    /// Starts to capture at these points.
    /// `watch` activates a link and returns whether it drops or marks packets after their arrival.
    pub fn new(hosts: W, places: &[Place], mut watch: impl FnMut(u32) -> bool) -> Self {
        let (mut points, mut at_hosts) = (Vec::new(), HashMap::new());
        for &place in places {
            let buffers = match place {
                Place::Link(link) => watch(link),
                Place::Host(host) => {
                    at_hosts.insert(host, points.len());
                    false
                }
            };
            points.push(Point { place, buffers, pending: VecDeque::new(), first_waiting: 0 });
        }
        Capture { points, at_hosts, hosts }
    }

    /// Whether a host is among the capture points.
    pub fn watches_hosts(&self) -> bool {
        !self.at_hosts.is_empty()
    }

    pub fn on_host(&mut self, at: Time, packet: W::Segment, does: HostDoes) {
        if let Some(&point) = self.at_hosts.get(&self.hosts.host_of(&packet, does)) {
            self.points[point].insert(Arrival { at, packet, fate: Fate::Sent });
        }
    }

    pub fn on_arrival(&mut self, at: Time, link: u32, packet: W::Segment) {
        if let Some(point) = self.point(link) {
            let fate = if point.buffers { Fate::Waits } else { Fate::Sent };
            point.pending.push_back(Arrival { at, packet, fate });
        }
    }

    pub fn on_departure(&mut self, link: u32, packet: &W::Segment) {
        if let Some(point) = self.point(link) {
            point.settle(packet, Fate::Sent);
        }
    }

    pub fn on_drop(&mut self, link: u32, reason: DropReason, packet: &W::Segment) {
        let Some(point) = self.point(link) else { return };
        if point.buffers {
            point.settle(packet, Fate::Dropped(reason));
        } else if let Some(last) = point.pending.back_mut() {
            last.fate = Fate::Dropped(reason);
        }
    }

    /// Records a mark that a link sets on enqueue: the packet has just arrived.
    /// If a link marks on dequeue, the departing packet carries the mark.
    pub fn on_mark(&mut self, link: u32) {
        if let Some(point) = self.point(link).filter(|point| !point.buffers)
            && let Some(last) = point.pending.back_mut()
        {
            last.fate = Fate::Marked;
            last.packet.mark();
        }
    }

    fn point(&mut self, link: u32) -> Option<&mut Point<W::Segment>> {
        self.points.iter_mut().find(|point| point.place == Place::Link(link))
    }

    /// The capture point of the next packet to write.
    /// It is the earliest packet that arrived by `until` and has a known fate. At the `end` of the run, and if too many packets wait, the
    /// fate need not be known.
    fn next(&self, until: Time, end: bool) -> Option<usize> {
        let firsts = self.points.iter().enumerate().filter_map(|(at, point)| Some((point.pending.front()?, at)));
        let (first, at) = firsts.min_by_key(|(first, _)| first.at)?;
        let known =
            || first.fate != Fate::Waits || end || self.points.iter().map(|point| point.pending.len()).sum::<usize>() > MOST_PENDING;
        (first.at <= until && known()).then_some(at)
    }

    /// Writes the packets that arrived by `until` in chronological order.
    pub fn write(&mut self, plan: &Plan, until: Time, end: bool, out: &mut Writer<impl Write>) -> std::io::Result<()> {
        while let Some(at) = self.next(until, end)
            && let Some(Arrival { at: time, packet, fate }) = self.points[at].take_first()
        {
            let Some(headers) = self.hosts.headers(plan, &packet) else { continue };
            let interface = at as u32;
            out.packet(&Captured { interface, at: time, bytes: headers.bytes(), length: headers.length, comment: fate.comment() })?;
        }
        Ok(())
    }
}
