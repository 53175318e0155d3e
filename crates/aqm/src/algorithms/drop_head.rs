//! `DropHead`: a FIFO that drops its head when a packet arrives at a full queue.
//! The arriving packet is enqueued (Linux `pfifo_head_drop`, lakshman-1996). Senders learn of the loss a queuing delay earlier than with
//! droptail. Linux limits packets; here the limit may be in bytes too.

use crate::{
    Aqm, ArrivalVerdict, Backlog, FlowAqm, FlowQueues, FlowQueuing, Layout, Link, Overflow, OwnQueues, Packet, PacketView, ParamError,
    QueueSetup,
};
use sojourn_units::Stream;

/// No parameters: the limit belongs to the queue.
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {}

impl Params {
    /// The algorithm.
    ///
    /// # Errors
    /// None.
    pub fn build(&self, _link: &Link) -> Result<DropHead, ParamError> {
        Ok(DropHead)
    }
}

/// The algorithm that passes every packet to a queue that drops at its head.
#[derive(Clone, Debug)]
pub struct DropHead;

impl DropHead {
    /// One queue for all flows, which is therefore the longest one and drops its head.
    const QUEUE: FlowQueuing =
        FlowQueuing { queues: 1, quantum: u32::MAX, perturbation: 0, overflow: Overflow::HeadOfLongest, shows_all: true };
}

impl OwnQueues for DropHead {
    const LAYOUT: Layout = Layout { hashes_flows: false, knows_groups: false, takes_filters: false };
    type Params = Params;
    type Queues<P: Packet> = FlowQueues<P>;

    fn queues<P: Packet>(&self, setup: &mut QueueSetup) -> FlowQueues<P> {
        FlowQueues::new(DropHead::QUEUE, setup)
    }
}

impl Aqm for DropHead {
    #[inline]
    fn on_enqueue(&mut self, _arrival: &PacketView, _backlog: &Backlog, _random: &mut Stream) -> ArrivalVerdict {
        ArrivalVerdict::Pass
    }
}

impl FlowAqm for DropHead {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::test_link;
    use crate::parcel::Parcel;
    use crate::{Amount, AnyAqm, DropReason, Qdisc, QueueController};
    use sojourn_units::Time;
    use std::vec::Vec;

    fn queue(limit: Amount) -> Qdisc<Parcel> {
        let aqm = AnyAqm::DropHead(Params {}.build(&test_link()).unwrap());
        Qdisc::new(QueueController::new(aqm, limit, false, Stream::named(1, "drophead")))
    }

    fn offer(queue: &mut Qdisc<Parcel>, id: u32, size: u32) -> Vec<(u32, DropReason)> {
        let lost = queue.offer(Time::ZERO, Parcel { id, flow: id, size, ..Parcel::default() }, None);
        lost.into_iter().map(|(parcel, reason)| (parcel.id, reason)).collect()
    }

    fn drain(queue: &mut Qdisc<Parcel>) -> Vec<u32> {
        core::iter::from_fn(|| queue.take(Time::ZERO).0).map(|parcel| parcel.id).collect()
    }

    #[test]
    fn a_full_queue_drops_its_head_and_takes_the_arriving_packet() {
        let mut queue = queue(Amount::Packets(3));
        assert!((0..3).all(|id| offer(&mut queue, id, 1000).is_empty()));
        assert_eq!(offer(&mut queue, 3, 1000), [(0, DropReason::Tail)]);
        assert_eq!(offer(&mut queue, 4, 1000), [(1, DropReason::Tail)]);
        assert_eq!((queue.counters().dropped_tail, queue.packets()), (2, 3));
        assert_eq!(drain(&mut queue), [2, 3, 4]);
        assert!(queue.balances());
    }

    #[test]
    fn a_limit_in_bytes_drops_as_many_packets_as_make_room() {
        let mut queue = queue(Amount::Bytes(3000));
        assert!((0..3).all(|id| offer(&mut queue, id, 1000).is_empty()));
        assert_eq!(offer(&mut queue, 3, 1500), [(0, DropReason::Tail), (1, DropReason::Tail)]);
        assert_eq!(drain(&mut queue), [2, 3]);
    }
}
