//! FQ-PIE: a queue for each flow, each under PIE (Linux `sch_fq_pie.c`; rfc8290, rfc8033).
//!
//! Flows are hashed to queues, which are served as in FQ-CoDel. A packet that arrives when all queues together are full is dropped. Each
//! queue's PIE is Linux's: the delay is that of the last packet that left (rfc8033#5.2 allows time stamps), drops are spread out
//! (rfc8033#5.4), above a delay of 250 ms the probability rises faster, and marks become drops above `ecn_prob`. Linux lets
//! probabilities grow beyond 1, here they end there.

use crate::{Aqm, ArrivalVerdict, Backlog, DepartureVerdict, FlowQueuing, Link, Needs, PacketView, ParamError};
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
    /// Time between two updates, 1 us to 1000 s; default 15 ms (rfc8033#4.2).
    pub tupdate: Duration,
    /// Gain on the delay's error in Hz, 0 to 1000000, default 0.125 (rfc8033#4.2).
    pub alpha: f64,
    /// Gain on the delay's change in Hz, 0 to 1000000, default 1.25 (rfc8033#4.2).
    pub beta: f64,
    /// Time for which a burst into an empty queue passes without drops, up to 1000 s; default 150 ms (rfc8033#4.2).
    pub burst: Duration,
    /// Whether the probability scales with the packet's size over the link's mean packet; default false.
    pub bytemode: bool,
    /// Probability above which packets are dropped instead of marked, 0 to 1, default 0.1 (rfc8033#5.1).
    pub ecn_prob: f64,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            flows: 1024,
            quantum: Bytes(1514),
            perturbation: 0,
            target: Duration::from_millis(15),
            tupdate: Duration::from_millis(15),
            alpha: 0.125,
            beta: 1.25,
            burst: Duration::from_millis(150),
            bytemode: false,
            ecn_prob: 0.1,
        }
    }
}

impl Params {
    /// FQ-PIE with these parameters on this link.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn build(&self, link: &Link) -> Result<FqPie, ParamError> {
        ParamError::unless((1..=65_536).contains(&self.flows), "flows", &self.flows, "1 to 65536 queues")?;
        ParamError::unless((1..=1_000_000).contains(&self.quantum.0), "quantum", &self.quantum.0, "1 B to 1 MB")?;
        let longest = Duration::from_secs(1000);
        let fine = (Duration::from_nanos(1)..=longest).contains(&self.target);
        ParamError::unless(fine, "target", &self.target, "a time above 0, up to 1000 s")?;
        // A run with updates closer than that would hardly get on.
        let fine = (Duration::from_micros(1)..=longest).contains(&self.tupdate);
        ParamError::unless(fine, "tupdate", &self.tupdate, "a time, 1 us to 1000 s")?;
        ParamError::unless(self.burst <= longest, "burst", &self.burst, "a time up to 1000 s")?;
        for (field, gain) in [("alpha", self.alpha), ("beta", self.beta)] {
            ParamError::unless((0.0..=1e6).contains(&gain), field, &gain, "a number, 0 to 1000000")?;
        }
        ParamError::unless((0.0..=1.0).contains(&self.ecn_prob), "ecn_prob", &self.ecn_prob, "a probability, 0 to 1")?;
        let queuing =
            FlowQueuing { queues: self.flows, quantum: self.quantum.0 as u32, perturbation: self.perturbation, drop_longest: false };
        let fresh = Queue { burst: self.burst, ..Queue::default() };
        Ok(FqPie {
            params: self.clone(),
            mtu: link.mean_packet,
            queuing,
            queues: vec![fresh; self.flows as usize],
            active: Vec::new(),
            last: 0,
            added: 0,
        })
    }
}

/// The PIE of one queue; names as in Linux.
#[derive(Clone, Default, Debug)]
struct Queue {
    prob: f64,
    accu_prob: f64,
    qdelay: Duration,
    qdelay_old: Duration,
    /// The rest of the time for which a burst passes.
    burst: Duration,
    last_departure: Option<Time>,
    /// Bytes that wait.
    backlog: u64,
    /// Whether it is among those that an update may change.
    active: bool,
}

