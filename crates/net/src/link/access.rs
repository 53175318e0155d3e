//! Access links: FIFO links without measurements, such as a flow's own links.
//! The only decision is whether a packet fits.
//!
//! An access link has a limit, a rate and a delay like any link, and is just as exact. But it stores only the state that the next packet
//! needs, so that memory suffices for four links of each of a hundred thousand flows.

use super::tie::{LastDeparture, arrival_is_first};
use super::transmitter::sends_apart;
use crate::contention::Order;
use crate::prefetch::prefetch;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::mem::take;
use sojourn_aqm::Amount;
use sojourn_spec::link::AccessLink as Planned;
use sojourn_units::{Duration, Items, Memory, NANOBITS_PER_BYTE, Rate, Time, memory_of};

/// The common parameters of access links of one class.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Class {
    rate: Rate,
    limit: Amount,
}

/// A class, and the transmission time of the last packet size that was looked up.
#[derive(Clone, Debug)]
struct KnownClass {
    class: Class,
    last: Transmission,
}

/// The transmission time of a packet: whole ns, and the rest in units of 1/rate ns.
#[derive(Clone, Copy, Default, Debug)]
struct Transmission {
    size: u32,
    ns: u64,
    rest: u64,
}

/// The state of an access link that nearly every packet needs.
/// It is half a cache line, because each flow has four of them.
#[derive(Clone, Debug)]
#[repr(align(32))]
struct AccessLink {
    /// The time at which its transmitter is free.
    free_at: Time,
    delay: Duration,
    /// Bytes whose transmission has been planned, for the audit.
    sent_bytes: u64,
    /// The size of the last packet whose transmission began with a whole nanosecond.
    /// `tx_ns` are the whole ns of its transmission time.
    size: u16,
    tx_ns: u32,
    /// The number of packets of that size that followed since then without a gap.
    /// 0 if other packets followed, which a queue holds.
    train: u16,
}

/// The state that other packets need: class, queue or pure delay.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Kind(u32);

impl Kind {
    const PURE_DELAY: Kind = Kind(u32::MAX);
    const QUEUES: u32 = 1 << 31;

    fn queue(self) -> Option<usize> {
        (self != Kind::PURE_DELAY && self.0 >= Kind::QUEUES).then_some((self.0 & !Kind::QUEUES) as usize)
    }
}

/// Packets that wait for an access link.
#[derive(Clone, Debug)]
struct AccessQueue {
    class: KnownClass,
    /// The kind of the link without its queue.
    kind: Kind,
    waiting: VecDeque<Waiting>,
    bytes: u64,
    /// The remainder of the last transmission, in units of 1/rate ns.
    /// It is valid if the link becomes free at `carried_at`.
    carry: u64,
    carried_at: Time,
    last_departure: LastDeparture,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// The time at which its transmission starts.
    start: Time,
    size: u32,
}

impl Transmission {
    fn new(size: u32, rate: Rate) -> Self {
        let bits = u64::from(size) * NANOBITS_PER_BYTE;
        Transmission { size, ns: bits / rate.as_bps(), rest: bits % rate.as_bps() }
    }
}

impl KnownClass {
    /// The transmission time of a packet of this size.
    #[inline]
    fn transmission(&mut self, size: u32) -> Transmission {
        if self.last.size != size {
            self.last = Transmission::new(size, self.class.rate);
        }
        self.last
    }
}

impl AccessLink {
    /// Sends a packet from `start` on, when the link is free; returns its arrival.
    #[inline]
    fn send(&mut self, start: Time, ns: u64, size: u32) -> Time {
        self.free_at = start + Duration::from_nanos(ns);
        self.sent_bytes += u64::from(size);
        self.free_at + self.delay
    }

    /// Sends a packet from `now` on, if no part of that nanosecond is used.
    fn send_first(&mut self, now: Time, size: u32, tx_ns: u32) -> Time {
        (self.size, self.tx_ns, self.train) = (size as u16, tx_ns, 1);
        self.send(now, u64::from(tx_ns), size)
    }

