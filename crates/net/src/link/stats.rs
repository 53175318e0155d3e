//! What a link measured: of the whole, and of each of its subqueues.

use super::transmitter::Transmitter;
use crate::medium::TurnStats;
use crate::stats::{Quantiles, QueueStats, Sums};
use crate::window::Window;
use alloc::vec::Vec;
use sojourn_aqm::{Counters, Qdisc, Subqueue};
use sojourn_units::{NANOBITS_PER_BYTE, Rate, Time};

/// The times of one packet at a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Service {
    /// When it arrived.
    pub arrived: Time,
    /// When its transmission starts.
    pub start: Time,
    /// When its transmission ends.
    pub end: Time,
    /// Its size in bytes.
    pub size: u32,
}

/// What a link measured within the window of statistics.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct LinkStats {
    /// The queue's counters within the window.
    pub counters: Counters,
    /// Packets that the queue dropped within the window and that had arrived before it.
    pub drops_of_earlier: u64,
    /// The queue over time.
    pub queue: QueueStats,
    /// Waits (sojourn times) of the packets that arrived and started to be sent in the window, in seconds.
    pub wait: Sums,
    /// Their distribution.
    pub waits: Quantiles,
    /// Packets whose transmission ended in the window, to the nanosecond.
    pub sent: u64,
    /// Bytes of the packets whose transmission lies within the window.
    pub(super) sent_bytes: u64,
    /// Billionths of a bit that were sent in the window, of packets that were also sent before or after it.
    pub(super) sent_in_part: u128,
    /// Billionths of a bit that the link layer added to all of these.
    pub(super) added: u128,
    /// The rate at which the link sends; `None` sends in no time.
    pub(super) rate: Option<Rate>,
    /// Time spent sending at earlier rates, in billionths of a nanosecond.
    pub(super) busy_before: u128,
    /// Billionths of a bit that were sent at earlier rates.
    pub(super) nanobits_before: u128,
    /// The turns on a medium that it shares; `None` if it shares none.
    pub turns: Option<TurnStats>,
    /// The discipline's probability as arriving packets met it; nothing where it has none.
    pub probability: Sums,
    /// What each class did, or the low-latency and the classic queue; nothing if there are neither.
    pub subqueues: Vec<SubqueueStats>,
}

impl LinkStats {
    /// Billionths of a bit of packets that were sent in the window: of one that is being sent when it opens or closes, those that are
    /// sent within it.
    fn sent_nanobits(&self) -> u128 {
        u128::from(self.sent_bytes) * u128::from(NANOBITS_PER_BYTE) + self.sent_in_part
    }

    /// The same with what the link layer added: never more than the rate allows.
    pub(super) fn nanobits_on_link(&self) -> u128 {
        self.sent_nanobits() + self.added
    }

    /// Time spent sending in the window, in billionths of a nanosecond: the bits that were sent over the rate at which they were.
    pub(super) fn busy_attoseconds(&self) -> u128 {
        let nanobits = self.nanobits_on_link() - self.nanobits_before;
        self.busy_before + self.rate.map_or(0, |rate| nanobits * 1_000_000_000 / u128::from(rate.as_bps()))
    }

    /// Bits of packets that were sent in the window.
    pub fn sent_bits(&self) -> f64 {
        self.sent_nanobits() as f64 / 1e9
    }

    /// The same with what the link layer added.
    pub(crate) fn bits_on_link(&self) -> f64 {
        self.nanobits_on_link() as f64 / 1e9
    }
}

impl LinkStats {
    /// Accounts for a transmission that lies in the window.
    #[inline(always)]
    pub(super) fn account_transmission(&mut self, size: u32, transmitter: &Transmitter) {
        if transmitter.adjusts {
            self.adjust(size, transmitter);
        }
        self.sent += 1;
        self.sent_bytes += u64::from(size);
    }

    /// The rate may be another, and the link layer may have added to the packet.
    #[cold]
    fn adjust(&mut self, size: u32, transmitter: &Transmitter) {
        self.at_rate(transmitter);
        self.added += u128::from(transmitter.on_link(size) - size) * u128::from(NANOBITS_PER_BYTE);
    }

    /// What is accounted for from now on is sent at the rate of `transmitter`.
    pub(super) fn at_rate(&mut self, transmitter: &Transmitter) {
        if self.rate != transmitter.rate() {
            (self.busy_before, self.nanobits_before) = (self.busy_attoseconds(), self.nanobits_on_link());
            self.rate = transmitter.rate();
        }
    }
}

/// What a class of a link, or one of the queues of a dual queue, measured within the window of statistics.
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

    /// Accounts for a packet that is sent; `all` says whether the distribution of waits is measured too.
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
    /// The window opens: subqueues forget what was before.
    pub(super) fn open_subqueues(&mut self, now: Time, done: &[Subqueue]) {
        for (stats, done) in self.subqueues.iter_mut().zip(done) {
            stats.queue.restart(now);
            stats.at_opening = *done;
        }
    }

    /// The end of the run.
    pub(super) fn finish_subqueues(&mut self, end: Time, done: &[Subqueue]) {
        for (stats, done) in self.subqueues.iter_mut().zip(done) {
            stats.queue.finish(end);
            stats.counters = difference(&done.counters, &stats.at_opening.counters);
            stats.drops_of_earlier = done.drops_of_earlier - stats.at_opening.drops_of_earlier;
        }
    }

    /// The subqueues may have changed at `now`.
    #[inline(never)]
    pub(super) fn set_subqueues<P: sojourn_aqm::Packet>(&mut self, now: Time, qdisc: &Qdisc<P>) {
        (0..self.subqueues.len()).for_each(|at| self.set_subqueue(at, now, qdisc));
    }

    /// This subqueue may have changed at `now`.
    #[inline(always)]
    pub(super) fn set_subqueue<P: sojourn_aqm::Packet>(&mut self, at: usize, now: Time, qdisc: &Qdisc<P>) {
        let (queue, (packets, bytes)) = (&mut self.subqueues[at].queue, qdisc.subqueue_backlog(at));
        if !queue.holds(packets.into(), bytes) {
            queue.set(now, packets.into(), bytes);
        }
    }
}

/// What was counted between two times.
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
