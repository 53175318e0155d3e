//! The queue of a link whose discipline decides at departures, but mostly in advance.
//!
//! `CoDel` passes a packet that waits for less than its target, whatever arrives behind it. For a packet that waits longer, its decision is
//! known once a packet or two wait behind it, unless a signal is due. A departure time is known if all departures before it are. Such a
//! packet has its place among precomputed departures ([`Precomputed`]) and travels on. The others, the last of the queue, are undecided:
//! they are held here, and examined again at the next arrival. At the start of the transmission of the first of them an event decides, as
//! in a queue that holds all its packets. That event is rare: when it comes, its packet has mostly gone.

use super::buffered::Report;
use super::meter::Meter;
use super::precomputed::{Accepted, Precomputed};
use super::stats::Service;
use super::tie::LastDeparture;
use super::transmitter::Transmitter;
use crate::packet::{InFlight, Packet};
use alloc::collections::VecDeque;
use sojourn_aqm::{AnyAqm, Backlog, DropReason, Fate, Packet as _, PacketView, QueueController};
use sojourn_units::{Duration, Memory, Time, memory_of};

#[derive(Clone, Debug)]
pub(super) struct Ahead<P> {
    /// All waiting packets. Undecided ones have no start of transmission yet.
    pub queue: Precomputed,
    undecided: VecDeque<InFlight<P>>,
    undecided_bytes: u64,
    /// Whether an event of the link is pending.
    has_event: bool,
    decided: u64,
    reports: VecDeque<Report<P>>,
    /// The beginning of the window of statistics, and drops of packets from before it.
    from: Time,
    pub drops_of_earlier: u64,
}

/// A packet with a known departure.
pub(super) struct Decided<P> {
    pub packet: InFlight<P>,
    pub service: Service,
}

/// Whether this algorithm may decide in advance that a packet passes.
/// Such an algorithm decides nothing about arrivals, has no timer, and uses only the packet, its wait and the bytes behind it.
pub(super) fn foresees(aqm: &AnyAqm) -> bool {
    matches!(aqm, AnyAqm::Codel(_))
}

/// Whether a packet that leaves after a wait of `sojourn` certainly passes.
/// `behind` bytes or more wait behind it. If it passes, this call is its departure.
#[inline]
fn passes_ahead(controller: &mut QueueController, departure: &PacketView, sojourn: Duration, behind: u64) -> bool {
    if let AnyAqm::Codel(codel) = &mut controller.aqm { codel.passes_ahead(departure, sojourn, behind) } else { false }
}

impl<P: Packet> Ahead<P> {
    /// An empty queue, measured from `from` on.
    pub fn new(controller: QueueController, from: Time) -> Self {
        Ahead {
            queue: Precomputed::without_departures(controller),
            undecided: VecDeque::new(),
            undecided_bytes: 0,
            has_event: false,
            decided: 0,
            reports: VecDeque::new(),
            from,
            drops_of_earlier: 0,
        }
    }

    /// The number of held packets.
    pub fn undecided(&self) -> usize {
        self.undecided.len()
    }

    /// The next unreported event of a packet.
    #[inline]
    pub fn next_report(&mut self) -> Option<Report<P>> {
        self.reports.pop_front()
    }

    #[inline]
    pub fn has_reports(&self) -> bool {
        !self.reports.is_empty()
    }

    /// Whether every packet that arrived is decided or held.
    pub fn balances(&self) -> bool {
        let counters = &self.queue.controller.counters;
        counters.arrived == self.decided + counters.dropped() + self.undecided.len() as u64
    }

