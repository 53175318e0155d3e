//! What packets travel through: links and lanes, the calendar, and the accounts of what is under way.

use crate::flow::{Hop, Over};
use crate::lane::Lanes;
use crate::link::Link;
use crate::link_config::{Crossing, Hints, Offer};
use crate::observe::Observer;
use crate::packet::{Packet, flag};
use crate::schedule::{Kind, Schedule};
use crate::tcp::SackPool;
use sojourn_units::{Duration, Time};

/// What the audit at the end of every run counts.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Audit {
    /// Packets that hosts sent.
    pub sent: u64,
    /// Packets that reached the end of their route.
    pub delivered: u64,
    /// Packets dropped at links.
    pub dropped: u64,
    /// Packets under way at the end.
    pub in_flight: u64,
    /// Packets that arrived before their route's delay was over.
    pub early: u64,
}

/// Links, calendar and accounts: all that packets travel through.
#[derive(Clone, Debug)]
pub(crate) struct Net {
    pub schedule: Schedule,
    pub links: Vec<Link>,
    /// How packets cross each link that do not wait.
    crossings: Vec<Crossing>,
    pub lanes: Lanes,
    pub hops: Vec<Hop>,
    pub pool: SackPool,
    pub end: Time,
    pub now: Time,
    pub audit: Audit,
    pub fingerprint: u64,
    /// Orders the simultaneous events of each flow.
    pub flow_counts: Vec<u32>,
    link_counts: Vec<u32>,
    /// Packets of each flow dropped in the window of statistics, data and ACKs.
    pub drops: Vec<u64>,
    warmup: Time,
    /// For each link those whose routers hear what comes over it; empty where no router listens.
    pub heard: Vec<Vec<u32>>,
}

/// What an observer is told for a link that nobody measures.
pub const NO_LINK: u32 = u32::MAX;

/// Where a packet stands after travelling as far as can be told.
pub(crate) enum Travel {
    /// It waits for an event, or is gone.
    Settled,
    /// It reaches the end of its route at this time.
    Ends(Time),
}

impl Net {
    /// These links and lanes at time 0, no routes over them yet; statistics count in `window`, which ends the run.
    pub fn new(links: Vec<Link>, lanes: Lanes, window: (Time, Time)) -> Self {
        Net {
            schedule: Schedule::new(),
            link_counts: vec![0; links.len()],
            crossings: links.iter().map(Link::crossing).collect(),
            links,
            lanes,
            hops: Vec::new(),
            flow_counts: Vec::new(),
            drops: Vec::new(),
            warmup: window.0,
            pool: SackPool::default(),
            end: window.1,
            now: Time::ZERO,
            audit: Audit::default(),
            fingerprint: 0,
            heard: Vec::new(),
        }
    }

    /// Takes a packet from `time` on over every hop that needs no event; `arrived` says that the event of its first hop is this one.
    #[inline(always)]
    pub fn travel(&mut self, mut time: Time, packet: &mut Packet, arrived: bool, observer: &mut impl Observer) -> Travel {
        let mut hop = self.hops[packet.hop as usize];
        if arrived {
            hop = hop.at_once();
        }
        loop {
            if hop.needs_event() {
                return self.wait(time, hop, packet);
            }
            time = match hop.leads() {
                Over::Lane(lane) => match self.pass(lane, time, packet) {
                    Some(arrival) => arrival,
                    None => return self.lose(time, NO_LINK, hop, packet, observer),
                },
                // What would come after the end is still under way then. A lane keeps no accounts that could tell.
                _ if time > self.end => return self.wait(time, hop, packet),
                Over::End => return Travel::Ends(time),
                Over::Link(link) => match self.offer(link, time, packet) {
                    Offer::Arrives(arrival) => arrival,
                    Offer::Dropped => return self.lose(time, link as u32, hop, packet, observer),
                    Offer::Kept(departure) => {
                        self.after_kept(time, link as u32, departure, observer);
                        return Travel::Settled;
                    }
                    Offer::Tied => unreachable!("a link that is told how long a packet was under way decides"),
                },
            };
            packet.hop += 1;
            hop = self.hops[packet.hop as usize];
        }
    }

    /// Offers a packet to a link.
    #[inline(always)]
    fn offer(&mut self, link: usize, time: Time, packet: &mut Packet) -> Offer {
        match self.links[link].offer(time, packet) {
            Offer::Tied => {
                let under_way = self.under_way(time, packet);
                self.links[link].offer_again(time, packet, under_way)
            }
            other => other,
        }
    }

