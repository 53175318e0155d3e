//! CAKE: a queue per flow under COBALT, in tins, with a shaper and fairness between hosts.
//! Source: Linux `sch_cake.c`, hoeiland-joergensen-2018.
//!
//! [`CakeQueuing`] schedules the queues. This file holds a COBALT for each of them. A host is a group of flows. Marks need `ecn = true`,
//! which Linux always has. The queue's `ack_filter` is CAKE's ACK filter. Not modeled: `autorate-ingress`, `ingress`, `nat`, `wash`,
//! `split-gso`, and the memory that a kernel counts for a packet: the limit is that of the queue.

use super::cobalt::{self, Cobalt};
use crate::disciplines::cake::{CakeQueues, CakeQueuing, QUEUES};
use crate::{
    Aqm, ArrivalVerdict, Backlog, DepartureVerdict, Diffserv, Dropped, FlowAqm, Layout, Link, Needs, OwnQueues, Packet, PacketView,
    ParamError, QueueSetup,
};
use alloc::vec::Vec;
use sojourn_units::{AnyOverhead, Duration, Overhead, Rate, Stream, Time};

/// The unit of fair sharing.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Isolation {
    /// Each flow.
    Flows,
    /// Each host (a group of flows), and each flow within it.
    #[default]
    TripleIsolate,
}

/// The parameters of CAKE, under the names of `tc cake`.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// The rate of CAKE's shaper; default: no shaper, the queue sends at the link's rate.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub bandwidth: Option<Rate>,
    /// Tins by DSCP: "besteffort", "diffserv3" (default) or "diffserv4".
    pub diffserv: Diffserv,
    /// Who gets a fair share: "flows" or "triple-isolate" (default).
    pub isolation: Isolation,
    /// The expected round-trip time, which is the interval of COBALT.
    /// Range: 1 us to 1000 s; default 100 ms. COBALT's target is a twentieth of it.
    pub rtt: Duration,
    /// Overhead that CAKE's shaper adds to the size of each packet; default: none.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub overhead: Option<AnyOverhead>,
}

impl Default for Params {
    fn default() -> Self {
        let rtt = Duration::from_millis(100);
        Params { bandwidth: None, diffserv: Diffserv::default(), isolation: Isolation::default(), rtt, overhead: None }
    }
}

/// A rate at which the transmission time of a packet is 0.
/// Without a shaper the targets do not follow the link's rate (Linux `cake_set_rate`).
const UNLIMITED: u64 = 10_000_000_000_000;

impl Params {
    /// CAKE with these parameters on this link.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn build(&self, link: &Link) -> Result<Cake, ParamError> {
        let fine = (Duration::from_micros(1)..=Duration::from_secs(1000)).contains(&self.rtt);
        ParamError::unless(fine, "rtt", &self.rtt, "a time, 1 us to 1000 s")?;
        if let Some(bandwidth) = self.bandwidth {
            sojourn_units::range::rate("bandwidth", bandwidth)?;
        }
        let overhead = self.overhead.map_or(Overhead::default(), AnyOverhead::overhead);
        overhead.check()?;
        let isolates_hosts = self.isolation == Isolation::TripleIsolate;
        let queuing = CakeQueuing { diffserv: self.diffserv, isolates_hosts, bandwidth: self.bandwidth, overhead };
        let mut queues = Vec::with_capacity(self.diffserv.tins() * QUEUES as usize);
        for tin in 0..self.diffserv.tins() {
            let rate = queuing.rate_of(tin).or(Rate::from_bps(UNLIMITED)).unwrap_or(link.rate);
            let params = cobalt::Params { target: self.rtt / 20, interval: self.rtt, ..cobalt::Params::default() };
            let cobalt = params.build(&Link { rate, ..*link })?.of_cake();
            queues.resize(queues.len() + QUEUES as usize, cobalt);
        }
        Ok(Cake { queuing, queues, last: 0 })
    }
}

/// COBALT for each queue.
#[derive(Clone, Debug)]
pub struct Cake {
    queuing: CakeQueuing,
    queues: Vec<Cobalt>,
    /// The queue of the last departure.
    last: usize,
}

impl OwnQueues for Cake {
    const LAYOUT: Layout = Layout { hashes_flows: true, knows_groups: true, takes_filters: false };
    type Params = Params;
    type Queues<P: Packet> = CakeQueues<P>;

    fn queues<P: Packet>(&self, setup: &mut QueueSetup) -> CakeQueues<P> {
        CakeQueues::new(self.queuing, setup)
    }

    fn names(params: &Params) -> Vec<&'static str> {
        params.diffserv.names().collect()
    }
}

impl Aqm for Cake {
    fn on_enqueue(&mut self, _arrival: &PacketView, _backlog: &Backlog, _random: &mut Stream) -> ArrivalVerdict {
        ArrivalVerdict::Pass
    }

    fn on_dequeue(&mut self, departure: &PacketView, sojourn: Duration, backlog: &Backlog, random: &mut Stream) -> DepartureVerdict {
        self.last = departure.flow as usize % self.queues.len();
        self.queues[self.last].on_dequeue(departure, sojourn, backlog, random)
    }

    fn on_drop(&mut self, dropped: Dropped) {
        match dropped {
            Dropped::FromFull { queue, now, .. } => self.queues[queue as usize].queue_full(now),
            Dropped::Unmarkable => self.queues[self.last].on_drop(dropped),
            Dropped::NoRoom => {}
        }
    }

    fn needs(&self) -> Needs {
        Needs { head_drop: true, no_arrivals: true, ..Needs::default() }
    }
}

impl FlowAqm for Cake {
    fn on_empty(&mut self, queue: u32, now: Time) -> bool {
        let cobalt = &mut self.queues[queue as usize];
        cobalt.queue_empty(now);
        cobalt.rests(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::test_link;

    #[test]
    fn targets_follow_the_rates_of_the_tins() {
        let bandwidth = Rate::from_bps(10_000_000);
        let built = |bandwidth| Params { bandwidth, diffserv: Diffserv::Diffserv4, ..Params::default() }.build(&test_link()).unwrap();
        let targets = |cake: Cake| [0, 1, 2, 3].map(|tin| cake.queues[tin * QUEUES as usize].target());
        // 1000 B take 0.8 ms at 10 Mbit/s; a target is at least 1.5 times their transmission time at the tin's rate.
        assert_eq!(targets(built(bandwidth)), [5000, 19200, 5000, 5000].map(Duration::from_micros));
        assert_eq!(targets(built(None)), [5000; 4].map(Duration::from_micros));
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        let far = Params { rtt: Duration::from_secs(1001), ..Params::default() };
        assert_eq!(far.build(&test_link()).unwrap_err().field, "rtt");
    }
}
