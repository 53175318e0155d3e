//! What a router finds out from headers, for the queue of one of its links.

use crate::packet::{Packet, flag};
use sojourn_aqm::{FlowSketch, Header, Needs, RttEstimator};
use sojourn_units::{Duration, Time};

/// Flows are counted over so long.
const WINDOW: Duration = Duration::from_secs(1);
/// Bits of the map that counts them: 512 bytes, which tell 1,000 flows to 1 %.
const BITS: u32 = 4096;
/// Flows whose round-trip times are kept.
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
    /// What finds out as much as a queue needs; `None` if that is nothing.
    pub fn new(needs: &Needs) -> Option<Box<Router>> {
        let due = if needs.flow_count { Time::ZERO + WINDOW } else { Time::NEVER };
        let rtts = needs.rtt_hints.then(|| RttEstimator::new(FLOWS));
        let flows = needs.flow_count.then(|| FlowSketch::new(BITS));
        (rtts.is_some() || flows.is_some()).then(|| Box::new(Router { rtts, flows, due }))
    }

    /// A packet is about to go over the link, `ahead` from now. Data gets the router's estimate in place of what the sender says.
    #[inline]
    pub fn forward(&mut self, now: Time, ahead: Duration, packet: &mut Packet) {
        if packet.has(flag::BACK) {
            return;
        }
        // Data carries an echo exactly where the connection has time stamps, once it is open.
        let stamps = (packet.peer > Time::ZERO).then(|| (packet.stamp.as_nanos(), packet.peer.as_nanos()));
        let rtt = self.rtts.as_mut().map(|rtts| rtts.from_sender(&Header { ahead, ..header(now, packet, stamps) }));
        if packet.has(flag::ACK) {
            return;
        }
        if let Some(rtt) = rtt {
            packet.extra = u32::from(rtt);
        }
        if let Some(flows) = &mut self.flows {
            flows.see(key(packet));
        }
    }

    /// A packet has come back over the other link.
    #[inline]
    pub fn back(&mut self, now: Time, packet: &Packet) {
        if let Some(rtts) = self.rtts.as_mut().filter(|_| packet.has(flag::BACK)) {
            rtts.from_receiver(&header(now, packet, Some((packet.peer.as_nanos(), packet.stamp.as_nanos()))));
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

/// A slot that is used again has other ports.
#[inline]
fn key(packet: &Packet) -> u64 {
    u64::from(packet.flow) | u64::from(packet.incarnation) << 32
}

#[inline]
fn header(now: Time, packet: &Packet, stamps: Option<(u64, u64)>) -> Header {
    Header { now, ahead: Duration::ZERO, flow: key(packet), syn: packet.has(flag::SYN), stamps }
}
