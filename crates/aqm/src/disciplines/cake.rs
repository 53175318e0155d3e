//! The queues of CAKE: tins with a queue per flow, fairness between hosts, and a shaper.
//! Source: Linux `sch_cake.c`, hoeiland-joergensen-2018.
//!
//! Names are those of Linux. A host is a group of flows. A flow whose group is unknown counts as a host of its own. Linux adds a random
//! number to a queue's quantum before it rounds down; here the remainder is carried over.

mod tin;
mod turns;

use crate::disciplines::discipline::{Contents, Departure, QueueSetup, QueueState, Queues, RemovedPacket, Waiting};
use crate::disciplines::flows::FlowAqm;
use crate::{Amount, ArrivingAck, Backlog, Fate, FlowHashes, Packet, PacketView, Subqueue, SubqueueSample};
use alloc::vec::Vec;
use sojourn_units::{Overhead, Rate, Time};
use tin::{Sender, Set, Tin};
pub(crate) use turns::QUEUES;
use turns::{List, NO_HOST};

/// Mapping of DSCPs to tins.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Diffserv {
    /// One tin for all.
    BestEffort,
    /// Bulk, best effort, voice.
    #[default]
    Diffserv3,
    /// Bulk, best effort, video, voice.
    Diffserv4,
}

/// A tin: its name, the DSCPs that it matches, and its share of the rate.
/// Its rate is the whole rate, shifted right by `shift` bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    name: &'static str,
    pub shift: u32,
    dscps: &'static [u8],
}

impl Diffserv {
    /// The tins, the most urgent last; the first also accepts unmatched DSCPs.
    pub(crate) fn shares(self) -> &'static [Share] {
        const ALL: Share = Share { name: "best-effort", shift: 0, dscps: &[] };
        const BULK: Share = Share { name: "bulk", shift: 4, dscps: &[1, 8] };
        const VIDEO: Share = Share { name: "video", shift: 1, dscps: &[4, 16, 18, 20, 22, 24, 26, 28, 30, 34, 36, 38] };
        const VOICE: Share = Share { name: "voice", shift: 2, dscps: &[32, 40, 44, 46, 48, 56] };
        match self {
            Diffserv::BestEffort => &[ALL],
            Diffserv::Diffserv3 => &[ALL, BULK, Share { dscps: &[4, 44, 46, 48, 56], ..VOICE }],
            Diffserv::Diffserv4 => &[ALL, BULK, VIDEO, VOICE],
        }
    }

    /// The names of the tins, in the order of [`Qdisc::subqueues`](crate::Qdisc::subqueues).
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        self.shares().iter().map(|share| share.name)
    }

    /// The number of tins.
    pub(crate) fn tins(self) -> usize {
        self.shares().len()
    }

    /// The tin of this DSCP.
    pub(crate) fn tin(self, dscp: u8) -> usize {
        self.shares().iter().position(|share| share.dscps.contains(&dscp)).unwrap_or(0)
    }
}

/// The configuration of CAKE's queues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CakeQueuing {
    /// The tins.
    pub diffserv: Diffserv,
    /// Whether hosts have equal shares, whatever the numbers of their flows.
    pub isolates_hosts: bool,
    /// The rate of the shaper; `None`: it sends at the link's rate.
    pub bandwidth: Option<Rate>,
    /// The overhead that is added to the size of each packet.
    pub overhead: Overhead,
}

impl CakeQueuing {
    /// The rate of a tin, if there is a shaper.
    pub(crate) fn rate_of(&self, tin: usize) -> Option<Rate> {
        self.bandwidth.and_then(|rate| Rate::from_bps((rate.as_bps() >> self.diffserv.shares()[tin].shift).max(1)))
    }
}

/// The origin of packets: a position on their route, their group, and their tin.
#[derive(Clone, Copy, Debug)]
struct Origin {
    place: u32,
    group: u32,
    tin: usize,
}

/// The waiting packets.
#[derive(Clone, Debug)]
pub struct CakeQueues<P> {
    queuing: CakeQueuing,
    /// The limit of all queues together.
    limit: Amount,
    /// The DSCP of each group.
    dscps: Vec<u8>,
    /// Sorted by position.
    origins: Vec<Origin>,
    hashes: FlowHashes,
    tins: Vec<Tin<P>>,
    packets: u32,
    /// The tin of the last packet that was sent, and that of the last one that joined.
    last: usize,
    joined: usize,
    /// The tin whose turn it is, and whether its queue continues after an unsent packet.
    current: usize,
    resumes: bool,
    /// The time at which the shaper releases the next packet (Linux `time_next_packet`).
    next: Time,
}

