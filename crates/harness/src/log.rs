//! The result of a run: its record, its packets and its windows.

use crate::endpoint::{Ecn, State};
use sojourn_lab::Series;
use sojourn_scenario::record::Record;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// What happened to a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacketKind {
    /// An endpoint sent it.
    Sent,
    /// It reached the other end.
    Arrived,
    /// A link or the script dropped it.
    Dropped,
}

/// An event of a packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PacketEvent {
    /// Its time.
    pub at: Duration,
    /// The flow, such as `web/0`.
    pub flow: Arc<str>,
    /// Whether it travels to the sender of the data.
    pub back: bool,
    /// The number of the packet in the run, from 1.
    pub number: u64,
    /// Its size on the wire in bytes.
    pub size: u16,
    /// Its ECN field.
    pub ecn: Ecn,
    /// What happened.
    pub kind: PacketKind,
}

impl PacketEvent {
    /// Whether it carries a congestion mark.
    pub fn is_marked(&self) -> bool {
        self.ecn == Ecn::Ce
    }
}

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Run {
    /// The record, as of any run of the simulator.
    pub record: Record,
    /// The series that the scenario traces.
    pub series: Series,
    /// What happened to foreign flows.
    pub log: Log,
}

/// The values of a variable by flow, each with the time of its change.
pub type Changes = BTreeMap<String, Vec<(Duration, u64)>>;

/// What happened to foreign flows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Log {
    /// The packets of foreign flows, in the order in which the harness learned of them.
    pub packets: Vec<PacketEvent>,
    /// Bytes of headers in each data packet of a flow.
    /// They are the [headers](crate::Endpoint::headers) of its sender.
    pub headers: BTreeMap<String, usize>,
    /// The congestion windows of foreign flows in bytes, at each change.
    pub windows: Changes,
    /// The pacing rates of foreign flows in bit/s, at each change.
    pub pacing_rates: Changes,
    /// The bandwidths in bit/s that foreign flows estimate, at each change.
    pub bandwidths: Changes,
    /// Packets that the senders of foreign flows have declared lost, at each change.
    /// They count from the start.
    pub losses: Changes,
    /// Congestion events of foreign flows since the start, at each change.
    pub congestion_events: Changes,
}

impl Log {
    /// Whether the endpoints sent the same packets before a time.
    pub(crate) fn is_equal_until(&self, other: &Log, until: Duration) -> bool {
        let sent = |packet: &&PacketEvent| packet.kind == PacketKind::Sent && packet.at < until;
        self.packets.iter().filter(sent).eq(other.packets.iter().filter(sent))
    }

    /// Records what a flow's endpoints report at `at`.
    pub(crate) fn add(&mut self, flow: &str, at: Duration, news: &State) {
        let changes = [&mut self.windows, &mut self.pacing_rates, &mut self.bandwidths, &mut self.losses, &mut self.congestion_events];
        let values = [news.window, news.pacing_rate, news.bandwidth, news.lost, news.congestion_events];
        for (changes, value) in changes.into_iter().zip(values) {
            let Some(value) = value else { continue };
            match changes.get_mut(flow) {
                Some(changes) => changes.push((at, value)),
                None => drop(changes.insert(flow.into(), vec![(at, value)])),
            }
        }
    }
}
