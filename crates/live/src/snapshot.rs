//! The state of a run for a picture in a terminal.

use crate::counts::Counts;
use sojourn_linux::Packet;
use sojourn_net::Link;
use sojourn_units::{Duration, Time};

/// A link with its counters since the start.
#[derive(Clone, PartialEq, Debug)]
pub struct LinkState {
    /// Its name.
    pub name: String,
    /// Its rate now in bit/s.
    pub rate_bps: f64,
    /// Bytes that have left its queue.
    pub bytes: u64,
    /// Packets dropped by its queue.
    pub dropped: u64,
    /// Packets marked by its queue.
    pub marked: u64,
    /// Packets that wait now.
    pub queue: u32,
    /// The wait of a packet that arrives now.
    pub delay: Duration,
}

impl LinkState {
    /// The state of a link at `now`.
    pub(crate) fn of(link: &mut Link<Packet>, now: Time) -> LinkState {
        let (queue, counters) = (link.queue_at(now), link.counters());
        LinkState {
            name: link.name().into(),
            rate_bps: link.rate().map_or(0.0, |rate| rate.as_bps() as f64),
            bytes: counters.arrived_bytes.saturating_sub(counters.dropped_bytes + queue.bytes),
            dropped: counters.dropped(),
            marked: counters.marked,
            queue: queue.packets,
            delay: queue.delay,
        }
    }
}

/// A group of flows with its counters since the start.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct GroupState {
    /// Its name.
    pub name: String,
    /// Bytes that arrived in the direction of data.
    pub bytes: u64,
    /// Payload that the applications can read.
    pub goodput_bytes: u64,
    /// Packets dropped, in both directions.
    pub dropped: u64,
    /// Packets that arrived with a mark, in both directions.
    pub marked: u64,
    rtt: Duration,
    rtts: u32,
}

impl GroupState {
    /// A group at the start.
    pub(crate) fn new(name: &str) -> Self {
        GroupState { name: name.into(), ..GroupState::default() }
    }

    /// The mean of the latest round-trip times; `None` without any.
    pub fn rtt(&self) -> Option<Duration> {
        (self.rtts > 0).then(|| Duration::from_nanos(self.rtt.as_nanos() / u64::from(self.rtts)))
    }

    pub(crate) fn add_rtt(&mut self, rtt: Duration) {
        self.rtt = self.rtt + rtt;
        self.rtts += 1;
    }

    pub(crate) fn forget_rtts(&mut self) {
        (self.rtt, self.rtts) = (Duration::ZERO, 0);
    }
}

/// All links with a rate, and all groups.
#[derive(Clone, PartialEq, Debug)]
pub struct Snapshot {
    /// The time.
    pub at: Time,
    /// The links.
    pub links: Vec<LinkState>,
    /// The groups.
    pub groups: Vec<GroupState>,
    /// Packets that did not enter the network.
    pub counts: Counts,
}
