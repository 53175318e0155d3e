//! The interface of a discipline: queues, and the order in which their packets are sent.
//!
//! A discipline enqueues, dequeues and reports its [`Contents`]. If an [`Aqm`] decides about its packets one at a time, it implements
//! [`Queues`]: how packets join its queues and leave them. All such disciplines share one [`Desk`]: the decisions, the limit, the ACK filter
//! and the counters.

use crate::queuing::NO_LIMIT;
use crate::{
    AckFilter, Amount, Aqm, ArrivingAck, Backlog, DropReason, Dropped, DualFilter, Fate, Packet, PacketView, QueueController, Subqueue,
    SubqueueSample,
};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::fmt::Debug;
use sojourn_units::{Duration, Time};

/// Packets that wait, each with the time of its arrival.
pub type Waiting<P> = VecDeque<(Time, P)>;

/// Takes packets that are lost, and why.
pub type Loss<'a, P> = &'a mut dyn FnMut(P, DropReason);

/// A packet that is offered.
#[derive(Debug)]
pub struct Arrival<P> {
    /// When.
    pub now: Time,
    /// The packet.
    pub packet: P,
    /// Since when the link, or the part of it that it finds here, has had nothing to send; `None` if it has.
    pub idle_since: Option<Time>,
    /// Whether the link itself sends nothing.
    pub link_is_idle: bool,
}

/// What the queues of an algorithm are made with.
#[derive(Clone, Debug)]
pub struct Given {
    /// The limit of its queue. A discipline that makes room itself takes it ([`Given::take_limit`]).
    pub limit: Amount,
    /// The DSCP of each group of flows.
    pub dscps: Vec<u8>,
    /// What packets a dual queue knows by other fields than ECN.
    pub filters: Vec<DualFilter>,
}

impl Given {
    pub(crate) fn of(controller: &mut QueueController) -> Self {
        let (dscps, filters) = (core::mem::take(&mut controller.dscps), core::mem::take(&mut controller.filters));
        Given { limit: controller.limit, dscps, filters }
    }

    /// The limit, which no arriving packet is then refused for.
    pub fn take_limit(&mut self) -> Amount {
        core::mem::replace(&mut self.limit, NO_LIMIT)
    }
}

/// What waits in the queues of a discipline, and what else a host asks besides its packets.
pub trait Contents<P>: Debug + Send + Sync {
    /// Packets waiting.
    fn packets(&self) -> u32;

    /// Takes out all packets, queue by queue, oldest first in each. They are not counted.
    fn drain(&mut self, take: &mut dyn FnMut(P));

    /// Runs the timers that have expired by `now`.
    fn update(&mut self, desk: &mut Desk, now: Time, idle_since: Option<Time>) {
        desk.update(now, idle_since, |_| ());
    }

    /// When something may be sent again that is held back now; `None` if nothing is.
    fn ready(&self) -> Option<Time> {
        None
    }

    /// Whether packets may be held back although nothing is being sent.
    fn may_hold_back(&self) -> bool {
        self.ready().is_some()
    }

    /// When the packet arrived that has waited longest, where that is known.
    fn oldest(&self) -> Option<Time> {
        None
    }

    /// The queues that it consists of, which have all of its packets together; nothing if it is one.
    fn subqueues(&self) -> Vec<Subqueue> {
        Vec::new()
    }

    /// What waits in each of [`Contents::subqueues`]; `desk` is its own.
    fn samples(&self, desk: &Desk) -> Vec<SubqueueSample> {
        let _ = desk;
        Vec::new()
    }

    /// The packets and bytes that wait in this one of them.
    fn subqueue_backlog(&self, at: usize) -> (u32, u64) {
        let _ = at;
        (0, 0)
    }

    /// Which of them the last packet that was sent came from.
    fn last_subqueue(&self) -> Option<usize> {
        None
    }

    /// Which of them the last packet joined, where that is known.
    fn last_joined(&self) -> Option<usize> {
        None
    }

