//! FQ-CoDel: a queue for each flow, each under `CoDel` (rfc8290).
//!
//! Flows are hashed to queues, which are served by deficit round robin, new ones first. If all queues together exceed the limit, the queue
//! with the most bytes drops the packet at its head. [`FlowQueuing`] schedules the queues. This file holds a `CoDel` for each queue, which
//! sees the sojourn times and the backlog of its own queue. In Linux it sees the backlog of all queues, so a queue of a single packet is
//! signaled too if others wait ([`Backlogged`]).

use super::ce_threshold::CeThreshold;
use super::codel::{self, Codel, Rule};
use crate::{
    Aqm, ArrivalVerdict, Backlog, DepartureVerdict, Dropped, FlowAqm, FlowQueues, FlowQueuing, Layout, Link, Needs, Overflow, OwnQueues,
    Packet, PacketView, ParamError, QueueSetup,
};
use alloc::vec;
use alloc::vec::Vec;
use sojourn_units::{Bytes, Duration, Stream, Time};

/// The backlog that is compared with `max_packet`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Backlogged {
    /// The packet's own queue (rfc8289#5.6 for each queue; ns-3).
    #[default]
    Own,
    /// All queues together (Linux `sch_fq_codel.c`).
    All,
}

/// The parameters of FQ-CoDel, under the names of `tc fq_codel`.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// Acceptable standing sojourn time in a queue, above 0, default 5 ms (rfc8290#5.2.2).
    pub target: Duration,
    /// Time for which the sojourn time must exceed the target before the first drop.
    /// Range: above 0; default 100 ms (rfc8290#5.2.1).
    pub interval: Duration,
    /// Bytes that a queue may send in a round, 1 B to 1 MB, default 1514 B (rfc8290#5.2.4).
    pub quantum: Bytes,
    /// Queues, 1 to 65536, default 1024 (rfc8290#5.2.6).
    pub flows: u32,
    /// Seed of the hash of flows, default 0.
    pub perturbation: u32,
    /// Initial drop count if a new dropping state starts soon after the last one.
    /// Default `"rfc8289"`.
    pub rule: Rule,
    /// A packet is dropped only if more than this many bytes stay in its queue.
    /// `"0 B"` (the default) is the largest packet that the queue has seen, at first 256 B (ns-3 `MinBytes`). With the rule `"linux"` it is
    /// the link's packet (Linux: the MTU).
    pub max_packet: Bytes,
    /// Backlog that is compared with `max_packet`.
    /// `"own"` (the default): that of the packet's queue; `"all"`: that of all queues together, as in Linux.
    pub backlog: Backlogged,
    /// Sojourn time above which ECN-capable packets are always marked, even if `ecn` is off.
    /// `"0 s"` (the default) disables it (Linux `ce_threshold`).
    pub ce_threshold: Duration,
    /// Value of the masked ECN field to which `ce_threshold` applies.
    /// Range: 0 to 255; default 0. ECT(1), as in L4S, is 1 with a mask of 3. The six DSCP bits are always 0 here (Linux
    /// `ce_threshold_selector`).
    pub ce_threshold_selector: u8,
    /// Mask for `ce_threshold_selector`.
    /// Range: 0 to 255. With 0 (the default) `ce_threshold` applies to all packets (Linux `ce_threshold_mask`).
    pub ce_threshold_mask: u8,
}

impl Default for Params {
    fn default() -> Self {
        let codel::Params { target, interval, rule, max_packet, ce_threshold } = codel::Params::default();
        Params {
            target,
            interval,
            quantum: Bytes(1514),
            flows: 1024,
            perturbation: 0,
            rule,
            max_packet,
            backlog: Backlogged::Own,
            ce_threshold,
            ce_threshold_selector: 0,
            ce_threshold_mask: 0,
        }
    }
}

impl Params {
    /// FQ-CoDel with these parameters.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn build(&self, link: &Link) -> Result<FqCodel, ParamError> {
        let queuing = FlowQueuing::checked(self.flows, self.quantum, self.perturbation)?;
        let Params { target, interval, rule, max_packet, ce_threshold, ce_threshold_selector: selector, ce_threshold_mask: mask, .. } =
            *self;
        let codel = codel::Params { target, interval, rule, max_packet, ce_threshold }.build(link)?;
        let reachable = selector & !mask == 0;
        ParamError::unless(reachable, "ce_threshold_selector", &selector, "a value whose bits are all in ce_threshold_mask")?;
        let shows_all = self.backlog == Backlogged::All;
        let overflow = if rule == Rule::Linux { Overflow::HalfOfLongest } else { Overflow::HeadOfLongest };
        let queuing = FlowQueuing { overflow, shows_all, ..queuing };
        let ce_threshold = CeThreshold::only(ce_threshold, selector, mask);
        Ok(FqCodel { queuing, ce_threshold, queues: vec![codel; self.flows as usize], last: 0 })
    }
}

/// `CoDel` for each queue.
#[derive(Clone, Debug)]
pub struct FqCodel {
    queuing: FlowQueuing,
    ce_threshold: CeThreshold,
    queues: Vec<Codel>,
    /// The queue of the last departure.
    last: usize,
}

impl OwnQueues for FqCodel {
    const LAYOUT: Layout = FlowQueuing::LAYOUT;
    type Params = Params;
    type Queues<P: Packet> = FlowQueues<P>;

    fn queues<P: Packet>(&self, setup: &mut QueueSetup) -> FlowQueues<P> {
        FlowQueues::new(self.queuing, setup)
    }
}

