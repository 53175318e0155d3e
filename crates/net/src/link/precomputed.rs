//! The queue of a link whose discipline decides at arrival: departures are precomputed.
//!
//! A packet's departure is known as soon as it is accepted, so the link stores no packet and needs no event: for each waiting packet it
//! stores the start of its transmission and the discipline's view of it. Departures are processed at the next arrival, or when a timer or a
//! sample is due.

use super::meter::Meter;
use super::stats::Service;
use super::tie::LastDeparture;
use super::transmitter::Transmitter;
use crate::packet::Packet;
use alloc::collections::VecDeque;
use sojourn_aqm::{Amount, Aqm, Backlog, DropReason, DualClass, Ecn, Fate, PacketView, QueueController};
use sojourn_units::{Duration, Memory, Time};

#[derive(Clone, Debug)]
pub(super) struct Precomputed {
    pub controller: QueueController,
    waiting: VecDeque<Waiting>,
    bytes: u64,
    /// Whether the discipline needs departures.
    sees_departures: bool,
    pub last_departure: LastDeparture,
}

/// A waiting packet: start of transmission, arrival, and the discipline's view of it.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    start: Time,
    arrived: Time,
    size: u32,
    flow: u32,
    rtt_hint_ms: u16,
    has_data: bool,
}

/// Longer queues are not checked, because tests would take too long.
const MOST_CHECKED: usize = 16;

/// An accepted packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Accepted {
    pub service: Service,
    pub marked: bool,
}

impl Precomputed {
    pub fn new(controller: QueueController) -> Self {
        let sees_departures = controller.aqm.needs().departures;
        Precomputed { sees_departures, ..Precomputed::without_departures(controller) }
    }

    /// A queue that reports no departures to its discipline.
    pub fn without_departures(controller: QueueController) -> Self {
        Precomputed { controller, waiting: VecDeque::new(), bytes: 0, sees_departures: false, last_departure: LastDeparture::default() }
    }

    /// The backlog at this time.
    /// `simultaneous` is the size of a packet that leaves now and still counts.
    #[inline]
    pub fn backlog(&self, simultaneous: Option<u32>, idle_since: Option<Time>) -> Backlog {
        let backlog = Backlog { packets: self.waiting.len() as u32, bytes: self.bytes, idle_since };
        simultaneous.map_or(backlog, |size| backlog.with_packet(size))
    }

    /// Removes the packets whose transmission starts by `now`.
    /// Returns the start of the next one's transmission.
    #[inline(always)]
    pub fn release_until(&mut self, now: Time, meter: &mut Meter) -> Time {
        let next = self.next_start();
        if next > now {
            return next;
        }
        self.release_first(meter);
        // Mostly one packet leaves at a time: a separate loop for more keeps the common path short.
        let next = self.next_start();
        if next > now { next } else { self.release_more(now, meter) }
    }

    #[cold]
    #[inline(never)]
    fn release_more(&mut self, now: Time, meter: &mut Meter) -> Time {
        while self.next_start() <= now && !self.waiting.is_empty() {
            self.release_first(meter);
        }
        self.next_start()
    }

    /// The start of the transmission of the first packet, if it is known.
    #[inline]
    pub fn next_start(&self) -> Time {
        self.waiting.front().map_or(Time::NEVER, |packet| packet.start)
    }

    /// Removes the first packet.
    #[inline(always)]
    fn release_first(&mut self, meter: &mut Meter) {
        let Some(&Waiting { start, size, .. }) = self.waiting.front() else { return };
        self.bytes -= u64::from(size);
        if self.sees_departures {
            self.show_departure();
        }
        self.waiting.pop_front();
        self.last_departure = LastDeparture { at: start, size };
        meter.queue_shrinks(start, self.waiting.len() as u64, self.bytes);
    }

    /// Reports the departure of the first packet, whose bytes are no longer counted.
    #[inline(never)]
    fn show_departure(&mut self) {
        let Some(&Waiting { start, arrived, size, flow, rtt_hint_ms, has_data }) = self.waiting.front() else { return };
        let (ecn, class) = (Ecn::NotEct, DualClass::Classic);
        let departure = PacketView { now: start, size, flow, rtt_hint_ms, has_data, ecn, class, drawn: None };
        let backlog = Backlog { packets: self.waiting.len() as u32 - 1, bytes: self.bytes, idle_since: None };
        self.controller.decide_departure(&departure, start.since(arrived), false, &backlog);
    }

