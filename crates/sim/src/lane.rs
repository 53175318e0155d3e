//! Lanes: links on which nothing is decided or measured, such as a flow's own access links.
//!
//! A lane is a FIFO with a limit, a rate and a delay like any link, and just as exact; but it keeps only
//! what the next packet needs, so that a hundred thousand flows have room for four of them each.

use crate::link_config::LinkConfig;
use sojourn_aqm::Limit;
use sojourn_units::{Duration, Rate, Time};
use std::collections::VecDeque;

/// What lanes of one kind share: rate and limit, and how long packets of the sizes seen last take.
#[derive(Clone, Debug)]
struct Class {
    rate: Rate,
    limit: Limit,
    known: [(u32, u64, u64); 4],
}

impl Class {
    /// Whole nanoseconds that `size` bytes take, and what is left over, in units of 1/rate ns.
    #[inline]
    fn time(&mut self, size: u32) -> (u64, u64) {
        let known = &mut self.known[(size >> 3) as usize % 4];
        if known.0 != size {
            let bits = u64::from(size) * 8_000_000_000;
            *known = (size, bits / self.rate.as_bps(), bits % self.rate.as_bps());
        }
        (known.1, known.2)
    }
}

/// A link on which nothing is decided or measured.
#[derive(Clone, Debug)]
struct Lane {
    free_at: Time,
    /// What the last division left over, in units of 1/rate ns.
    carry: u64,
    delay: Duration,
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
}

impl Lane {
    /// A packet finds the lane busy and waits; `false` if there is no room.
    #[inline(never)]
    fn queue_up(&mut self, class: &mut Class, now: Time, size: u32) -> bool {
        let crowd = self.crowd.get_or_insert_default();
        if !crowd.takes(now, size, class.limit) {
            return false;
        }
        crowd.waiting.push_back((self.free_at, size));
        crowd.bytes += u64::from(size);
        let (quotient, remainder) = class.time(size);
        let sum = self.carry + remainder;
        let over = sum >= class.rate.as_bps();
        self.carry = if over { sum - class.rate.as_bps() } else { sum };
        self.free_at += Duration::from_nanos(quotient + u64::from(over));
        true
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
        let limit = config.door.limit;
        let class = config.rate.map_or(PURE_DELAY, |rate| {
            let known = self.classes.iter().rposition(|class| (class.rate, class.limit) == (rate, limit));
            known.unwrap_or_else(|| {
                self.classes.push(Class { rate, limit, known: [(0, 0, 0); 4] });
                self.classes.len() - 1
            }) as u32
        });
        self.lanes.push(Lane { free_at: Time::ZERO, carry: 0, delay: config.delay, class, crowd: None });
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

    /// When a packet of `size` bytes offered at `now` arrives at the other end; `None` if it finds the lane full.
    #[inline]
    pub fn pass(&mut self, lane: usize, now: Time, size: u32) -> Option<Time> {
        let lane = &mut self.lanes[lane];
        let Some(class) = self.classes.get_mut(lane.class as usize) else { return Some(now + lane.delay) };
        let (quotient, remainder) = class.time(size);
        if lane.free_at <= now {
            lane.free_at = now + Duration::from_nanos(quotient);
            lane.carry = remainder;
            return Some(lane.free_at + lane.delay);
        }
        lane.queue_up(class, now, size).then(|| lane.free_at + lane.delay)
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        let crowd = |crowd: &Crowd| size_of::<Crowd>() + crowd.waiting.capacity() * size_of::<(Time, u32)>();
        let crowds: usize = self.lanes.iter().filter_map(|lane| lane.crowd.as_deref()).map(crowd).sum();
        crowds + self.lanes.capacity() * size_of::<Lane>()
    }
}

impl Crowd {
    /// Whether there is room for `size` bytes at `now`, once those are gone that are sent by then.
    fn takes(&mut self, now: Time, size: u32, limit: Limit) -> bool {
        while let Some(&(start, gone)) = self.waiting.front() {
            if start > now {
                break;
            }
            self.waiting.pop_front();
            self.bytes -= u64::from(gone);
        }
        match limit {
            Limit::Packets(limit) => self.waiting.len() < limit as usize,
            Limit::Bytes(limit) => self.bytes + u64::from(size) <= limit,
        }
    }
}
