//! A packet is offered to a link.

use super::queue::Queue;
use super::{Link, Offer};
use crate::packet::{InFlight, Packet};
use sojourn_aqm::DropReason;
use sojourn_units::{Duration, Time};

impl<P: Packet> Link<P> {
    /// Offers a packet that stands at `hop` at `now`, not earlier than the one before; marks it if the discipline says so.
    #[inline]
    pub(crate) fn offer(&mut self, now: Time, hop: u32, packet: &mut P) -> Offer {
        if self.transmitter.serializer.is_none() {
            if now >= self.meter.window.from {
                self.passed.add(packet.size());
            }
            return Offer::Arrives(now + self.transmitter.delay);
        }
        self.offer_to_queue(now, hop, packet, None)
    }

    /// Offers a packet again after [`Offer::NeedsTieBreak`], now with its transit time over the link before.
    #[cold]
    pub(crate) fn offer_with_transit_time(&mut self, now: Time, hop: u32, packet: &mut P, transit_time: Duration) -> Offer {
        self.offer_to_queue(now, hop, packet, Some(transit_time))
    }

    #[inline(always)]
    fn offer_to_queue(&mut self, now: Time, hop: u32, packet: &mut P, transit_time: Option<Duration>) -> Offer {
        match &self.queue {
            _ if self.undecided => self.find_room(now, packet, transit_time),
            Queue::Buffered(_) => self.buffer(now, hop, packet, transit_time),
            Queue::Precomputed(_) | Queue::Ahead(_) => self.decide(now, hop, packet, transit_time),
        }
    }

    /// Offers a packet where nothing is decided but whether there is room.
    #[inline(never)]
    fn find_room(&mut self, now: Time, packet: &P, transit_time: Option<Duration>) -> Offer {
        let size = packet.size();
        self.advance(now);
        let Queue::Precomputed(queue) = &mut self.queue else { unreachable!("a drop-tail queue is precomputed") };
        let simultaneous = match transit_time {
            // Without room where the leaving packet does not count there is none where it does.
            None if queue.last_departure.ties_with(now) && queue.has_room(now, size, None, &self.transmitter) => {
                return Offer::NeedsTieBreak;
            }
            None => None,
            Some(transit_time) => self.transmitter.still_counted(&queue.last_departure, transit_time, size),
        };
        if !queue.admit(now, size, simultaneous, &self.transmitter) {
            return Offer::Dropped(DropReason::Tail);
        }
        let service = queue.enqueue(now, size, &mut self.transmitter, &mut self.meter);
        Offer::Arrives(self.serve(&service, packet.flow()))
    }

    /// Offers a packet to a link that knows most departures as packets arrive, and whose discipline decides.
    #[inline(never)]
    fn decide(&mut self, now: Time, hop: u32, packet: &mut P, transit_time: Option<Duration>) -> Offer {
        let Some(simultaneous) = self.prepare(now, packet, transit_time) else { return Offer::NeedsTieBreak };
        let (transmitter, meter) = (&mut self.transmitter, &mut self.meter);
        match &mut self.queue {
            Queue::Precomputed(queue) => match queue.offer(now, packet, simultaneous, transmitter, meter) {
                Ok(accepted) => self.accept(&accepted, packet),
                Err(reason) => Offer::Dropped(reason),
            },
            Queue::Ahead(queue) => match queue.offer(now, packet, simultaneous, transmitter, meter) {
                Ok(Some(accepted)) => self.accept(&accepted, packet),
                Ok(None) => {
                    queue.hold(InFlight { packet: packet.take(), hop, next: 0 });
                    Offer::Undecided
                }
                Err(reason) => Offer::Dropped(reason),
            },
            Queue::Buffered(_) => unreachable!("a buffered packet waits for its departure"),
        }
    }

    /// Offers a packet to a link that holds its packets.
    #[inline(never)]
    fn buffer(&mut self, now: Time, hop: u32, packet: &mut P, transit_time: Option<Duration>) -> Offer {
        let Some(simultaneous) = self.prepare(now, packet, transit_time) else { return Offer::NeedsTieBreak };
        let Queue::Buffered(queue) = &mut self.queue else { unreachable!("the queue is a buffered one") };
        let held = InFlight { packet: packet.take(), hop, next: 0 };
        match queue.offer(now, held, simultaneous, &mut self.transmitter, &mut self.meter) {
            None if self.takes_turns => Offer::Contends,
            None => Offer::Buffered,
            Some(end) => Offer::Transmitting(end),
        }
    }

    /// Brings the link up to an arrival. Gives the size of a packet that leaves at the same time and still counts as waiting, if there is
    /// one; `None` if that depends on a transit time that is not known.
    #[inline(always)]
    fn prepare(&mut self, now: Time, packet: &mut P, transit_time: Option<Duration>) -> Option<Option<u32>> {
        debug_assert!(now >= self.last_offer, "link {}: offered at {now:?}, after {:?}", self.name, self.last_offer);
        self.last_offer = now;
        self.advance(now);
        let last_departure = self.queue.last_departure();
        if transit_time.is_none()
            && last_departure.ties_with(now)
            && self.queue.depends_on_tie(now, last_departure.size, packet.size(), &self.transmitter)
        {
            return None;
        }
        if self.updates.router.is_some() {
            self.read_headers(now, packet);
        }
        Some(match transit_time {
            Some(transit_time) => self.transmitter.still_counted(&last_departure, transit_time, packet.size()),
            None => None,
        })
    }
}