    /// The queue that an ACK would wait in, and its number; `None` where there is none to be looked through.
    fn queue_of(&self, ack: &ArrivingAck) -> Option<(u32, &Waiting<P>)> {
        let _ = ack;
        None
    }

    /// Whether it goes by the groups of flows ([`Contents::add_place`]).
    fn knows_groups(&self) -> bool {
        false
    }

    /// Packets of flows of this group come to the link at this place of their route.
    fn add_place(&mut self, place: u32, group: u32) {
        let _ = (place, group);
    }

    /// Whether it goes by the hashes of flows ([`Contents::set_hash`]).
    fn hashes_flows(&self) -> bool {
        false
    }

    /// Sets the hash of a flow, by which it finds its queue. A flow without is found by its number.
    fn set_hash(&mut self, flow: u32, hash: u64) {
        let _ = (flow, hash);
    }

    /// From `now` on `active` flows are active.
    fn set_flows(&mut self, now: Time, active: u32) {
        let _ = (now, active);
    }
}

/// Queues about whose packets an [`Aqm`] decides one at a time: how packets join and leave them.
pub trait Queues<P: Packet>: Contents<P> {
    /// Adds a packet that is admitted.
    fn push(&mut self, now: Time, packet: P);

    /// Takes out the next packet, about which the algorithm is then asked.
    fn pop(&mut self, now: Time, desk: &mut Desk) -> Option<Taken<P>>;

    /// Changes what the algorithm sees of an arriving packet and of the backlog, which is that of all queues.
    fn show(&self, packet: &P, view: &mut PacketView, backlog: &mut Backlog) {
        let _ = (packet, view, backlog);
    }

    /// This becomes of an arriving packet. [`Queues::push`] follows if it is not dropped.
    fn arrives(&mut self, packet: &P, fate: Fate) {
        let _ = (packet, fate);
    }

    /// This becomes of a packet that was taken out.
    fn leaves(&mut self, packet: &Leaving, fate: Fate) {
        let _ = (packet, fate);
    }

    /// The packet to be dropped, where `packets` and `bytes` are too many: its queue, its arrival and itself.
    fn make_room(&mut self, packets: u32, bytes: u64) -> Option<(u32, Time, P)> {
        let _ = (packets, bytes);
        None
    }

    /// Takes a packet out of a queue at this position, 0 for the head.
    fn remove(&mut self, queue: u32, at: usize) -> Option<(Time, P)> {
        let _ = (queue, at);
        None
    }

    /// What waits, where that is one queue that the algorithm may look into.
    fn only_queue(&self) -> Option<&Waiting<P>> {
        None
    }
}

/// A packet that was taken out of its queue.
#[derive(Debug)]
pub struct Taken<P> {
    /// When it arrived.
    pub since: Time,
    /// The packet.
    pub packet: P,
    /// How the algorithm sees it, and what is left behind it.
    pub view: PacketView,
    /// What is left behind it.
    pub backlog: Backlog,
    /// Its queue.
    pub queue: u32,
}

/// A packet that leaves its queue.
#[derive(Clone, Copy, Debug)]
pub struct Leaving {
    /// Its queue.
    pub queue: u32,
    /// Its size in bytes.
    pub size: u32,
    /// When its turn came; `None` if it did not and the packet is dropped for another one's sake.
    pub at: Option<Time>,
    /// Whether it had waited since before the time of [`Qdisc::count_drops_of_earlier`](crate::Qdisc::count_drops_of_earlier).
    pub is_earlier: bool,
}

/// A packet that waits, and that the next arrival makes useless.
#[derive(Clone, Copy, Debug)]
pub struct Useless {
    queue: u32,
    at: usize,
    size: u32,
}

/// What decides and counts for a discipline: the algorithm with the queue's limit, and what waits and has left.
#[derive(Clone, Debug)]
pub struct Desk {
    /// The algorithm, the limit and the counters.
    pub controller: QueueController,
    pub(crate) held: Occupancy,
    pub(crate) departed: u64,
    pub(crate) next_update: Time,
    /// The size of a packet that departs at the instant of the next arrival and still counts for it.
    pub(crate) departure: Option<u32>,
    useless: Option<Useless>,
    pub(crate) earlier: DropsOfEarlier,
}