/// PIE for each queue.
#[derive(Clone, Debug)]
pub struct FqPie {
    params: Params,
    mtu: u32,
    queuing: FlowQueuing,
    queues: Vec<Queue>,
    /// The queues that an update may change: a queue at rest costs nothing.
    active: Vec<u32>,
    /// The queue of the last arrival, and how many bytes that has added to its backlog.
    last: usize,
    added: u64,
}

impl Queue {
    /// Whether a packet of `size` bytes is dropped or marked (Linux `pie_drop_early`).
    fn drop_early(&mut self, params: &Params, mtu: u32, size: u32, random: f64) -> bool {
        let is_light = self.qdelay < params.target / 2 && self.prob < 0.2;
        if self.burst > Duration::ZERO || is_light || self.backlog < 2 * u64::from(mtu) {
            return false;
        }
        let prob = if params.bytemode && size <= mtu { self.prob * f64::from(size) / f64::from(mtu) } else { self.prob };
        self.accu_prob = if prob == 0.0 { 0.0 } else { self.accu_prob + prob };
        match self.accu_prob {
            sum if sum < 0.85 => false,
            sum if sum >= 8.5 => true,
            _ if random < prob => {
                self.accu_prob = 0.0;
                true
            }
            _ => false,
        }
    }

    /// A packet left at `now` after a wait of `sojourn` (Linux `pie_process_dequeue`).
    fn process_dequeue(&mut self, now: Time, sojourn: Duration) {
        self.qdelay = if self.backlog > 0 { sojourn } else { Duration::ZERO };
        if let Some(before) = self.last_departure.replace(now) {
            self.burst = self.burst.saturating_sub(now.since(before));
        }
    }

    /// Whether an update changes nothing.
    fn rests(&self, params: &Params) -> bool {
        let Queue { prob, accu_prob, qdelay, qdelay_old, burst, last_departure, backlog, .. } = *self;
        let no_delay = qdelay == Duration::ZERO && qdelay_old == Duration::ZERO;
        no_delay && prob == 0.0 && accu_prob == 0.0 && burst == params.burst && last_departure.is_none() && backlog == 0
    }

    /// One update (Linux `pie_calculate_probability`).
    fn calculate_probability(&mut self, params: &Params) {
        let steps = [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (0.1, 2.0)];
        let divisor = steps.iter().find(|(below, _)| self.prob < *below).map_or(1.0, |(_, divisor)| *divisor);
        let (delay, old) = (self.qdelay.as_secs_f64(), self.qdelay_old.as_secs_f64());
        let mut delta = (params.alpha * (delay - params.target.as_secs_f64()) + params.beta * (delay - old)) / divisor;
        if self.prob >= 0.1 {
            delta = delta.min(0.02);
        }
        if delay > 0.25 {
            delta += 0.02;
        }
        self.prob = (self.prob + delta).clamp(0.0, 1.0);
        if delay == 0.0 && old == 0.0 && self.backlog == 0 {
            self.prob -= self.prob / 64.0;
        }
        let half = params.target / 2;
        if self.qdelay < half && self.qdelay_old < half && self.prob == 0.0 {
            (self.burst, self.last_departure, self.accu_prob) = (params.burst, None, 0.0);
        }
        self.qdelay_old = self.qdelay;
    }
}

impl FqPie {
    /// The last arrival was dropped.
    fn not_admitted(&mut self) {
        let queue = &mut self.queues[self.last];
        queue.backlog -= self.added;
        (queue.accu_prob, self.added) = (0.0, 0);
    }
}

impl Aqm for FqPie {
    fn on_enqueue(&mut self, arrival: &PacketView, _backlog: &Backlog, random: &mut Stream) -> ArrivalVerdict {
        self.last = self.queuing.queue_of(arrival.flow) as usize;
        let queue = &mut self.queues[self.last];
        if !core::mem::replace(&mut queue.active, true) {
            self.active.push(self.last as u32);
        }
        // It draws for each packet, so that one signal does not shift all later draws.
        let verdict = match queue.drop_early(&self.params, self.mtu, arrival.size, random.unit()) {
            false => ArrivalVerdict::Pass,
            true if queue.prob <= self.params.ecn_prob => ArrivalVerdict::Signal,
            true => {
                queue.accu_prob = 0.0;
                ArrivalVerdict::Drop
            }
        };
        self.added = if verdict == ArrivalVerdict::Drop { 0 } else { u64::from(arrival.size) };
        queue.backlog += self.added;
        verdict
    }

