//! The measurements of a link, in total and for each subqueue.

use super::transmitter::Transmitter;
use crate::medium::TurnStats;
use crate::stats::{Quantiles, QueueStats, Sums};
use crate::window::Window;
use alloc::vec::Vec;
use sojourn_aqm::{ChangedSubqueue, Counters, Qdisc, Subqueue};
use sojourn_units::{NANOBITS_PER_BYTE, Rate, Time};

/// The times of one packet at a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Service {
    /// The time of its arrival.
    pub arrived: Time,
    /// The start of its transmission.
    pub start: Time,
    /// The end of its transmission.
    pub end: Time,
    /// Its size in bytes.
    pub size: u32,
}

/// The measurements of a link within the window of statistics.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct LinkStats {
    /// The queue's counters within the window.
    pub counters: Counters,
    /// Packets that the queue dropped within the window and that had arrived before it.
    pub drops_of_earlier: u64,
    /// The queue over time.
    pub queue: QueueStats,
    /// Waits (sojourn times) in seconds of packets that arrived and were started in the window.
    pub wait: Sums,
    /// Their distribution.
    pub waits: Quantiles,
    /// Packets whose transmission ended in the window, to the nanosecond.
    pub sent: u64,
    /// Bytes of the packets whose transmission lies within the window.
    pub(super) sent_bytes: u64,
    /// Billionths of a bit that were sent in the window, of packets that lie partly in it.
    pub(super) sent_in_part: u128,
    /// Billionths of a bit that the link layer added to all of these.
    pub(super) added: u128,
    /// The rate at which the link sends; `None` if transmissions take no time.
    pub(super) rate: Option<Rate>,
    /// Time spent sending at earlier rates, in billionths of a nanosecond.
    pub(super) busy_before: u128,
    /// Billionths of a bit that were sent at earlier rates.
    pub(super) nanobits_before: u128,
    /// The turns on a medium that it shares; `None` if it shares none.
    pub turns: Option<TurnStats>,
    /// The discipline's probability at arrivals; empty if it has none.
    pub probability: Sums,
    /// The measurements of each class, or of the low-latency and the classic queue.
    /// Empty without these.
    pub subqueues: Vec<SubqueueStats>,
}

impl LinkStats {
    /// Billionths of a bit of packets that were sent in the window.
    /// Of a transmission across its ends, the part in the window counts.
    fn sent_nanobits(&self) -> u128 {
        u128::from(self.sent_bytes) * u128::from(NANOBITS_PER_BYTE) + self.sent_in_part
    }

    /// The bits with the overhead of the link layer: never more than the rate allows.
    pub(super) fn nanobits_on_link(&self) -> u128 {
        self.sent_nanobits() + self.added
    }

    /// Transmission time in the window, in billionths of a nanosecond.
    /// It is the bits that were sent over the rate at that time.
    pub(super) fn busy_attoseconds(&self) -> u128 {
        let nanobits = self.nanobits_on_link() - self.nanobits_before;
        self.busy_before + self.rate.map_or(0, |rate| nanobits * 1_000_000_000 / u128::from(rate.as_bps()))
    }

    /// Bits of packets that were sent in the window.
    pub fn sent_bits(&self) -> f64 {
        self.sent_nanobits() as f64 / 1e9
    }

    /// Bits of packets in the window, with the overhead of the link layer.
    pub(crate) fn bits_on_link(&self) -> f64 {
        self.nanobits_on_link() as f64 / 1e9
    }
}

impl LinkStats {
    /// Records a transmission that lies in the window.
    #[inline(always)]
    pub(super) fn account_transmission(&mut self, size: u32, transmitter: &Transmitter) {
        if transmitter.adjusts {
            self.adjust(size, transmitter);
        }
        self.sent += 1;
        self.sent_bytes += u64::from(size);
    }

    /// Adapts to a changed rate and to the overhead of the link layer.
    #[cold]
    fn adjust(&mut self, size: u32, transmitter: &Transmitter) {
        self.at_rate(transmitter);
        self.added += u128::from(transmitter.on_link(size) - size) * u128::from(NANOBITS_PER_BYTE);
    }