impl Aqm for FqCodel {
    fn on_enqueue(&mut self, _arrival: &PacketView, _backlog: &Backlog, _random: &mut Stream) -> ArrivalVerdict {
        ArrivalVerdict::Pass
    }

    fn on_dequeue(&mut self, departure: &PacketView, sojourn: Duration, backlog: &Backlog, _: &mut Stream) -> DepartureVerdict {
        self.last = self.queuing.queue_of(departure.flow) as usize;
        let verdict = self.queues[self.last].on_departure(departure, sojourn, backlog.bytes);
        self.ce_threshold.apply(verdict, sojourn, departure.ecn)
    }

    fn on_drop(&mut self, dropped: Dropped) {
        match dropped {
            Dropped::FromFull { queue, .. } => self.queues[queue as usize].overflowed(),
            Dropped::Unmarkable => self.queues[self.last].dropped(),
            Dropped::NoRoom => {}
        }
    }

    fn needs(&self) -> Needs {
        Needs { head_drop: true, no_arrivals: true, ..Needs::default() }
    }
}

impl FlowAqm for FqCodel {
    fn on_empty(&mut self, queue: u32, _now: Time) -> bool {
        self.queues[queue as usize].empty();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::{test_link, test_packet};
    use crate::parcel::Parcel;
    use crate::{Amount, AnyAqm, Qdisc, QueueController};

    #[test]
    fn each_queue_has_a_controller_of_its_own() {
        let (mut fq, mut random) = (Params::default().build(&test_link()).unwrap(), Stream::named(1, "fq"));
        let mut verdict = |flow, ms: u64, wait| {
            let departure = PacketView { now: Time::from_nanos(ms * 1_000_000), size: 1500, flow, ..test_packet() };
            let backlog = Backlog { packets: 9, bytes: 13_500, idle_since: None };
            let verdict = fq.on_dequeue(&departure, Duration::from_millis(wait), &backlog, &mut random);
            if verdict == DepartureVerdict::Signal {
                fq.on_drop(Dropped::Unmarkable);
            }
            verdict
        };
        for ms in 0..100 {
            assert_eq!((verdict(1, ms, 20), verdict(2, ms, 1)), (DepartureVerdict::Pass, DepartureVerdict::Pass));
        }
        assert_eq!(
            (verdict(2, 100, 1), verdict(1, 100, 20), verdict(2, 100, 20)),
            (DepartureVerdict::Pass, DepartureVerdict::Signal, DepartureVerdict::Pass)
        );
        // The packet behind the dropped one is sent.
        assert_eq!((verdict(1, 100, 20), verdict(1, 101, 20)), (DepartureVerdict::Pass, DepartureVerdict::Pass));
    }

    #[test]
    fn with_the_backlog_of_all_a_queue_of_a_single_packet_gets_signals() {
        for (backlog, signaled) in [(Backlogged::Own, 0), (Backlogged::All, 1)] {
            let fq = AnyAqm::FqCodel(Params { backlog, quantum: Bytes(1000), ..Params::default() }.build(&test_link()).unwrap());
            let mut queue = Qdisc::new(QueueController::new(fq, Amount::Packets(1000), false, Stream::named(1, "fq")));
            let parcel = |flow| Parcel { flow, size: 1000, ..Parcel::default() };
            let mut lost = std::vec::Vec::new();
            // Flow 1 has 100 packets, flow 2 one at a time; each of it waits 20 ms.
            for _ in 0..100 {
                queue.offer(Time::ZERO, parcel(1), None);
            }
            for ms in (0..400).step_by(20) {
                queue.offer(Time::from_nanos(ms * 1_000_000), parcel(2), None);
                for _ in 0..2 {
                    let (_, dropped) = queue.take(Time::from_nanos((ms + 20) * 1_000_000));
                    lost.extend(dropped.iter().map(|(packet, _)| (packet.flow, ms)));
                }
            }
            let of_second: std::vec::Vec<u64> = lost.iter().filter(|(flow, _)| *flow == 2).map(|&(_, ms)| ms).collect();
            // An interval after the first wait, and never again: the turn of an empty queue ends the dropping state.
            assert_eq!(of_second.len(), signaled, "{of_second:?}");
            assert!(of_second.iter().all(|&ms| ms == 100), "{of_second:?}");
        }
    }

    #[test]
    fn a_full_queue_drops_one_packet_or_half_of_the_longest_with_the_rule_of_linux() {
        for (rule, dropped) in [(Rule::Rfc8289, 1), (Rule::Linux, 51)] {
            let fq = AnyAqm::FqCodel(Params { rule, ..Params::default() }.build(&test_link()).unwrap());
            let mut queue = Qdisc::new(QueueController::new(fq, Amount::Packets(100), false, Stream::named(1, "fq")));
            let mut lost = 0;
            for _ in 0..101 {
                lost += queue.offer(Time::ZERO, Parcel { flow: 1, size: 1000, ..Parcel::default() }, None).len();
            }
            assert_eq!(lost, dropped, "{rule:?}");
        }
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        let default = Params::default;
        for (params, field) in [
            (Params { quantum: Bytes(0), ..default() }, "quantum"),
            (Params { flows: 0, ..default() }, "flows"),
            (Params { target: Duration::ZERO, ..default() }, "target"),
        ] {
            assert_eq!(params.build(&test_link()).unwrap_err().field, field);
        }
    }
}