    /// Passes a packet over a lane; when it arrives, or `None` if there is no room.
    #[inline(always)]
    fn pass(&mut self, lane: usize, time: Time, packet: &Packet) -> Option<Time> {
        let size = u32::from(packet.size);
        let offer = match self.lanes.pass(lane, time, size) {
            Offer::Tied => self.lanes.pass_again(lane, time, size, self.under_way(time, packet)),
            other => other,
        };
        if let Offer::Arrives(arrival) = offer { Some(arrival) } else { None }
    }

    /// How long a packet that arrives at `now` was under way over the hop before the one that it stands before.
    #[cold]
    fn under_way(&self, now: Time, packet: &Packet) -> Duration {
        let size = u32::from(packet.size);
        match packet.hop.checked_sub(1).map(|before| self.hops[before as usize].leads()) {
            Some(Over::Lane(lane)) => self.lanes.crossing(lane, size, now),
            Some(Over::Link(link)) => self.crossings[link].of(size, now),
            // Its host has just sent it: when a timer was due, or for a packet that came from afar.
            Some(Over::End) | None => Duration::MAX,
        }
    }

    /// Plans the event of a packet that stands before `hop`.
    #[inline]
    fn wait(&mut self, time: Time, hop: Hop, packet: &Packet) -> Travel {
        let kind = if hop.leads() == Over::End { Kind::Delivery } else { Kind::Arrival };
        self.plan(time, kind, packet.flow, packet);
        Travel::Settled
    }

    /// There is no room for a packet before `hop`, if that is not after the end.
    #[cold]
    fn lose(&mut self, time: Time, link: u32, hop: Hop, packet: &Packet, observer: &mut impl Observer) -> Travel {
        if time > self.end {
            return self.wait(time, hop, packet);
        }
        self.drop(time, link, packet, observer);
        Travel::Settled
    }

    /// Tells routers of a packet that came over a link which they listen to. Such links end in events, and so do the ways to
    /// the links that the routers serve, so that they hear both in the order of time.
    pub fn hear(&mut self, time: Time, packet: &Packet) {
        if let Some(Over::Link(link)) = packet.hop.checked_sub(1).map(|hop| self.hops[hop as usize].leads()) {
            for &listener in &self.heard[link] {
                self.links[listener as usize].hear(time, packet);
            }
        }
    }

    /// Finds which links' routers listen to which others.
    pub fn listen(&mut self, hints: &[Hints], places: &[Over]) {
        for (place, hints) in places.iter().zip(hints) {
            if let (&Over::Link(link), &Hints::Router { back: Some(back) }) = (place, hints)
                && let Some(&Over::Link(back)) = places.get(back as usize)
                && self.links[link].reads_headers()
            {
                self.heard.resize(self.links.len(), Vec::new());
                self.heard[back].push(link as u32);
            }
        }
    }

    /// Whether a router reads what is at this hop: on its way to the link that it serves, or come over one that it listens to.
    pub fn is_read(&self, at: usize) -> bool {
        let serves = matches!(self.hops[at].leads(), Over::Link(link) if self.links[link].reads_headers());
        let came = at.checked_sub(1).map(|before| self.hops[before].leads());
        serves || matches!(came, Some(Over::Link(link)) if self.heard.get(link).is_some_and(|by| !by.is_empty()))
    }

    pub fn is_pure_delay(&self, over: Over) -> bool {
        match over {
            Over::Link(link) => self.links[link].is_pure_delay(),
            Over::Lane(lane) => self.lanes.is_pure_delay(lane),
            Over::End => false,
        }
    }

    /// Plans an event of a flow.
    #[inline]
    pub fn plan(&mut self, time: Time, kind: Kind, flow: u32, packet: &Packet) {
        debug_assert!(time >= self.now, "{kind:?} of flow {flow} is planned for {time:?} at {:?}", self.now);
        let count = &mut self.flow_counts[flow as usize];
        *count = count.wrapping_add(1);
        self.schedule.push(time, kind, flow, *count, packet);
    }

    pub fn drop(&mut self, time: Time, link: u32, packet: &Packet, observer: &mut impl Observer) {
        self.audit.dropped += 1;
        self.drops[packet.flow as usize] += u64::from(time >= self.warmup);
        if packet.has(flag::BACK) {
            self.pool.take(packet.extra);
        }
        observer.on_drop(time, link, packet);
    }

    /// Tells of packets that a link dropped and plans its next departure.
    pub fn after_kept(&mut self, time: Time, link: u32, departure: Option<Time>, observer: &mut impl Observer) {
        while let Some(lost) = self.links[link as usize].next_lost() {
            self.drop(time, link, &lost, observer);
        }
        if let Some(departure) = departure {
            let count = &mut self.link_counts[link as usize];
            *count = count.wrapping_add(1);
            self.schedule.push(departure, Kind::Departure, link, *count, &Packet::NOTHING);
        }
    }
}
