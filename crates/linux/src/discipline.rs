//! A queue of the simulator as a qdisc of the kernel, independent of the network.
//! The C part is `hosts/linux/kernel/discipline.c`.

use crate::groups::check_groups;
use crate::packet::Packet;
use crate::wiring::Wiring;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};
use sojourn_aqm::{ArrivingAck, Classification, Counters, DropReason, FlowHashes, Packet as _, Qdisc};
use sojourn_net::LinkConfig;
use sojourn_spec::link::Link;
use sojourn_spec::queue::Queue;
use sojourn_units::{Duration, Rate, Time};

/// The discipline's options: its netlink attribute, as TOML.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// The name of the link, which names its random stream.
    pub link: String,
    /// The rate of the link.
    pub rate: Rate,
    /// The propagation delay of the link.
    pub delay: Duration,
    /// Mean packet size in bytes.
    pub packet: u32,
    /// The seed of the random stream.
    pub seed: u64,
    /// The group of each flow. CAKE identifies hosts and DSCPs by it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<u32>,
    /// The DSCP of each group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dscps: Vec<u8>,
    /// The 32-bit hash of each flow, by which flow queues are selected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hashes: Vec<u32>,
    /// The queue.
    pub queue: Queue,
}

impl Task {
    /// The task of a discipline on a link of the plan.
    pub(crate) fn new(link: &Link, queue: Queue, wiring: &Wiring) -> Task {
        let rate = link.rate.unwrap_or_else(|| unreachable!("a link with a queue has a rate"));
        let (packet, seed) = (wiring.packet, wiring.seed);
        let (groups, dscps, mut hashes) = (Vec::new(), Vec::new(), Vec::new());
        let layout = queue.aqm.layout().unwrap_or_default();
        if layout.hashes_flows {
            hashes.extend(wiring.flows.iter().map(|flow| FlowHashes::short(flow.hash())));
        }
        let task = Task { link: link.name.clone(), rate, delay: link.delay, packet, seed, groups, hashes, dscps, queue };
        if !layout.knows_groups {
            return task;
        }
        Task { groups: wiring.flows.iter().map(|flow| flow.group).collect(), dscps: wiring.dscps(), ..task }
    }

    /// Serializes the task as text for the kernel.
    ///
    /// # Errors
    /// The queue can't be serialized. The error is a text.
    pub fn to_toml(&self) -> Result<String, String> {
        toml::to_string(self).map_err(|error| error.to_string())
    }
}

/// A queue of the simulator with packets of the kernel.
#[derive(Clone, Debug)]
pub struct Discipline {
    empty: Qdisc<Packet>,
    queue: Qdisc<Packet>,
    /// The time since which the queue has been empty for the device.
    idle_since: Option<Time>,
    dropped: VecDeque<(Packet, DropReason)>,
}

impl Discipline {
    /// An empty queue.
    ///
    /// # Errors
    /// The error in the task as text.
    pub fn new(task: &[u8]) -> Result<Discipline, String> {
        let text = core::str::from_utf8(task).map_err(|_| String::from("expected text in UTF-8"))?;
        let Task { link, rate, delay, packet, seed, groups, hashes, dscps, queue } =
            toml::from_str(text).map_err(|error| error.message().to_string())?;
        check_groups(groups.iter().copied(), groups.len()).map_err(|error| format!("groups: {error}"))?;
        let aqm = queue.build(rate, delay, packet).map_err(|error| format!("queue.{error}"))?;
        let link = Link { name: link, rate: Some(rate), delay, queue: Some(Arc::new(queue)), ..Link::default() };
        let mut controller = LinkConfig::planned(link, vec![(aqm, Classification::default())], seed).controller;
        controller.dscps = dscps;
        let mut empty = Qdisc::new(controller);
        (0u32..).zip(groups).for_each(|(flow, group)| empty.add_place(flow, group));
        (0u32..).zip(hashes).for_each(|(flow, hash)| empty.set_hash(flow, u64::from(hash)));
        Ok(Discipline { queue: empty.clone(), empty, idle_since: Some(Time::ZERO), dropped: VecDeque::new() })
    }