    /// The used part of the nanosecond in which the link becomes free, in units of 1/rate ns.
    fn carry(&self, queue: Option<&AccessQueue>, rate: Rate) -> u64 {
        let size = u32::from(self.size);
        match queue {
            Some(queue) if queue.carried_at == self.free_at => queue.carry,
            Some(queue) if queue.class.last.size == size => queue.class.last.rest,
            Some(_) => Transmission::new(size, rate).rest,
            None => Transmission::new(size, rate).rest * u64::from(self.train) % rate.as_bps(),
        }
    }

    /// Enqueues a packet behind others of its size, if it certainly fits.
    /// `None` if too many wait, if they have another size, or if it need not wait. The number of waiting packets follows from the time at
    /// which the link becomes free.
    #[inline]
    fn follow(&mut self, class: &mut KnownClass, now: Time, size: u32) -> Option<Time> {
        let Transmission { ns, rest, .. } = class.transmission(size);
        let rate = class.class.rate.as_bps();
        let waits = self.free_at.since(now).as_nanos().checked_add(3 * ns)?;
        let has_room = match class.class.limit {
            Amount::Packets(limit) => waits < ns.saturating_mul(limit.into()),
            Amount::Bytes(limit) => waits.checked_mul(size.into())? < ns.saturating_mul(limit),
        };
        if u32::from(self.size) != size || !has_room || self.free_at <= now {
            return None;
        }
        let carry = if rest == 0 { 0 } else { rest * u64::from(self.train) % rate };
        self.train = self.train.checked_add(1)?;
        Some(self.send(self.free_at, ns + u64::from(carry + rest >= rate), size))
    }

    /// Fills a queue with the packets that wait at `now`, one by one.
    /// [`AccessLink::follow`] only counted them.
    #[cold]
    #[inline(never)]
    fn fill_queue(&self, queue: &mut AccessQueue, now: Time) {
        let Transmission { size, ns, rest } = queue.class.transmission(self.size.into());
        let rate = queue.class.class.rate;
        let mut carry = self.carry(None, rate);
        (queue.carry, queue.carried_at) = (carry, self.free_at);
        let mut start = self.free_at.as_nanos();
        for _ in 1..self.train {
            start -= ns + u64::from(carry < rest);
            carry = if carry < rest { carry + rate.as_bps() - rest } else { carry - rest };
            queue.waiting.push_front(Waiting { start: Time::from_nanos(start), size });
            queue.bytes += u64::from(size);
            if start <= now.as_nanos() {
                break;
            }
        }
    }

    /// Whether the queue is no longer needed for the next packet of this size.
    /// Its packets are gone, and the departure of none matters any more.
    fn can_give_up(&self, queue: &mut AccessQueue, now: Time, size: u32) -> bool {
        queue.release_until(now);
        self.train == 1 && u32::from(self.size) == size && !queue.last_departure.ties_with(now)
    }

    /// Sends a packet that may wait, or after one that waited; returns its arrival.
    /// `None` if there is no room.
    fn send_or_wait(&mut self, queue: &mut AccessQueue, now: Time, size: u32) -> Option<Time> {
        let rate = queue.class.class.rate;
        // In the nanosecond in which the link becomes free, a part of it is still used.
        let carry = if self.free_at < now { 0 } else { self.carry(Some(queue), rate) };
        let (waits, start) = (self.free_at > now, self.free_at.max(now));
        let Transmission { ns, rest, .. } = queue.class.transmission(size);
        if waits {
            if queue.is_full(0, size.into()) {
                return None;
            }
            queue.waiting.push_back(Waiting { start, size });
            queue.bytes += u64::from(size);
        } else if carry == 0
            && let Ok(tx_ns) = u32::try_from(ns)
        {
            // The remainder is used up, even if the packet takes less than a nanosecond and the link becomes free in the same one.
            queue.carried_at = Time::NEVER;
            return Some(self.send_first(now, size, tx_ns));
        }
        self.train = 0;
        let sum = carry + rest;
        let over = sum >= rate.as_bps();
        let ns = ns + u64::from(over);
        queue.carry = if over { sum - rate.as_bps() } else { sum };
        queue.carried_at = start + Duration::from_nanos(ns);
        Some(self.send(start, ns, size))
    }
}

impl AccessQueue {
    fn new(class: KnownClass, kind: Kind) -> Self {
        AccessQueue {
            class,
            kind,
            waiting: VecDeque::new(),
            bytes: 0,
            carry: 0,
            carried_at: Time::NEVER,
            last_departure: LastDeparture::default(),
        }
    }

