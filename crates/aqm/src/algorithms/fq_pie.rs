//! FQ-PIE: a queue for each flow, each under PIE (Linux `sch_fq_pie.c`; rfc8290, rfc8033).
//!
//! Flows are hashed to queues, which are served as in FQ-CoDel. A packet that arrives when all queues together are full is dropped. Each
//! queue's PIE is Linux's ([`super::pie::linux`]), and marks become drops above `ecn_prob`.

use super::pie::linux::{Constants, Vars};
use super::pie::{self, Rule, Times};
use crate::{
    Aqm, ArrivalVerdict, Backlog, DepartureVerdict, Dropped, FlowAqm, FlowQueues, FlowQueuing, Layout, Link, Needs, Overflow, OwnQueues,
    Packet, PacketView, ParamError, QueueSetup,
};
use alloc::vec;
use alloc::vec::Vec;
use sojourn_units::{Bytes, Duration, Stream, Time};

/// The parameters of FQ-PIE, under the names of `tc fq_pie`.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// Queues, 1 to 65536, default 1024.
    pub flows: u32,
    /// Bytes that a queue may send in a round, 1 B to 1 MB, default 1514 B.
    pub quantum: Bytes,
    /// Seed of the hash of flows, default 0.
    pub perturbation: u32,
    /// Target queuing delay, above 0 and up to 1000 s; default 15 ms (rfc8033#4.2).
    pub target: Duration,
    /// Time between two updates, at least 1 us; default 15 ms (rfc8033#4.2).
    pub tupdate: Duration,
    /// Gain on the delay's error in Hz, 0 to 1000000, default 0.125 (rfc8033#4.2).
    pub alpha: f64,
    /// Gain on the delay's change in Hz, 0 to 1000000, default 1.25 (rfc8033#4.2).
    pub beta: f64,
    /// Burst allowance: time without drops after the queue was empty.
    /// Range: up to 1000 s; default 150 ms (rfc8033#4.2).
    pub burst: Duration,
    /// Whether the probability scales with the packet's size over the link's mean packet.
    /// Default false.
    pub bytemode: bool,
    /// Probability above which packets are dropped instead of marked.
    /// Range: 0 to 1; default 0.1 (rfc8033#5.1).
    pub ecn_prob: f64,
}

impl Default for Params {
    fn default() -> Self {
        let Times { target, tupdate, burst } = Rule::Linux.times();
        let pie::Params { alpha, beta, .. } = pie::Params::default();
        Params { flows: 1024, quantum: Bytes(1514), perturbation: 0, target, tupdate, alpha, beta, burst, bytemode: false, ecn_prob: 0.1 }
    }
}

impl Params {
    /// The PIE parameters of a queue.
    fn pie(&self) -> pie::Params {
        let Params { target, tupdate, alpha, beta, burst, bytemode, .. } = *self;
        let (target, tupdate, burst, bytemode) = (Some(target), Some(tupdate), Some(burst), Some(bytemode));
        pie::Params { rule: Rule::Linux, target, tupdate, alpha, beta, burst, bytemode, ..pie::Params::default() }
    }

    /// FQ-PIE with these parameters on this link.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn build(&self, link: &Link) -> Result<FqPie, ParamError> {
        ParamError::unless((1..=65_536).contains(&self.flows), "flows", &self.flows, "1 to 65536 queues")?;
        ParamError::unless((1..=1_000_000).contains(&self.quantum.0), "quantum", &self.quantum.0, "1 B to 1 MB")?;
        ParamError::unless((0.0..=1.0).contains(&self.ecn_prob), "ecn_prob", &self.ecn_prob, "a probability, 0 to 1")?;
        let quantum = self.quantum.0 as u32;
        let queuing =
            FlowQueuing { queues: self.flows, quantum, perturbation: self.perturbation, overflow: Overflow::Arrival, shows_all: false };
        let constants = self.pie().constants(link)?;
        let fresh = Queue { pie: Vars::new(&constants), backlog: 0, active: false };
        Ok(FqPie {
            constants,
            ecn_prob: self.ecn_prob,
            queuing,
            queues: vec![fresh; self.flows as usize],
            active: Vec::new(),
            last: 0,
            added: 0,
        })
    }
}

/// One queue.
#[derive(Clone, Debug)]
struct Queue {
    pie: Vars,
    /// Bytes waiting.
    backlog: u64,
    /// Whether an update may change it.
    active: bool,
}

