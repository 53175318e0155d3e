//! Access links: links on which nothing is decided or measured but whether a packet finds room, such as a flow's own links.
//!
//! An access link is a FIFO with a limit, a rate and a delay like any link, and just as exact. But it keeps only what the next
//! packet needs, so that a hundred thousand flows have room for four of them each.

use super::tie_break::{LastDeparture, TransitTimes, arrival_is_first};
use super::transmitter::sends_apart;
use crate::contention::Order;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use sojourn_aqm::Amount;
use sojourn_spec::link::AccessLink as Planned;
use sojourn_units::{Duration, NANOBITS_PER_BYTE, Rate, Time};

/// What access links of one class share.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Class {
    rate: Rate,
    limit: Amount,
}

/// The class of links without a rate, which only delay.
const PURE_DELAY: u32 = u32::MAX;

/// One access link.
#[derive(Clone, Debug)]
struct AccessLink {
    /// When its transmitter is free.
    free_at: Time,
    /// What the last division left over, in units of 1/rate ns.
    carry: u64,
    delay: Duration,
    /// The size of the last packet in bytes, and its transmission time: whole ns, and the rest in units of 1/rate ns.
    size: u32,
    tx_ns: u64,
    tx_rest: u64,
    /// Its class, or [`PURE_DELAY`].
    class: u32,
    /// Bytes whose transmission has been planned, for the audit.
    sent_bytes: u64,
    /// Made when a packet waits for the first time.
    queue: Option<Box<AccessQueue>>,
}

/// Packets that wait for an access link.
#[derive(Clone, Debug, Default)]
struct AccessQueue {
    waiting: VecDeque<Waiting>,
    bytes: u64,
    last_departure: LastDeparture,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// When its transmission starts.
    start: Time,
    size: u32,
}

/// What became of a packet that was offered to an access link.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AccessOffer {
    /// It will arrive at the other end at this time.
    Arrives(Time),
    /// There is no room.
    Dropped,
    /// Undecided: another packet leaves the queue at the same time. The link needs the packet's transit time over the link before.
    NeedsTieBreak,
}

impl AccessLink {
    /// Offers a packet.
    #[inline]
    fn decide(&mut self, class: Option<&Class>, now: Time, size: u32, transit_time: Option<Duration>) -> AccessOffer {
        let Some(&Class { rate, limit }) = class else { return AccessOffer::Arrives(now + self.delay) };
        if self.size != size {
            let bits = u64::from(size) * NANOBITS_PER_BYTE;
            (self.size, self.tx_ns, self.tx_rest) = (size, bits / rate.as_bps(), bits % rate.as_bps());
        }
        if self.free_at <= now {
            // In the nanosecond in which the link gets free, a part of it is still taken.
            let carry = if self.free_at == now { self.carry } else { 0 };
            return AccessOffer::Arrives(self.send(now, carry, rate));
        }
        let queue = self.queue.get_or_insert_default();
        queue.release_until(now);
        if queue.is_full(0, u64::from(size), limit) {
            return AccessOffer::Dropped;
        }
        let last = queue.last_departure;
        if last.ties_with(now) && last.size > 0 && queue.is_full(1, u64::from(size + last.size), limit) {
            match transit_time {
                None => return AccessOffer::NeedsTieBreak,
                Some(transit_time) if arrival_is_first(transit_time, Duration::from_nanos(self.tx_ns)) => return AccessOffer::Dropped,
                Some(_) => {}
            }
        }
        queue.waiting.push_back(Waiting { start: self.free_at, size });
        queue.bytes += u64::from(size);
        AccessOffer::Arrives(self.send(self.free_at, self.carry, rate))
    }

    /// Sends a packet of the size of the last from `start` on, of whose nanosecond `carry` is taken; gives its arrival.
    #[inline]
    fn send(&mut self, start: Time, carry: u64, rate: Rate) -> Time {
        let sum = carry + self.tx_rest;
        let over = sum >= rate.as_bps();
        self.carry = if over { sum - rate.as_bps() } else { sum };
        self.free_at = start + Duration::from_nanos(self.tx_ns + u64::from(over));
        self.sent_bytes += u64::from(self.size);
        self.free_at + self.delay
    }
}

impl AccessQueue {
    /// Lets the packets leave whose transmission starts by `now`.
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