    /// Whether a packet that arrives at `now` fits only if the leaving one does not count.
    fn depends_on_tie(&mut self, now: Time, size: u32) -> bool {
        self.release_until(now);
        let last = self.last_departure;
        let is_tie = last.ties_with(now) && last.size > 0;
        is_tie && !self.is_full(0, size.into()) && self.is_full(1, u64::from(size + last.size))
    }

    /// Removes the packets whose transmission starts by `now`.
    fn release_until(&mut self, now: Time) {
        while let Some(&Waiting { start, size }) = self.waiting.front() {
            if start > now {
                break;
            }
            self.waiting.pop_front();
            self.bytes -= u64::from(size);
            self.last_departure = LastDeparture { at: start, size };
        }
    }

    /// Whether there is no room for `bytes`, if `more` packets count besides the waiting ones.
    fn is_full(&self, more: usize, bytes: u64) -> bool {
        match self.class.class.limit {
            Amount::Packets(limit) => self.waiting.len() + more >= limit as usize,
            Amount::Bytes(limit) => self.bytes + bytes > limit,
        }
    }
}

/// The number of classes with which a new link is compared.
/// Links of drawn rates have as many classes as links.
const CLASSES_COMPARED: usize = 8;

/// All access links and their classes.
#[derive(Clone, Debug, Default)]
pub(crate) struct AccessLinks {
    links: Vec<AccessLink>,
    kinds: Vec<Kind>,
    classes: Vec<KnownClass>,
    queues: Vec<AccessQueue>,
    free_queues: Vec<u32>,
}

impl AccessLinks {
    /// Adds a link; returns its index.
    pub fn add(&mut self, link: &Planned) -> usize {
        let &Planned { rate, delay, limit, .. } = link;
        let kind = rate.map_or(Kind::PURE_DELAY, |rate| self.class(Class { rate, limit }));
        self.kinds.push(kind);
        self.links.push(AccessLink { free_at: Time::ZERO, delay, sent_bytes: 0, size: 0, tx_ns: 0, train: 0 });
        self.links.len() - 1
    }

    /// A class, which is new unless one of the last few is equal.
    fn class(&mut self, class: Class) -> Kind {
        let lately = self.classes.iter().enumerate().rev().take(CLASSES_COMPARED);
        let known = lately.into_iter().find(|(_, known)| known.class == class).map(|(at, _)| at);
        Kind(known.unwrap_or_else(|| {
            self.classes.push(KnownClass { class, last: Transmission::default() });
            self.classes.len() - 1
        }) as u32)
    }

    /// The number of access links.
    pub fn len(&self) -> usize {
        self.links.len()
    }

    /// Prefetches a link and the following ones into the processor's cache.
    /// A flow's own links are mostly adjacent.
    #[inline(always)]
    pub fn prefetch(&self, link: usize) {
        prefetch(&self.links, link);
        prefetch(&self.links, link + 2);
        prefetch(&self.kinds, link);
    }

    /// The rate of a link; `None` for a pure delay.
    pub fn rate_of(&self, link: usize) -> Option<Rate> {
        let kind = self.kinds[link];
        let class = || kind.queue().map_or_else(|| self.classes[kind.0 as usize].class, |queue| self.queues[queue].class.class);
        (kind != Kind::PURE_DELAY).then(|| class().rate)
    }

    /// Reserves memory for `more` links.
    pub fn reserve(&mut self, more: usize) {
        self.links.reserve_exact(more);
        self.kinds.reserve_exact(more);
    }

    /// The propagation delay of this link.
    pub fn delay(&self, link: usize) -> Duration {
        self.links[link].delay
    }

    /// The order in which packets of `least` bytes or more leave this link.
    pub fn order(&self, link: usize, least: u32) -> Order {
        match self.rate_of(link) {
            None => Order::Delayed(self.links[link].delay),
            Some(rate) => Order::OfArrival { apart: sends_apart(rate, least) },
        }
    }

    /// The transit time over this link of a packet of `size` bytes.
    #[inline]
    pub fn transit_time(&self, link: usize, size: u32) -> Duration {
        self.links[link].delay + self.rate_of(link).map_or(Duration::ZERO, |rate| rate.time_for(u64::from(size)))
    }