    /// Offers a packet that arrives at `now` to the discipline.
    ///
    /// # Errors
    /// The reason of a drop.
    #[inline]
    pub fn offer(
        &mut self,
        now: Time,
        packet: &mut impl Packet,
        simultaneous: Option<u32>,
        transmitter: &mut Transmitter,
        meter: &mut Meter,
    ) -> Result<Accepted, DropReason> {
        let idle_since = transmitter.idle_since(now);
        // No discipline that decides at arrival reads the ECN field.
        let arrival = PacketView { ecn: Ecn::NotEct, ..PacketView::of(now, packet) };
        let backlog = self.backlog(simultaneous, idle_since);
        let mut marked = false;
        // A discipline that inspects waiting packets has a buffered queue.
        match self.controller.decide_arrival(&arrival, packet.can_mark(), [&backlog, &backlog], |_| None) {
            Fate::Passed => {}
            Fate::Marked => {
                packet.mark();
                marked = true;
            }
            Fate::Dropped(reason) => return Err(reason),
        }
        if meter.wants_probability(now) {
            meter.probability(self.controller.aqm.probability());
        }
        let size = arrival.size;
        let (idle, start) = (idle_since.is_some(), if idle_since.is_some() { now } else { transmitter.free_at });
        if idle {
            if self.sees_departures {
                let nothing = Backlog { packets: 0, bytes: 0, idle_since: None };
                self.controller.decide_departure(&arrival, Duration::ZERO, false, &nothing);
            }
        } else {
            let PacketView { flow, rtt_hint_ms, has_data, .. } = arrival;
            self.join(Waiting { start, arrived: now, size, flow, rtt_hint_ms, has_data }, meter);
        }
        let end = transmitter.send(start, size, idle);
        Ok(Accepted { service: Service { arrived: now, start, end, size }, marked })
    }

    /// Sends a packet of `size` bytes behind those that wait, if the limit allows.
    /// The limit is the only decision, and the rate is the present one. `None` if there is no room, even if a packet that leaves at `now`
    /// still counts.
    #[inline(always)]
    pub fn pass(&mut self, now: Time, size: u32, transmitter: &mut Transmitter, meter: &mut Meter) -> Option<Service> {
        let leaving = self.last_departure.ties_with(now).then_some(self.last_departure.size);
        if !self.controller.has_room(size, &self.backlog(leaving, transmitter.idle_since(now))) {
            return None;
        }
        let start = transmitter.free_at.max(now);
        if start > now {
            self.join_at(start, now, size, meter);
        }
        let end = transmitter.send_at_rate(start, size);
        Some(Service { arrived: now, start, end, size })
    }

    #[inline(always)]
    fn join(&mut self, packet: Waiting, meter: &mut Meter) {
        self.bytes += u64::from(packet.size);
        self.waiting.push_back(packet);
        meter.queue_changes(packet.arrived, self.waiting.len() as u64, self.bytes);
    }

    /// Enqueues a packet of `size` bytes that arrives at `now` and is sent at `start`.
    #[inline(always)]
    pub fn join_at(&mut self, start: Time, now: Time, size: u32, meter: &mut Meter) {
        self.join(Waiting { start, arrived: now, size, flow: 0, rtt_hint_ms: 0, has_data: true }, meter);
    }

    /// The number of waiting packets.
    #[inline]
    pub fn packets(&self) -> usize {
        self.waiting.len()
    }

    /// The arrival time of the packet at index `place`.
    #[inline]
    pub fn arrived(&self, place: usize) -> Time {
        self.waiting[place].arrived
    }

    /// Sets the start of the transmission of the packet at index `place`.
    #[inline]
    pub fn starts(&mut self, place: usize, start: Time) {
        self.waiting[place].start = start;
    }

    /// Drops the packet at index `place` at `now`.
    pub fn remove(&mut self, place: usize, now: Time, meter: &mut Meter) {
        if let Some(packet) = self.waiting.remove(place) {
            self.bytes -= u64::from(packet.size);
            meter.queue_shrinks(now, self.waiting.len() as u64, self.bytes);
        }
    }

    /// Checks the invariants, in debug builds.
    /// Its bytes are those of its packets, times never decrease, and the last `undecided` packets have no start yet.
    pub fn check_invariants(&self, undecided: usize) {
        match self.controller.limit {
            Amount::Packets(limit) => assert!(self.waiting.len() <= limit as usize, "{} packets wait, {limit} may", self.waiting.len()),
            Amount::Bytes(limit) => assert!(self.bytes <= limit, "{} bytes wait, {limit} may", self.bytes),
        }
        if !cfg!(debug_assertions) || self.waiting.len() > MOST_CHECKED {
            return;
        }
        assert_eq!(self.bytes, self.waiting.iter().map(|packet| u64::from(packet.size)).sum::<u64>(), "bytes that wait");
        assert!(self.waiting.iter().all(|packet| packet.arrived <= packet.start), "a transmission starts before its packet arrives");
        assert!(self.waiting.iter().is_sorted_by_key(|packet| (packet.arrived, packet.start)), "a packet overtakes another");
        assert!(self.next_start() >= self.last_departure.at, "a packet leaves before the last one that left");
        assert_eq!(self.waiting.iter().filter(|packet| packet.start == Time::NEVER).count(), undecided, "undecided packets");
    }
}

impl Memory for Precomputed {
    fn memory(&self) -> usize {
        self.waiting.memory()
    }
}
