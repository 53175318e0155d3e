//! A small sender with Reno and CUBIC (rfc9002, rfc9438), and its receiver.
//! A test switches one of its faults on.

mod law;

pub use law::Fault;
use law::Windows;
use sojourn_harness::trials::Law;
use sojourn_harness::{Datagram, Ecn, Endpoint, FlowInfo, Pair, State};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The payload of a data packet in bytes.
pub const MSS: u64 = 1200;
/// Packets below the highest one that an ACK describes.
const DESCRIBED: u64 = 4096;

/// Both ends of a connection with this controller and this fault.
pub fn model(law: Law, fault: Option<Fault>) -> impl Fn(&FlowInfo) -> Pair {
    move |_| Pair { sender: Box::new(Sender::new(law, fault)), receiver: Box::new(Receiver::default()) }
}

/// Acknowledges each packet by the numbers that have not arrived.
#[derive(Default)]
struct Receiver {
    highest: u64,
    missing: BTreeSet<u64>,
    marks: u64,
    acks: u64,
    delivered: u64,
    waiting: bool,
}

impl Endpoint for Receiver {
    fn receive(&mut self, _: Duration, datagram: Datagram) {
        let number = word(&datagram.payload, 0);
        self.missing.remove(&number);
        self.missing.extend(self.highest + 1..number);
        self.highest = self.highest.max(number);
        self.missing = self.missing.split_off(&self.highest.saturating_sub(DESCRIBED));
        self.marks += u64::from(datagram.ecn == Ecn::Ce);
        self.delivered += datagram.payload.len() as u64;
        self.waiting = true;
    }
    fn transmit(&mut self, _: Duration) -> Option<Datagram> {
        std::mem::take(&mut self.waiting).then(|| {
            self.acks += 1;
            let words = [self.acks, self.highest, self.marks].into_iter().chain(self.missing.iter().copied());
            Datagram { payload: words.flat_map(u64::to_le_bytes).collect(), ecn: Ecn::NotEct }
        })
    }
    fn timeout(&mut self) -> Option<Duration> {
        None
    }
    fn on_timeout(&mut self, _: Duration) {}
    fn state(&self) -> State {
        State { delivered: self.delivered, ..State::default() }
    }
}

fn word(payload: &[u8], number: usize) -> u64 {
    u64::from_le_bytes(payload[8 * number..8 * number + 8].try_into().unwrap())
}

struct Sender {
    windows: Windows,
    law: Law,
    fault: Option<Fault>,
    next: u64,
    /// The times at which packets in flight were sent.
    flying: BTreeMap<u64, Duration>,
    lost: BTreeSet<u64>,
    losses: u64,
    /// Bytes to send; `None` for data without end.
    backlog: Option<u64>,
    marks: u64,
    acks: u64,
    /// The first sample, which is the RTT of the path.
    rtt: Duration,
    last_ack: Duration,
    timeouts: u32,
    probes: u64,
    /// The time before which the pacer sends nothing.
    paced: Duration,
}

