//! The short way of a packet over a link on which nothing is decided but whether there is room.

use super::meter::Service;
use super::precomputed::Accepted;
use super::queue::Queue;
use super::{Link, Offer};
use crate::packet::Packet;
use sojourn_units::{Duration, Time};

impl<P: Packet> Link<P> {
    /// When its transmitter is free: what is sent later leaves later.
    #[inline(always)]
    pub(crate) fn free_at(&self) -> Time {
        self.transmitter.free_at
    }

    /// Its propagation delay now.
    pub(crate) fn delay(&self) -> Duration {
        self.transmitter.delay
    }

    /// Whether packets may pass it ahead of the network's time, as far as they come in order, and none comes out at the nanosecond at which
    /// it went in. No packet has less than `least` bytes.
    pub(crate) fn takes_early(&self, least: u32) -> bool {
        !self.needs_order() && self.transmitter.takes_time(least)
    }

    /// Whether it is known when packets come out as they arrive, in order, and that none does in the nanosecond at which it went in.
    /// No packet has less than `least` bytes.
    pub(crate) fn foresees_arrivals(&self, least: u32) -> bool {
        !self.is_buffered() && !self.is_pure_delay() && self.transmitter.takes_time(least)
    }

    /// Lets a packet pass that arrives at `now`, not earlier than the one before, if nothing has to be decided: when it arrives at the
    /// other end. If not, nothing has happened, and it must be offered.
    #[inline(always)]
    pub(crate) fn pass(&mut self, now: Time, packet: &P) -> Option<Time> {
        if !self.passes {
            return None;
        }
        if self.transmitter.free_at > now || self.due <= now {
            return self.pass_queue(now, packet.size(), packet.flow());
        }
        let size = packet.size();
        let end = self.transmitter.send_at_rate(now, size);
        self.passed.add(size);
        if self.measured {
            self.meter.account_unqueued(now, size, packet.flow(), &self.transmitter);
        }
        Some(end + self.transmitter.delay)
    }

    /// The same where the link is busy or has something to catch up with: a packet that finds room, also if a packet that leaves at the same time
    /// still counts.
    #[inline(never)]
    fn pass_queue(&mut self, now: Time, size: u32, flow: u32) -> Option<Time> {
        self.advance(now);
        let Queue::Precomputed(queue) = &mut self.queue else { unreachable!("a drop-tail queue is precomputed") };
        let leaving = queue.last_departure.ties_with(now).then_some(queue.last_departure.size);
        if !queue.has_room(now, size, leaving, &self.transmitter) {
            return None;
        }
        self.passed.add(size);
        let service = queue.enqueue(now, size, &mut self.transmitter, &mut self.meter);
        Some(self.serve(&service, flow))
    }

    /// A packet of `flow` will be sent: when it arrives at the other end. Nothing is decided about it.
    #[inline(always)]
    pub(super) fn serve(&mut self, service: &Service, flow: u32) -> Time {
        self.account(service, flow);
        service.end + self.transmitter.delay
    }

    /// A packet will be sent of which it is known when.
    #[inline(always)]
    pub(super) fn accept(&mut self, &Accepted { service, marked }: &Accepted, packet: &P) -> Offer {
        let arrival = self.plan(&service, packet.flow());
        if marked { Offer::ArrivesMarked(arrival) } else { Offer::Arrives(arrival) }
    }

    /// A packet of `flow` will be sent: when it arrives at the other end.
    #[inline(always)]
    pub(super) fn plan(&mut self, service: &Service, flow: u32) -> Time {
        self.account(service, flow);
        self.transmitter.arrival(service.end)
    }

    /// Counts a packet of `flow` that will be sent, and is to be brought up to date when its transmission starts.
    #[inline(always)]
    fn account(&mut self, service: &Service, flow: u32) {
        if service.start > service.arrived {
            self.due = self.due.min(service.start);
        }
        if self.measured {
            self.meter.account(service, flow, &self.transmitter);
        }
    }
}