    /// Whether there is no room for so many bytes, if so many more packets than those that wait count.
    fn is_full(&self, more: usize, bytes: u64, limit: Amount) -> bool {
        match limit {
            Amount::Packets(limit) => self.waiting.len() + more >= limit as usize,
            Amount::Bytes(limit) => self.bytes + bytes > limit,
        }
    }
}

/// All access links and their classes.
#[derive(Clone, Debug, Default)]
pub(crate) struct AccessLinks {
    links: Vec<AccessLink>,
    classes: Vec<Class>,
}

impl AccessLinks {
    /// Adds a link; gives its position.
    pub fn add(&mut self, link: &Planned) -> usize {
        let &Planned { rate, delay, limit, .. } = link;
        let class = rate.map_or(PURE_DELAY, |rate| {
            let class = Class { rate, limit };
            self.classes.iter().rposition(|&known| known == class).unwrap_or_else(|| {
                self.classes.push(class);
                self.classes.len() - 1
            }) as u32
        });
        self.links.push(AccessLink {
            free_at: Time::ZERO,
            carry: 0,
            delay,
            size: 0,
            tx_ns: 0,
            tx_rest: 0,
            class,
            sent_bytes: 0,
            queue: None,
        });
        self.links.len() - 1
    }

    /// Makes room for so many links more.
    pub fn reserve(&mut self, more: usize) {
        self.links.reserve_exact(more);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.links.len()
    }

    /// The propagation delay of this link.
    pub fn delay(&self, link: usize) -> Duration {
        self.links[link].delay
    }

    /// In which order packets leave this link.
    pub fn order(&self, link: usize) -> Order {
        let link = &self.links[link];
        match self.classes.get(link.class as usize) {
            None => Order::Delayed(link.delay),
            Some(class) => Order::OfArrival { apart: sends_apart(class.rate) },
        }
    }

    /// The transit time over this link of a packet of `size` bytes that arrives at `now`.
    #[inline]
    pub fn transit_time(&self, link: usize, size: u32, now: Time) -> Duration {
        let link = &self.links[link];
        let rate = self.classes.get(link.class as usize).map(|class| class.rate);
        TransitTimes { rate, delay: link.delay, ..TransitTimes::default() }.of(size, now)
    }

    /// Sends a packet of `size` bytes at `now`, if the link is idle and its last packet was as large: when it arrives at the other end.
    #[inline(always)]
    pub fn pass(&mut self, link: usize, now: Time, size: u32) -> Option<Time> {
        let link = &mut self.links[link];
        if link.size != size || link.free_at >= now {
            return None;
        }
        link.free_at = now + Duration::from_nanos(link.tx_ns);
        link.carry = link.tx_rest;
        link.sent_bytes += u64::from(size);
        Some(link.free_at + link.delay)
    }

    /// Offers a packet of `size` bytes at `now`, whatever the link does.
    pub fn offer(&mut self, link: usize, now: Time, size: u32) -> AccessOffer {
        let link = &mut self.links[link];
        link.decide(self.classes.get(link.class as usize), now, size, None)
    }

    /// The same after [`AccessOffer::NeedsTieBreak`], with the packet's transit time over the link before.
    #[cold]
    pub fn offer_with_transit_time(&mut self, link: usize, now: Time, size: u32, transit_time: Duration) -> AccessOffer {
        let link = &mut self.links[link];
        link.decide(self.classes.get(link.class as usize), now, size, Some(transit_time))
    }

    /// A link that sent more than its rate allows; there is none.
    pub fn faster_than_rate(&self) -> Option<usize> {
        self.links.iter().position(|link| {
            let class = self.classes.get(link.class as usize);
            class.is_some_and(|class| {
                let spent = u128::from(link.free_at.as_nanos()) * u128::from(class.rate.as_bps());
                link.free_at != Time::NEVER && u128::from(link.sent_bytes) * u128::from(NANOBITS_PER_BYTE) > spent + u128::from(link.carry)
            })
        })
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        let queue = |queue: &AccessQueue| size_of::<AccessQueue>() + queue.waiting.capacity() * size_of::<Waiting>();
        let queues: usize = self.links.iter().filter_map(|link| link.queue.as_deref()).map(queue).sum();
        queues + self.links.capacity() * size_of::<AccessLink>()
    }
}
