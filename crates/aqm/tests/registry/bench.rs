//! A queue, the link that it feeds, and a log of what happens to every packet.

use sojourn_aqm::{AckHeader, Amount, AnyAqm, DropReason, Ecn, Link, Packet, Qdisc, QueueController};
use sojourn_units::{Duration, Rate, Serializer, Stream, Time};
use std::collections::HashMap;

#[derive(Clone, PartialEq, Debug)]
pub struct TestPacket {
    pub id: u32,
    pub size: u32,
    pub flow: u32,
    pub ect: bool,
    pub ce: bool,
    pub rtt_hint_ms: u16,
    pub has_data: bool,
}

impl Packet for TestPacket {
    fn size(&self) -> u32 {
        self.size
    }
    fn flow(&self) -> u32 {
        self.flow
    }
    fn can_mark(&self) -> bool {
        self.ect
    }
    fn mark(&mut self) {
        assert!(self.ect, "a packet that can't carry a mark was marked");
        self.ce = true;
    }
    fn ecn(&self) -> Ecn {
        match () {
            () if self.ce => Ecn::Ce,
            () if self.ect && self.flow.is_multiple_of(3) => Ecn::Ect1,
            () if self.ect => Ecn::Ect0,
            () => Ecn::NotEct,
        }
    }
    fn rtt_hint_ms(&self) -> u16 {
        self.rtt_hint_ms
    }
    fn has_data(&self) -> bool {
        self.has_data
    }
    fn place(&self) -> u32 {
        self.flow
    }
}

impl TestPacket {
    /// The ACK header of a packet without payload, for an ACK filter.
    /// Its acknowledgment number is higher than those before it; some have SACK blocks.
    pub fn ack(&self) -> Option<AckHeader> {
        let number = self.id / 4 * 1000;
        let blocks = usize::from(self.id.is_multiple_of(7));
        let sack = [(number + 5000, number + 9000); 4];
        let echo = u16::from(self.id % 40 > 35);
        (!self.has_data).then_some(AckHeader { connection: 1, number, is_pure: true, echo, timestamps: None, sack, blocks })
    }
}

/// What happened to one packet.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Fate {
    Sent { id: u32, marked: bool, waited: Duration },
    Lost { id: u32, reason: DropReason },
}

pub fn link() -> Link {
    let rate = Rate::from_bps(10_000_000).unwrap();
    Link { rate, delay: Duration::from_millis(20), mean_packet: 1000, limit_packets: 100 }
}

/// The properties that select a packet's queue: its flow, and whether its sender is scalable.
type Kind = (u32, bool);

/// A qdisc and the link that it feeds.
/// The caller decides when packets arrive and when the link is free.
#[derive(Clone)]
pub struct Bench {
    pub queue: Qdisc<TestPacket>,
    pub now: Time,
    pub idle_since: Option<Time>,
    pub fates: Vec<Fate>,
    /// The kind of each packet offered.
    kinds: HashMap<u32, Kind>,
    limit: Amount,
    /// Whether packets of one kind are sent in order, or all packets.
    has_queues: bool,
}

impl Bench {
    pub fn new(aqm: AnyAqm, limit: Amount, ecn: bool, seed: u64) -> Self {
        let has_queues = aqm.layout().is_some();
        let queue = Qdisc::new(QueueController::new(aqm, limit, ecn, Stream::named(seed, "queue")));
        Bench { has_queues, queue, now: Time::ZERO, idle_since: Some(Time::ZERO), fates: Vec::new(), kinds: HashMap::new(), limit }
    }

    /// Moves the time forward and runs the algorithm's timer.
    pub fn advance(&mut self, to: Time) {
        self.now = to;
        self.queue.update(to, self.idle_since);
    }

    pub fn arrive(&mut self, packet: TestPacket) {
        let kind = if self.has_queues { (packet.flow, packet.ecn().is_l4s()) } else { (0, false) };
        self.kinds.insert(packet.id, kind);
        let fates = &mut self.fates;
        self.queue.enqueue(self.now, packet, self.idle_since, |p, reason| fates.push(Fate::Lost { id: p.id, reason }));
        if self.idle_since.is_some() {
            self.idle_since = None;
            self.free();
        }
    }

    /// Completes the link's transmission and starts the next one.
    /// Returns the size of the next packet, or `None` if the link becomes idle.
    pub fn free(&mut self) -> Option<u32> {
        if self.idle_since.is_some() {
            return None;
        }
        let fates = &mut self.fates;
        match self.queue.dequeue(self.now, |p, reason| fates.push(Fate::Lost { id: p.id, reason })) {
            Some((packet, waited)) => {
                self.fates.push(Fate::Sent { id: packet.id, marked: packet.ce, waited });
                Some(packet.size)
            }
            None => {
                self.idle_since = Some(self.now);
                None
            }
        }
    }