impl<P: Packet> CakeQueues<P> {
    /// Empty queues.
    pub fn new(queuing: CakeQueuing, setup: &mut QueueSetup) -> Self {
        let dscps = core::mem::take(&mut setup.dscps);
        let tin = |(at, share): (usize, &Share)| Tin::new(queuing.rate_of(at), share.shift);
        let tins = queuing.diffserv.shares().iter().enumerate().map(tin).collect();
        CakeQueues {
            queuing,
            limit: setup.take_limit(),
            dscps,
            origins: Vec::new(),
            hashes: FlowHashes::default(),
            tins,
            packets: 0,
            last: 0,
            joined: 0,
            current: 0,
            resumes: false,
            next: Time::ZERO,
        }
    }

    /// The tin of a packet, and its host.
    fn origin(&self, place: u32) -> (usize, u32) {
        let known = self.origins.binary_search_by_key(&place, |origin| origin.place).ok().map(|at| self.origins[at]);
        let host = known.map(|origin| origin.group).filter(|_| self.queuing.isolates_hosts);
        (known.map_or(0, |origin| origin.tin), host.unwrap_or(NO_HOST))
    }

    /// Chooses the tin that sends at `now`.
    /// Without a shaper the tins take turns. With one it is the most urgent tin whose rate allows a packet now, or else the tin that may
    /// send first.
    fn choose_tin(&mut self, now: Time) {
        if self.queuing.bandwidth.is_none() {
            let tins = self.tins.len();
            loop {
                let tin = &mut self.tins[self.current];
                if tin.deficit >= 0 && !tin.is_empty() {
                    return;
                }
                if tin.deficit <= 0 {
                    tin.deficit += tin.quantum;
                }
                self.current = if self.current + 1 < tins { self.current + 1 } else { 0 };
            }
        }
        let mut earliest = Time::NEVER;
        for (at, tin) in self.tins.iter().enumerate().filter(|(_, tin)| !tin.is_empty()) {
            let next = tin.next.max(now);
            if next <= earliest.max(now) {
                (earliest, self.current) = (next, at);
            }
        }
    }

    /// The next packet, its queue and the time of its arrival (Linux `cake_dequeue`).
    /// A packet that is sent must be charged. If it is dropped instead, the same queue continues. `on_empty` is called with each queue whose
    /// turn comes while it is empty, and returns whether its algorithm is in its initial state.
    #[inline(never)]
    fn take(&mut self, now: Time, mut on_empty: impl FnMut(u32) -> bool) -> Option<(u32, Time, P)> {
        let mut resumes = core::mem::replace(&mut self.resumes, true);
        let mut decays = !resumes;
        if !resumes && self.queuing.bandwidth.is_some() && self.next > now {
            self.resumes = false;
            return None;
        }
        while self.packets > 0 {
            // The tin continues after a refill or an unsent packet, unless it has no active queue left.
            if !core::mem::replace(&mut resumes, false) || self.tins[self.current].is_empty() {
                self.choose_tin(now);
            }
            let tin = &mut self.tins[self.current];
            let (list, at) = tin.first(core::mem::replace(&mut decays, false))?;
            if !tin.may_send(at) {
                if list == List::Old && !tin.is_empty() {
                    tin.refill_old();
                } else {
                    tin.refill(at);
                }
                resumes = true;
                continue;
            }
            if let Some((since, packet)) = tin.take(at) {
                self.packets -= 1;
                return Some((self.current as u32 * QUEUES + at as u32, since, packet));
            }
            let at_rest = on_empty(self.current as u32 * QUEUES + at as u32);
            tin.leave(at, if at_rest { Set::None } else { Set::Decaying });
        }
        self.resumes = false;
        None
    }

    /// Charges a packet of `size` bytes sent at `now` to its queue (Linux `cake_advance_shaper`).
    fn charge(&mut self, queue: u32, size: u32, now: Time) {
        self.resumes = false;
        self.last = (queue / QUEUES) as usize;
        let size = self.queuing.overhead.on_link(size);
        if let Some(rate) = self.queuing.bandwidth {
            self.next += rate.time_for(u64::from(size));
        }
        self.tins[(queue / QUEUES) as usize].charge((queue % QUEUES) as usize, size, now);
    }