/// PIE for each queue.
#[derive(Clone, Debug)]
pub struct FqPie {
    constants: Constants,
    ecn_prob: f64,
    queuing: FlowQueuing,
    queues: Vec<Queue>,
    /// The queues that an update may change; queues at rest are skipped.
    active: Vec<u32>,
    /// The queue of the last arrival, and the bytes that it added to the backlog.
    last: usize,
    added: u64,
}

impl FqPie {
    /// The last arrival was dropped.
    fn not_admitted(&mut self) {
        let queue = &mut self.queues[self.last];
        queue.backlog -= self.added;
        queue.pie.dropped();
        self.added = 0;
    }
}

impl OwnQueues for FqPie {
    const LAYOUT: Layout = FlowQueuing::LAYOUT;
    type Params = Params;
    type Queues<P: Packet> = FlowQueues<P>;

    fn queues<P: Packet>(&self, setup: &mut QueueSetup) -> FlowQueues<P> {
        FlowQueues::new(self.queuing, setup)
    }
}

impl Aqm for FqPie {
    fn on_enqueue(&mut self, arrival: &PacketView, _backlog: &Backlog, random: &mut Stream) -> ArrivalVerdict {
        self.last = self.queuing.queue_of(arrival.flow) as usize;
        let queue = &mut self.queues[self.last];
        if !core::mem::replace(&mut queue.active, true) {
            self.active.push(self.last as u32);
        }
        let verdict = queue.pie.on_enqueue(&self.constants, queue.backlog, arrival.size, self.ecn_prob, random);
        self.added = if verdict == ArrivalVerdict::Drop { 0 } else { u64::from(arrival.size) };
        queue.backlog += self.added;
        verdict
    }

    fn on_dequeue(&mut self, departure: &PacketView, sojourn: Duration, backlog: &Backlog, _: &mut Stream) -> DepartureVerdict {
        let queue = &mut self.queues[self.queuing.queue_of(departure.flow) as usize];
        queue.backlog = backlog.bytes;
        queue.pie.on_dequeue(departure.now, sojourn, backlog.bytes);
        DepartureVerdict::Pass
    }

    fn on_drop(&mut self, _dropped: Dropped) {
        self.not_admitted();
    }

    fn update_interval(&self) -> Option<Duration> {
        Some(self.constants.tupdate)
    }

    fn on_update(&mut self, _now: Time, _backlog: &Backlog) {
        let (constants, queues) = (&self.constants, &mut self.queues);
        self.active.retain(|&at| {
            let queue = &mut queues[at as usize];
            queue.pie.on_update(constants, queue.backlog);
            queue.active = queue.backlog > 0 || !queue.pie.rests(constants);
            queue.active
        });
    }

    fn needs(&self) -> Needs {
        Needs { departures: true, ..Needs::default() }
    }
}

impl FlowAqm for FqPie {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::{test_link, test_packet};

    fn packet(ms: u64, flow: u32) -> PacketView {
        PacketView { now: Time::from_nanos(ms * 1_000_000), flow, ..test_packet() }
    }

    #[test]
    fn each_queue_has_a_probability_of_its_own_and_a_burst_passes() {
        let mut fq = Params::default().build(&test_link()).unwrap();
        let mut random = Stream::named(1, "fq-pie");
        let long = Backlog { packets: 50, bytes: 50_000, idle_since: None };
        let mut first = None;
        for ms in 0..2000u64 {
            for flow in [1, 2] {
                let verdict = fq.on_enqueue(&packet(ms, flow), &long, &mut random);
                if verdict != ArrivalVerdict::Pass {
                    fq.on_drop(Dropped::Unmarkable);
                    first = first.or(Some((ms, flow)));
                }
                let (wait, left) = if flow == 1 { (100, long) } else { (1, Backlog { bytes: 0, packets: 0, ..long }) };
                fq.on_dequeue(&packet(ms, flow), Duration::from_millis(wait), &left, &mut random);
            }
            if ms % 15 == 0 {
                fq.on_update(Time::ZERO, &long);
            }
        }
        let (ms, flow) = first.unwrap();
        assert!(flow == 1 && ms > 150, "the first signal is that of flow {flow} at {ms} ms");
        assert_eq!(fq.queues[fq.queuing.queue_of(2) as usize].pie.prob, 0.0);
    }

    #[test]
    fn updates_are_at_least_a_microsecond_apart_as_with_pie() {
        for (nanos, fine) in [(999, false), (1000, true)] {
            let tupdate = Duration::from_nanos(nanos);
            assert_eq!(Params { tupdate, ..Params::default() }.build(&test_link()).is_ok(), fine);
            assert_eq!(pie::Params { tupdate: Some(tupdate), ..pie::Params::default() }.build(&test_link()).is_ok(), fine);
        }
    }
}