    /// Enqueues a packet.
    /// [`Discipline::next_dropped`] then returns the packets that this dropped, possibly including it.
    pub fn enqueue(&mut self, now: Time, packet: Packet) {
        self.queue.update(now, self.idle_since);
        if self.queue.filters_acks()
            && let Some(header) = packet.header.ack()
        {
            let ack = ArrivingAck { flow: packet.flow, place: packet.place(), ecn: packet.ecn(), header };
            self.queue.compare_acks(&ack, &|waiting| waiting.header.ack());
        }
        self.queue.enqueue(now, packet, self.idle_since, |packet, reason| self.dropped.push_back((packet, reason)));
    }

    /// Dequeues the next packet, marked if the queue marked it.
    pub fn dequeue(&mut self, now: Time) -> Option<Packet> {
        self.queue.update(now, self.idle_since);
        let next = self.queue.dequeue(now, |packet, reason| self.dropped.push_back((packet, reason)));
        self.idle_since = if next.is_some() { None } else { Some(self.idle_since.unwrap_or(now)) };
        next.map(|(packet, _)| packet)
    }

    /// The time at which it releases packets that it holds back; `None` if it holds none.
    pub fn ready(&self) -> Option<Time> {
        self.queue.ready()
    }

    /// The next dropped packet, with the reason.
    pub fn next_dropped(&mut self) -> Option<(Packet, DropReason)> {
        self.dropped.pop_front()
    }

    /// Sets the number of active flows from `now` on.
    pub fn set_flows(&mut self, now: Time, active: u32) {
        self.queue.set_flows(now, active);
    }

    /// The counters of the discipline.
    pub fn counters(&self) -> &Counters {
        self.queue.counters()
    }

    /// Resets the queue to a new one.
    /// [`Discipline::next_dropped`] then returns every packet that was waiting.
    pub fn reset(&mut self, now: Time) {
        let waiting = core::mem::replace(&mut self.queue, self.empty.clone());
        waiting.into_packets(&mut |packet| self.dropped.push_back((packet, DropReason::Tail)));
        self.idle_since = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cake(more: &str, groups: &str) -> Discipline {
        let task = format!(
            "link = 'l'\nrate = '10 Mbit/s'\ndelay = '0 s'\npacket = 1000\nseed = 1\n{groups}\nqueue = {{ aqm = 'cake', limit = '900 packets'{more} }}"
        );
        Discipline::new(task.as_bytes()).unwrap()
    }

    fn packet(flow: u32) -> Packet {
        Packet { flow, size: 1000, ..Packet::default() }
    }

    #[test]
    fn a_shaper_says_when_it_sends_again() {
        let mut discipline = cake(", bandwidth = '1 Mbit/s'", "");
        assert_eq!(discipline.ready(), None);
        (0..3).for_each(|_| discipline.enqueue(Time::ZERO, packet(0)));
        let (mut now, mut sent) = (Time::ZERO, Vec::new());
        while sent.len() < 3 {
            match discipline.dequeue(now) {
                Some(_) => sent.push(now.as_nanos() / 1_000_000),
                None => now = discipline.ready().unwrap(),
            }
        }
        // 1000 B at 1 Mbit/s.
        assert_eq!((sent[1] - sent[0], sent[2] - sent[1]), (8, 8));
    }

    #[test]
    fn cake_shares_by_the_groups_of_flows() {
        let flow_1_of_120 = |groups: &str| {
            let mut discipline = cake("", groups);
            (0..300).for_each(|number| discipline.enqueue(Time::ZERO, packet(number % 3)));
            (0..120).filter(|_| discipline.dequeue(Time::ZERO).unwrap().flow == 1).count()
        };
        let (apart, together) = (flow_1_of_120("groups = [0, 1, 0]"), flow_1_of_120("groups = [0, 0, 0]"));
        assert!((55..=65).contains(&apart) && (35..=45).contains(&together), "{apart} {together}");
    }
}
