//! The world's side of foreign flows: events for the caller, and the caller's packets.

use super::World;
use crate::flow::{Endpoint, Flow};
use crate::foreign::{ForeignAction, ForeignEvent, ForeignPacket};
use crate::observer::Observer;
use crate::packet::Packet;
use sojourn_traffic::{Action, Write};
use sojourn_units::{Duration, Time};

impl<O: Observer> World<O> {
    /// Runs until an event of a foreign flow, and returns it.
    /// `None` if all events that are due by `until` are done, or the world has [`World::stalled`].
    ///
    /// The caller sends the packets that follow from an event before it takes the next one.
    pub fn next_foreign(&mut self, until: Time) -> Option<ForeignEvent> {
        loop {
            if let Some(event) = self.accounts.foreign.as_mut()?.events.pop_front() {
                return Some(event);
            }
            if !self.run_one(until) {
                return None;
            }
        }
    }

    /// Runs at most one event up to `until`; returns whether more may be due by then.
    fn run_one(&mut self, until: Time) -> bool {
        let mut arrived = Packet::EMPTY;
        self.stalled.is_none() && (self.step(until, &mut arrived).is_some() || (self.network.paused() && !self.stalls()))
    }

    /// Sends a packet of a foreign flow.
    /// `now` is not before any event that was returned.
    ///
    /// # Panics
    /// If the flow is not foreign, or the packet has no bytes.
    pub fn send_foreign(&mut self, now: Time, packet: &ForeignPacket) {
        assert!(self.is_foreign(packet.flow), "flow {} is not foreign", packet.flow);
        assert!(packet.size > 0, "a packet has at least one byte");
        self.count_datagram(now, packet);
        self.send(now, packet.packet(now));
    }

    /// The receiving application of a foreign flow can read `bytes` more.
    pub fn deliver_foreign(&mut self, now: Time, flow: u32, bytes: u64) {
        let packet = Packet { flow, ..Packet::EMPTY };
        self.accounts.observer.on_deliver(now, &packet, bytes);
        let flow = &mut self.flows[flow as usize];
        if !flow.in_window && now >= self.warmup {
            flow.open_window();
        }
        flow.totals.delivered += bytes;
    }

    /// The sending endpoint of a foreign flow has an RTT sample.
    pub fn sample_foreign_rtt(&mut self, now: Time, flow: u32, rtt: Duration) {
        let Flow { endpoint: Endpoint::Udp(datagrams), group, .. } = &mut self.flows[flow as usize] else { return };
        if now >= self.warmup {
            datagrams.echo.get_or_insert_default().add(rtt.as_secs_f64());
            self.rtts[*group as usize].add(rtt.as_nanos());
        }
        self.accounts.observer.on_rtt(now, flow, rtt.as_nanos());
    }

    /// The finite transfer of a foreign flow is complete: all of it is acknowledged.
    pub fn complete_foreign(&mut self, now: Time, flow: u32) {
        self.complete(now, flow);
    }

    /// Whether the caller supplies the endpoints of this flow.
    pub fn is_foreign(&self, flow: u32) -> bool {
        self.accounts.foreign.as_ref().is_some_and(|outbox| outbox.has_flow(flow))
    }

    /// Reports what a foreign flow's application does.
    pub(crate) fn foreign_writes(&mut self, at: Time, flow: u32, action: Option<Action>) {
        let action = match action {
            Some(Action::Write(Write { bytes, last, .. })) => ForeignAction::Write { bytes, last },
            Some(Action::Stop) => ForeignAction::Stop,
            None => return,
        };
        if let Some(outbox) = &mut self.accounts.foreign {
            outbox.push(at, flow, action);
        }
    }

    /// Counts a packet of a foreign flow's sending host.
    fn count_datagram(&mut self, now: Time, packet: &ForeignPacket) {
        if let Endpoint::Udp(datagrams) = &mut self.flows[packet.flow as usize].endpoint
            && !packet.back
        {
            datagrams.sent += u64::from(packet.size);
            datagrams.counted += u64::from(now >= self.warmup);
        }
    }
}
