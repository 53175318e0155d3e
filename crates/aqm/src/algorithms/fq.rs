//! FQ: a queue for each flow, each under any AQM that fills one queue.
//! It is rfc8290 with another algorithm than `CoDel`.
//!
//! Flows are hashed to queues, which are served as in FQ-CoDel. On overflow the queue with the most bytes drops the packet at its head.
//! Each queue has its own algorithm, configured for the whole link. It is created when the first packet of the queue arrives, and sees the
//! packets and the backlog of its queue. All algorithms share one timer. An algorithm sees an idle link while its queue is empty.

use super::{Plain, codel};
use crate::{
    AnyAqm, Aqm, ArrivalVerdict, Backlog, DepartureVerdict, Dropped, FlowAqm, FlowQueues, FlowQueuing, Layout, Link, Needs, OwnQueues,
    Packet, PacketView, ParamError, QueueSetup,
};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use sojourn_units::{Bytes, Duration, Stream, Time};

/// The parameters of FQ.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// The algorithm of each queue, such as `{ pi = { target = 20 } }` or `{ fuzzy-rtt = {} }`.
    /// Default `{ codel = {} }`.
    pub base: Plain,
    /// Queues, 1 to 65536, default 1024 (rfc8290#5.2.6).
    pub flows: u32,
    /// Bytes that a queue may send in a round, 1 B to 1 MB, default 1514 B (rfc8290#5.2.4).
    pub quantum: Bytes,
    /// Seed of the hash of flows, default 0.
    pub perturbation: u32,
}

impl Default for Params {
    fn default() -> Self {
        Params { base: Plain::Codel(codel::Params::default()), flows: 1024, quantum: Bytes(1514), perturbation: 0 }
    }
}

impl Params {
    /// FQ with these parameters on this link.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn build(&self, link: &Link) -> Result<Fq, ParamError> {
        let queuing = FlowQueuing::checked(self.flows, self.quantum, self.perturbation)?;
        let fresh = Queue { aqm: self.base.build(link)?, backlog: (0, 0), left: Time::ZERO };
        Ok(Fq { queuing, fresh: Box::new(fresh), queues: vec![None; self.flows as usize], used: Vec::new(), last: 0 })
    }
}

/// The algorithm of a queue.
#[derive(Clone, Debug)]
struct Queue {
    aqm: AnyAqm,
    /// Packets and bytes waiting when the timer expires.
    backlog: (u32, u64),
    /// The time of the last departure.
    left: Time,
}

impl Queue {
    /// The backlog as the algorithm sees it.
    fn seen(&self, backlog: Backlog) -> Backlog {
        Backlog { idle_since: (backlog.packets == 0).then_some(self.left), ..backlog }
    }
}

/// An algorithm for each queue.
#[derive(Clone, Debug)]
pub struct Fq {
    queuing: FlowQueuing,
    /// The algorithm in its initial state, for a queue without packets so far.
    fresh: Box<Queue>,
    queues: Vec<Option<Box<Queue>>>,
    /// The queues that have had packets.
    used: Vec<u32>,
    /// The queue of the last decision.
    last: usize,
}

impl Fq {
    /// Selects the queue of this number, which becomes that of the last decision.
    fn queue(&mut self, at: u32) -> &mut Queue {
        self.last = at as usize;
        let (fresh, used) = (&self.fresh, &mut self.used);
        self.queues[self.last].get_or_insert_with(|| {
            used.push(at);
            fresh.clone()
        })
    }

    /// The algorithms in use.
    fn in_use(&mut self) -> impl Iterator<Item = &mut Queue> {
        self.queues.iter_mut().flatten().map(|queue| &mut **queue)
    }
}

impl OwnQueues for Fq {
    const LAYOUT: Layout = FlowQueuing::LAYOUT;
    type Params = Params;
    type Queues<P: Packet> = FlowQueues<P>;

    fn queues<P: Packet>(&self, setup: &mut QueueSetup) -> FlowQueues<P> {
        FlowQueues::new(self.queuing, setup)
    }
}

impl Aqm for Fq {
    fn on_enqueue(&mut self, arrival: &PacketView, backlog: &Backlog, random: &mut Stream) -> ArrivalVerdict {
        let queue = self.queue(self.queuing.queue_of(arrival.flow));
        let seen = queue.seen(*backlog);
        queue.aqm.on_enqueue(arrival, &seen, random)
    }

    fn on_dequeue(&mut self, departure: &PacketView, sojourn: Duration, backlog: &Backlog, random: &mut Stream) -> DepartureVerdict {
        let queue = self.queue(self.queuing.queue_of(departure.flow));
        queue.left = departure.now;
        queue.aqm.on_dequeue(departure, sojourn, backlog, random)
    }

    fn on_drop(&mut self, dropped: Dropped) {
        if let Dropped::FromFull { queue, now, .. } = dropped {
            self.queue(queue).left = now;
        }
        let last = self.last as u32;
        self.queue(last).aqm.on_drop(dropped);
    }

    fn on_flows(&mut self, now: Time, active: u32) {
        self.fresh.aqm.on_flows(now, active);
        self.in_use().for_each(|queue| queue.aqm.on_flows(now, active));
    }