    /// From now on transmissions are at the rate of `transmitter`.
    pub(super) fn at_rate(&mut self, transmitter: &Transmitter) {
        if self.rate != transmitter.rate() {
            (self.busy_before, self.nanobits_before) = (self.busy_attoseconds(), self.nanobits_on_link());
            self.rate = transmitter.rate();
        }
    }
}

/// The measurements of a class of a link, or of one of the queues of a dual queue.
/// They are within the window of statistics.
#[derive(Clone, Default, Debug)]
#[non_exhaustive]
pub struct SubqueueStats {
    /// The counters of its queue within the window.
    pub counters: Counters,
    /// Packets that its queue dropped within the window and that had arrived before it.
    pub drops_of_earlier: u64,
    /// Its queue over time.
    pub queue: QueueStats,
    /// Waits of its packets that arrived and started to be sent in the window, in seconds.
    pub wait: Sums,
    /// Their distribution.
    pub waits: Quantiles,
    /// Packets whose transmission ended in the window, and their bytes.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Whether it has an ACK filter.
    pub filters_acks: bool,
    at_opening: Subqueue,
}

impl SubqueueStats {
    pub(super) fn new(queue: &Subqueue) -> Self {
        SubqueueStats { filters_acks: queue.filters_acks, ..SubqueueStats::default() }
    }

    /// Records a sent packet; `all` is whether the distribution of waits is measured too.
    #[inline]
    pub(super) fn account(&mut self, service: &Service, window: Window, all: bool) {
        let &Service { arrived, start, end, size } = service;
        if arrived >= window.from && start < window.until {
            let wait = start.since(arrived);
            self.wait.add(wait.as_secs_f64());
            if all {
                self.waits.add(wait.as_nanos());
            }
        }
        if end >= window.from && end < window.until {
            self.sent += 1;
            self.sent_bytes += u64::from(size);
        }
    }
}

impl LinkStats {
    /// Opens the window, and resets the subqueues.
    pub(super) fn open_subqueues(&mut self, now: Time, done: &[Subqueue]) {
        for (stats, done) in self.subqueues.iter_mut().zip(done) {
            stats.queue.restart(now);
            stats.at_opening = *done;
        }
    }

    /// Ends the run.
    pub(super) fn finish_subqueues(&mut self, end: Time, done: &[Subqueue]) {
        for (stats, done) in self.subqueues.iter_mut().zip(done) {
            stats.queue.finish(end);
            stats.counters = difference(&done.counters, &stats.at_opening.counters);
            stats.drops_of_earlier = done.drops_of_earlier - stats.at_opening.drops_of_earlier;
        }
    }

    /// Updates all subqueues, which may have changed at `now`.
    #[inline(never)]
    pub(super) fn set_subqueues<P: sojourn_aqm::Packet>(&mut self, now: Time, qdisc: &Qdisc<P>) {
        for at in 0..self.subqueues.len() {
            let (packets, bytes) = qdisc.subqueue_backlog(at);
            self.set_subqueue(&ChangedSubqueue { at, packets, bytes }, now);
        }
    }

    /// Updates this subqueue, which may have changed at `now`.
    #[inline(always)]
    pub(super) fn set_subqueue(&mut self, &ChangedSubqueue { at, packets, bytes }: &ChangedSubqueue, now: Time) {
        let queue = &mut self.subqueues[at].queue;
        if !queue.holds(packets.into(), bytes) {
            queue.set(now, packets.into(), bytes);
        }
    }
}

/// The counts between two times.
pub(super) fn difference(later: &Counters, earlier: &Counters) -> Counters {
    Counters {
        arrived: later.arrived - earlier.arrived,
        arrived_bytes: later.arrived_bytes - earlier.arrived_bytes,
        marked: later.marked - earlier.marked,
        dropped_early: later.dropped_early - earlier.dropped_early,
        dropped_forced: later.dropped_forced - earlier.dropped_forced,
        dropped_tail: later.dropped_tail - earlier.dropped_tail,
        dropped_acks: later.dropped_acks - earlier.dropped_acks,
        dropped_bytes: later.dropped_bytes - earlier.dropped_bytes,
    }
}
