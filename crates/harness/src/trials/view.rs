//! Facts about a flow that the trials share, derived from packets and windows.

use crate::endpoint::{Ecn, HEADERS};
use crate::log::{Log, PacketKind};
use std::collections::BTreeMap;
use std::time::Duration;

/// A data packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Data {
    pub sent: Duration,
    /// When it reached the receiver.
    pub arrived: Option<Duration>,
    /// When a link or the script dropped it.
    pub dropped: Option<Duration>,
    /// The earliest time at which it can be acknowledged.
    /// Then the first packet that the receiver sent after its arrival reached the sender.
    pub acked: Option<Duration>,
    /// Its payload in bytes.
    pub size: u64,
    pub marked: bool,
    /// The ECN field with which it was sent.
    pub ecn: Ecn,
}

impl Data {
    /// Whether it tells the sender of congestion.
    pub fn is_signal(&self) -> bool {
        self.marked || self.dropped.is_some()
    }
}

/// A decrease of the window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fall {
    pub at: Duration,
    pub before: u64,
    pub after: u64,
    /// Whether the sender counts a congestion event at this time.
    /// For senders that count none: whether a packet was dropped or marked since the last fall.
    pub congestion: bool,
}

/// A flow of a log.
pub(super) struct View<'a> {
    pub windows: &'a [(Duration, u64)],
    pub pacing_rates: &'a [(Duration, u64)],
    pub bandwidths: &'a [(Duration, u64)],
    pub data: Vec<Data>,
    congestion: Option<&'a [(Duration, u64)]>,
    /// Bytes of headers in a data packet.
    pub headers: u64,
    /// The largest payload in bytes.
    pub mss: u64,
    /// The time of the last event.
    pub end: Duration,
}

impl<'a> View<'a> {
    pub fn new(log: &'a Log, flow: &str) -> Self {
        let headers = log.headers.get(flow).copied().unwrap_or(HEADERS) as u64;
        let mut data = BTreeMap::new();
        let mut acks = BTreeMap::new();
        for packet in log.packets.iter().filter(|packet| &*packet.flow == flow) {
            let size = u64::from(packet.size).saturating_sub(headers);
            match (packet.back, packet.kind) {
                (false, PacketKind::Sent) => {
                    let sent = Data { sent: packet.at, arrived: None, dropped: None, acked: None, size, marked: false, ecn: packet.ecn };
                    data.insert(packet.number, sent);
                }
                (false, kind) => {
                    let Some(data) = data.get_mut(&packet.number) else { continue };
                    match kind {
                        PacketKind::Arrived => (data.arrived, data.marked) = (data.arrived.or(Some(packet.at)), packet.is_marked()),
                        _ => data.dropped = Some(packet.at),
                    }
                }
                (true, PacketKind::Sent) => drop(acks.insert(packet.number, (packet.at, Duration::MAX))),
                (true, PacketKind::Arrived) => {
                    if let Some(ack) = acks.get_mut(&packet.number) {
                        ack.1 = packet.at;
                    }
                }
                (true, PacketKind::Dropped) => {}
            }
        }
        let mut data: Vec<Data> = data.into_values().collect();
        acknowledge(&mut data, &acks.into_values().collect::<Vec<_>>());
        let windows = log.windows.get(flow).map_or(&[][..], Vec::as_slice);
        let pacing_rates = log.pacing_rates.get(flow).map_or(&[][..], Vec::as_slice);
        let bandwidths = log.bandwidths.get(flow).map_or(&[][..], Vec::as_slice);
        let congestion = log.congestion_events.get(flow).map(Vec::as_slice);
        let mss = data.iter().map(|data| data.size).max().unwrap_or(0);
        let end = log.packets.last().map_or(Duration::ZERO, |packet| packet.at);
        View { windows, pacing_rates, bandwidths, data, congestion, headers, mss, end }
    }

    /// The window at a time, after all changes at that time; 0 before the first.
    pub fn window_at(&self, at: Duration) -> u64 {
        value_at(self.windows, at)
    }

    /// The pacing rate in bit/s at a time; 0 before the first.
    pub fn pacing_rate_at(&self, at: Duration) -> u64 {
        value_at(self.pacing_rates, at)
    }

    /// The estimated bandwidth in bit/s at a time; 0 before the first.
    pub fn bandwidth_at(&self, at: Duration) -> u64 {
        value_at(self.bandwidths, at)
    }