/// The shortest interval of a timer: a plug-in that asks for a zero interval must not stop the clock.
const SHORTEST_INTERVAL: Duration = Duration::from_nanos(1);

impl Desk {
    pub(crate) fn new(controller: QueueController) -> Self {
        Desk {
            next_update: controller.aqm.first_update(),
            controller,
            held: Occupancy::default(),
            departed: 0,
            departure: None,
            useless: None,
            earlier: DropsOfEarlier { from: Time::NEVER, count: 0 },
        }
    }

    /// Offers a packet to `queues`. `lost` gets every packet that is lost meanwhile.
    #[inline(always)]
    pub(crate) fn enqueue<P: Packet>(&mut self, queues: &mut impl Queues<P>, arrival: Arrival<P>, lost: Loss<P>) {
        let Arrival { now, mut packet, idle_since, .. } = arrival;
        let size = packet.size();
        let (departure, useless) = (self.departure.take(), self.useless.take());
        let mut backlog = departure.map_or(self.backlog(idle_since), |size| self.backlog(idle_since).with_packet(size));
        if let Some(useless) = useless {
            backlog = backlog.without_packet(useless.size);
        }
        let admits = self.controller.admits_unasked(size, &backlog);
        let fate = if admits { Fate::Passed } else { self.ask(queues, now, &packet, &backlog) };
        queues.arrives(&packet, fate);
        match fate {
            Fate::Dropped(reason) => {
                if let Some(position) = self.controller.take_drawn() {
                    self.drop_at(queues, Useless { queue: 0, at: position as usize, size: 0 }, DropReason::Early, lost);
                }
                return lost(packet, reason);
            }
            Fate::Marked => packet.mark(),
            Fate::Passed => {}
        }
        if let Some(useless) = useless {
            self.drop_at(queues, useless, DropReason::AckFilter, lost);
        }
        self.held.add(size);
        queues.push(now, packet);
        // A packet that finds the link idle goes straight to it.
        if idle_since.is_none() || self.held.packets > 1 {
            let (one, more) = (u32::from(departure.is_some()), u64::from(departure.unwrap_or(0)));
            while let Some(dropped) = queues.make_room(self.held.packets + one, self.held.bytes + more) {
                self.drop_for_room(queues, now, dropped, lost);
            }
        }
    }

    /// The next packet of `queues` to send at `now`, and how long it waited; `None` if none waits or none may be sent yet.
    #[inline(always)]
    pub(crate) fn dequeue<P: Packet>(&mut self, queues: &mut impl Queues<P>, now: Time, lost: Loss<P>) -> Option<(P, Duration)> {
        loop {
            let Taken { since, mut packet, view, backlog, queue } = queues.pop(now, self)?;
            let (size, sojourn) = (view.size, now.since(since));
            let fate = self.controller.decide_departure(&view, sojourn, packet.can_mark(), &backlog);
            queues.leaves(&Leaving { queue, size, at: Some(now), is_earlier: since < self.earlier.from }, fate);
            match fate {
                Fate::Passed => {}
                Fate::Marked => packet.mark(),
                Fate::Dropped(reason) => {
                    self.earlier.add(since);
                    lost(packet, reason);
                    continue;
                }
            }
            self.departed += 1;
            return Some((packet, sojourn));
        }
    }

    /// Asks the algorithm about an arriving packet.
    #[inline(never)]
    fn ask<P: Packet>(&mut self, queues: &impl Queues<P>, now: Time, packet: &P, backlog: &Backlog) -> Fate {
        let (mut view, mut seen) = (PacketView::of(now, packet), *backlog);
        queues.show(packet, &mut view, &mut seen);
        let look = |position: u32| {
            let (since, other) = queues.only_queue()?.get(position as usize)?;
            Some(PacketView::of(*since, other))
        };
        self.controller.decide_arrival(&view, packet.can_mark(), [backlog, &seen], look)
    }

