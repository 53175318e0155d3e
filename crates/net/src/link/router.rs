//! The router before a link, which reads headers to find out what the link's queue asks for.

use crate::packet::{Direction, Headers, Packet};
use alloc::boxed::Box;
use sojourn_aqm::{FlowSketch, Header, Needs, RttEstimator};
use sojourn_units::{Duration, Time};

/// How long flows are counted before the queue gets their number.
const WINDOW: Duration = Duration::from_secs(1);
/// Bits of the sketch that counts flows: 512 bytes, which count 1,000 flows to within 1 %.
const BITS: u32 = 4096;
/// Flows whose round-trip times are remembered.
const FLOWS: u32 = 4096;

/// What a router knows of the flows that it sends over a link.
#[derive(Clone, Debug)]
pub(crate) struct Router {
    rtts: Option<RttEstimator>,
    flows: Option<FlowSketch>,
    /// When the present count of flows ends.
    pub due: Time,
}

impl Router {
    /// A router that finds out what a queue needs; `None` if that is nothing.
    pub fn new(needs: &Needs) -> Option<Box<Router>> {
        let due = if needs.flow_count { Time::ZERO + WINDOW } else { Time::NEVER };
        let rtts = needs.rtt_hints.then(|| RttEstimator::new(FLOWS));
        let flows = needs.flow_count.then(|| FlowSketch::new(BITS));
        (rtts.is_some() || flows.is_some()).then(|| Box::new(Router { rtts, flows, due }))
    }

    /// A packet is about to be sent over the link, in `ahead` from now. A data packet gets the router's estimate of the
    /// round-trip time in place of what its sender says.
    #[inline]
    pub fn forward(&mut self, now: Time, ahead: Duration, packet: &mut impl Packet) {
        let Some(headers) = packet.headers().filter(|headers| headers.direction == Direction::ToReceiver) else { return };
        let rtt = self.rtts.as_mut().map(|rtts| rtts.from_sender(&Header { ahead, ..header(now, &headers) }));
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

    /// A packet has come back over the link that the router listens to: an ACK, if it is one of a receiver.
    #[inline]
    pub fn observe_ack(&mut self, now: Time, packet: &impl Packet) {
        if let Some(rtts) = &mut self.rtts
            && let Some(headers) = packet.headers().filter(|headers| headers.direction == Direction::ToSender)
        {
            rtts.from_receiver(&header(now, &headers));
        }
    }

    /// The count of flows ends at `due`: how many there were.
    pub fn count(&mut self) -> u32 {
        self.due += WINDOW;
        self.flows.as_mut().map_or(0, |flows| {
            let count = flows.count();
            flows.empty();
            count
        })
    }

    pub fn memory(&self) -> usize {
        let rtts = self.rtts.as_ref().map_or(0, RttEstimator::memory);
        size_of::<Router>() + rtts + self.flows.as_ref().map_or(0, FlowSketch::memory)
    }
}

#[inline]
fn header(now: Time, headers: &Headers) -> Header {
    Header { now, ahead: Duration::ZERO, flow: headers.connection, syn: headers.syn, timestamps: headers.timestamps }
}