    fn on_dequeue(&mut self, departure: &PacketView, sojourn: Duration, backlog: &Backlog, _: &mut Stream) -> DepartureVerdict {
        let queue = &mut self.queues[self.queuing.queue_of(departure.flow) as usize];
        queue.backlog = backlog.bytes;
        queue.process_dequeue(departure.now, sojourn);
        DepartureVerdict::Pass
    }

    fn on_overflow(&mut self) {
        self.not_admitted();
    }

    fn on_unmarkable(&mut self) {
        self.not_admitted();
    }

    fn update_interval(&self) -> Option<Duration> {
        Some(self.params.tupdate)
    }

    fn on_update(&mut self, _now: Time, _backlog: &Backlog) {
        let (params, queues) = (&self.params, &mut self.queues);
        self.active.retain(|&at| {
            let queue = &mut queues[at as usize];
            queue.calculate_probability(params);
            queue.active = !queue.rests(params);
            queue.active
        });
    }

    fn needs(&self) -> Needs {
        Needs { departures: true, flow_queues: Some(self.queuing), ..Needs::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::test_link;

    fn packet(ms: u64, flow: u32) -> PacketView {
        PacketView { now: Time::from_nanos(ms * 1_000_000), size: 1000, flow, rtt_hint_ms: 0, has_data: true }
    }

    fn queue(prob: f64, delay_ms: u64) -> Queue {
        Queue { prob, qdelay: Duration::from_millis(delay_ms), backlog: 20_000, ..Queue::default() }
    }

    #[test]
    fn one_update_moves_the_probability_by_what_the_rfc_says() {
        let params = Params::default();
        let mut one = queue(0.05, 25);
        one.calculate_probability(&params);
        // (0.125 (0.025 - 0.015) + 1.25 (0.025 - 0)) / 2
        assert!((one.prob - 0.05 - 0.01625).abs() < 1e-12, "{}", one.prob);
        // Above 0.1 no more than 0.02 at once, and 0.02 more above 250 ms.
        for (delay_ms, prob) in [(100, 0.52), (300, 0.54)] {
            let mut one = queue(0.5, delay_ms);
            one.calculate_probability(&params);
            assert!((one.prob - prob).abs() < 1e-12, "{}", one.prob);
        }
    }

    #[test]
    fn drops_are_spread_out_and_marks_end_above_their_limit() {
        let mut fq = Params::default().build(&test_link()).unwrap();
        let (mut random, at) = (Stream::named(1, "fq-pie"), fq.queuing.queue_of(7) as usize);
        let mut verdicts = |fq: &mut FqPie, prob: f64| {
            fq.queues[at] = Queue { active: true, ..queue(prob, 30) };
            let each = |_| fq.on_enqueue(&packet(0, 7), &Backlog { packets: 9, bytes: 9000, idle_since: None }, &mut random);
            (0..10_000).map(each).collect::<Vec<_>>()
        };
        for (prob, signal) in [(0.1, ArrivalVerdict::Signal), (0.2, ArrivalVerdict::Drop)] {
            let all = verdicts(&mut fq, prob);
            let hits: Vec<usize> = (0..all.len()).filter(|&at| all[at] == signal).collect();
            // At least 0.85 / prob and at most 8.5 / prob packets from one to the next.
            let gaps: Vec<f64> = hits.windows(2).map(|pair| (pair[1] - pair[0]) as f64 * prob).collect();
            assert!(gaps.len() > 500 && gaps.iter().all(|gap| (0.8499..8.7).contains(gap)), "{gaps:?}");
            assert_eq!(hits.len() + all.iter().filter(|&&verdict| verdict == ArrivalVerdict::Pass).count(), 10_000);
        }
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
                    fq.on_unmarkable();
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
        assert_eq!(fq.queues[fq.queuing.queue_of(2) as usize].prob, 0.0);
    }

    #[test]
    fn updates_are_at_least_a_microsecond_apart() {
        for (nanos, fine) in [(999, false), (1000, true)] {
            let params = Params { tupdate: Duration::from_nanos(nanos), ..Params::default() };
            assert_eq!(params.build(&test_link()).is_ok(), fine);
        }
    }
}