impl Sender {
    fn new(law: Law, fault: Option<Fault>) -> Self {
        Sender {
            windows: Windows::new(law, fault),
            law,
            fault,
            next: 0,
            flying: BTreeMap::new(),
            lost: BTreeSet::new(),
            losses: 0,
            backlog: Some(0),
            marks: 0,
            acks: 0,
            rtt: Duration::from_millis(100),
            last_ack: Duration::ZERO,
            timeouts: 0,
            probes: 0,
            paced: Duration::ZERO,
        }
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    fn in_flight(&self) -> u64 {
        self.flying.len() as u64 * MSS
    }

    fn may_send(&self) -> bool {
        let window = self.windows.cwnd as u64 * if self.has(Fault::ExceedsTheWindow) { 2 } else { 1 };
        self.backlog != Some(0) && (self.probes > 0 || self.in_flight() + MSS <= window)
    }

    /// Two round trips after the last ACK or packet, doubled at each timeout.
    fn probe_at(&self) -> Option<Duration> {
        let last = *self.flying.last_key_value()?.1;
        Some(last.max(self.last_ack) + self.rtt * 2 * 2u32.pow(self.timeouts))
    }

    /// Declares packets lost (rfc9002#6.1).
    /// Three later ones overtook them, or they are late by an eighth of a round trip.
    /// Returns the last one and the time over which they were sent.
    fn detect(&mut self, now: Duration, highest: u64) -> Option<(u64, Duration)> {
        // A scalable sender counts time, not packets (rfc9331#4.3).
        let threshold = if self.has(Fault::LosesReordered) { 1 } else { 3 };
        let counts = self.law != Law::Scalable || self.has(Fault::LosesReordered);
        let late = |n: u64, sent: Duration| counts && n + threshold <= highest || sent + self.rtt * 9 / 8 < now;
        let below = self.flying.range(..highest).map(|(n, at)| (*n, *at));
        let lost: Vec<(u64, Duration)> = below.filter(|&(n, sent)| late(n, sent)).collect();
        for (number, _) in &lost {
            self.flying.remove(number);
            self.lost.insert(*number);
            self.backlog = self.backlog.map(|left| left + MSS);
        }
        self.losses += lost.len() as u64;
        let (first, last) = (lost.first()?, lost.last()?);
        Some((last.0, last.1 - first.1))
    }
}

impl Endpoint for Sender {
    fn write(&mut self, _: Duration, bytes: Option<u64>, _: bool) {
        self.backlog = bytes.map(|bytes| self.backlog.unwrap_or(0) + bytes);
    }
    fn stop(&mut self, _: Duration) {
        self.backlog = Some(0);
    }
    fn receive(&mut self, now: Duration, datagram: Datagram) {
        let [acks, highest, marks] = [0, 1, 2].map(|n| word(&datagram.payload, n));
        let missing: BTreeSet<u64> = (3..datagram.payload.len() / 8).map(|n| word(&datagram.payload, n)).collect();
        if acks > self.acks + 1 && self.has(Fault::CountsLostAcks) {
            self.windows.reduce(now, 0.5);
        }
        (self.acks, self.last_ack, self.timeouts, self.probes) = (self.acks.max(acks), now, 0, 0);
        let limited = self.in_flight() * 2 > self.windows.cwnd as u64;
        let acked: Vec<(u64, Duration)> =
            self.flying.range(..=highest).filter(|(n, _)| !missing.contains(n)).map(|(n, at)| (*n, *at)).collect();
        for &(number, sent) in &acked {
            self.flying.remove(&number);
            self.rtt = if number == 0 { now - sent } else { self.rtt.min(now - sent) };
            self.windows.on_sample(now, sent);
            if limited || self.has(Fault::GrowsUnused) {
                self.windows.grow(now, sent, self.rtt);
            }
        }
        let late: Vec<u64> =
            self.lost.range(highest.saturating_sub(DESCRIBED)..=highest).copied().filter(|n| !missing.contains(n)).collect();
        for number in late {
            self.lost.remove(&number);
            if self.has(Fault::CollapsesWhenLate) {
                self.windows.collapse(now);
            }
        }
        if let Some((last, span)) = self.detect(now, highest) {
            let newest = acked.last().map_or(Duration::ZERO, |packet| packet.1);
            self.windows.on_loss(now, last, self.next, span > self.rtt * 6 && newest > Duration::ZERO);
        }
        let new = marks.saturating_sub(self.marks);
        self.marks = self.marks.max(marks);
        if self.law == Law::Scalable {
            let waited = acked.last().map_or(Duration::ZERO, |packet| now - packet.1).saturating_sub(self.rtt);
            self.windows.on_shares(now, acked.len() as u64, new, (highest, self.next), waited);
        } else if new > 0 {
            self.windows.on_mark(now, highest, self.next);
        }
    }
    fn transmit(&mut self, now: Duration) -> Option<Datagram> {
        (self.may_send() && (now >= self.paced || self.has(Fault::Bursts))).then(|| {
            let pace = 2.0 * self.windows.cwnd / self.rtt.as_secs_f64();
            let burst = Duration::from_secs_f64(4.0 * MSS as f64 / pace);
            self.paced = self.paced.max(now.saturating_sub(burst)) + Duration::from_secs_f64(MSS as f64 / pace);
            self.probes = self.probes.saturating_sub(1);
            self.backlog = self.backlog.map(|left| left.saturating_sub(MSS));
            self.flying.insert(self.next, now);
            let mut payload = vec![0; MSS as usize];
            payload[..8].copy_from_slice(&self.next.to_le_bytes());
            self.next += 1;
            let scalable = self.law == Law::Scalable && !self.has(Fault::SendsEct0);
            Datagram { payload, ecn: if scalable { Ecn::Ect1 } else { Ecn::Ect0 } }
        })
    }
    fn timeout(&mut self) -> Option<Duration> {
        let pacer = self.may_send().then_some(self.paced);
        pacer.into_iter().chain(self.probe_at()).min()
    }
    fn on_timeout(&mut self, now: Duration) {
        if self.probe_at().is_some_and(|at| at <= now) {
            (self.timeouts, self.probes) = (self.timeouts + 1, 1);
        }
    }
    fn state(&self) -> State {
        State {
            window: Some(self.windows.cwnd as u64),
            lost: Some(self.losses),
            congestion_events: Some(self.windows.events),
            ..State::default()
        }
    }
}