    /// Removes the packet at the head of the queue with the most bytes (Linux `cake_drop`).
    /// Returns its queue, too.
    fn drop_longest(&mut self) -> Option<(u32, Time, P)> {
        let longest = |(tin, each): (usize, &Tin<P>)| each.longest().map(|(at, bytes)| (bytes, tin, at));
        let (_, tin, at) = self.tins.iter().enumerate().filter_map(longest).max_by_key(|&(bytes, ..)| bytes)?;
        let (since, packet) = self.tins[tin].remove(at, 0)?;
        self.packets -= 1;
        Some((tin as u32 * QUEUES + at as u32, since, packet))
    }
}

impl<P: Packet> Contents<P> for CakeQueues<P> {
    fn packets(&self) -> u32 {
        self.packets
    }

    fn drain(&mut self, take: &mut dyn FnMut(P)) {
        self.tins.iter_mut().for_each(|tin| tin.drain(take));
    }

    fn ready(&self) -> Option<Time> {
        (self.packets > 0 && self.shapes()).then_some(self.next)
    }

    fn shapes(&self) -> bool {
        self.queuing.bandwidth.is_some()
    }

    /// The subqueues of its tins; none if it has only one tin.
    fn subqueues(&self) -> Vec<Subqueue> {
        self.tins.iter().filter(|_| self.tins.len() > 1).map(Tin::subqueue).collect()
    }

    fn subqueue_backlog(&self, at: usize) -> (u32, u64) {
        self.tins[at].backlog()
    }

    fn last_subqueue(&self) -> Option<usize> {
        (self.tins.len() > 1).then_some(self.last)
    }

    fn last_joined(&self) -> Option<usize> {
        (self.tins.len() > 1).then_some(self.joined)
    }

    fn queue_of(&self, ack: &ArrivingAck) -> Option<(u32, &Waiting<P>)> {
        let (tin, _) = self.origin(ack.place);
        let at = self.tins[tin].find(self.hashes.of(ack.flow))?;
        Some((tin as u32 * QUEUES + at as u32, &self.tins[tin].flow(at).waiting))
    }

    fn add_place(&mut self, place: u32, group: u32) {
        let at = self.origins.partition_point(|origin| origin.place < place);
        let tin = self.queuing.diffserv.tin(self.dscps.get(group as usize).copied().unwrap_or(0));
        self.origins.insert(at, Origin { place, group, tin });
    }

    fn set_hash(&mut self, flow: u32, hash: u64) {
        self.hashes.set(flow, hash);
    }
}

impl<P: Packet, A: FlowAqm> Queues<P, A> for CakeQueues<P> {
    /// Linux `cake_enqueue`.
    fn push(&mut self, now: Time, packet: P) {
        let (at, host) = self.origin(packet.place());
        if self.packets == 0 {
            self.next = self.next.max(now);
        }
        self.packets += 1;
        let hash = self.hashes.of(packet.flow());
        self.joined = at;
        self.tins[at].push(now, packet, Sender { hash, host });
    }

    fn pop(&mut self, now: Time, state: &mut QueueState, aqm: &mut A) -> Option<RemovedPacket<P>> {
        let (queue, since, packet) = self.take(now, |queue| aqm.on_empty(queue, now))?;
        let view = PacketView { flow: queue, ..PacketView::of(now, &packet) };
        let flow = self.tins[(queue / QUEUES) as usize].flow((queue % QUEUES) as usize);
        let backlog = Backlog { packets: flow.waiting.len() as u32, bytes: flow.bytes, idle_since: None };
        state.without(view.size);
        Some(RemovedPacket { since, packet, view, backlog, queue })
    }

    fn leaves(&mut self, packet: &Departure, fate: Fate) {
        let &Departure { queue, size, at, is_earlier } = packet;
        self.tins[(queue / QUEUES) as usize].count(size, fate, is_earlier);
        if let (Some(now), Fate::Passed | Fate::Marked) = (at, fate) {
            self.charge(queue, size, now);
        }
    }

    fn make_room(&mut self, packets: u32, bytes: u64) -> Option<(u32, Time, P)> {
        if self.limit.is_exceeded(packets, bytes) { self.drop_longest() } else { None }
    }

    fn remove(&mut self, queue: u32, at: usize) -> Option<(Time, P)> {
        let removed = self.tins[(queue / QUEUES) as usize].remove((queue % QUEUES) as usize, at)?;
        self.packets -= 1;
        Some(removed)
    }

    fn samples(&self, _aqm: &A) -> Vec<SubqueueSample> {
        let sample = |tin: &Tin<P>| {
            let (packets, bytes) = tin.backlog();
            SubqueueSample { packets, bytes, oldest: tin.oldest(), probability: None }
        };
        self.tins.iter().filter(|_| self.tins.len() > 1).map(sample).collect()
    }
}

#[cfg(test)]
mod tests;