    /// Offers a packet that arrives at `now`; `None` if it must be held.
    ///
    /// # Errors
    /// The reason of a drop.
    #[inline]
    pub fn offer(
        &mut self,
        now: Time,
        packet: &mut P,
        simultaneous: Option<u32>,
        transmitter: &mut Transmitter,
        meter: &mut Meter,
    ) -> Result<Option<Accepted>, DropReason> {
        let size = packet.size();
        let backlog = self.queue.backlog(simultaneous, transmitter.idle_since(now));
        if !self.queue.controller.admits_unasked(size, &backlog) {
            return Err(self.queue.controller.refuse(size));
        }
        let mut marked = false;
        let start = if transmitter.free_at <= now {
            let nothing = Backlog { packets: 0, bytes: 0, idle_since: None };
            match self.queue.controller.decide_departure(&PacketView::of(now, packet), Duration::ZERO, packet.can_mark(), &nothing) {
                Fate::Passed => {}
                Fate::Marked => {
                    packet.mark();
                    marked = true;
                }
                Fate::Dropped(reason) => return Err(reason),
            }
            self.queue.last_departure = LastDeparture { at: now, size: 0 };
            now
        } else {
            let start = transmitter.free_at;
            let passes =
                self.undecided.is_empty() && passes_ahead(&mut self.queue.controller, &PacketView::of(start, packet), start.since(now), 0);
            self.queue.join_at(if passes { start } else { Time::NEVER }, now, size, meter);
            if !passes {
                return Ok(None);
            }
            start
        };
        self.decided += 1;
        let end = transmitter.send_at_rate(start, size);
        Ok(Some(Accepted { service: Service { arrived: now, start, end, size }, marked }))
    }

    /// Holds the packet that was offered last.
    #[inline]
    pub fn hold(&mut self, packet: InFlight<P>) {
        self.undecided_bytes += u64::from(packet.size());
        self.undecided.push_back(packet);
    }

    /// The first held packet, if its time has come at `now` or it certainly passes.
    #[inline]
    pub fn next_decided(&mut self, now: Time, transmitter: &mut Transmitter, meter: &mut Meter) -> Option<Decided<P>> {
        loop {
            let held = self.undecided.len();
            let packet = self.undecided.front_mut()?;
            let (size, start) = (packet.size(), transmitter.free_at);
            let behind = self.undecided_bytes - u64::from(size);
            let place = self.queue.packets() - held;
            let arrived = self.queue.arrived(place);
            let (departure, wait) = (PacketView::of(start, packet), start.since(arrived));
            let controller = &mut self.queue.controller;
            let mut lost = None;
            if start <= now {
                let backlog = Backlog { packets: held as u32 - 1, bytes: behind, idle_since: None };
                match controller.decide_departure(&departure, wait, packet.can_mark(), &backlog) {
                    Fate::Passed => {}
                    Fate::Marked => {
                        packet.mark();
                        self.reports.push_back(Report::Marked(departure.flow));
                    }
                    Fate::Dropped(reason) => lost = Some(reason),
                }
            } else if !passes_ahead(controller, &departure, wait, behind) {
                return None;
            }
            let packet = self.undecided.pop_front()?;
            self.undecided_bytes = behind;
            if let Some(reason) = lost {
                self.queue.remove(place, now, meter);
                self.drops_of_earlier += u64::from(arrived < self.from);
                self.reports.push_back(Report::Dropped(packet.packet, reason));
                continue;
            }
            self.queue.starts(place, start);
            self.decided += 1;
            let end = transmitter.send_at_rate(start, size);
            return Some(Decided { packet, service: Service { arrived, start, end, size } });
        }
    }

    /// The time of an event to plan, if the first held packet needs one and none is pending.
    #[inline]
    pub fn plan_event(&mut self, transmitter: &Transmitter) -> Option<Time> {
        if self.has_event || self.undecided.is_empty() {
            return None;
        }
        self.has_event = true;
        Some(transmitter.free_at)
    }

    /// Handles the event.
    pub fn event_comes(&mut self) {
        self.has_event = false;
    }

    /// Checks the invariants, in debug builds.
    /// Its counts are those of its waiting packets and of the packets that it holds.
    pub fn check_invariants(&self) {
        self.queue.check_invariants(self.undecided.len());
        let bytes = || self.undecided.iter().map(|packet| u64::from(packet.size())).sum::<u64>();
        debug_assert_eq!(self.undecided_bytes, bytes(), "bytes that are held");
    }
}

impl<P> Memory for Ahead<P> {
    fn memory(&self) -> usize {
        memory_of([&self.queue, &self.undecided])
    }
}