    /// Checks the invariants that hold at any time.
    pub fn check(&self) -> Result<(), String> {
        let p = self.queue.probability().map_or(0.0, sojourn_units::Probability::get);
        let (packets, bytes) = (u64::from(self.queue.packets()), self.queue.bytes());
        let within = match self.limit {
            Amount::Packets(limit) => packets <= u64::from(limit),
            Amount::Bytes(limit) => bytes <= limit,
        };
        let check = |fine: bool, what: String| if fine { Ok(()) } else { Err(what) };
        check((0.0..=1.0).contains(&p), format!("probability {p}"))?;
        check(self.queue.balances(), format!("packets are missing: {:?}", self.queue.counters()))?;
        check(within, format!("{packets} packets of {bytes} bytes wait, with a limit of {:?}", self.limit))?;
        check((packets == 0) == (bytes == 0), format!("{packets} packets of {bytes} bytes"))
    }

    /// Checks the invariants at the end.
    /// Every packet offered was sent or lost once, and packets were sent in order.
    pub fn drain(&mut self, offered: &[u32]) -> Result<(), String> {
        while self.idle_since.is_none() {
            self.free();
        }
        self.check()?;
        let mut seen = Vec::new();
        let mut last = std::collections::BTreeMap::new();
        for fate in &self.fates {
            let (Fate::Lost { id, .. } | Fate::Sent { id, .. }) = *fate;
            if let Fate::Sent { .. } = fate {
                let last = last.entry(self.kinds[&id]).or_default();
                if *last > Some(id) {
                    return Err(format!("{id} was sent after {last:?}"));
                }
                *last = Some(id);
            }
            seen.push(id);
        }
        seen.sort_unstable();
        let counters = self.queue.counters();
        let lost = self.fates.iter().filter(|fate| matches!(fate, Fate::Lost { .. })).count() as u64;
        let marked = self.fates.iter().filter(|fate| matches!(fate, Fate::Sent { marked: true, .. })).count() as u64;
        let fine = seen == offered && counters.dropped() == lost && counters.marked >= marked;
        if fine { Ok(()) } else { Err(format!("{counters:?} against {lost} lost and {marked} marked of {}", offered.len())) }
    }
}

/// Round-trip times in ms that the flows of the workload carry, 0 for none.
const HINTS: [u16; 8] = [0, 20, 60, 100, 200, 400, 700, 1000];

/// Twenty seconds of a 10 Mbit/s link under an oscillating load of 0.5 to 1.5 of its rate.
/// Bursts, pauses, four packet sizes and many flows, most of them with ECN, bring every algorithm into each of its states.
pub fn workload(aqm: AnyAqm, seed: u64) -> Vec<Fate> {
    workload_while(aqm, seed, |_| true)
}

/// Whether the outcome of the workload differs from `usual`.
/// The run ends with the first packet that has another fate.
pub fn workload_differs(aqm: AnyAqm, seed: u64, usual: &[Fate]) -> bool {
    let mut same = 0;
    let fates = workload_while(aqm, seed, |fates| {
        let agree = usual.get(same..fates.len()) == Some(&fates[same..]);
        same = fates.len();
        agree
    });
    fates != usual
}

/// The workload, for as long as `goes_on` returns true for the fates so far.
fn workload_while(aqm: AnyAqm, seed: u64, mut goes_on: impl FnMut(&[Fate]) -> bool) -> Vec<Fate> {
    let mut bench = Bench::new(aqm, Amount::Packets(100), true, seed);
    let (mut traffic, mut wire) = (Stream::named(seed, "traffic"), Serializer::new(link().rate));
    let (mut arrival, mut free, mut id) = (Time::ZERO, Time::NEVER, 0);
    while arrival < Time::from_secs_f64(20.0) && goes_on(&bench.fates) {
        let next = arrival.min(free);
        bench.advance(next);
        if free <= arrival {
            free = bench.free().map_or(Time::NEVER, |size| next + wire.send(size));
            continue;
        }
        let was_idle = bench.idle_since.is_some();
        let size = [40, 500, 1000, 1500][traffic.below(4) as usize];
        let flow = traffic.below(20) as u32;
        bench.arrive(TestPacket { id, size, flow, ect: flow < 14, ce: false, rtt_hint_ms: HINTS[flow as usize % 8], has_data: size > 40 });
        id += 1;
        if was_idle && bench.idle_since.is_none() {
            free = next + wire.send(size);
        }
        let load = 1.0 - 0.5 * (next.as_secs_f64() * 1.3).cos();
        let gap = match traffic.below(4000) {
            0 => 0.3,
            1..=99 => 0.0,
            _ => traffic.exponential(0.000_608 / load),
        };
        arrival = next + Duration::from_secs_f64(gap);
    }
    bench.fates
}
