//! Lanes: links on which nothing is decided or measured, such as a flow's own access links.
//!
//! A lane is a FIFO with a limit, a rate and a delay like any link, and just as exact; but it keeps only
//! what the next packet needs, so that a hundred thousand flows have room for four of them each.

use crate::link_config::{Crossing, INSTANT, LinkConfig, Offer};
use sojourn_aqm::Limit;
use sojourn_units::{Duration, Rate, Time};
use std::collections::VecDeque;

/// What lanes of one kind share.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Class {
    rate: Rate,
    limit: Limit,
}

/// A link on which nothing is decided or measured.
#[derive(Clone, Debug)]
struct Lane {
    free_at: Time,
    /// What the last division left over, in units of 1/rate ns.
    carry: u64,
    delay: Duration,
    /// The size of the packet sent last, and how long it takes: whole nanoseconds, and what is left over.
    size: u32,
    spent: u64,
    rest: u64,
    /// Its class; `PURE_DELAY` without a rate.
    class: u32,
    crowd: Option<Box<Crowd>>,
}

/// Packets that wait for a lane that has ever been busy.
#[derive(Clone, Debug, Default)]
struct Crowd {
    /// When each starts to be sent, and its size.
    waiting: VecDeque<(Time, u32)>,
    bytes: u64,
    /// When the last that waited left, and its size; 0 B before that.
    left: (Time, u32),
}

impl Lane {
    /// The same for a packet that finds the lane busy, or is of another size than the last.
    #[inline(never)]
    fn decide(&mut self, class: Option<&Class>, now: Time, size: u32, under_way: Option<Duration>) -> Offer {
        let Some(&Class { rate, limit }) = class else { return Offer::Arrives(now + self.delay) };
        if self.size != size {
            let bits = u64::from(size) * 8_000_000_000;
            (self.size, self.spent, self.rest) = (size, bits / rate.as_bps(), bits % rate.as_bps());
        }
        if self.free_at <= now {
            self.free_at = now + Duration::from_nanos(self.spent);
            self.carry = self.rest;
            return Offer::Arrives(self.free_at + self.delay);
        }
        let crowd = self.crowd.get_or_insert_default();
        crowd.leave_by(now);
        if crowd.is_full(0, u64::from(size), limit) {
            return Offer::Dropped;
        }
        // Whether one that leaves at this very instant still counts: `Link::beside`.
        let (at, left) = crowd.left;
        if at + INSTANT >= now && left > 0 && crowd.is_full(1, u64::from(size + left), limit) {
            match under_way {
                None => return Offer::Tied,
                Some(long) if long > Duration::from_nanos(self.spent) => return Offer::Dropped,
                Some(_) => {}
            }
        }
        crowd.waiting.push_back((self.free_at, size));
        crowd.bytes += u64::from(size);
        let sum = self.carry + self.rest;
        let over = sum >= rate.as_bps();
        self.carry = if over { sum - rate.as_bps() } else { sum };
        self.free_at += Duration::from_nanos(self.spent + u64::from(over));
        Offer::Arrives(self.free_at + self.delay)
    }
}

const PURE_DELAY: u32 = u32::MAX;

/// All lanes and their classes.
#[derive(Clone, Debug, Default)]
pub struct Lanes {
    lanes: Vec<Lane>,
    classes: Vec<Class>,
}

impl Lanes {
    /// Adds a lane; gives its place.
    pub fn add(&mut self, config: &LinkConfig) -> u32 {
        let limit = config.controller.limit;
        let class = config.rate.map_or(PURE_DELAY, |rate| {
            let class = Class { rate, limit };
            self.classes.iter().rposition(|&known| known == class).unwrap_or_else(|| {
                self.classes.push(class);
                self.classes.len() - 1
            }) as u32
        });
        self.lanes.push(Lane { free_at: Time::ZERO, carry: 0, delay: config.delay, size: 0, spent: 0, rest: 0, class, crowd: None });
        self.lanes.len() as u32 - 1
    }

    /// Whether this lane merely delays.
    pub fn is_pure_delay(&self, lane: usize) -> bool {
        self.lanes[lane].class == PURE_DELAY
    }

    /// Its propagation delay.
    pub fn delay(&self, lane: usize) -> Duration {
        self.lanes[lane].delay
    }

    /// How long a packet of `size` bytes that arrives at `now` was under way on it.
    pub fn crossing(&self, lane: usize, size: u32, now: Time) -> Duration {
        let lane = &self.lanes[lane];
        let rate = self.classes.get(lane.class as usize).map(|class| class.rate);
        Crossing { rate, delay: lane.delay, ..Crossing::default() }.of(size, now)
    }

    /// Offers a packet of `size` bytes at `now`: it arrives at the other end or finds the lane full.
    #[inline]
    pub fn pass(&mut self, lane: usize, now: Time, size: u32) -> Offer {
        let lane = &mut self.lanes[lane];
        if lane.size != size || lane.free_at > now {
            return lane.decide(self.classes.get(lane.class as usize), now, size, None);
        }
        lane.free_at = now + Duration::from_nanos(lane.spent);
        lane.carry = lane.rest;
        Offer::Arrives(lane.free_at + lane.delay)
    }

    /// The same after [`Offer::Tied`], with how long ago the packet's sending began.
    #[cold]
    pub fn pass_again(&mut self, lane: usize, now: Time, size: u32, under_way: Duration) -> Offer {
        let lane = &mut self.lanes[lane];
        lane.decide(self.classes.get(lane.class as usize), now, size, Some(under_way))
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        let crowd = |crowd: &Crowd| size_of::<Crowd>() + crowd.waiting.capacity() * size_of::<(Time, u32)>();
        let crowds: usize = self.lanes.iter().filter_map(|lane| lane.crowd.as_deref()).map(crowd).sum();
        crowds + self.lanes.capacity() * size_of::<Lane>()
    }
}

impl Crowd {
    /// Lets go what is sent by `now`.
    fn leave_by(&mut self, now: Time) {
        while let Some(&(start, gone)) = self.waiting.front() {
            if start > now {
                break;
            }
            self.waiting.pop_front();
            self.bytes -= u64::from(gone);
            self.left = (start, gone);
        }
    }

    /// Whether there is no room beside `more` packets for so many bytes.
    fn is_full(&self, more: usize, bytes: u64, limit: Limit) -> bool {
        match limit {
            Limit::Packets(limit) => self.waiting.len() + more >= limit as usize,
            Limit::Bytes(limit) => self.bytes + bytes > limit,
        }
    }
}
