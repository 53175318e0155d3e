//! The router before a link, which reads headers for the needs of the link's queue.

use crate::packet::{Direction, Headers, Packet};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use sojourn_aqm::{FlowHashes, FlowSketch, Header, Needs, RttEstimator};
use sojourn_units::{Duration, Memory, Time, memory_of};

/// The interval over which flows are counted for the queue.
const WINDOW: Duration = Duration::from_secs(1);
/// Bits of the sketch that counts flows: 512 bytes, which count 1,000 flows to within 1 %.
const BITS: u32 = 4096;
/// The number of flows whose round-trip times are stored.
const FLOWS: u32 = 4096;

/// The state of a router about the flows that it sends over a link.
#[derive(Clone, Debug)]
pub(crate) struct Router {
    rtts: Option<RttEstimator>,
    flows: Option<FlowSketch>,
    hashes: FlowHashes,
    /// Unread ACKs that come back, in the order of time.
    noted: VecDeque<Header>,
    /// The end of the present count of flows.
    pub due: Time,
}

impl Router {
    /// A router for the needs of a queue; `None` if the queue needs nothing of it.
    pub fn new(needs: &Needs) -> Option<Box<Router>> {
        let due = if needs.flow_count { Time::ZERO + WINDOW } else { Time::NEVER };
        let rtts = needs.rtt_hints.then(|| RttEstimator::new(FLOWS));
        let flows = needs.flow_count.then(|| FlowSketch::new(BITS));
        (rtts.is_some() || flows.is_some())
            .then(|| Box::new(Router { rtts, flows, hashes: FlowHashes::default(), noted: VecDeque::new(), due }))
    }

    /// Sets the hash of a flow.
    /// Connections of a flow without a hash are distinguished by their headers.
    pub fn set_hash(&mut self, flow: u32, hash: u64) {
        self.hashes.set(flow, hash);
    }

    /// The headers of a packet, if they can be read.
    #[inline]
    fn headers(&self, packet: &impl Packet) -> Option<Headers> {
        let headers = packet.headers()?;
        Some(Headers { connection: self.hashes.get(packet.flow()).unwrap_or(headers.connection), ..headers })
    }

    /// A packet will be sent over the link, in `ahead` from now.
    /// A data packet gets the router's estimate of the round-trip time instead of its sender's.
    #[inline]
    pub fn forward(&mut self, now: Time, ahead: Duration, packet: &mut impl Packet) {
        let Some(headers) = self.headers(packet).filter(|headers| headers.direction == Direction::ToReceiver) else { return };
        self.read_noted(now);
        let rtt = self.rtts.as_mut().map(|rtts| rtts.from_sender(&header(now, &headers), headers.syn, ahead));
        if !packet.has_data() {
            return;
        }
        if let Some(rtt) = rtt {
            packet.set_rtt_hint_ms(rtt);
        }
        if let Some(flows) = &mut self.flows {
            flows.record(headers.connection);
        }
    }

    /// A packet comes back at `time` over the link that the router reads, in order.
    /// An ACK of a receiver is read when the router sends next, which is not before `now`.
    #[inline]
    pub fn note_ack(&mut self, now: Time, time: Time, packet: &impl Packet) {
        if self.rtts.is_some()
            && let Some(headers) = self.headers(packet).filter(|headers| headers.direction == Direction::ToSender)
        {
            if self.noted.len() == self.noted.capacity() {
                // If the router sends little, the list of noted ACKs must not grow without bound.
                self.read_noted(now);
            }
            self.noted.push_back(header(time, &headers));
        }
    }

    /// Reads the noted ACKs that have come back by `now`.
    #[inline]
    fn read_noted(&mut self, now: Time) {
        let Some(rtts) = &mut self.rtts else { return };
        while let Some(ack) = self.noted.front().filter(|ack| ack.now <= now) {
            rtts.from_receiver(ack);
            self.noted.pop_front();
        }
    }

    /// Ends the count of flows at `due`; returns their number.
    pub fn count(&mut self) -> u32 {
        self.due += WINDOW;
        self.flows.as_mut().map_or(0, |flows| {
            let count = flows.count();
            flows.empty();
            count
        })
    }
}

impl Memory for Router {
    fn memory(&self) -> usize {
        memory_of([&self.hashes, &self.noted, &self.rtts, &self.flows])
    }
}

#[inline]
fn header(now: Time, headers: &Headers) -> Header {
    Header { now, flow: headers.connection, timestamps: headers.timestamps }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_aqm::Timestamps;

    /// An ACK of the only flow.
    #[derive(Clone, Debug, Default)]
    struct Ack;

    impl sojourn_aqm::Packet for Ack {
        fn size(&self) -> u32 {
            40
        }
        fn flow(&self) -> u32 {
            0
        }
        fn can_mark(&self) -> bool {
            false
        }
        fn mark(&mut self) {}
    }

    impl Packet for Ack {
        fn headers(&self) -> Option<Headers> {
            let timestamps = Some(Timestamps { value: 1, echo: 1 });
            Some(Headers { connection: 0, direction: Direction::ToSender, syn: false, timestamps })
        }
    }

    #[test]
    fn acks_that_come_while_nothing_is_sent_do_not_become_many() {
        let mut router = Router::new(&Needs { rtt_hints: true, ..Needs::default() }).unwrap();
        let us = |us: u64| Time::from_nanos(1_000 * us);
        let before = router.memory();
        // A hundred ACKs are in transit at any time.
        (0..100_000).for_each(|at| router.note_ack(us(at), us(at + 100), &Ack));
        assert!(router.memory() - before <= 256 * size_of::<Header>(), "{} B", router.memory() - before);
    }
}