    /// Drops a packet that waits, for another one's sake.
    #[cold]
    fn drop_at<P: Packet>(&mut self, queues: &mut impl Queues<P>, place: Useless, reason: DropReason, lost: Loss<P>) {
        let Some((since, packet)) = queues.remove(place.queue, place.at) else { return };
        self.held.take(packet.size());
        let leaving = Leaving { queue: place.queue, size: packet.size(), at: None, is_earlier: self.earlier.add(since) };
        queues.leaves(&leaving, Fate::Dropped(reason));
        self.controller.counters.count_drop(packet.size(), reason);
        lost(packet, reason);
    }

    /// Drops a packet that waits where all queues together hold too much.
    #[cold]
    fn drop_for_room<P: Packet>(&mut self, queues: &mut impl Queues<P>, now: Time, dropped: (u32, Time, P), lost: Loss<P>) {
        let (queue, since, packet) = dropped;
        let size = packet.size();
        self.held.take(size);
        let leaving = Leaving { queue, size, at: None, is_earlier: self.earlier.add(since) };
        queues.leaves(&leaving, Fate::Dropped(DropReason::Tail));
        self.controller.counters.count_drop(size, DropReason::Tail);
        self.controller.aqm.on_drop(Dropped::FromFull { queue, size, now });
        lost(packet, DropReason::Tail);
    }

    pub(crate) fn backlog(&self, idle_since: Option<Time>) -> Backlog {
        Backlog { packets: self.held.packets, bytes: self.held.bytes, idle_since }
    }

    /// A packet of this size leaves its queue: what is left in all queues.
    #[inline]
    pub fn without(&mut self, size: u32) -> Backlog {
        self.held.take(size);
        self.backlog(None)
    }

    /// Runs the algorithm's timer if it has expired. It is told `first` what it is to know then.
    pub(crate) fn update(&mut self, now: Time, idle_since: Option<Time>, first: impl Fn(&mut crate::AnyAqm)) {
        while self.next_update <= now {
            let (due, backlog) = (self.next_update, self.backlog(idle_since));
            let aqm = &mut self.controller.aqm;
            first(aqm);
            aqm.on_update(due, &backlog);
            self.next_update = aqm.update_interval().map_or(Time::NEVER, |interval| due + interval.max(SHORTEST_INTERVAL));
        }
    }

    /// Looks for a waiting ACK of this queue that the one which arrives next makes useless.
    pub(crate) fn compare_acks<P: Packet>(
        &mut self,
        (number, queue): (u32, &Waiting<P>),
        ack: &ArrivingAck,
        header: &dyn Fn(&P) -> Option<crate::AckHeader>,
    ) {
        let own = queue.iter().enumerate().filter(|(_, (_, other))| other.flow() == ack.flow);
        let found = self.controller.ack_filter.useless(own.map(|(at, (_, other))| (at, header(other))), &ack.header);
        self.useless = found.map(|at| Useless { queue: number, at, size: queue[at].1.size() });
    }

    /// Whether it has an ACK filter; forgets what that has found.
    pub(crate) fn filters_next_ack(&mut self) -> bool {
        self.useless = None;
        self.controller.ack_filter != AckFilter::None
    }
}

/// How much waits, in all queues together.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Occupancy {
    pub packets: u32,
    pub bytes: u64,
}

impl Occupancy {
    #[inline]
    pub fn add(&mut self, size: u32) {
        self.packets += 1;
        self.bytes += u64::from(size);
    }

    #[inline]
    pub fn take(&mut self, size: u32) {
        self.packets -= 1;
        self.bytes -= u64::from(size);
    }
}

/// Drops of packets that arrived before a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DropsOfEarlier {
    pub from: Time,
    pub count: u64,
}

impl DropsOfEarlier {
    /// A packet that has waited since `since` is dropped; gives whether it counts.
    pub fn add(&mut self, since: Time) -> bool {
        let is_earlier = since < self.from;
        self.count += u64::from(is_earlier);
        is_earlier
    }
}