    fn update_interval(&self) -> Option<Duration> {
        self.fresh.aqm.update_interval()
    }

    fn on_update(&mut self, now: Time, _backlog: &Backlog) {
        self.in_use().for_each(|queue| {
            let (packets, bytes) = queue.backlog;
            let seen = queue.seen(Backlog { packets, bytes, idle_since: None });
            queue.aqm.on_update(now, &seen);
        });
    }

    fn needs(&self) -> Needs {
        // An arrival makes the algorithm of its queue, and a departure may leave the queue empty.
        Needs { departures: true, no_arrivals: false, ..self.fresh.aqm.needs() }
    }
}

impl FlowAqm for Fq {
    fn before_update(&mut self, packets_and_bytes: &dyn Fn(u32) -> (u32, u64)) {
        for &at in &self.used {
            if let Some(queue) = &mut self.queues[at as usize] {
                queue.backlog = packets_and_bytes(at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::{fq_codel, pi, red, step, test_link};
    use crate::parcel::Parcel;
    use crate::{Amount, AqmConfig, DropReason, Qdisc, QueueController};

    fn queue(config: &AqmConfig, limit: u32) -> Qdisc<Parcel> {
        let aqm = config.build(&test_link()).unwrap();
        Qdisc::new(QueueController::new(aqm, Amount::Packets(limit), false, Stream::named(1, "fq")))
    }

    fn over(base: Plain) -> AqmConfig {
        AqmConfig::Fq(Params { base, ..Params::default() })
    }

    fn parcel(id: u32, flow: u32) -> Parcel {
        Parcel { id, flow, size: 1000, ..Parcel::default() }
    }

    /// The packets that a link of 10 Mbit/s sends and loses.
    /// One flow sends at 4 Mbit/s and another one at 12 Mbit/s.
    fn fates(mut queue: Qdisc<Parcel>) -> Vec<(u32, Option<DropReason>)> {
        let (mut fates, mut random) = (Vec::new(), Stream::named(1, "sizes"));
        for id in 0..20_000u32 {
            let now = Time::from_nanos(u64::from(id) * 500_000);
            queue.update(now, None);
            let packet = Parcel { size: 100 + random.below(1400) as u32, ..parcel(id, u32::from(id % 4 == 0)) };
            fates.extend(queue.offer(now, packet, None).iter().map(|(parcel, reason)| (parcel.id, Some(*reason))));
            if id % 2 == 0 {
                let (sent, lost) = queue.take(now);
                fates.extend(lost.iter().map(|(parcel, reason)| (parcel.id, Some(*reason))));
                fates.extend(sent.map(|parcel| (parcel.id, None)));
            }
        }
        assert!(queue.balances());
        fates
    }

    #[test]
    fn over_codel_it_is_fq_codel_packet_for_packet() {
        let own = AqmConfig::FqCodel(fq_codel::Params::default());
        let fates_over = fates(queue(&over(Plain::Codel(codel::Params::default())), 1000));
        assert!(fates_over.iter().filter(|(_, lost)| lost.is_some()).count() > 100);
        assert_eq!(fates_over, fates(queue(&own, 1000)));
    }

    /// A threshold of 10 packets applies to each flow alone.
    /// 9 packets of each flow pass, although 18 wait together.
    #[test]
    fn an_algorithm_sees_the_backlog_of_its_own_queue() {
        let base = Plain::Step(step::Params { packets: 10, ..step::Params::default() });
        let mut queue = queue(&over(base), 1000);
        let lost = (0..18).flat_map(|id| queue.offer(Time::ZERO, parcel(id, id % 2), None)).count();
        assert_eq!(lost, 0);
        let lost = (18..60).flat_map(|id| queue.offer(Time::ZERO, parcel(id, 0), None)).count();
        assert!(lost > 20, "{lost}");
    }

    #[test]
    fn a_law_with_a_timer_signals_the_flow_that_fills_its_queue_and_not_the_other() {
        let base = Plain::Pi(pi::Params { target: 20.0, ..pi::Params::default() });
        let mut queue = queue(&over(base), 10_000);
        let mut lost = [0; 2];
        for id in 0..20_000u32 {
            let now = Time::from_nanos(u64::from(id) * 1_000_000);
            queue.update(now, None);
            for flow in if id % 4 == 0 { [0, 1].as_slice() } else { &[0] } {
                queue.offer(now, parcel(id, *flow), None).iter().for_each(|(parcel, _)| lost[parcel.flow as usize] += 1);
            }
            queue.take(now);
        }
        assert!(lost[0] > 1000 && lost[1] == 0, "{lost:?}");
    }

    #[test]
    fn parameters_out_of_range_are_named_those_of_the_algorithm_with_its_place() {
        let base = Plain::Red(red::Params { max_p: 2.0, ..red::Params::default() });
        for (params, field) in [
            (Params { base, ..Params::default() }, "base.red.max_p"),
            (Params { flows: 0, ..Params::default() }, "flows"),
            (Params { quantum: Bytes(0), ..Params::default() }, "quantum"),
        ] {
            assert_eq!(params.build(&test_link()).unwrap_err().field, field);
        }
    }
}