    /// Sends a packet at `now` on an idle link, if its last packet had the same size.
    /// Returns the arrival at the other end.
    #[inline(always)]
    pub fn pass(&mut self, link: usize, now: Time, size: u32) -> Option<Time> {
        let link = &mut self.links[link];
        if u32::from(link.size) != size || link.free_at >= now {
            return None;
        }
        link.train = 1;
        Some(link.send(now, u64::from(link.tx_ns), size))
    }

    /// Offers a packet of `size` bytes at `now`; returns its arrival at the other end.
    /// `None` if there is no room. `transit_time` is that over the link before; it is called only if another packet leaves at the same
    /// time.
    pub fn offer(&mut self, at: usize, now: Time, size: u32, transit_time: &impl Fn(&Self) -> Duration) -> Option<Time> {
        let (kind, link) = (self.kinds[at], &mut self.links[at]);
        if let Some(class) = self.classes.get_mut(kind.0 as usize) {
            if link.free_at < now || (link.free_at == now && link.carry(None, class.class.rate) == 0) {
                if let Ok(tx_ns) = u32::try_from(class.transmission(size).ns) {
                    return Some(link.send_first(now, size, tx_ns));
                }
            } else if let Some(arrival) = link.follow(class, now, size) {
                return Some(arrival);
            }
        }
        self.offer_to_queue(at, now, size, transit_time)
    }

    /// Offers a packet to a link with a queue, or that needs one, or that is a pure delay.
    #[inline(never)]
    fn offer_to_queue(&mut self, at: usize, now: Time, size: u32, transit_time: &impl Fn(&Self) -> Duration) -> Option<Time> {
        let (kind, link) = (self.kinds[at], &mut self.links[at]);
        if kind == Kind::PURE_DELAY {
            return Some(now + link.delay);
        }
        let number = match kind.queue() {
            Some(number) if link.can_give_up(&mut self.queues[number], now, size) => {
                self.kinds[at] = self.queues[number].kind;
                self.free_queues.push(number as u32);
                return self.offer(at, now, size, transit_time);
            }
            Some(number) => number,
            None => self.add_queue(at, kind, now),
        };
        let queue = &mut self.queues[number];
        if self.links[at].free_at > now && queue.depends_on_tie(now, size) {
            let transmission_time = Duration::from_nanos(queue.class.transmission(size).ns);
            if arrival_is_first(transit_time(self), transmission_time) {
                return None;
            }
        }
        self.links[at].send_or_wait(&mut self.queues[number], now, size)
    }

    /// Makes a queue for a link without one; returns its index.
    fn add_queue(&mut self, at: usize, kind: Kind, now: Time) -> usize {
        let number = self.free_queues.pop().unwrap_or(self.queues.len() as u32);
        let mut queue = AccessQueue::new(self.classes[kind.0 as usize].clone(), kind);
        if let Some(free) = self.queues.get_mut(number as usize) {
            // The empty list of an abandoned queue is reused with its memory.
            queue.waiting = take(&mut free.waiting);
            *free = queue;
        } else {
            self.queues.push(queue);
        }
        self.links[at].fill_queue(&mut self.queues[number as usize], now);
        self.kinds[at] = Kind(Kind::QUEUES | number);
        number as usize
    }

    /// A link that sent more than its rate allows; `None` if all are correct.
    pub fn faster_than_rate(&self) -> Option<usize> {
        (0..self.links.len()).find(|&at| {
            let link = &self.links[at];
            self.rate_of(at).is_some_and(|rate| {
                let carry = link.carry(self.kinds[at].queue().map(|queue| &self.queues[queue]), rate);
                let spent = u128::from(link.free_at.as_nanos()) * u128::from(rate.as_bps()) + u128::from(carry);
                link.free_at != Time::NEVER && u128::from(link.sent_bytes) * u128::from(NANOBITS_PER_BYTE) > spent
            })
        })
    }
}

impl Memory for AccessQueue {
    fn memory(&self) -> usize {
        self.waiting.memory()
    }
}

impl Memory for AccessLinks {
    fn memory(&self) -> usize {
        memory_of([&self.queues, &Items(&self.queues), &self.free_queues, &self.classes, &self.links, &self.kinds])
    }
}

#[cfg(test)]
mod tests;