    /// Bytes of data on the wire that arrived from one time to another.
    pub fn arrived_between(&self, from: Duration, until: Duration) -> u64 {
        let arrived = self.data.iter().filter(|data| data.arrived.is_some_and(|at| (from..until).contains(&at)));
        arrived.map(|data| data.size + self.headers).sum()
    }

    /// Bytes of data that were sent and neither acknowledged nor dropped.
    pub fn in_flight(&self, at: Duration) -> u64 {
        let flying = |data: &&Data| data.sent <= at && data.acked.or(data.dropped).is_none_or(|end| end > at);
        self.data.iter().filter(flying).map(|data| data.size).sum()
    }

    /// The round trip of the first packet from a time on that is acknowledged.
    pub fn rtt_at(&self, at: Duration) -> Duration {
        let acked = self.data.iter().filter(|data| data.sent >= at).find_map(|data| Some(data.acked? - data.sent));
        acked.unwrap_or_else(|| self.rtt())
    }

    /// The rounds from one time to another: each lasts until a packet sent in it is acknowledged.
    pub fn rounds(&self, from: Duration, until: Duration) -> usize {
        let (mut at, mut rounds) = (from, 0);
        while at < until {
            let first = self.data.iter().filter(|data| data.sent >= at).find_map(|data| data.acked);
            let Some(acked) = first.filter(|acked| *acked > at) else { break };
            (at, rounds) = (acked, rounds + 1);
        }
        rounds
    }

    /// The decreases of the window.
    pub fn falls(&self) -> Vec<Fall> {
        let mut falls: Vec<Fall> = Vec::new();
        for pair in self.windows.windows(2) {
            let ((_, before), (at, after)) = (pair[0], pair[1]);
            if after < before {
                let last = falls.last().map_or(Duration::ZERO, |fall| fall.at);
                let congestion = match self.congestion {
                    Some(events) => events.iter().any(|event| event.0 == at && event.1 > 0),
                    None => self.signals().any(|data| (last..=at).contains(&data.sent)),
                };
                falls.push(Fall { at, before, after, congestion });
            }
        }
        falls
    }

    /// The dropped and the marked packets.
    pub fn signals(&self) -> impl Iterator<Item = &Data> {
        self.data.iter().filter(|data| data.is_signal())
    }

    /// The smallest time from sending a packet to its acknowledgment.
    pub fn rtt(&self) -> Duration {
        self.data.iter().filter_map(|data| Some(data.acked? - data.sent)).min().unwrap_or(Duration::ZERO)
    }

    /// The window in packets.
    pub fn packets(&self, window: u64) -> f64 {
        window as f64 / self.mss.max(1) as f64
    }

    /// Bytes that were sent from one time to another.
    pub fn sent_between(&self, from: Duration, until: Duration) -> u64 {
        self.data.iter().filter(|data| (from..until).contains(&data.sent)).map(|data| data.size).sum()
    }
}

fn value_at(changes: &[(Duration, u64)], at: Duration) -> u64 {
    let later = changes.partition_point(|change| change.0 <= at);
    later.checked_sub(1).map_or(0, |last| changes[last].1)
}

/// Sets the times of the acknowledgments of data packets.
/// `acks` are the times at which the packets of the receiver were sent and arrived.
fn acknowledge(data: &mut [Data], acks: &[(Duration, Duration)]) {
    let mut earliest = vec![Duration::MAX; acks.len() + 1];
    for (number, ack) in acks.iter().enumerate().rev() {
        earliest[number] = ack.1.min(earliest[number + 1]);
    }
    for data in data {
        let Some(arrived) = data.arrived else { continue };
        let first = earliest[acks.partition_point(|ack| ack.0 < arrived)];
        data.acked = (first < Duration::MAX).then_some(first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::PacketEvent;

    #[test]
    fn a_payload_is_a_packet_without_the_headers_of_its_endpoint() {
        let packet = PacketEvent {
            at: Duration::ZERO,
            flow: "f/0".into(),
            back: false,
            number: 1,
            size: 1500,
            ecn: Ecn::NotEct,
            kind: PacketKind::Sent,
        };
        let mut log = Log { packets: vec![packet], ..Log::default() };
        assert_eq!(View::new(&log, "f/0").mss, 1472);
        log.headers.insert("f/0".into(), 20);
        assert_eq!(View::new(&log, "f/0").mss, 1480);
    }
}
